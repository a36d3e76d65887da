/**
 * `npx assay verify-proof`: checks a proof with nothing but its file and a verification key, and says what that shows
 * and what it does not.
 * @module
 */
import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { loadVerificationKey, type RecordedKey } from '../../circuits/artifacts/artifacts.ts'
import { proofFacts } from '../../circuits/proof-facts.ts'
import { readVerificationKey, type VerificationKey } from '../../circuits/verifier.ts'
import {
  type ProofFile,
  ProofFileError,
  parseJson,
  readProofFile,
} from '../../circuits/verifying/proof-file.ts'
import {
  judgeProof,
  notChecked,
  type ProofReason,
  UNKNOWN_SETUP,
} from '../../circuits/verifying/proof-report.ts'
import { detailOf } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import { isContext } from '../../rules/encode.ts'
import { type Expectation, type ExpectationReason, unexpected } from '../../rules/expectation.ts'
import { printable } from '../printable.ts'
import {
  isPresented,
  type PresentedFlags,
  type PresentedReport,
  verifyPresented,
} from './verify-presented.ts'

/** Exit statuses beside 0, it holds: it does not · it could not be checked. */
const EXIT_REFUSED = 1
const EXIT_UNKNOWN = 2

export interface Flags extends PresentedFlags {
  readonly circuit?: string
  readonly key?: string
  readonly public?: string
  readonly circuitsDir?: string
  readonly json?: boolean
  /** JSON of what is expected, or `@` and the file that holds it. */
  readonly expect?: string
}

type Reason = PresentedReport['reasons'][number] | ProofReason | ExpectationReason

export interface Report {
  readonly holds: boolean
  readonly reasons: readonly Reason[]
  readonly circuitId: string | null
  readonly key: string
  /** How the key was made; null where nothing is recorded of it. */
  readonly setup: RecordedKey['setup'] | null
  readonly digest: string | null
  /** Of a proof that is verified as one that somebody else made. */
  readonly presented?: Pick<PresentedReport, 'issuer' | 'binding' | 'uses'>
  /** What it says, as far as the file tells; null where it says nothing that a YES or NO would be. */
  readonly says: string | null
  /** By name where the circuit is known. */
  readonly publicSignals: Readonly<Record<string, string>> | readonly string[]
  readonly checked: readonly string[]
  readonly notChecked: readonly string[]
}

const readFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ProofFileError(
      `${file} can't be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** @throws ProofFileError where there is no key to verify with; ArtifactError for a key that differs from its hash */
const findKey = (
  { key, circuitsDir }: Flags,
  circuitId: string | undefined,
): { key: VerificationKey; from: string; recorded?: RecordedKey } => {
  if (key !== undefined) {
    const read = readVerificationKey(parseJson(readFile(key), key))
    if (read === undefined) throw new ProofFileError(`${key} is no verification key of Groth16 on BN254.`)
    return { key: read, from: key }
  }
  if (circuitId === undefined)
    throw new ProofFileError(
      'The file does not name its circuit: use --circuit, or --key with a verification key.',
    )
  const shipped = loadVerificationKey(circuitId, circuitsDir)
  if (shipped === undefined)
    throw new ProofFileError(`There is no circuit ${circuitId} here: give its verification key with --key.`)
  return { key: shipped.key, recorded: shipped, from: circuitsDir ?? 'shipped with this program' }
}

/** @throws ProofFileError for what is no expectation */
const readExpectation = (text: string): Expectation => {
  const what = 'What --expect gives'
  const asked = parseJson(text.startsWith('@') ? readFile(text.slice(1)) : text, what)
  if (!isObject(asked)) throw new ProofFileError(`${what} is no JSON object.`)
  return asked
}

/** @throws ProofFileError for what can't be expected of such a proof */
const differing = (
  { context, publicSignals, question }: ProofFile,
  circuitId: string | undefined,
  expect: string | undefined,
  now: number,
): ExpectationReason[] => {
  if (expect === undefined) return []
  if (circuitId === undefined) throw new ProofFileError('To compare with --expect, use --circuit.')
  const bound = context !== undefined && isContext(context) ? context : null
  const facts = proofFacts({ circuitId, publicSignals, context: bound })
  const told = question === 'none' ? { ...facts, decision: null } : facts
  try {
    return unexpected(readExpectation(expect), told, now)
  } catch (error) {
    if (error instanceof ProofFileError) throw error
    const { path, message } = detailOf(error)
    throw new ProofFileError(`${path.slice(1)} ${message}.`)
  }
}

/** Whoever knows the secrets of a setup can forge proofs under its keys. */
const setupTrust = (recorded: RecordedKey | undefined): string => {
  if (recorded === undefined) return UNKNOWN_SETUP
  const { setup, contributors } = recorded
  const names = contributors.join(', ')
  return setup === 'single-party'
    ? `that the secrets of the setup were destroyed: the key is of a single-party setup, by ${names}, who can forge proofs otherwise`
    : `that one of those who contributed secrets to the setup destroyed theirs: ${names}`
}

/**
 * What the proof in a file's text shows and what it does not.
 * @throws ProofFileError, ArtifactError where nothing can be said
 */
export const examine = async (text: string, flags: Flags): Promise<Report> => {
  const file = readProofFile(text, flags.public === undefined ? undefined : readFile(flags.public))
  const circuitId = flags.circuit ?? file.circuitId
  const { key, from, recorded } = findKey(flags, circuitId)
  if (circuitId === undefined && isPresented(flags))
    throw new ProofFileError(
      'The file does not name its circuit: to verify a proof that somebody else made, use --circuit.',
    )
  const judged = await judgeProof(file, circuitId, key, Date.now()).catch((error: unknown) => {
    if (error instanceof RangeError) throw new ProofFileError(`${from}: ${error.message}`)
    throw error
  })
  const presented =
    judged.valid && circuitId !== undefined && isPresented(flags)
      ? await verifyPresented(flags, {
          file,
          circuitId,
          key,
          expect: flags.expect === undefined ? undefined : readExpectation(flags.expect),
          read: readFile,
          isContext,
        })
      : undefined
  const reasons: Reason[] = [
    ...judged.reasons,
    ...(judged.valid && !presented ? differing(file, circuitId, flags.expect, Date.now()) : []),
    ...(presented?.reasons ?? []),
  ]
  const { digest, says, publicSignals } = judged
  return {
    holds: reasons.length === 0,
    reasons: [...new Set(reasons)],
    circuitId: circuitId ?? null,
    key: from,
    setup: recorded?.setup ?? null,
    digest,
    says,
    publicSignals,
    ...(presented && {
      presented: { issuer: presented.issuer, binding: presented.binding, uses: presented.uses },
    }),
    checked: [...judged.checked, ...(presented?.checked ?? [])],
    notChecked: [...notChecked(circuitId, file, presented !== undefined), setupTrust(recorded)],
  }
}

const lines = ({
  holds,
  reasons,
  circuitId,
  key,
  setup,
  digest,
  says,
  publicSignals,
  checked,
  presented,
  ...rest
}: Report): string[] => [
  holds ? 'The proof holds.' : `The proof does not hold: ${reasons.join(', ')}`,
  `circuit  ${circuitId ?? 'unknown'} (key: ${key}${setup === null ? '' : `, ${setup} setup`})`,
  ...(digest === null ? [] : [`digest   ${digest}`]),
  ...(says === null ? [] : [`says     ${says}`]),
  ...(presented?.uses ?? []).map((use) => `uses     ${use}`),
  'public signals',
  ...Object.entries(publicSignals).map(([name, value]) => `  ${name} = ${String(value)}`),
  ...(checked.length > 0 ? ['checked', ...checked.map((what) => `  ${what}`)] : []),
  'not checked',
  ...rest.notChecked.map((what) => `  ${what}`),
]

/** Checks the proof in a file, prints what was found, and sets the exit status. @param file `-` is standard input */
export const verifyFile = async (file: string, { json, ...flags }: Flags): Promise<void> => {
  try {
    const report = await examine(file === '-' ? await readAll(process.stdin) : readFile(file), flags)
    console.log(json ? JSON.stringify(report, null, 2) : lines(report).map(printable).join('\n'))
    if (!report.holds) process.exitCode = EXIT_REFUSED
  } catch (error) {
    console.error(printable(error instanceof Error ? error.message : String(error)))
    process.exitCode = EXIT_UNKNOWN
  }
}
