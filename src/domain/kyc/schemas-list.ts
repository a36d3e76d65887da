/** Wire shapes of people as a list, and of decisions on their cases. @module */
import Type, { type Static } from 'typebox'
import { askedId, dateTime, idOf, NextCursor, orNull, pageLimit } from '../../json/schemas.ts'
import { proposalOf } from '../reviews/schemas.ts'
import { PersonParams, PersonStanding } from './schemas.ts'

const MAX_PAGE_PEOPLE = 100
export const DEFAULT_PAGE_PEOPLE = 50
const MAX_REASON_CHARACTERS = 200
const REVIEW_VERDICTS = ['approve', 'reject'] as const
export type ReviewVerdict = (typeof REVIEW_VERDICTS)[number]

export const PeopleQuery = Type.Object({
  userId: Type.Optional(Type.String({ ...PersonParams.properties.userId, description: 'Only this person.' })),
  status: Type.Optional(
    Type.Enum(['review'], {
      description: '`review`: only those whose newest check waits for a decision. Default: all.',
    }),
  ),
  cursor: Type.Optional(askedId('kyc', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_PEOPLE, DEFAULT_PAGE_PEOPLE),
})
export type PeopleQuery = Static<typeof PeopleQuery>

const Proposal = proposalOf(REVIEW_VERDICTS)

export const Person = Type.Object(
  {
    userId: Type.String(),
    ...PersonStanding.properties,
    review: orNull(
      Type.Object(
        {
          reference: idOf('kyc'),
          checkedAt: dateTime('When it was checked.'),
          checks: PersonStanding.properties.checks,
          proposal: orNull(Type.Object(Proposal.properties), {
            description: 'A decision that waits for the account of another member.',
          }),
        },
        { title: 'KycReview' },
      ),
      { description: 'The newest check, where it waits for a decision.' },
    ),
  },
  { title: 'KycPerson' },
)
export type Person = Static<typeof Person>

export const PersonPage = Type.Object(
  { people: Type.Array(Person), nextCursor: NextCursor },
  { title: 'KycPersonPage' },
)
export type PersonPage = Static<typeof PersonPage>

export const DecidePerson = Type.Object(
  {
    reference: askedId('kyc', {
      description:
        '`review.reference` of the check that was looked at; 409 where it is not the newest any more.',
    }),
    verdict: Type.Enum([...REVIEW_VERDICTS], {
      description: '`approve`: verified, at level basic. `reject`: rejected.',
    }),
    reason: Type.String({
      minLength: 1,
      maxLength: MAX_REASON_CHARACTERS,
      description: 'Why, in your words. Stored under the key of the person.',
    }),
  },
  { title: 'DecidePerson' },
)
export type DecidePerson = Static<typeof DecidePerson>
