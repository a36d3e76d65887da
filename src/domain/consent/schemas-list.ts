/** Wire shapes of the list of somebody's consents. @module */
import Type, { type Static } from 'typebox'
import { askedId, dateTime, idOf, NextCursor, OfLog, orNull, pageLimit } from '../../json/schemas.ts'
import { ConsentStanding, LogConsent } from './schemas.ts'

const MAX_PAGE_CONSENTS = 100
export const DEFAULT_PAGE_CONSENTS = 50

export const ConsentsQuery = Type.Object({
  subject: Type.String({
    ...LogConsent.properties.subjectId,
    description: 'Whose consents: `subjectId` as they were recorded with.',
  }),
  cursor: Type.Optional(askedId('cns', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_CONSENTS, DEFAULT_PAGE_CONSENTS),
})
export type ConsentsQuery = Static<typeof ConsentsQuery>

export const ListedConsent = Type.Object(
  {
    consentId: idOf('cns'),
    status: ConsentStanding.properties.status,
    controller: Type.String(),
    purposes: Type.Array(Type.String()),
    supersededPurposes: Type.Array(Type.String(), {
      description: 'Those about which a later record decides.',
    }),
    dataCategories: Type.Array(Type.String()),
    recordedAt: dateTime('When it was recorded.'),
    expiresAt: orNull(dateTime('Until when it holds.')),
    withdrawnAt: orNull(dateTime('When it was withdrawn.')),
    withdrawalReason: orNull(Type.String()),
    log: OfLog,
    merkleIndex: Type.Integer({ minimum: 0, description: 'Index of its entry in the ledger.' }),
  },
  { title: 'ListedConsent' },
)
export type ListedConsent = Static<typeof ListedConsent>

export const ConsentPage = Type.Object(
  { consents: Type.Array(ListedConsent), nextCursor: NextCursor },
  { title: 'ConsentPage' },
)
export type ConsentPage = Static<typeof ConsentPage>
