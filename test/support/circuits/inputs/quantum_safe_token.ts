/** Values that quantum_safe_token has a witness for. @module */
import {
  POLICY_BITS,
  type QuantumSafeTokenValues,
  quantumSafeToken,
} from '../../../../src/circuits/mappers/quantum_safe_token.ts'
import { randomElement } from '../../elements.ts'
import { randomPath } from './audit_proof.ts'

export const quantumSafeTokenValues = (
  changes: Partial<QuantumSafeTokenValues> = {},
): QuantumSafeTokenValues => ({
  tokenDigest: randomElement(),
  decision: 1n,
  exp: 1_900_000_000n,
  policyBits: POLICY_BITS.hybrid,
  salt: randomElement(),
  leafHash: randomElement(),
  position: 0b0100_1100_0101,
  path: randomPath(),
  now: 1_800_000_000n,
  requiredBits: POLICY_BITS.pq,
  ctx: randomElement(),
  ...changes,
})

export const goodInput = quantumSafeToken.witnessInput(quantumSafeTokenValues())
