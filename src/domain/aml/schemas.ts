/** Wire shapes of screening. @module */
import Type, { type Static } from 'typebox'
import { DateTime, dateTime, orNull } from '../../json/schemas.ts'
import { CHECK_TYPES, MIN_IDENTIFIER_CHARACTERS } from './entry.ts'

const MAX_USER_ID_CHARACTERS = 256
const MAX_NAME_CHARACTERS = 200
const MAX_IDENTIFIERS = 20
const MAX_IDENTIFIER_CHARACTERS = 64
const MAX_IDENTIFIER_TYPE_CHARACTERS = 40

export const CheckTypeName = Type.Enum([...CHECK_TYPES])
export const Sha256 = Type.String({ description: '64 lower-case hex digits.' })

export const AmlCheck = Type.Object(
  {
    userId: Type.String({
      minLength: 1,
      maxLength: MAX_USER_ID_CHARACTERS,
      description: 'Your id of the person or company. Stored only as a keyed pseudonym.',
    }),
    checkTypes: Type.Optional(
      Type.Array(CheckTypeName, {
        minItems: 1,
        maxItems: CHECK_TYPES.length,
        uniqueItems: true,
        description: 'Default: all four.',
      }),
    ),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_NAME_CHARACTERS,
        description: 'In any script and order. Default: the name that KYC has for this userId. Never stored.',
      }),
    ),
    dateOfBirth: Type.Optional(Type.String({ format: 'date' })),
    country: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z]{2}$',
        description: 'ISO 3166-1 alpha-2: nationality, or registered country of a company.',
      }),
    ),
    identifiers: Type.Optional(
      Type.Array(
        Type.Object(
          {
            type: Type.Optional(
              Type.String({
                maxLength: MAX_IDENTIFIER_TYPE_CHARACTERS,
                description: 'For your own use: numbers are compared independently of this name.',
              }),
            ),
            value: Type.String({
              minLength: MIN_IDENTIFIER_CHARACTERS,
              maxLength: MAX_IDENTIFIER_CHARACTERS,
            }),
          },
          { title: 'AmlIdentifier' },
        ),
        {
          maxItems: MAX_IDENTIFIERS,
          description: `Numbers of documents and registers, each with at least ${MIN_IDENTIFIER_CHARACTERS} Latin letters or digits.`,
        },
      ),
    ),
  },
  { title: 'AmlCheck' },
)
export type AmlCheck = Static<typeof AmlCheck>

const Explanation = Type.Object(
  {
    attribute: Type.Enum(['name', 'date_of_birth', 'country', 'identifier']),
    effect: Type.Enum(['agrees', 'close', 'differs'], {
      description: '`close` counts neither for nor against a match, except for a name.',
    }),
    detail: Type.String({ description: 'In words, for a person.' }),
  },
  { title: 'AmlExplanation' },
)

export const Match = Type.Object(
  {
    listId: Type.String(),
    entryId: Type.String({ description: "The publisher's id." }),
    entryDigest: Type.String({
      description:
        'SHA-256 of all that the list says of the entry, 64 lower-case hex digits: another one as soon as the publisher changes anything.',
    }),
    name: Type.String({ description: 'The main name of the entry.' }),
    score: Type.Number({
      minimum: 0,
      maximum: 100,
      description:
        'How well the names agree, raised or lowered by the date of birth, and at least 85 where a number agrees; one decimal.',
    }),
    result: Type.Enum(['review', 'hit']),
    explanations: Type.Array(Explanation),
  },
  { title: 'AmlMatch' },
)

/** Why a review is due though nobody was found. */
export const REVIEW_REASONS = ['no_subject_data', 'name_not_comparable'] as const
export type ReviewReason = (typeof REVIEW_REASONS)[number]

const AmlResult = Type.Object(
  {
    checkType: CheckTypeName,
    result: Type.Enum(['clear', 'review', 'hit']),
    riskScore: Type.Integer({
      minimum: 0,
      maximum: 100,
      description: 'Below 43 for clear, 50 to 89 for review, from 90 for a hit.',
    }),
    reason: orNull(Type.Enum([...REVIEW_REASONS]), {
      description:
        'Why the result is review at least, whatever was found: there was no name, or none that can be compared as a whole, such as initials only, or more than 30 words.',
    }),
    listVersion: Type.String({
      description:
        'Version of all loaded lists. Begins with `sample-` if the list of fictional people is one of them.',
    }),
    lists: Type.Array(
      Type.Object(
        {
          listId: Type.String(),
          entries: Type.Integer(),
          sha256: Sha256,
          publishedAt: orNull(DateTime, { description: 'When the publisher made it, if its file says so.' }),
          loadedAt: dateTime('When these entries were first loaded.'),
          ageSeconds: Type.Integer({
            minimum: 0,
            description: 'From `publishedAt`, or else `loadedAt`, to `checkedAt`.',
          }),
          outdated: Type.Boolean({
            description:
              'Whether a newer state of the list could not be loaded, so that its last good one was searched.',
          }),
        },
        { title: 'AmlListUsed' },
      ),
      { description: 'The lists that were searched for this type.' },
    ),
    comparison: Type.String({
      description:
        'Version of the comparison of names. Results of different versions can differ on the same lists.',
    }),
    thresholds: Type.Object(
      { review: Type.Number(), hit: Type.Number() },
      { title: 'AmlThresholds', description: 'Scores from which a name is for review, or can be a hit.' },
    ),
    checkedAt: DateTime,
    matches: Type.Array(Match, { description: 'Best match first, at most ten.' }),
  },
  { title: 'AmlResult' },
)
export type AmlResult = Static<typeof AmlResult>

export const AmlResults = Type.Array(AmlResult, {
  title: 'AmlResults',
  description: 'One per requested type.',
})
