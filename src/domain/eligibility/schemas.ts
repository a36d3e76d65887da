/** Wire shapes of eligibility. @module */
import Type, { type Static } from 'typebox'
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

export const DataSource = Type.Object(
  {
    id: SourceId,
    type: Type.Enum([...SOURCE_TYPES], {
      description:
        '`inline`: the facts are `data`. `hermes`: asks the route `slug`. `kyc`, `aml`: what is known of the person `userId`. `consent`: the consent of `userId` to `purpose`. `credential`: the token in `data`.',
    }),
    data: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: MAX_SOURCE_KEYS,
        description:
          'The facts of an inline source, or `{token, audience?}` of a credential: the text of a token, or a hybrid token. Neither stored nor logged.',
      }),
    ),
    slug: Type.Optional(SlugParams.properties.slug),
    criteria: Type.Optional(TypedQuestion),
    userId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_IDENTIFIER_CHARACTERS,
        description: 'Whom a source of type kyc, aml or consent is asked about. Absent: `identifier`.',
      }),
    ),
    purpose: Type.Optional(LogConsent.properties.purposes.items),
    controller: Type.Optional(LogConsent.properties.controller),
  },
  { title: 'DataSource' },
)
export type DataSource = Static<typeof DataSource>

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
