/**
 * What a proof that somebody handed over shows by itself, and what it does not: the same for the command line and for browsers.
 * @module
 */
import { proofDigest } from '../../protocol/zk1.ts'
import { contextElement, isContext } from '../../rules/encode.ts'
import { circuitOf } from '../catalogue.ts'
import { DECISION_SIGNALS, needsContext } from '../proof-facts.ts'
import { type ProofRefusal, type VerificationKey, verifyPairing } from '../verifier.ts'
import type { ProofFile } from './proof-file.ts'

const MS_PER_SECOND = 1000

export type ProofReason =
  | ProofRefusal
  | 'CIRCUIT_MISMATCH'
  | 'DIGEST_MISMATCH'
  | 'DECISION_MISMATCH'
  | 'CONTEXT_MISMATCH'
  | 'EXPIRED'
  | 'POLICY_NO'

/** What can be recomputed of what the file says. Only for public signals that are canonical. */
const compare = (
  { digest, decisions, hasPolicy, context, publicSignals }: ProofFile,
  circuitId: string,
  now: number,
): { reasons: ProofReason[]; checked: string[] } => {
  const circuit = circuitOf(circuitId, publicSignals)
  const names = circuit?.publicNames ?? []
  const signal = (name: string) => publicSignals[names.indexOf(name)]
  const reasons: ProofReason[] = []
  const checked: string[] = []
  const check = (what: string, holds: boolean, reason: ProofReason) => {
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
      check('context has not expired by the clock here', now < context.exp * MS_PER_SECOND, 'EXPIRED')
  }
  return { reasons, checked }
}

type Stated = { readonly rules_hash?: unknown; readonly policy_verdict?: unknown }

const shownBy = ({ publicSignals }: ProofFile, circuitId: string | undefined): string | undefined => {
  const names = circuitOf(circuitId, publicSignals)?.publicNames ?? []
  return DECISION_SIGNALS.flatMap((name) => publicSignals[names.indexOf(name)] ?? [])[0]
}

/** What the file would have to tell before a YES of the circuit is one. */
const untold = ({ context, publicSignals }: ProofFile, circuitId: string | undefined): string => {
  const circuit = circuitOf(circuitId, publicSignals)
  if (circuit === undefined || !needsContext(circuit) || (context !== undefined && isContext(context)))
    return ''
  if (!circuit.selfAsserted) return ', unless a policy said NO: the file does not tell'
  // A question beside the proof is the word of whoever gave the file.
  return ', if a question was asked: the file does not tell'
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

/** By name where the circuit is known. */
type Signals = Readonly<Record<string, string>> | readonly string[]

const named = (circuitId: string | undefined, publicSignals: readonly string[]): Signals => {
  const names = circuitOf(circuitId, publicSignals)?.publicNames
  if (names === undefined) return publicSignals
  return Object.fromEntries(names.map((name, i) => [name, publicSignals[i] ?? '']))
}

const bindingLeft = (context: ProofFile['context'], isKnown: boolean): string => {
  if (context === undefined) return 'what ctx binds: the file does not tell'
  return isKnown
    ? 'who asked: that context is what you asked for'
    : 'that the proof binds the context in the file'
}

/** @param isIssued whether it is verified as one that somebody else made, of something issued */
export const notChecked = (
  circuitId: string | undefined,
  { isSigned, context, publicSignals }: ProofFile,
  isIssued: boolean,
): string[] => {
  const circuit = circuitOf(circuitId, publicSignals)
  if (isIssued)
    return [
      'that nobody had somebody else answer: a question can be relayed',
      'that it was not accepted before, but where --seen told so',
      ...(isSigned ? ['the signature in the file'] : []),
    ]
  return [
    ...(circuit?.checks ?? [
      'what the public signals mean, and the decision: the circuit, or its version, is not known here',
    ]),
    bindingLeft(context, circuit !== undefined),
    ...(isSigned ? ['the signature in the file'] : []),
    'that the service knows the proof, and that nobody spent or revoked it: ask POST /v1/proofs/verify',
  ]
}

/** Whoever knows the secrets of a setup can forge proofs under its keys. */
export const UNKNOWN_SETUP =
  'how the key was made: anyone who knows the secrets of its setup can forge proofs'

/** What is found under one key, before anybody says what they expect. */
export interface ProofJudgement {
  /** Whether the pairing holds: without it nothing of what follows counts. */
  readonly valid: boolean
  readonly reasons: readonly ProofReason[]
  readonly digest: string | null
  /** As far as the file tells; null where it says nothing that a YES or NO would be. */
  readonly says: string | null
  readonly publicSignals: Signals
  readonly checked: readonly string[]
}

/**
 * @param circuitId of the key; undefined where nobody told
 * @param now Unix ms
 * @throws RangeError for a key that is none
 */
export const judgeProof = async (
  file: ProofFile,
  circuitId: string | undefined,
  key: VerificationKey,
  now: number,
): Promise<ProofJudgement> => {
  const verdict = await verifyPairing(key, file.proof, file.publicSignals)
  const { valid } = verdict
  const isOther = file.circuitId !== undefined && file.circuitId !== circuitId
  const compared =
    valid && circuitId !== undefined ? compare(file, circuitId, now) : { reasons: [], checked: [] }
  return {
    valid,
    reasons: [
      ...(valid ? [] : [verdict.reason]),
      ...(isOther ? (['CIRCUIT_MISMATCH'] as const) : []),
      ...compared.reasons,
      ...(valid && isPolicyRefusal(file, circuitId) ? (['POLICY_NO'] as const) : []),
    ],
    digest: valid && circuitId !== undefined ? proofDigest(circuitId, file.publicSignals) : null,
    says: valid ? meaningOf(file, circuitId) : null,
    publicSignals: named(circuitId, file.publicSignals),
    checked: valid
      ? [
          'public signals: their number, canonical, below the order of the field',
          'points: canonical, on their curves, in their subgroups',
          'the pairing equation of Groth16 under this key',
          ...compared.checked,
        ]
      : [],
  }
}
