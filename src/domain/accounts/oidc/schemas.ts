/** Wire forms of signing in with an identity provider. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../../json/schemas.ts'
import { Code } from '../totp/schemas.ts'

export const ProviderInfo = Type.Object(
  { name: orNull(Type.String(), { description: 'What to call it; null where there is none.' }) },
  { title: 'IdentityProvider' },
)
export type ProviderInfo = Static<typeof ProviderInfo>

export const FlowStarted = Type.Object(
  { url: Type.String({ description: 'Where the browser goes next, with the cookie of this answer.' }) },
  { title: 'ProviderSignInStarted' },
)
export type FlowStarted = Static<typeof FlowStarted>

export const Returned = Type.Object(
  {
    query: Type.String({
      maxLength: 8192,
      description: 'The query with which the provider sent the browser to `/console/oidc`.',
    }),
  },
  { title: 'ProviderReturned' },
)
export type Returned = Static<typeof Returned>

export const Link = Type.Object(
  { name: ProviderInfo.properties.name, linkedAt: orNull(DateTime, { description: 'Null: not linked.' }) },
  { title: 'IdentityLink' },
)
export type Link = Static<typeof Link>

export const NewLink = Type.Object(
  { password: Type.String({ maxLength: 1024 }), code: Type.Optional(Code) },
  { title: 'NewIdentityLink' },
)
export type NewLink = Static<typeof NewLink>
