/** What a proof tells of itself, to be compared with what is expected of it. @module */
import { isObject } from '../protocol/json-object.ts'
import {
  commonScopeElement,
  contextElement,
  idElement,
  type ProofContext,
  type ProofScope,
  scopeElement,
} from '../rules/encode.ts'
import type { Facts } from '../rules/expectation.ts'
import { circuitOf } from './catalogue.ts'
import type { Circuit } from './circuit.ts'

/** What circuits call the signal that is 1 for YES and 0 for NO. */
export const DECISION_SIGNALS = [
  'decision',
  'token_valid',
  'consent_verified',
  'quantum_safe_valid',
  'all',
] as const

const MS_PER_SECOND = 1000

/** A proof whose pairing holds. */
export interface ProofToCompare {
  readonly circuitId: string
  /** Canonical decimals. */
  readonly publicSignals: readonly string[]
  /** What it is said to be made for; it counts only where the signal `ctx` is that of it. */
  readonly context?: ProofContext | null
  /** Of its scope, where it is not the statement that names it. */
  readonly purpose?: string
  /** Unix ms: when it was recorded, where that is known. */
  readonly createdAt?: number
}

const timeOf = (seconds: unknown): number | undefined =>
  seconds === undefined || !Number.isSafeInteger(Number(seconds))
    ? undefined
    : Number(seconds) * MS_PER_SECOND

/**
 * Whether only its context tells that a YES of this circuit is one: what it commits to may answer no question, and of what it shows
 * by itself a policy may have said NO.
 */
export const needsContext = ({ id, selfAsserted }: Pick<Circuit<string>, 'id' | 'selfAsserted'>): boolean =>
  id === 'simple_yesno' || !selfAsserted

/** Circuits without a bit for it have proofs of a YES only. Null where nothing was asked, or nobody knows. */
const decisionOf = (
  circuit: Circuit<string>,
  signal: (name: string) => string | undefined,
  statement: Readonly<Record<string, unknown>> | undefined,
): 0 | 1 | null => {
  if (statement?.rules_hash === null) return null
  // A policy that said NO has the last word.
  if (statement?.policy_verdict === 'NO') return 0
  const shown = DECISION_SIGNALS.map(signal).find((value) => value !== undefined)
  if (shown !== undefined && shown !== '1') return 0
  return statement === undefined && needsContext(circuit) ? null : 1
}

/**
 * Whether a signal `scope` is of this. Proofs of yesno were made before organisations had scopes of their own, and it spends nothing
 * by its scope.
 */
export const isScopeOf = (circuitId: string, signal: string, scope: ProofScope): boolean =>
  signal === String(scopeElement(scope)) ||
  (circuitId === 'yesno' && signal === String(commonScopeElement(scope)))

/**
 * What its nullifier is scoped to: whoever makes a proof can write any purpose into the statement, so that the signal
 * `scope`, where there is one, has to be that of it.
 */
const purposeOf = (
  { aud, org, circuit }: ProofContext,
  statement: Readonly<Record<string, unknown>>,
  scope: string | undefined,
  unstated = scope === undefined ? null : 'proof',
): string | null => {
  const { purpose = unstated } = statement
  if (typeof purpose !== 'string') return null
  return scope === undefined || isScopeOf(circuit, scope, { aud, org, purpose }) ? purpose : null
}

/** Who issued what is proved of; where no signal tells, who had the proof made. */
const issuersOf = (organisation: string | undefined, bound: ProofContext | undefined): Facts['issuers'] => {
  if (organisation !== undefined)
    return [{ element: String(idElement(BigInt(organisation))) }, ...(bound ? [bound.aud] : [])]
  return bound ? [bound.org, bound.aud] : null
}

/**
 * What its context says of the issuer, only the key among the public signals proves (`issuerX`, `issuerY`; `attestorX`, `attestorY`):
 * compare that with those of the service.
 * @throws nothing: what isn't known is null, and what can't apply is left out
 */
export const proofFacts = ({
  circuitId,
  publicSignals,
  context,
  purpose,
  createdAt,
}: ProofToCompare): Facts => {
  const circuit = circuitOf(circuitId, publicSignals)
  const names = circuit?.publicNames ?? []
  const signal = (name: string) => publicSignals[names.indexOf(name)]
  const isBound =
    context && context.circuit === circuitId && String(contextElement(context)) === signal('ctx')
  const bound = isBound ? context : undefined
  const statement = isObject(bound?.statement) ? bound.statement : undefined
  const disclose = signal('disclose')
  // Only the attestor of an aggregate has signed what its statement says of the time.
  const attestedAt = circuitId === 'proof_aggregation' ? statement?.attested_at : undefined
  return {
    circuit_id: circuitId,
    issuers: issuersOf(signal('organisation'), bound),
    organisation: bound?.org ?? null,
    audience: circuitId === 'token_validation' ? { element: signal('audience') ?? '' } : (bound?.aud ?? null),
    purpose: bound && statement ? purposeOf(bound, statement, signal('scope'), purpose) : null,
    nonce: bound?.nonce ?? null,
    statement: statement ?? null,
    decision: circuit === undefined ? null : decisionOf(circuit, signal, statement),
    max_age_seconds: timeOf(attestedAt) ?? timeOf(signal('now')) ?? createdAt ?? null,
    ...(disclose !== undefined && { status: disclose === '1' ? 'required' : 'not_required' }),
    ...(circuitId === 'kyc' && { min_level: Number(signal('minLevel') ?? 0) }),
  }
}
