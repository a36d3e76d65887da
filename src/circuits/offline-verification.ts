/**
 * Verifies, without the service, a proof that somebody else made of something issued: that it holds, answers what was asked, is of
 * an issuer that is accepted, and was not revoked. Every refusal has the word that the service has for it.
 * @module
 */
import { isObject, plainText } from '../protocol/json-object.ts'
import { findStatusPlace, type StatusPlace } from '../protocol/status.ts'
import type { StatusList, StatusListReason } from '../protocol/status-list.ts'
import { decodeZk1, proofDigest, type SnarkProof } from '../protocol/zk1.ts'
import { type Binding, isContext, type ProofContext, scopeElement } from '../rules/encode.ts'
import type { Expectation } from '../rules/expectation.ts'
import { findCircuit } from './catalogue.ts'
import {
  issuerAmong,
  type Presentation,
  type PresentationReason,
  presentationReasons,
} from './presentation.ts'
import { proofFacts } from './proof-facts.ts'
import { type ProofRefusal, type VerificationKey, verifyPairing } from './verifier.ts'

const MS_PER_SECOND = 1000
/** How far the `now` of a proof may lie from the clock. */
const MAX_NOW_DIFFERENCE_SECONDS = 120

/** A proof as it is presented: what POST /v1/proofs/generate answers has all of it. */
export interface PresentedProof {
  readonly circuit_id?: string
  /** JSON of snarkjs, or `zk1.…`, which holds its signals. */
  readonly proof: SnarkProof | string
  readonly public_signals?: readonly string[]
  /** What its `ctx` is the hash of. */
  readonly context: ProofContext
}

/** A key of /.well-known/issuer-keys. */
export interface PublishedIssuerKey {
  /** Decimal. */
  readonly x: string
  readonly y: string
  /** RFC 3339. */
  readonly validFrom: string
  /** Null: no end is known. */
  readonly validUntil: string | null
}

export interface VerifyOptions {
  readonly keys: {
    /** The circuit's verification key, in the JSON form of snarkjs: GET /api/circuits/{id}/vkey. */
    readonly circuit: VerificationKey
    /** The issuing service's /.well-known/issuer-keys. */
    readonly issuer: { readonly keys: readonly PublishedIssuerKey[] }
  }
  /** Ids of organisations; one of them must have issued what is proved of. */
  readonly issuers: readonly string[]
  /**
   * At least `audience`, `purpose`, `nonce` and `organisation` (the asker's, `org` of the context), unless there is a challenge.
   * `status: "not_required"` accepts of kyc that revocation can't be seen, where a challenge doesn't ask for it; with `max_age_seconds`, `now` may lie back so far.
   */
  readonly expect?: Expectation
  /** The `context` of one's own challenge, which it must answer. */
  readonly challenge?: ProofContext
  /** Of the list that the proof's status is in, as `readStatusList` answers it. */
  readonly statusList?: StatusList
  /** `uses` of the proofs that were accepted before: a nonce, a person or a credential among them counts no second time. */
  readonly seen?: Iterable<string>
  /** Unix ms; default: now. */
  readonly now?: number
}

export type VerifyReason =
  | ProofRefusal
  | PresentationReason
  | Extract<StatusListReason, 'STATUS_LIST_OTHER' | 'STATUS_STALE'>
  | 'STATUS_LIST_MISSING'
  | 'SIGNALS_MISMATCH'
  | 'CIRCUIT_MISMATCH'
  | 'SCOPE_MISMATCH'
  | 'CRITERIA_MISMATCH'
  | 'AUDIENCE_MISMATCH'
  | 'CONTROLLER_MISMATCH'
  | 'PURPOSE_MISMATCH'
  | 'POLICY_NO'
  | 'NOW_OUT_OF_RANGE'
  | 'EXPIRED'
  | 'ISSUER_UNKNOWN'
  | 'CREDENTIAL_REVOKED'
  | 'CHALLENGE_ANSWERED'
  | 'DOUBLE_SPEND'

export interface VerifiedPresentation {
  /** The pairing holds. */
  readonly valid: boolean
  /** And everything else that could be asked for. Only this counts. */
  readonly verified: boolean
  /** 1 is YES. Null where it isn't valid. */
  readonly decision: 0 | 1 | null
  /** Why it isn't verified. */
  readonly reasons: readonly VerifyReason[]
  /** Which of the accepted organisations issued what is proved of. */
  readonly issuer: string | null
  readonly binding: Binding | null
  /** Lower-case hex; null where it isn't valid. */
  readonly digest: string | null
  /** What accepting it uses up: keep it, and give it as `seen`. */
  readonly uses: readonly string[]
}

/** Members of statements that say what signals must be, and the reason where they aren't. */
const STATED: Readonly<
  Record<string, readonly (readonly [signal: string, member: string, reason: VerifyReason])[]>
> = {
  kyc: [
    ['minLevel', 'minLevel', 'CRITERIA_MISMATCH'],
    ['latestBirthDate', 'latestBirthDate', 'CRITERIA_MISMATCH'],
    ['countries', 'countries', 'CRITERIA_MISMATCH'],
    ['unique', 'unique', 'CRITERIA_MISMATCH'],
  ],
  token_validation: [['audience', 'audience', 'AUDIENCE_MISMATCH']],
  consent_verification: [
    ['controller', 'controller', 'CONTROLLER_MISMATCH'],
    ['purpose', 'purpose_element', 'PURPOSE_MISMATCH'],
  ],
}

/** What accepting a proof of a circuit uses up; none where the signal is 0. */
const SPENT: Readonly<Record<string, string>> = {
  kyc: 'person',
  token_validation: 'disclosedStatus',
  consent_verification: 'disclosedStatus',
}

/** A signal by its name, or the elements of one that has several. */
const signalsOf = ({ circuitId, publicSignals }: Pick<Presentation, 'circuitId' | 'publicSignals'>) => {
  const names = findCircuit(circuitId)?.publicNames ?? []
  return (name: string): string | undefined => {
    const elements = publicSignals.filter((_, i) => names[i] === name || names[i]?.startsWith(`${name}[`))
    return elements.length === 0 ? undefined : elements.join()
  }
}
type Signals = ReturnType<typeof signalsOf>

const membersOf = (statement: unknown): Readonly<Record<string, unknown>> =>
  isObject(statement) ? statement : {}

const statementReasons = ({ circuitId, context }: Presentation, signal: Signals): VerifyReason[] => {
  const statement = membersOf(context.statement)
  const { aud, org } = context
  const { purpose } = statement
  const scope = signal('scope')
  const isScoped = typeof purpose === 'string' && scope === String(scopeElement({ aud, org, purpose }))
  const isRefused = statement.policy_verdict !== undefined && statement.policy_verdict !== 'YES'
  return [
    ...(scope === undefined || isScoped ? [] : (['SCOPE_MISMATCH'] as const)),
    ...(STATED[circuitId] ?? []).flatMap(([name, member, reason]) =>
      plainText(statement[member]) === signal(name) ? [] : [reason],
    ),
    ...(isRefused ? (['POLICY_NO'] as const) : []),
  ]
}

const timeReasons = (
  { context: { exp } }: Presentation,
  signal: Signals,
  { expect }: VerifyOptions,
  now: number,
): VerifyReason[] => {
  const stated = signal('now')
  const seconds = Math.floor(now / MS_PER_SECOND)
  const isOff = stated !== undefined && Math.abs(Number(stated) - seconds) > MAX_NOW_DIFFERENCE_SECONDS
  return [
    // An age that is expected is compared instead.
    ...(isOff && expect?.max_age_seconds === undefined ? (['NOW_OUT_OF_RANGE'] as const) : []),
    ...(exp !== undefined && exp * MS_PER_SECOND <= now ? (['EXPIRED'] as const) : []),
  ]
}

/** Public signals whose proof holds. */
type Proven = Pick<Presentation, 'circuitId' | 'publicSignals'>

/** Whether what is proved of was signed under one of these keys, while it counts. @param now Unix ms */
export const isIssuerKey = (proof: Proven, keys: readonly PublishedIssuerKey[], now: number): boolean => {
  const signal = signalsOf(proof)
  return keys.some(
    ({ x, y, validFrom, validUntil }) =>
      x === (signal('issuerX') ?? signal('attestorX')) &&
      y === (signal('issuerY') ?? signal('attestorY')) &&
      Date.parse(validFrom) <= now &&
      (validUntil === null || now < Date.parse(validUntil)),
  )
}

/**
 * Where the status of what is proved of stands.
 * @returns null where the proof does not disclose it, undefined for circuits that have none, `NO_LIST` for one that no list has
 */
export const revocationOf = (proof: Proven): StatusPlace | 'NO_LIST' | null | undefined => {
  const status = signalsOf(proof)('disclosedStatus')
  if (status === undefined) return undefined
  return status === '0' ? null : (findStatusPlace(Number(status)) ?? 'NO_LIST')
}

const statusReasons = (proof: Proven, { statusList }: VerifyOptions, now: number): VerifyReason[] => {
  const place = revocationOf(proof)
  // That it isn't disclosed is for the expectation to allow.
  if (place === null || place === undefined) return []
  if (statusList === undefined) return ['STATUS_LIST_MISSING']
  if (place === 'NO_LIST' || !statusList.uri.endsWith(`/status/${place.list}`)) return ['STATUS_LIST_OTHER']
  if (now >= statusList.expiresAt * MS_PER_SECOND) return ['STATUS_STALE']
  return statusList.isSet(place.index) ? ['CREDENTIAL_REVOKED'] : []
}

const usesOf = ({ circuitId, context }: Presentation, signal: Signals): readonly string[] => {
  const spent = signal(SPENT[circuitId] ?? '')
  const nonce = `nonce/${context.nonce}`
  return spent === undefined || spent === '0' ? [nonce] : [nonce, `${circuitId}/${spent}`]
}

const usedReasons = (uses: readonly string[], { seen = [] }: VerifyOptions): VerifyReason[] => {
  const known = new Set(seen)
  const [nonce, spent] = uses
  if (nonce !== undefined && known.has(nonce)) return ['CHALLENGE_ANSWERED']
  return spent !== undefined && known.has(spent) ? ['DOUBLE_SPEND'] : []
}

const refused = (reason: VerifyReason): VerifiedPresentation => ({
  valid: false,
  verified: false,
  decision: null,
  reasons: [reason],
  issuer: null,
  binding: null,
  digest: null,
  uses: [],
})

/** It comes from somebody else, and may be any JSON. */
const isPresented = ({
  context,
  public_signals: signals = [],
  circuit_id: id = '',
}: PresentedProof): boolean =>
  isContext(context) &&
  typeof id === 'string' &&
  Array.isArray(signals) &&
  signals.every((signal) => typeof signal === 'string')

/**
 * Verifies a proof of `kyc`, `token_validation` or `consent_verification` that somebody else made. Of a challenge whoever shows an
 * answer may have had somebody else answer it: that is not prevented.
 * @throws AppError validation_failed for what can't be expected of such a proof
 */
export const verifyProof = async (
  presented: PresentedProof,
  options: VerifyOptions,
): Promise<VerifiedPresentation> => {
  if (!isPresented(presented)) return refused('PROOF_MALFORMED')
  const { context } = presented
  const read =
    typeof presented.proof === 'string'
      ? decodeZk1(presented.proof)
      : { proof: presented.proof, publicSignals: presented.public_signals ?? [] }
  if (read === undefined) return refused('PROOF_MALFORMED')
  const told = presented.public_signals
  if (told !== undefined && told.join() !== read.publicSignals.join()) return refused('SIGNALS_MISMATCH')
  const circuitId = presented.circuit_id ?? context.circuit
  if (findCircuit(circuitId)?.publicNames.length !== read.publicSignals.length) return refused('SIGNAL_COUNT')
  const verdict = await verifyPairing(options.keys.circuit, read.proof, read.publicSignals)
  if (!verdict.valid) return refused(verdict.reason)
  const now = options.now ?? Date.now()
  const presentation: Presentation = { circuitId, publicSignals: read.publicSignals, context }
  const signal = signalsOf(presentation)
  const uses = usesOf(presentation, signal)
  const { issuer = null, binding = null } = issuerAmong(presentation, options.issuers) ?? {}
  const reasons = new Set<VerifyReason>([
    ...(context.circuit === circuitId ? [] : (['CIRCUIT_MISMATCH'] as const)),
    ...presentationReasons(
      presentation,
      { ...options, organisation: options.challenge?.org ?? options.expect?.organisation },
      now,
    ),
    ...statementReasons(presentation, signal),
    ...timeReasons(presentation, signal, options, now),
    ...(isIssuerKey(presentation, options.keys.issuer.keys, now) ? [] : (['ISSUER_UNKNOWN'] as const)),
    ...statusReasons(presentation, options, now),
    ...usedReasons(uses, options),
  ])
  const isOther = reasons.has('CHALLENGE_MISMATCH')
  return {
    valid: true,
    verified: reasons.size === 0,
    decision: proofFacts(presentation).decision ?? null,
    // Of what answers something else, nothing more can be said.
    reasons: isOther ? ['CHALLENGE_MISMATCH'] : [...reasons],
    issuer,
    binding,
    digest: proofDigest(circuitId, read.publicSignals),
    uses,
  }
}
