/** What the service knows of `audit_proof`: the caller's entries, and which roots the log holds. @module */
import Type, { type Static } from 'typebox'
import { auditProof } from '../../../circuits/mappers/audit_proof.ts'
import { fail } from '../../../errors.ts'
import type { Member, Membership } from '../../audit/membership.ts'
import { asListed } from '../../audit/schemas.ts'
import type { Prepared, Statement } from '../statement.ts'
import { rootReasons, rootStated } from './logged-root.ts'
import { askedIn, circuitQuestion } from './question.ts'
import { CLOSED, EntryIndex, signalsForm, withAnswer } from './schemas.ts'

const ByIndex = Type.Object({ index: EntryIndex }, CLOSED)
const ByDigest = Type.Object(
  {
    digest: Type.String({
      pattern: '^[0-9a-f]{1,128}$',
      description: 'Digest of one of your entries; the first entry with this digest.',
    }),
  },
  CLOSED,
)
const AuditInputs = Type.Union([ByIndex, ByDigest], {
  title: 'LoggedEntry',
  description: 'One of your entries, by its index or by its digest.',
})
type AuditInputs = Static<typeof AuditInputs>

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

export const auditProofQuestion = circuitQuestion({
  circuit: auditProof.id,
  name: 'proveEntryByCircuit',
  summary: 'Prove that an entry is in the ledger without saying which',
  description:
    'Send `index`, `digest` or `inputs` with one of them. You can send a complete entry of GET /api/audit.',
  // An entry is the caller's own: nothing is presented of which anything could be expected.
  body: Type.Union([withAnswer(asListed, ByIndex), ByDigest, signalsForm(AuditInputs)]),
  field: 'integrity_verified',
  title: 'IntegrityVerification',
  isTrue: 'One of your entries is under a logged root of the ledger; the proof does not say which one.',
  errors: ['read_only'],
  example: { body: { digest: '{loggedDigest}' } },
  async asked(body, caller, { audit }) {
    if (!('index' in body)) return askedIn(body)
    await audit.requireListed(caller, body)
    return { inputs: { index: body.index } }
  },
})
