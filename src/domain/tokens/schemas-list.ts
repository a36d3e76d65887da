/** Wire shapes of the list of tokens. @module */
import Type, { type Static } from 'typebox'
import { Complete, orNull, pageLimit, SearchedCursor } from '../../json/schemas.ts'
import { NewToken, TOKEN_STATUSES, TOKEN_TYPES, TokenStanding } from './schemas.ts'

const MAX_PAGE_TOKENS = 200
export const DEFAULT_PAGE_TOKENS = 50

export const TokensQuery = Type.Object({
  subject: Type.Optional(
    Type.String({
      ...NewToken.properties.subject,
      description: 'Only those of this subject.',
    }),
  ),
  type: Type.Optional(Type.Enum([...TOKEN_TYPES, 'hybrid'])),
  status: Type.Optional(
    Type.Enum([...TOKEN_STATUSES], {
      description:
        'Default: all. A token that was used up by a proof is shown as `used`, but not found by it.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ pattern: '^(tok|hyt)_[0-9a-z]{26}$', description: '`nextCursor` of the previous page.' }),
  ),
  limit: pageLimit(MAX_PAGE_TOKENS, DEFAULT_PAGE_TOKENS),
})
export type TokensQuery = Static<typeof TokensQuery>

const { checkedAt: _, ...standing } = TokenStanding.properties

export const ListedToken = Type.Object(
  { ...standing, subject: Type.String(), audience: orNull(Type.String()) },
  { title: 'ListedToken' },
)
export type ListedToken = Static<typeof ListedToken>

export const TokenPage = Type.Object(
  { tokens: Type.Array(ListedToken), nextCursor: SearchedCursor, complete: Complete },
  { title: 'TokenPage' },
)
export type TokenPage = Static<typeof TokenPage>
