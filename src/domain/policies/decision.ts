/** The ledger item of a policy decision: signed inside the commit, where its place in the ledger is known. @module */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { newId } from '../../ids.ts'
import type { Item, Take } from '../../ledger/item.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import type { Row } from '../../store/table.ts'
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
  /** Name and version of the policy that decided. */
  readonly policy: string
  readonly version: number
  readonly signer: ResultSigner
  readonly take: Take | undefined
  readonly rows: readonly Row[]
  /** Unix ms. */
  readonly at: number
}

/** The item of a decision: an entry of type `gate` about the subject that wanted to act. */
export const decisionItem = (decided: Decided): Item<DecisionAnswer> => {
  const { caller, issuer, request, policy, version, signer, take, rows, at } = decided
  const id = newId('dec', at)
  const decision = decided.decision === 'YES'
  const reason_codes = [...decided.reasonCodes]
  const salt = randomBytes(COMMITMENT_SALT_BYTES)
  const { subject } = request
  return {
    takes: take === undefined ? [] : [take],
    entry: {
      type: 'gate',
      subject: ['subject', JSON.stringify([subject.type, subject.id])],
      data: { event: 'policy.decided', decisionId: id, decision, policy, version },
    },
    rows: () => rows,
    result: ({ leafHash }) => ({
      decision,
      context: {
        decision_id: id,
        reason_codes,
        obligations: [...decided.obligations],
        policy,
        policy_version: version,
        evaluated_at: iso(at),
        salt: salt.toString('base64url'),
        jws: signer.jws('pd+jws', {
          iss: issuer,
          jti: id,
          iat: Math.floor(at / MS_PER_SECOND),
          org: caller.organisation,
          decision,
          reason_codes,
          policy,
          policy_version: version,
          request_commitment: dataCommitment(salt, request),
          leaf_hash: leafHash,
        }),
      },
    }),
  }
}
