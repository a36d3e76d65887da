/** Making hybrid tokens: what is signed, by whom, and what records it. @module */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import {
  type HybridTokenTerms,
  hybridTokenCommitment,
  hybridTokenNullifier,
} from '../../circuits/mappers/quantum_safe_token.ts'
import type { Clock } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import {
  claimsFault,
  type Demanded,
  demandedSignatures,
  HYBRID_TOKEN_CONTEXT,
  type HybridContent,
  hybridSigningBytes,
  hybridTokenBytes,
  MAX_CLAIMS_DEPTH,
  MAX_HYBRID_TOKEN_BYTES,
  MAX_LIFE_SECONDS,
  SIGNATURE_BYTES,
} from '../../protocol/hybrid-token.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import { digestOf } from './judgement.ts'
import { findSignerKey, KEY_PURPOSE, type KeyDeps, SIGNING_ALGORITHM, type Signer } from './keys.ts'
import {
  DEFAULT_LIFE_SECONDS,
  HYBRID_REASONS,
  type HybridTokenIssued,
  MAX_PREPARED_AGE_SECONDS,
  type NewHybridToken,
  type SignerType,
} from './schemas.ts'
import { HYBRID_TOKEN_SUBJECT, type KeptTerms, sealTerms, tokenDigestOf } from './sealed-terms.ts'
import { checkSignature, type Half } from './signatures.ts'
import { hybridTokens } from './store.ts'

export interface IssueDeps extends KeyDeps {
  readonly signers: Pick<Signers, 'current' | 'postQuantum' | 'publicKey'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly nullifiers: Pick<typeof Nullifiers, 'createNullifierSweep' | 'issuedNullifierRow'>
}

/** Whose proofs hybrid tokens can have. */
export const CIRCUIT = 'quantum_safe_token'
const MS_PER_SECOND = 1000
const SALT_BYTES = 31
const BITS_CLASSICAL = 1
const BITS_PQ = 2
const HALVES: readonly Half[] = ['classical', 'pq']
/** Claimed once for each token. */
const ISSUED = CLAIM_KINDS.hybridTokenIssued

const refuse = (path: string, code: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code, message }] })

/** Characters of base64url without padding. */
const characters = (bytes: number): number => Math.ceil((bytes * 4) / 3)

/** The longest word that says who signed. */
const LONGEST_SIGNER: SignerType = 'service'

/** @throws AppError validation_failed where the token would be larger than tokens may be */
const demandSize = (content: HybridContent): void => {
  const filled = (bytes: number) => 'A'.repeat(characters(bytes))
  const bytes = hybridTokenBytes({
    ...content,
    kid_classical: 'A'.repeat(43),
    kid_pq: 'A'.repeat(43),
    sig_classical: filled(SIGNATURE_BYTES[content.alg_classical]),
    sig_pq: filled(SIGNATURE_BYTES[content.alg_pq]),
    signed_by: LONGEST_SIGNER,
  })
  const tooMany = bytes - MAX_HYBRID_TOKEN_BYTES
  if (tooMany > 0)
    refuse('/claims', 'too_large', `subject and claims make the token ${tooMany} bytes too large`)
}

const demandClaims = (claims: unknown): void => {
  const fault = claimsFault(claims)
  if (fault === 'no_decision') refuse('/claims/decision', 'enum', 'must be 0 or 1')
  if (fault !== undefined)
    refuse('/claims', 'too_deep', `must nest at most ${MAX_CLAIMS_DEPTH} levels of finite values`)
}

/** @throws AppError validation_failed for claims, times and sizes that no token has */
const contentOf = (
  input: NewHybridToken,
  more: Pick<HybridContent, 'token_id' | 'iat' | 'kid_classical' | 'kid_pq'>,
  now: number,
): HybridContent => {
  const {
    subject,
    claims = { decision: 1 },
    alg_classical = 'Ed25519',
    alg_pq = 'Dilithium3',
    verification_policy = 'hybrid_required',
    exp = more.iat + DEFAULT_LIFE_SECONDS,
  } = input
  demandClaims(claims)
  if (exp * MS_PER_SECOND <= now) refuse('/exp', 'out_of_range', 'must be later than now, in Unix seconds')
  if (exp - more.iat > MAX_LIFE_SECONDS)
    refuse('/exp', 'out_of_range', `must be at most ${MAX_LIFE_SECONDS} seconds after iat`)
  const content = { subject, claims, alg_classical, alg_pq, verification_policy, exp, ...more }
  demandSize(content)
  return content
}

const kidOf = ({ kid_classical = '', kid_pq = '' }: NewHybridToken, half: Half): string =>
  half === 'classical' ? kid_classical : kid_pq

const signatureOf = ({ sig_classical = '', sig_pq = '' }: NewHybridToken, half: Half): string =>
  half === 'classical' ? sig_classical : sig_pq

/** Naming a key asks for a token under that key. Signatures without a key can't be anyone's: the service signs then. */
export const isSignedByCaller = (input: NewHybridToken): boolean =>
  HALVES.some((half) => kidOf(input, half) !== '')

/**
 * The caller's signer behind the keys that are named.
 * @throws AppError validation_failed for keys that aren't its own active ones of these algorithms, or not one owner's
 */
const demandSigner = async (
  deps: KeyDeps,
  { organisation }: Caller,
  content: HybridContent,
): Promise<Signer> => {
  const demanded = demandedSignatures(content.verification_policy)
  const found: Signer[] = []
  for (const half of HALVES) {
    const path = `/kid_${half}`
    const kid = content[`kid_${half}`]
    if (kid === '') {
      if (demanded[half]) refuse(path, 'required', 'is required by the verification_policy')
      continue
    }
    const key = await findSignerKey(deps, organisation, content[`alg_${half}`], kid)
    if (key === undefined || key.signer.type === 'service')
      return refuse(path, 'unknown_key', 'must be an active key of your organisation with this algorithm')
    if (found[0] !== undefined && found[0].id !== key.signer.id)
      refuse(path, 'owner_mismatch', 'must be a key of the same agent or device as the other one')
    found.push(key.signer)
  }
  return found[0] ?? refuse('/kid_classical', 'required', 'a key is required')
}

/** What the caller's keys have to sign. @throws AppError validation_failed */
export const prepareContent = async (
  deps: IssueDeps,
  caller: Caller,
  input: NewHybridToken,
): Promise<HybridContent> => {
  const now = deps.clock.now()
  const kids = { kid_classical: kidOf(input, 'classical'), kid_pq: kidOf(input, 'pq') }
  const fresh = { token_id: newId('hyt', now), iat: Math.floor(now / MS_PER_SECOND), ...kids }
  const content = contentOf(input, fresh, now)
  await demandSigner(deps, caller, content)
  return content
}

/** A token with its signatures, ready to be recorded. */
export interface MadeToken {
  readonly token: HybridTokenIssued
  /** Signatures that were verified, or made here. */
  readonly holds: Demanded
}

const toIssued = (
  content: HybridContent,
  signatures: Pick<HybridTokenIssued, 'sig_classical' | 'sig_pq' | 'signed_by'>,
): HybridTokenIssued => ({ ...content, claims: { ...content.claims }, ...signatures })

/** A token that the service signs, always with both keys. @throws AppError validation_failed */
export const signByService = async (
  { signers, clock }: IssueDeps,
  input: NewHybridToken,
): Promise<MadeToken> => {
  const { alg_classical = 'Ed25519', alg_pq = 'Dilithium3' } = input
  const now = clock.now()
  const [classical, pq] = await Promise.all([
    signers.current(KEY_PURPOSE, SIGNING_ALGORITHM[alg_classical]),
    signers.postQuantum(KEY_PURPOSE, SIGNING_ALGORITHM[alg_pq]),
  ])
  const fresh = { token_id: newId('hyt', now), iat: Math.floor(now / MS_PER_SECOND) }
  const content = contentOf(input, { ...fresh, kid_classical: classical.kid, kid_pq: pq.kid }, now)
  const bytes = hybridSigningBytes(content)
  const text = (signature: Uint8Array) => Buffer.from(signature).toString('base64url')
  const token = toIssued(content, {
    sig_classical: text(classical.sign(bytes)),
    sig_pq: text(await pq.sign(bytes, HYBRID_TOKEN_CONTEXT)),
    signed_by: 'service',
  })
  return { token, holds: { classical: true, pq: true } }
}

/** @throws AppError validation_failed unless each half has both key and signature, or neither */
const demandPairs = (input: NewHybridToken): void => {
  for (const half of HALVES) {
    const [kid, signature] = [kidOf(input, half), signatureOf(input, half)]
    if (kid !== '' && signature === '') refuse(`/sig_${half}`, 'required', 'is required with its kid')
    if (kid === '' && signature !== '') refuse(`/kid_${half}`, 'required', 'is required with its signature')
  }
}

/**
 * A token that keys of the caller's signed, as {@link prepareContent} said it.
 * @throws AppError validation_failed, signature_invalid
 */
export const verifySignedByCaller = async (
  deps: IssueDeps,
  caller: Caller,
  input: NewHybridToken,
): Promise<MadeToken> => {
  demandPairs(input)
  const now = deps.clock.now()
  const token_id = input.token_id ?? refuse('/token_id', 'required', 'is required with signatures')
  const iat = input.iat ?? refuse('/iat', 'required', 'is required with signatures')
  const age = Math.floor(now / MS_PER_SECOND) - iat
  if (age < 0 || age > MAX_PREPARED_AGE_SECONDS)
    refuse('/iat', 'out_of_range', `must be now or at most ${MAX_PREPARED_AGE_SECONDS} seconds ago`)
  const kids = { kid_classical: kidOf(input, 'classical'), kid_pq: kidOf(input, 'pq') }
  const content = contentOf(input, { token_id, iat, ...kids }, now)
  const signer = await demandSigner(deps, caller, content)
  const token = toIssued(content, {
    sig_classical: signatureOf(input, 'classical'),
    sig_pq: signatureOf(input, 'pq'),
    signed_by: signer.type,
  })
  const holds = { classical: token.sig_classical !== '', pq: token.sig_pq !== '' }
  const bytes = hybridSigningBytes(content)
  for (const half of HALVES.filter((one) => holds[one])) {
    const check = await checkSignature(deps, caller.organisation, token, bytes, half)
    if ('signer' in check) continue
    const message = HYBRID_REASONS[check.fault]
    throw new AppError('signature_invalid', {
      message,
      reason: check.fault,
      details: [{ path: `/sig_${half}`, code: 'signature_invalid', message }],
    })
  }
  return { token, holds }
}

/** Issues a token. @param pseudonym of its subject @throws AppError conflict for a second one of the same id */
export const issuing = (
  { sealing, nullifiers }: Pick<IssueDeps, 'sealing' | 'nullifiers'>,
  caller: Caller,
  { token, holds }: MadeToken,
  pseudonym: string,
): Decide<HybridTokenIssued> => {
  const { organisation } = caller
  const { token_id: id, subject, claims, exp, iat } = token
  const digest = digestOf(hybridSigningBytes(token))
  const policyBits = (holds.classical ? BITS_CLASSICAL : 0) + (holds.pq ? BITS_PQ : 0)
  const decision = claims.decision === 1 ? 1 : 0
  const salt = BigInt(`0x${randomBytes(SALT_BYTES).toString('hex')}`)
  const terms: HybridTokenTerms = {
    tokenDigest: tokenDigestOf(digest),
    decision: BigInt(decision),
    exp: BigInt(exp),
    policyBits: BigInt(policyBits),
    salt,
  }
  const commitment = hybridTokenCommitment(terms)
  const nullifier = hybridTokenNullifier(terms)
  const kept: KeptTerms = { salt: String(salt), subject, decision }
  const sealed = sealTerms(sealing, { organisation, id }, kept)
  const expiresAt = exp * MS_PER_SECOND
  return (tx) => {
    if (tx.holder(ISSUED, id)) fail('conflict')
    tx.claim(ISSUED, id)
    const { index } = tx.append({
      type: 'hybrid_token',
      subject: [HYBRID_TOKEN_SUBJECT, subject],
      digest: digest.toString('hex'),
      commitment: commitment.toString(16).padStart(64, '0'),
      data: {
        event: ISSUED,
        verification_policy: token.verification_policy,
        alg_classical: token.alg_classical,
        alg_pq: token.alg_pq,
        signed_by: token.signed_by,
        policy_bits: policyBits,
      },
    })
    tx.write(
      hybridTokens.row({
        organisation,
        id,
        entry_index: index,
        digest,
        policy_bits: policyBits,
        sealed,
        issued_at: iat * MS_PER_SECOND,
        expires_at: expiresAt,
        subject: pseudonym,
      }),
    )
    tx.write(nullifiers.issuedNullifierRow({ circuitId: CIRCUIT, nullifier, organisation, expiresAt }))
    return token
  }
}
