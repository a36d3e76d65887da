/**
 * The decision that issues a result. It is signed inside the commit, where its place in the ledger is known: so what is
 * acknowledged is signed and stored, and there is never a moment between the two.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { newId } from '../../ids.ts'
import type { Decide, Entry, Place, Receipt, Tx } from '../../ledger/decision.ts'
import { named } from '../../ledger/logs.ts'
import type { Row } from '../../store/table.ts'
import { PROOF_CREATED } from '../webhooks/events.ts'
import type { SignedResult } from './schemas.ts'
import { jwsHash, RESULT_TYPES, type ResultSigner, type SignedFields } from './signed-result.ts'
import type { DataStatement } from './statement.ts'
import { verifications } from './store.ts'

const MS_PER_SECOND = 1000
/** `question` of a result that only attests what was submitted. */
export const NO_QUESTION = 'none'

/** What is issued of a statement. */
export interface IssuedStatement
  extends Pick<
    DataStatement,
    'decision' | 'reason' | 'digest' | 'dataCommitment' | 'rulesHash' | 'asked' | 'salt' | 'at' | 'expiresAt'
  > {
  readonly circuitId: string
  readonly commitment?: string
}

export interface ReceiptOptions {
  /** Whether witnesses cosign the checkpoints of log 0. */
  readonly hasWitnesses: boolean
}

export interface Issue {
  readonly caller: Caller
  /** BASE_URL. */
  readonly issuer: string
  readonly statement: IssuedStatement
  readonly signer: ResultSigner
  /** `prf_…`, where a proof was made, which the same entry records. */
  readonly proofId?: string
  /** Whom the entry is about; default: who asked. */
  readonly subject?: Entry['subject']
  /** Signed besides what every result says. */
  readonly signed?: SignedFields
  /** What the receipt tells besides the place in the log; absent: the answer has none. */
  readonly receipt?: ReceiptOptions
  /** Takes what the result costs, before anything is written; may throw. */
  readonly reserve: (tx: Tx) => void
  /** Writes what goes with the result, its proof included. Pure. @param index of the entry */
  readonly write: (tx: Tx, verificationId: string, index: number) => void
}

const seconds = (unixMs: number): number => Math.floor(unixMs / MS_PER_SECOND)

/** Where anyone can look a result up. @param hash SHA-256 of its JWS */
export const qrUrlOf = (issuer: string, hash: Uint8Array): string =>
  `${issuer}/verify/qr/${Buffer.from(hash).toString('base64url')}`

const signJws = (
  { caller, issuer, statement, signer, signed }: Issue,
  id: string,
  leafHash: string,
): string =>
  signer.jws(RESULT_TYPES.verification, {
    ...signed,
    iss: issuer,
    jti: id,
    iat: seconds(statement.at),
    exp: statement.expiresAt && seconds(statement.expiresAt),
    digest: statement.digest,
    data_commitment: statement.dataCommitment,
    decision: statement.decision,
    circuit_id: statement.circuitId,
    org: caller.organisation,
    question: statement.rulesHash ?? NO_QUESTION,
    leaf_hash: leafHash,
  })

const rowOf = ({ caller, statement, proofId }: Issue, id: string, place: Place, jws: string): Row =>
  verifications.row({
    id,
    organisation: caller.organisation,
    entry_index: place.index,
    leaf_hash: Buffer.from(place.leafHash, 'hex'),
    decision: statement.decision,
    reason: statement.reason ?? null,
    digest: statement.digest,
    circuit_id: statement.circuitId,
    proof_id: proofId ?? null,
    jws,
    jws_hash: jwsHash(jws),
    issued_at: statement.at,
    expires_at: statement.expiresAt ?? null,
    asked: statement.asked ?? null,
  })

const receiptOf = (issuer: string, { hasWitnesses }: ReceiptOptions, receipt: Receipt) => {
  const { log, entryId, index, leafHash, treeSize, root } = receipt
  const ofLog = log === 0 ? '' : `&log=${log}`
  const inclusion = `${issuer}/api/audit/inclusion?index=${index}&treeSize=${treeSize}${ofLog}`
  // No write waits for a witness, so that none has seen the entry yet.
  const witnessed = hasWitnesses && log === 0 ? { witnessed: 'pending' as const } : {}
  return { ...named(log), entryId, index, leafHash, treeSize, root, inclusion, ...witnessed }
}

/** Issues a result. @param answer what the caller gets of the signed result */
export const issueResult = <R>(issue: Issue, answer: (result: SignedResult) => R): Decide<R> => {
  const { issuer, statement, signer, proofId } = issue
  const id = newId('ver', statement.at)
  const timestamp = iso(statement.at)
  const { digest, decision, circuitId } = statement
  const signature = signer.signature('verification/1', {
    verificationId: id,
    timestamp,
    digest,
    decision,
    circuitId,
  })
  const entry: Entry = {
    type: 'verify',
    ...(issue.subject && { subject: issue.subject }),
    digest,
    commitment: statement.commitment,
    circuitId,
    proofId,
    data: {
      decision,
      ...(statement.reason && { reason: statement.reason }),
      ...(proofId !== undefined && { event: PROOF_CREATED }),
    },
  }
  return (tx) => {
    issue.reserve(tx)
    const place = tx.append(entry)
    issue.write(tx, id, place.index)
    return tx.withRoot((root, treeSize) => {
      const jws = signJws(issue, id, place.leafHash)
      tx.write(rowOf(issue, id, place, jws))
      return answer({
        success: decision !== 'NO',
        verificationId: id,
        timestamp,
        decision,
        ...(statement.reason && { reason: statement.reason }),
        jws,
        signature,
        digest,
        salt: Buffer.from(statement.salt).toString('base64url'),
        circuitId,
        rulesHash: statement.rulesHash,
        question: statement.rulesHash ?? NO_QUESTION,
        ...named(place.log),
        merkleRoot: root,
        merkleLeafHash: place.leafHash,
        merkleIndex: place.index,
        kid: signer.kid,
        qrUrl: qrUrlOf(issuer, jwsHash(jws)),
        ...(statement.expiresAt !== undefined && { expiresAt: iso(statement.expiresAt) }),
        ...(issue.receipt && { receipt: receiptOf(issuer, issue.receipt, { ...place, root, treeSize }) }),
      })
    })
  }
}
