/** Wire shapes of the list of results. @module */
import Type, { type Static } from 'typebox'
import {
  askedId,
  dateTime,
  idOf,
  orNull,
  pageLimit,
  SearchedCursor,
  windowParameters,
} from '../../json/schemas.ts'
import { PublicResult, StoredResult } from './schemas.ts'

const MAX_PAGE_RESULTS = 200
export const DEFAULT_PAGE_RESULTS = 50

export const ResultsQuery = Type.Object({
  ...windowParameters,
  circuitId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only those of this circuit.' }),
  ),
  decision: Type.Optional(Type.Enum(['YES', 'NO'], { description: 'Default: all, undecided ones too.' })),
  consumed: Type.Optional(Type.Boolean({ description: 'Whether its proof was spent. Default: all.' })),
  cursor: Type.Optional(askedId('ver', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_RESULTS, DEFAULT_PAGE_RESULTS),
})
export type ResultsQuery = Static<typeof ResultsQuery>

const { status, decision, circuitId, log, merkleIndex } = PublicResult.properties
const { reason, digest, proofId, qrUrl, expiresAt, revokedAt } = StoredResult.properties

export const ListedResult = Type.Object(
  {
    verificationId: idOf('ver'),
    timestamp: dateTime('When it was issued; lists and windows go by it.'),
    status,
    decision,
    reason,
    circuitId,
    digest,
    proofId,
    log,
    merkleIndex,
    qrUrl,
    expiresAt,
    revokedAt,
    consumedAt: orNull(dateTime('When its proof was spent.')),
  },
  { title: 'ListedResult' },
)
export type ListedResult = Static<typeof ListedResult>

export const ResultPage = Type.Object(
  { results: Type.Array(ListedResult), nextCursor: SearchedCursor },
  { title: 'ResultPage' },
)
export type ResultPage = Static<typeof ResultPage>
