/** Wire shapes of continuous screening and its findings. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, idOf, OfLog, orNull, pageLimit, SearchedCursor } from '../../json/schemas.ts'
import { proposalOf } from '../reviews/schemas.ts'
import { AmlCheck, CheckTypeName, Match, Sha256 } from './schemas.ts'
import { VERDICTS } from './subscriptions/records.ts'
import { FINDING_STATES, VOID_REASONS } from './subscriptions/store.ts'

const MAX_REASON_CHARACTERS = 1000
const MAX_PAGE_FINDINGS = 100
export const DEFAULT_PAGE_FINDINGS = 50

const { userId, checkTypes, name, dateOfBirth, country, identifiers } = AmlCheck.properties

export const Subscribe = Type.Object(
  {
    userId: { ...userId, description: 'Your id of the person or company.' },
    checkTypes,
    name: Type.Optional({
      ...name,
      description:
        'In any script and order. Default: name, date of birth and country that KYC has for this userId now. Stored under a key of the person.',
    }),
    dateOfBirth,
    country,
    identifiers,
  },
  { title: 'AmlSubscribe' },
)
export type Subscribe = Static<typeof Subscribe>

export const SubscriptionParams = Type.Object({ userId: AmlCheck.properties.userId })

const Person = Type.Object(
  {
    name: Type.String(),
    dateOfBirth: orNull(Type.String({ format: 'date' })),
    country: orNull(Type.String()),
  },
  { title: 'AmlPerson' },
)

export const FindingDecision = Type.Object(
  {
    verdict: Type.Enum([...VERDICTS]),
    reason: Type.String(),
    decidedAt: DateTime,
    decidedBy: Type.Object(
      {
        kind: Type.String({ description: '`key` or `session`.' }),
        id: Type.String(),
        accountId: Type.Optional(Type.String({ description: 'Of a session.' })),
      },
      { title: 'AmlDecidedBy' },
    ),
    proposedBy: Type.Optional(
      Type.String({ description: 'The account that proposed it, if a second reviewer confirmed it.' }),
    ),
    jws: Type.String({
      description:
        'The decision as a compact JWS of type `aml-decision+jws`, signed by a key of /.well-known/jwks.json.',
    }),
  },
  { title: 'AmlFindingDecision' },
)

export const Finding = Type.Object(
  {
    findingId: idOf('fnd'),
    status: Type.Enum([...FINDING_STATES]),
    userId: Type.String(),
    person: Type.Object(
      { ...Person.properties },
      { description: 'As they were compared.', title: 'AmlPersonFound' },
    ),
    checkTypes: Type.Array(CheckTypeName, {
      description: 'What the entry is listed for. The finding and its decision count for all of it.',
    }),
    ...Match.properties,
    listVersion: Type.String(),
    foundAt: DateTime,
    log: OfLog,
    leafIndex: Type.Integer({ description: 'Of its entry in the log.' }),
    version: Type.Integer({
      description:
        'Grows with each proposal and decision: the index of the newest entry about what is shown here.',
    }),
    decision: orNull(FindingDecision, { description: 'The newest decision.' }),
    proposal: Type.Optional(
      Type.Object(proposalOf(VERDICTS).properties, {
        description: 'A decision that waits for the account of another member.',
      }),
    ),
    void: orNull(
      Type.Object(
        { at: DateTime, reason: Type.Enum([...VOID_REASONS]) },
        {
          title: 'AmlFindingVoid',
          description:
            'Since when finding and decision no longer count: the entry changed, an undecided entry left its list, or what is known of the person changed.',
        },
      ),
    ),
  },
  { title: 'AmlFinding' },
)
export type Finding = Static<typeof Finding>

export const Subscription = Type.Object(
  {
    userId: Type.String(),
    checkTypes: Type.Array(CheckTypeName),
    person: Person,
    identifiers: Type.Array(
      Type.Object({ type: orNull(Type.String()), value: Type.String() }, { title: 'AmlIdentifierKept' }),
    ),
    subscribedAt: DateTime,
    screenedAt: DateTime,
    upToDate: Type.Boolean({
      description: 'Whether the person was screened against the lists that this server uses now.',
    }),
    log: OfLog,
    leafIndex: Type.Integer({ description: 'Of its entry in the log.' }),
    findings: Type.Array(Finding, { description: 'Those that count, newest first, at most 100.' }),
  },
  { title: 'AmlSubscription' },
)
export type Subscription = Static<typeof Subscription>

export const SubscriptionEnded = Type.Object(
  { success: Type.Literal(true), status: Type.Literal('ended'), endedAt: DateTime },
  { title: 'AmlSubscriptionEnded' },
)
export type SubscriptionEnded = Static<typeof SubscriptionEnded>

export const FindingsQuery = Type.Object({
  status: Type.Optional(Type.Enum([...FINDING_STATES], { description: 'Default: all.' })),
  cursor: Type.Optional(askedId('fnd', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_FINDINGS, DEFAULT_PAGE_FINDINGS),
})
export type FindingsQuery = Static<typeof FindingsQuery>

export const FindingPage = Type.Object(
  { findings: Type.Array(Finding), nextCursor: SearchedCursor },
  { title: 'AmlFindingPage' },
)
export type FindingPage = Static<typeof FindingPage>

export const FindingParams = Type.Object({ findingId: askedId('fnd') })

export const Decide = Type.Object(
  {
    verdict: Type.Enum([...VERDICTS]),
    reason: Type.String({
      minLength: 1,
      maxLength: MAX_REASON_CHARACTERS,
      description: 'Why, in your words. Stored under the key of the person.',
    }),
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'Of the finding that you looked at; 409 if somebody decided or proposed since. Without it, any decision is replaced.',
      }),
    ),
  },
  { title: 'AmlDecide' },
)
export type Decide = Static<typeof Decide>

export const ScreeningProgress = Type.Object(
  {
    listVersion: Type.String({ description: 'What this server screens against.' }),
    sha256: Sha256,
    subscriptions: Type.Integer({ description: 'People of your organisation who are screened again.' }),
    behind: Type.Integer({ description: 'Of these, not yet screened against the lists of `listVersion`.' }),
    openFindings: Type.Integer(),
  },
  { title: 'AmlScreeningProgress' },
)
export type ScreeningProgress = Static<typeof ScreeningProgress>
