/** Wire shapes of eligibility. @module */
import Type, { type Static, type TProperties } from 'typebox'
import type { AnyForm } from '../../json/forms.ts'
import { rulesOf } from '../../rules/schemas.ts'
import { LogConsent } from '../consent/schemas.ts'
import { SlugParams, TypedQuestion } from '../hermes/schemas.ts'
import { NewToken } from '../tokens/schemas.ts'

export const MAX_DATA_SOURCES = 8
const MAX_RULES = 16
const MAX_SOURCE_KEYS = 1000
const MAX_IDENTIFIER_CHARACTERS = 256
export const SOURCE_TYPES = ['inline', 'hermes', 'kyc', 'aml', 'consent', 'credential'] as const
export type SourceType = (typeof SOURCE_TYPES)[number]

const Identifier = Type.String({
  minLength: 1,
  maxLength: MAX_IDENTIFIER_CHARACTERS,
  description:
    'The person: subject of the token, id of the item for a hermes source without criteria, and person of sources without userId. Only a keyed hash of it is stored.',
})

const SourceId = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_-]{0,31}$',
  description: 'Id of the source, for use in rules.',
})

const UserId = Type.String({
  minLength: 1,
  maxLength: MAX_IDENTIFIER_CHARACTERS,
  description: 'The person that the source is queried for. Default: `identifier`.',
})
const SourceData = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { maxProperties: MAX_SOURCE_KEYS, description })

/** What sources of a type have besides the id that names them in rules. */
const sourceOf = <const T extends SourceType, P extends TProperties>(
  type: T,
  title: string,
  description: string,
  properties: P,
) => Type.Object({ id: SourceId, type: Type.Literal(type), ...properties }, { title, description })

const PERSON_KNOWN = 'The facts about the person.'
const NAMELESS = 'The person, if there is no `identifier`.'
const consentAsked = {
  purpose: LogConsent.properties.purposes.items,
  controller: Type.Optional(LogConsent.properties.controller),
}
const inline = sourceOf('inline', 'InlineSource', 'The facts themselves.', {
  data: SourceData('Neither stored nor logged.'),
})
const hermes = sourceOf('hermes', 'HermesSource', 'The answer of a hermes route.', {
  slug: SlugParams.properties.slug,
  criteria: Type.Optional(TypedQuestion),
})
const credential = sourceOf('credential', 'CredentialSource', 'A token.', {
  data: SourceData(
    '`{token, audience?}`: the text of a token, or a hybrid token. Neither stored nor logged.',
  ),
})

export const DataSource = Type.Union(
  [
    inline,
    hermes,
    sourceOf('kyc', 'KycSource', PERSON_KNOWN, { userId: Type.Optional(UserId) }),
    sourceOf('aml', 'AmlSource', PERSON_KNOWN, { userId: Type.Optional(UserId) }),
    sourceOf('consent', 'ConsentSource', 'The consent of the person to `purpose`.', {
      userId: Type.Optional(UserId),
      ...consentAsked,
    }),
    credential,
  ],
  { title: 'DataSource' },
)

/** Of a question without `identifier`. */
const NamedSource = Type.Union(
  [
    inline,
    hermes,
    sourceOf('kyc', 'NamedKycSource', NAMELESS, { userId: UserId }),
    sourceOf('aml', 'NamedAmlSource', NAMELESS, { userId: UserId }),
    sourceOf('consent', 'NamedConsentSource', NAMELESS, { userId: UserId, ...consentAsked }),
    credential,
  ],
  { title: 'NamedSource' },
)
export type DataSource = AnyForm<Static<typeof DataSource>>

const SOURCES = {
  minItems: 1,
  maxItems: MAX_DATA_SOURCES,
  description: 'Where the facts come from. If a source fails, the answer is an error (502), never a NO.',
} as const
const DataSources = Type.Array(DataSource, SOURCES)

const Source = Type.Optional(
  Type.String({
    description:
      'The id of the source that `field` belongs to. Without it, the field must begin with the id of a source (`passport.country`), unless there is only one source.',
  }),
)

const { Rule: SourceRule, Logic: SourceLogic } = rulesOf(
  'Source',
  { source: Source },
  'One condition on the data of a source.',
)

const TokenConfig = Type.Object(
  {
    type: NewToken.properties.type,
    ttl: NewToken.properties.ttl,
    audience: NewToken.properties.audience,
    singleUse: NewToken.properties.singleUse,
  },
  { title: 'EligibilityTokenConfig', description: 'Lifetime of the token.' },
)

export const EligibilityCheck = Type.Object(
  {
    identifier: Identifier,
    dataSources: DataSources,
    rules: Type.Array(SourceRule, {
      minItems: 1,
      description: `All of these must hold. 1 to ${MAX_RULES} rules.`,
    }),
    tokenConfig: Type.Optional(TokenConfig),
  },
  { title: 'EligibilityCheck' },
)
export type EligibilityCheck = Static<typeof EligibilityCheck>

export const CompositeCheck = Type.Union(
  [
    Type.Object({ identifier: Identifier, dataSources: DataSources, logicTree: SourceLogic }),
    Type.Object({ dataSources: Type.Array(NamedSource, SOURCES), logicTree: SourceLogic }),
  ],
  {
    title: 'CompositeCheck',
    description: 'Without `identifier`, each source about a person must name the person in `userId`.',
  },
)
export type CompositeCheck = AnyForm<Static<typeof CompositeCheck>>
