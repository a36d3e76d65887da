/** Values that audit_proof has a witness for. @module */
import { type AuditProofValues, auditProof } from '../../../../src/circuits/mappers/audit_proof.ts'
import { SHARD_DEPTH } from '../../../../src/circuits/mappers/shard-member.ts'
import { randomElement } from '../../elements.ts'

/** Siblings of some leaf. */
export const randomPath = (): bigint[] => Array.from({ length: SHARD_DEPTH }, randomElement)

export const auditProofValues = (changes: Partial<AuditProofValues> = {}): AuditProofValues => ({
  entryType: 1n,
  leafHash: randomElement(),
  commitment: randomElement(),
  salt: randomElement(),
  position: 0b1011_0011_1010,
  path: randomPath(),
  ctx: randomElement(),
  ...changes,
})

export const goodInput = auditProof.witnessInput(auditProofValues())
