/** Wire shapes of what eligibility answers. @module */
import Type, { type Static } from 'typebox'
import { DateTime, idOf, orNull } from '../../json/schemas.ts'
import { ProofContextJson, SnarkProofJson } from '../proofs/schemas.ts'
import { TokenIssued } from '../tokens/schemas.ts'
import { SOURCE_TYPES } from './schemas.ts'

const Hex = (description: string) => Type.String({ description: `${description}, lower-case hex.` })

const eligibleFields = {
  eligible: Type.Boolean(),
  reason: Type.Optional(
    Type.Enum(['missing_data'], {
      description: 'Why the person is not eligible, if the reason is not simply that the rules do not hold.',
    }),
  ),
}

const Member = Type.Object(
  {
    source: Type.String(),
    type: Type.Enum([...SOURCE_TYPES]),
    commitment: Hex(
      'SHA-256 of `commitment/1`, the salt of the source and the canonical JSON of {source, type, data}',
    ),
  },
  { title: 'SourceCommitment' },
)

const Salts = Type.Record(Type.String(), Type.String(), {
  description: 'By source, base64url, 32 bytes: opens the commitment of that source only. Shown once.',
})

const provenFields = {
  root: Hex(
    'RFC 6962 root over the commitments, as texts of 64 digits; bound by the proof as `sources_root`',
  ),
  count: Type.Integer({ minimum: 1, description: 'Members.' }),
  members: Type.Array(Member, { description: 'The sources, in the order of the request.' }),
  proof: SnarkProofJson,
  publicInputs: Type.Array(Type.String({ description: 'Canonical decimal.' })),
  proofId: idOf('prf'),
  circuitId: Type.Enum(['eligibility', 'composite']),
  digest: Hex("SHA-256 over the circuit's id and the public signals"),
  context: ProofContextJson,
}

export const AggregatedProof = Type.Object(provenFields, { title: 'AggregatedProof' })
export type AggregatedProof = Static<typeof AggregatedProof>

export const EligibilityAnswer = Type.Object(
  {
    ...eligibleFields,
    token: orNull(TokenIssued.properties.token, {
      description: 'Null unless eligible.',
    }),
    tokenId: orNull(TokenIssued.properties.tokenId),
    tokenExpiresAt: orNull(DateTime),
    ...provenFields,
    salts: Salts,
  },
  { title: 'EligibilityAnswer' },
)
export type EligibilityAnswer = Static<typeof EligibilityAnswer>

export const CompositeAnswer = Type.Object(
  { ...eligibleFields, aggregatedProof: AggregatedProof, salts: Salts },
  { title: 'CompositeAnswer' },
)
export type CompositeAnswer = Static<typeof CompositeAnswer>
