/** Values that proof_aggregation has a witness for. @module */
import { aggregateMessage } from '../../../../src/circuits/issuer-signature.ts'
import {
  type AggregateMember,
  aggregateChain,
  type ProofAggregationValues,
  proofAggregation,
} from '../../../../src/circuits/mappers/proof_aggregation.ts'
import { randomElement } from '../../elements.ts'
import { testIssuer } from '../issuer.ts'

export const members = (...decisions: readonly bigint[]): AggregateMember[] =>
  decisions.map((decision) => ({ digest: randomElement() >> 8n, decision }))

/** With `members` or `ctx` others, signed. */
export const proofAggregationValues = (
  changes: Partial<ProofAggregationValues> = {},
): ProofAggregationValues => {
  const { members: proofs = members(1n, 0n, 1n), ctx = randomElement() } = changes
  const message = aggregateMessage({ count: BigInt(proofs.length), ctx, chain: aggregateChain(proofs) })
  return {
    members: proofs,
    signature: testIssuer.sign(message),
    attestor: testIssuer.point,
    ctx,
    ...changes,
  }
}

export const goodInput = proofAggregation.witnessInput(proofAggregationValues())
