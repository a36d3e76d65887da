/** Wire shapes of the list of proofs. @module */
import Type, { type Static } from 'typebox'
import {
  askedId,
  dateTime,
  idOf,
  OfLog,
  orNull,
  pageLimit,
  SearchedCursor,
  windowParameters,
} from '../../json/schemas.ts'
import { Digest, ProofContextJson, PublicSignals } from './schemas.ts'

const MAX_PAGE_PROOFS = 200
export const DEFAULT_PAGE_PROOFS = 50

export const ProofsQuery = Type.Object({
  ...windowParameters,
  circuitId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only those of this circuit.' }),
  ),
  decision: Type.Optional(
    Type.Enum(['YES', 'NO'], { description: 'Default: all, those that answer no question too.' }),
  ),
  consumed: Type.Optional(Type.Boolean({ description: 'Whether it was spent. Default: all.' })),
  cursor: Type.Optional(askedId('prf', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_PROOFS, DEFAULT_PAGE_PROOFS),
})
export type ProofsQuery = Static<typeof ProofsQuery>

export const ListedProof = Type.Object(
  {
    proofId: idOf('prf'),
    circuitId: Type.String(),
    digest: Digest,
    decision: orNull(Type.Enum(['YES', 'NO']), {
      description:
        'What it shows, with what a policy said of it; null if no question was asked, or nobody knows which.',
    }),
    madeElsewhere: Type.Boolean({ description: 'Whether somebody else made it, such as the holder.' }),
    createdAt: dateTime('When it was made, or recorded; lists and windows go by it.'),
    expiresAt: orNull(dateTime('When it ends.')),
    consumedAt: orNull(dateTime('When it was spent.')),
    revokedAt: orNull(dateTime('When the result that it was made for was revoked.')),
    log: OfLog,
    merkleIndex: Type.Integer({ minimum: 0, description: 'Index of its entry in the ledger.' }),
  },
  { title: 'ListedProof' },
)
export type ListedProof = Static<typeof ListedProof>

export const ProofPage = Type.Object(
  { proofs: Type.Array(ListedProof), nextCursor: SearchedCursor },
  { title: 'ProofPage' },
)
export type ProofPage = Static<typeof ProofPage>

export const ProofPath = Type.Object({ proofId: askedId('prf') })

export const KnownProof = Type.Object(
  {
    ...ListedProof.properties,
    proof: Type.String({ description: '`zk1.` and base64url, as `POST /v1/proofs/verify` takes it.' }),
    publicSignals: PublicSignals,
    context: orNull(ProofContextJson, {
      description: 'What its `ctx` is the hash of, with the statement; null where that is not known.',
    }),
  },
  { title: 'KnownProof' },
)
export type KnownProof = Static<typeof KnownProof>
