/**
 * `npx assay verify-proof`: checks a proof with nothing but its file and a verification key, and says what that shows
 * and what it does not.
 * @module
 */
import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { loadVerificationKey, type RecordedKey } from '../../circuits/artifacts/artifacts.ts'
import { findCircuit } from '../../circuits/catalogue.ts'
import { DECISION_SIGNALS, needsContext, proofFacts } from '../../circuits/proof-facts.ts'
import {
  type ProofRefusal,
  readVerificationKey,
  type VerificationKey,
  verifyPairing,
} from '../../circuits/verifier.ts'
import { detailOf } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import { proofDigest } from '../../protocol/zk1.ts'
import { contextElement, type ProofContext } from '../../rules/encode.ts'
import { type Expectation, type ExpectationReason, unexpected } from '../../rules/expectation.ts'
import { printable } from '../printable.ts'
import { type ProofFile, ProofFileError, parseJson, readProofFile } from './proof-file.ts'
import {
  isPresented,
  type PresentedFlags,
  type PresentedReport,
  verifyPresented,
} from './verify-presented.ts'

/** Exit statuses beside 0, it holds: it does not · it could not be checked. */
const EXIT_REFUSED = 1
const EXIT_UNKNOWN = 2
const MS_PER_SECOND = 1000

export interface Flags extends PresentedFlags {
  readonly circuit?: string
  readonly key?: string
  readonly public?: string
  readonly circuitsDir?: string
  readonly json?: boolean
  /** JSON of what is expected, or `@` and the file that holds it. */
  readonly expect?: string
}

type Reason =
  | PresentedReport['reasons'][number]
  | ProofRefusal
  | 'CIRCUIT_MISMATCH'
  | 'DIGEST_MISMATCH'
  | 'DECISION_MISMATCH'
  | 'CONTEXT_MISMATCH'
  | 'EXPIRED'
  | 'POLICY_NO'
  | ExpectationReason

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

const isContext = (context: object): context is Readonly<Record<string, unknown>> & ProofContext => {
  const members = context as Readonly<Record<string, unknown>>
  return (
    ['aud', 'org', 'circuit', 'nonce'].every((name) => typeof members[name] === 'string') &&
    (members.exp === undefined || typeof members.exp === 'number')
  )
}

/** What can be recomputed of what the file says. Only for public signals that are canonical. */
const compare = (
  { digest, decisions, hasPolicy, context, publicSignals }: ProofFile,
  circuitId: string,
  now: number,
): { reasons: Reason[]; checked: string[] } => {
  const circuit = findCircuit(circuitId)
  const names = circuit?.publicNames ?? []
  const signal = (name: string) => publicSignals[names.indexOf(name)]
  const reasons: Reason[] = []
  const checked: string[] = []
  const check = (what: string, holds: boolean, reason: Reason) => {
    checked.push(what)
    if (!holds) reasons.push(reason)
  }
  if (digest !== undefined)
    check(
      'digest is that of circuit and public signals',
      digest === proofDigest(circuitId, publicSignals),
      'DIGEST_MISMATCH',
    )
  const shown = DECISION_SIGNALS.map(signal).find((value) => value !== undefined)
  if (decisions.length > 0 && shown !== undefined) {
    // What is self-asserted is the policy's own decision; of anything else a policy may think otherwise.
    const mayBeNo = hasPolicy && circuit?.selfAsserted === false
    check(
      mayBeNo ? 'a YES is that of the public signal' : 'decision is the public signal',
      decisions.every((decision) => String(decision) === shown || (mayBeNo && decision === 0)),
      'DECISION_MISMATCH',
    )
  }
  if (context !== undefined && names.includes('ctx')) {
    const isBound =
      isContext(context) && context.circuit === circuitId && String(contextElement(context)) === signal('ctx')
    check('context is what the public signal ctx binds', isBound, 'CONTEXT_MISMATCH')
    if (isContext(context) && context.exp !== undefined)
      check(
        'context has not expired by the clock of this machine',
        now < context.exp * MS_PER_SECOND,
        'EXPIRED',
      )
  }
  return { reasons, checked }
}

type Stated = { readonly rules_hash?: unknown; readonly policy_verdict?: unknown }

const shownBy = ({ publicSignals }: ProofFile, circuitId: string | undefined): string | undefined => {
  const names = (circuitId === undefined ? undefined : findCircuit(circuitId)?.publicNames) ?? []
  return DECISION_SIGNALS.flatMap((name) => publicSignals[names.indexOf(name)] ?? [])[0]
}

/** What the file would have to tell before a YES of the circuit is one. */
const untold = ({ context, question }: ProofFile, circuitId: string | undefined): string => {
  const circuit = circuitId === undefined ? undefined : findCircuit(circuitId)
  if (circuit === undefined || !needsContext(circuit) || (context !== undefined && isContext(context)))
    return ''
  if (!circuit.selfAsserted) return ', unless a policy said NO: the file does not tell'
  return question === undefined ? ', if a question was asked: the file does not tell' : ''
}

const statedIn = ({ context }: ProofFile): Stated =>
  context !== undefined && isContext(context) ? Object(context.statement) : {}

/** Whether a policy said NO to what the circuit alone shows: the service does not verify such a proof either. */
const isPolicyRefusal = (file: ProofFile, circuitId: string | undefined): boolean => {
  const isRefused = statedIn(file).policy_verdict === 'NO' || (file.hasPolicy && file.decisions.includes(0))
  return isRefused && shownBy(file, circuitId) !== '0'
}

/** Only a YES to a question that was asked opens anything. What the file itself tells can only take away from that. */
const meaningOf = (file: ProofFile, circuitId: string | undefined): string | null => {
  const shown = shownBy(file, circuitId)
  if (file.question === 'none' || statedIn(file).rules_hash === null)
    return 'it attests the submitted data; no question was asked, so it opens nothing'
  if (isPolicyRefusal(file, circuitId))
    return 'NO: the policy said so, whatever the circuit shows; it opens nothing'
  if (shown === undefined) return null
  return shown === '1' ? `YES${untold(file, circuitId)}` : 'NO: it opens nothing'
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

const named = (circuitId: string | undefined, publicSignals: readonly string[]): Report['publicSignals'] => {
  const names = circuitId === undefined ? undefined : findCircuit(circuitId)?.publicNames
  if (names?.length !== publicSignals.length) return publicSignals
  return Object.fromEntries(names.map((name, i) => [name, publicSignals[i] ?? '']))
}

/** Whoever knows the secrets of a setup can forge proofs under its keys. */
const setupTrust = (recorded: RecordedKey | undefined): string => {
  if (recorded === undefined)
    return 'how the key was made: anyone who knows the secrets of its setup can forge proofs'
  const { setup, contributors } = recorded
  const names = contributors.join(', ')
  return setup === 'single-party'
    ? `that the secrets of the setup were destroyed: the key is of a single-party setup, by ${names}, who can forge proofs otherwise`
    : `that one of those who contributed secrets to the setup destroyed theirs: ${names}`
}

const notChecked = (
  circuitId: string | undefined,
  { isSigned, context }: ProofFile,
  presented: PresentedReport | undefined,
): string[] => {
  const circuit = circuitId === undefined ? undefined : findCircuit(circuitId)
  const isIssued = presented !== undefined
  if (isIssued)
    return [
      'that nobody had somebody else answer: a question can be relayed',
      'that it was not accepted before, but where --seen told so',
      ...(isSigned ? ['the signature in the file'] : []),
    ]
  return [
    ...(circuit?.checks ?? ['what the public signals mean: the circuit is not known here']),
    ...(context === undefined
      ? ['what ctx binds: the file does not tell']
      : ['who asked: that context is what you asked for']),
    ...(isSigned ? ['the signature in the file'] : []),
    'that the service knows the proof, and that nobody spent or revoked it: ask POST /v1/proofs/verify',
  ]
}

/**
 * What the proof in a file's text shows and what it does not.
 * @throws ProofFileError, ArtifactError where nothing can be said
 */
export const examine = async (text: string, flags: Flags): Promise<Report> => {
  const file = readProofFile(text, flags.public === undefined ? undefined : readFile(flags.public))
  const circuitId = flags.circuit ?? file.circuitId
  const { key, from, recorded } = findKey(flags, circuitId)
  const verdict = await verifyPairing(key, file.proof, file.publicSignals).catch((error: unknown) => {
    if (error instanceof RangeError) throw new ProofFileError(`${from}: ${error.message}`)
    throw error
  })
  const pairing = [
    'public signals: their number, canonical, below the order of the field',
    'points: canonical, on their curves, in their subgroups',
    'the pairing equation of Groth16 under this key',
  ]
  const isOther = file.circuitId !== undefined && file.circuitId !== circuitId
  const compared =
    verdict.valid && circuitId !== undefined
      ? compare(file, circuitId, Date.now())
      : { reasons: [], checked: [] }
  const presented =
    verdict.valid && circuitId !== undefined && isPresented(flags)
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
    ...(verdict.valid ? [] : [verdict.reason]),
    ...(isOther ? (['CIRCUIT_MISMATCH'] as const) : []),
    ...compared.reasons,
    ...(verdict.valid && isPolicyRefusal(file, circuitId) ? (['POLICY_NO'] as const) : []),
    ...(verdict.valid && !presented ? differing(file, circuitId, flags.expect, Date.now()) : []),
    ...(presented?.reasons ?? []),
  ]
  return {
    holds: reasons.length === 0,
    reasons: [...new Set(reasons)],
    circuitId: circuitId ?? null,
    key: from,
    setup: recorded?.setup ?? null,
    digest: verdict.valid && circuitId !== undefined ? proofDigest(circuitId, file.publicSignals) : null,
    says: verdict.valid ? meaningOf(file, circuitId) : null,
    publicSignals: named(circuitId, file.publicSignals),
    ...(presented && {
      presented: { issuer: presented.issuer, binding: presented.binding, uses: presented.uses },
    }),
    checked: verdict.valid ? [...pairing, ...compared.checked, ...(presented?.checked ?? [])] : [],
    notChecked: [...notChecked(circuitId, file, presented), setupTrust(recorded)],
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
