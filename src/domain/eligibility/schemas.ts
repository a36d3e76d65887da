/** Wire shapes of eligibility. @module */
import Type, { type Static, type TProperties } from 'typebox'
import type { AnyForm } from '../../forms.ts'
import { Logic, Rule } from '../../rules/schemas.ts'
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
export const DataSource = Type.Union(
  [
    sourceOf('inline', 'InlineSource', 'The facts themselves.', {
      data: SourceData('Neither stored nor logged.'),
    }),
    sourceOf('hermes', 'HermesSource', 'What a hermes route answers.', {
      slug: SlugParams.properties.slug,
      criteria: Type.Optional(TypedQuestion),
    }),
    sourceOf('kyc', 'KycSource', PERSON_KNOWN, { userId: Type.Optional(UserId) }),
    sourceOf('aml', 'AmlSource', PERSON_KNOWN, { userId: Type.Optional(UserId) }),
    sourceOf('consent', 'ConsentSource', 'The consent of the person to `purpose`.', {
      userId: Type.Optional(UserId),
      purpose: LogConsent.properties.purposes.items,
      controller: Type.Optional(LogConsent.properties.controller),
    }),
    sourceOf('credential', 'CredentialSource', 'A token.', {
      data: SourceData(
        '`{token, audience?}`: the text of a token, or a hybrid token. Neither stored nor logged.',
      ),
    }),
  ],
  { title: 'DataSource' },
)
export type DataSource = AnyForm<Static<typeof DataSource>>

const DataSources = Type.Array(DataSource, {
  minItems: 1,
  maxItems: MAX_DATA_SOURCES,
  description: 'Where the facts come from. A source that fails is an error (502) and never a NO.',
})

const Source = Type.Optional(
  Type.String({
    description:
      "The id of the source whose data `field` is looked up in. Without it, the field begins with a source's id (`passport.country`), or there is one source only.",
  }),
)

export const SourceRule = Type.Object(
  { source: Source, ...Rule.properties },
  { title: 'SourceRule', description: 'One condition on the data of a source.' },
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

export const CompositeCheck = Type.Object(
  {
    identifier: Type.Optional(Identifier),
    dataSources: DataSources,
    logicTree: Type.Object(
      { source: Source, ...Logic.properties },
      {
        title: 'SourceLogic',
        description:
          'A tree of rules under AND, OR, NOT, NAND and NOR, whose leaves are `{source, field, op, value}`.',
      },
    ),
  },
  { title: 'CompositeCheck' },
)
export type CompositeCheck = Static<typeof CompositeCheck>
