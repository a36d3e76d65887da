/** What the service knows of `audit_proof`: the caller's entries, and which roots the log holds. @module */
import { auditProof } from '../../../circuits/mappers/audit_proof.ts'
import { fail } from '../../../errors.ts'
import type { Member, Membership } from '../../audit/membership.ts'
import type { Prepared, Statement } from '../statement.ts'
import { rootReasons, rootStated } from './membership.ts'
import { AuditInputs } from './schemas-membership.ts'

interface Deps {
  readonly membership: Membership
}

/** The statement that some entry of the member's shard is behind the commitment. */
export const prepareMember = ({ entryType, commitment, place, root }: Member): Prepared => ({
  statement: rootStated(root),
  signals({ salt, ctx }) {
    const values = { ...place, entryType, commitment, salt, ctx }
    return { publicSignals: auditProof.publicSignals(values), witness: auditProof.witnessInput(values) }
  },
})

export const auditProofStatement = ({ membership }: Deps): Statement => ({
  circuit: auditProof,
  decision: null,
  inputs: AuditInputs,

  async prepare(caller, inputs) {
    // They fit the schema.
    const member = await membership.memberOf(caller, inputs as AuditInputs)
    return prepareMember(member ?? fail('not_found'))
  },

  check: ({ publicSignals, statement }) =>
    rootReasons(membership, statement, auditProof.read(publicSignals).root),
})
