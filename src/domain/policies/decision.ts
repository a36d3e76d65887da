/** A policy decision: signed inside the commit, where its place in the ledger is known. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { newId } from '../../ids.ts'
import type { Decide, Tx } from '../../ledger/decision.ts'
import type { Row } from '../../store/table.ts'
import type { Allowance } from '../usage/service.ts'
import type { ResultSigner } from '../verification/signed-result.ts'
import type { PolicyDecision } from './policy.ts'
import type { DecisionAnswer, DecisionRequest } from './schemas-decisions.ts'

const MS_PER_SECOND = 1000

/** A decision that is about to be committed. */
export interface Decided extends PolicyDecision {
  readonly caller: Caller
  /** BASE_URL. */
  readonly issuer: string
  readonly request: DecisionRequest
  /** Opens the commitment. */
  readonly salt: Uint8Array
  /** To the request; made before the commit, which others wait for. */
  readonly commitment: string
  /** Name and version of the policy that decided. */
  readonly policy: string
  readonly version: number
  readonly signer: ResultSigner
  readonly allowance: Allowance | undefined
  readonly rows: readonly Row[]
  /** Unix ms. */
  readonly at: number
}

/** Writes a decision: an entry of type `gate` about the subject that wanted to act. @returns what signs its answer */
const writing = (decided: Decided): ((tx: Tx) => () => DecisionAnswer) => {
  const { caller, issuer, request, salt, commitment, policy, version, signer, allowance, rows, at } = decided
  const id = newId('dec', at)
  const decision = decided.decision === 'YES'
  const reason_codes = [...decided.reasonCodes]
  const { subject } = request
  return (tx) => {
    allowance?.take(tx)
    const { leafHash } = tx.append({
      type: 'gate',
      subject: ['subject', JSON.stringify([subject.type, subject.id])],
      data: { event: 'policy.decided', decisionId: id, decision, policy, version },
    })
    for (const row of rows) tx.write(row)
    return () => ({
      decision,
      context: {
        decision_id: id,
        reason_codes,
        obligations: [...decided.obligations],
        policy,
        policy_version: version,
        evaluated_at: iso(at),
        salt: Buffer.from(salt).toString('base64url'),
        jws: signer.jws('pd+jws', {
          iss: issuer,
          jti: id,
          iat: Math.floor(at / MS_PER_SECOND),
          org: caller.organisation,
          decision,
          reason_codes,
          policy,
          policy_version: version,
          request_commitment: commitment,
          leaf_hash: leafHash,
        }),
      },
    })
  }
}

export const commitDecision = (decided: Decided): Decide<DecisionAnswer> => {
  const write = writing(decided)
  return (tx) => tx.withRoot(write(tx))
}

/** Commits several in their order, all or none. @param present what is answered with all of them */
export const commitDecisions = <R>(
  all: readonly Decided[],
  present: (answers: readonly DecisionAnswer[]) => R,
): Decide<R> => {
  const writes = all.map(writing)
  return (tx) => {
    const signing = writes.map((write) => write(tx))
    return tx.withRoot(() => present(signing.map((sign) => sign())))
  }
}
