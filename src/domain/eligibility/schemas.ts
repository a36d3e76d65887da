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
    'Whom it is about: the subject of the token, the item that a hermes source without criteria asks for, and the person of sources without userId. Only a keyed hash of it is kept.',
})

const SourceId = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_-]{0,31}$',
  description: 'Names the source in rules.',
})

const UserId = Type.String({
  minLength: 1,
  maxLength: MAX_IDENTIFIER_CHARACTERS,
  description: 'Whom it is asked about. Absent: `identifier`.',
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

const PERSON_KNOWN = 'What is known of the person.'
const NAMELESS = 'Named by itself, where there is no `identifier`.'
const consentAsked = {
  purpose: LogConsent.properties.purposes.items,
  controller: Type.Optional(LogConsent.properties.controller),
}
const inline = sourceOf('inline', 'InlineSource', 'The facts themselves.', {
  data: SourceData('Neither stored nor logged.'),
})
const hermes = sourceOf('hermes', 'HermesSource', 'What a hermes route answers.', {
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
  description: 'Where the facts come from. A source that fails is an error (502) and never a NO.',
} as const
const DataSources = Type.Array(DataSource, SOURCES)

const Source = Type.Optional(
  Type.String({
    description:
      "The id of the source whose data `field` is looked up in. Without it, the field begins with a source's id (`passport.country`), or there is one source only.",
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
  { title: 'EligibilityTokenConfig', description: 'Of the token that whoever is eligible gets.' },
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
    description: 'Without `identifier` each source that is of a person says of whom, in `userId`.',
  },
)
export type CompositeCheck = AnyForm<Static<typeof CompositeCheck>>
