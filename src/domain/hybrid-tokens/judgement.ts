/** Whether a hybrid token counts. Fails closed, with every reason; writes nothing. @module */
import { hash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import {
  type Demanded,
  demandedSignatures,
  type FormFault,
  type HybridToken,
  hybridSigningBytes,
  readHybridToken,
  type VerificationPolicy,
} from '../../protocol/hybrid-token.ts'
import type { Database } from '../../store/database.ts'
import type { KeyDeps, Signer } from './keys.ts'
import type { HybridReason, HybridTokenVerdict, SignatureVerdict } from './schemas.ts'
import { checkSignature, type Half, type SignatureCheck } from './signatures.ts'
import { findHybridToken, type KnownHybridToken } from './store.ts'

export interface JudgementDeps extends KeyDeps {
  readonly database: Database
  readonly clock: Clock
}

/** What whoever asks demands beside the token's own policy. */
export interface Asked {
  readonly requiredPolicy: VerificationPolicy | undefined
  /** Ids of signers that count beside the service. */
  readonly acceptSigners: readonly string[]
}

export interface Judgement {
  readonly verdict: HybridTokenVerdict
  /** What was issued, if it is just this. */
  readonly row: KnownHybridToken | undefined
  readonly demanded: Demanded
}

const NOT_CHECKED: SignatureVerdict = { checked: false, valid: false }

/** SHA-256 of what both signatures cover, 32 bytes. */
export const digestOf = (signingBytes: Uint8Array): Buffer => hash('sha256', signingBytes, 'buffer')

const refused = (fault: FormFault): Judgement => ({
  verdict: {
    valid: false,
    policy: null,
    policy_satisfied: false,
    classical: NOT_CHECKED,
    pq: NOT_CHECKED,
    expired: false,
    revoked: false,
    reason_codes: [fault],
    token_id: null,
    subject: null,
    claims: null,
    signer: null,
  },
  row: undefined,
  demanded: { classical: false, pq: false },
})

const holds = (check: SignatureCheck | undefined): boolean => check !== undefined && 'signer' in check

const verdictOn = (check: SignatureCheck | undefined): SignatureVerdict =>
  check === undefined ? NOT_CHECKED : { checked: true, valid: holds(check) }

const signersOf = (checks: readonly (SignatureCheck | undefined)[]): Signer[] =>
  checks.flatMap((check) => (check !== undefined && 'signer' in check ? [check.signer] : []))

/** One signer made all of it, the one that is told, and whoever asks accepts it. */
const signerFaults = (
  signers: readonly Signer[],
  { signed_by }: HybridToken,
  { acceptSigners }: Asked,
): HybridReason[] => {
  const isOne = new Set(signers.map(({ type, id }) => `${type} ${id}`)).size <= 1
  const isTold = signed_by === undefined || signers.every(({ type }) => type === signed_by)
  const isAccepted = signers.every(({ type, id }) => type === 'service' || acceptSigners.includes(id))
  return [
    ...(isOne && isTold ? [] : (['SIGNER_MISMATCH'] as const)),
    ...(isAccepted ? [] : (['SIGNER_NOT_ACCEPTED'] as const)),
  ]
}

/** The organisation's token, if what was issued under this id is just this. */
const findIssued = async (
  database: Database,
  organisation: string,
  { token_id }: HybridToken,
  message: Uint8Array,
): Promise<KnownHybridToken | undefined> => {
  const row = await findHybridToken(database, organisation, token_id)
  return row && digestOf(message).equals(row.digest) ? row : undefined
}

/** @param presented anything; whatever is no token of the organisation is not valid */
export const judge = async (
  deps: JudgementDeps,
  organisation: string,
  presented: unknown,
  asked: Asked,
): Promise<Judgement> => {
  const read = readHybridToken(presented)
  if ('fault' in read) return refused(read.fault)
  const { token } = read
  const own = token.verification_policy
  const demanded = demandedSignatures(own, asked.requiredPolicy ?? own)
  const message = hybridSigningBytes(token)
  const check = (half: Half) =>
    demanded[half] ? checkSignature(deps, organisation, token, message, half) : undefined
  const [row, classical, pq] = await Promise.all([
    findIssued(deps.database, organisation, token, message),
    check('classical'),
    check('pq'),
  ])
  const checks = [classical, pq]
  const signers = signersOf(checks)
  const expired = deps.clock.now() >= token.exp * 1000
  const revoked = row !== undefined && row.revoked_at !== null
  const reasons: HybridReason[] = [
    ...checks.flatMap((one) => (one !== undefined && 'fault' in one ? [one.fault] : [])),
    ...signerFaults(signers, token, asked),
    ...(row === undefined ? (['TOKEN_UNKNOWN'] as const) : []),
    ...(expired ? (['TOKEN_EXPIRED'] as const) : []),
    ...(revoked ? (['TOKEN_REVOKED'] as const) : []),
  ]
  const verdict: HybridTokenVerdict = {
    valid: reasons.length === 0,
    policy: row ? own : null,
    policy_satisfied: signers.length === checks.filter((one) => one !== undefined).length,
    classical: verdictOn(classical),
    pq: verdictOn(pq),
    expired,
    revoked,
    reason_codes: reasons,
    token_id: row ? token.token_id : null,
    subject: row ? token.subject : null,
    claims: row ? { ...token.claims } : null,
    signer: signers[0] ?? null,
  }
  return { verdict, row, demanded }
}
