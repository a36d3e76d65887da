/** Results after they were made: looked up by anyone who has their address, by their owner, and revoked. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { drawQrCode, type QrFormat } from '../../http/qr-code.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import { readJws } from '../../protocol/jws.ts'
import type { Database } from '../../store/database.ts'
import type { revokedDigestClaim } from '../proofs/spending/spend-keys.ts'
import { isIncomplete } from './asked.ts'
import { NO_QUESTION, qrUrlOf } from './issue.ts'
import {
  AS_DECIDED,
  AS_RESULTED,
  type PublicResult,
  type Revoked,
  type RevokeResult,
  type StoredResult,
} from './schemas.ts'
import type { PolicyVerification } from './schemas-v1.ts'
import * as store from './store.ts'

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append'>
  readonly clock: Clock
  /** A proof of a withdrawn result is neither verified nor spent. */
  readonly revokedDigestClaim: typeof revokedDigestClaim
  /** BASE_URL. */
  readonly issuer: string
}

/** What a result says it was asked. */
const questionOf = (jws: string): string | null => {
  const question = readJws(jws)?.payload.question
  return typeof question === 'string' ? question : null
}

/** @param now Unix ms */
export const statusOf = (
  row: Pick<store.VerificationStanding, 'revoked_at' | 'expires_at'>,
  now: number,
): PublicResult['status'] => {
  if (row.revoked_at !== null) return 'REVOKED'
  return row.expires_at !== null && row.expires_at <= now ? 'EXPIRED' : 'VALID'
}

export const createLookup = ({ database, logs, ledger, clock, revokedDigestClaim, issuer }: Deps) => {
  const toPublic = async (row: store.VerificationStanding): Promise<PublicResult> => {
    const now = clock.now()
    const question = questionOf(row.jws)
    const isTold = question === NO_QUESTION || (row.asked !== null && !isIncomplete(row.asked))
    return {
      success: true,
      status: statusOf(row, now),
      verificationId: row.id,
      timestamp: iso(row.issued_at),
      decision: row.decision,
      question,
      asked: row.asked,
      circuitId: row.circuit_id,
      proven: row.proof_id !== null,
      proof: isTold ? row.proof : null,
      ...named(await logs.of(row.organisation)),
      merkleIndex: row.entry_index,
      issuer,
      jws: row.jws,
      checkedAt: iso(now),
    }
  }

  const toStored = async (row: store.VerificationStanding): Promise<StoredResult> => ({
    ...(await toPublic(row)),
    reason: row.reason,
    digest: row.digest,
    proofId: row.proof_id,
    merkleLeafHash: Buffer.from(row.leaf_hash).toString('hex'),
    qrUrl: qrUrlOf(issuer, row.jws_hash),
    expiresAt: row.expires_at === null ? null : iso(row.expires_at),
    revokedAt: row.revoked_at === null ? null : iso(row.revoked_at),
  })

  /** As POST /v1/verify told it. */
  const toDecided = async (row: store.VerificationStanding): Promise<Partial<PolicyVerification>> => ({
    decision: row.decision === 'YES' ? 1 : 0,
    verdict: row.decision === 'YES' ? 'YES' : 'NO',
    circuit_id: row.circuit_id,
    digest: row.digest,
    ...(row.proof_id !== null && { proof_id: row.proof_id }),
    jws: row.jws,
    issued_at: iso(row.issued_at),
    expires_at: row.expires_at === null ? null : iso(row.expires_at),
    ...named(await logs.of(row.organisation)),
    merkle_leaf_hash: Buffer.from(row.leaf_hash).toString('hex'),
  })

  const byHash = async (hash: string): Promise<store.VerificationStanding> =>
    (await store.findByHash(database, Buffer.from(hash, 'base64url'))) ?? fail('not_found')

  const owned = async ({ organisation }: Caller, id: string): Promise<store.VerificationStanding> =>
    (await store.findVerification(database, organisation, id)) ?? fail('not_found')

  return {
    /**
     * What anyone may know who was given a result's address.
     * @param hash base64url SHA-256 of the JWS
     * @throws AppError not_found
     */
    lookUp: async (hash: string): Promise<PublicResult> => toPublic(await byHash(hash)),

    /** @param hash base64url SHA-256 of the JWS */
    isKnown: async (hash: string): Promise<boolean> =>
      (await store.findByHash(database, Buffer.from(hash, 'base64url'))) !== undefined,

    /** A QR code that holds a result's address. @throws AppError not_found */
    qrCode: async (hash: string, format: QrFormat): Promise<string | Buffer> =>
      drawQrCode(qrUrlOf(issuer, (await byHash(hash)).jws_hash), format),

    /** A result of the caller's organisation. @throws AppError not_found */
    find: async (caller: Caller, verificationId: string): Promise<StoredResult> =>
      toStored(await owned(caller, verificationId)),

    /** Withdraws a result for good: whoever looks it up is told so. Again: the first answer. @throws AppError not_found, read_only */
    async revoke(caller: Caller, result: RevokeResult): Promise<Revoked> {
      const row = await owned(
        caller,
        'verification_id' in result ? result.verification_id : result.verificationId,
      )
      if ('verification_id' in result) requireUnchanged(result, await toDecided(row), AS_DECIDED)
      else requireUnchanged(result, await toStored(row), AS_RESULTED)
      const { id, organisation, digest } = row
      const answer = (at: number): Revoked => ({
        success: true,
        verificationId: id,
        status: 'REVOKED',
        revokedAt: iso(at),
      })
      return ledger.append(caller, (tx) => {
        const ofDigest = revokedDigestClaim(digest)
        const first = tx.holder(CLAIM_KINDS.verificationRevoked, id) ?? tx.holder(...ofDigest)
        if (first) return answer(first.at)
        tx.claim(CLAIM_KINDS.verificationRevoked, id)
        tx.claim(...ofDigest)
        const { index } = tx.append({ type: 'revoke', digest, data: { event: 'verification.revoked' } })
        tx.write(
          store.verificationRevocations.row({
            verification: id,
            organisation,
            entry_index: index,
            revoked_at: tx.at,
          }),
        )
        return answer(tx.at)
      })
    },
  }
}
