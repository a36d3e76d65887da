/** Routes of KYC. @module */
import { route } from '../../http/route.ts'
import {
  PersonCredential,
  PersonErased,
  PersonHeld,
  PersonParams,
  PersonStanding,
  PersonVerified,
  VerifyPerson,
} from './schemas.ts'
import { DecidePerson, PeopleQuery, Person, PersonPage } from './schemas-list.ts'
import type { KycService } from './service.ts'

interface Services {
  readonly kyc: KycService
}

const tag = 'KYC'
/** A person who was verified, made by the tests. */
const params = { userId: '{verifiedUserId}' }

const verifyPerson = route({
  name: 'verifyPerson',
  method: 'POST',
  path: '/api/kyc/verify',
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'Verify a person',
  description:
    '`internal` checks that the entered data is complete, plausible and consistent, including the machine-readable zone of a document; it reaches level basic with source self_asserted. Levels standard and enhanced need a provider configured by the operator. Missing or unclear data gives `review`, contradictory data `rejected`; `checks` say why. A verified person gets a credential for the circuit `kyc`. All data of a person is stored encrypted under a separate key for that person.',
  body: VerifyPerson,
  commitsInSteps: true,
  response: { 200: PersonVerified },
  errors: ['provider_failed', 'conflict'],
  example: {
    body: {
      userId: 'customer-7',
      data: {
        givenName: 'Anna Maria',
        familyName: 'Eriksson',
        dateOfBirth: '1974-08-12',
        document: { type: 'passport', number: 'L898902C3', country: 'SE', expiresAt: '2034-04-15' },
      },
      level: 'basic',
    },
  },
  handler: ({ caller, body }, { kyc }: Services) => kyc.verify(caller, body),
})

const personStanding = route({
  name: 'personStanding',
  method: 'GET',
  path: '/api/kyc/{userId}',
  auth: 'console',
  scope: 'kyc',
  tag,
  summary: 'Get the status of a person',
  description: 'Contains no personal data. A verification past its expiry is `expired`, with level none.',
  params: PersonParams,
  response: { 200: PersonStanding },
  errors: ['not_found'],
  example: { params },
  handler: ({ caller, params }, { kyc }: Services) => kyc.standing(caller, params.userId),
})

const personHeld = route({
  name: 'personHeld',
  method: 'GET',
  path: '/api/kyc/{userId}/data',
  auth: 'console',
  scope: 'kyc',
  tag,
  summary: 'Get all stored data of a person',
  description:
    'For requests of access (GDPR article 15). With `salt`, each check can be compared with its commitment in the ledger.',
  params: PersonParams,
  response: { 200: PersonHeld },
  errors: ['not_found'],
  example: { params },
  handler: ({ caller, params }, { kyc }: Services) => kyc.held(caller, params.userId),
})

const personCredential = route({
  name: 'personCredential',
  method: 'GET',
  path: '/api/kyc/{userId}/credential',
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'Get the credential of a verified person',
  description:
    'With it the person can prove age, country and level in a browser without revealing them. If its `binding` is bearer, anyone who has it can use it: give it to its subject only.',
  params: PersonParams,
  response: { 200: PersonCredential },
  errors: ['not_found'],
  example: { params },
  handler: ({ caller, params }, { kyc }: Services) => kyc.credential(caller, params.userId),
})

const erasePerson = route({
  name: 'erasePerson',
  method: 'DELETE',
  path: '/api/kyc/{userId}',
  auth: 'console',
  scope: 'kyc',
  tag,
  summary: 'Erase a person',
  description:
    'Destroys the key of all their data and revokes their credential: its proofs are no longer accepted. The ledger keeps its entries, which contain only digests, and can still be verified. A repeated request returns the first answer.',
  params: PersonParams,
  response: { 200: PersonErased },
  errors: ['not_found', 'conflict'],
  example: { params },
  handler: ({ caller, params }, { kyc }: Services) => kyc.erase(caller, params.userId),
})

const listPeople = route({
  name: 'listPeople',
  method: 'GET',
  path: '/console/api/people',
  auth: 'console',
  scope: { all: ['audit', 'kyc'] },
  tag,
  summary: 'List people who were checked',
  description:
    'Those checked last first, each with how they stand, and with `review` where their newest check waits for a decision. Erased people are not listed.',
  query: PeopleQuery,
  response: { 200: PersonPage },
  errors: [],
  example: { query: { status: 'review' } },
  handler: ({ caller, query }, { kyc }: Services) => kyc.people.list(caller, query),
})

const decidePerson = route({
  name: 'decidePerson',
  method: 'POST',
  path: '/console/api/people/{userId}/decision',
  auth: 'console',
  scope: 'kyc',
  tag,
  summary: 'Decide on a check that waits for review',
  description:
    'An approved person is verified at level basic, with a credential for its bearer where date of birth and country are known, for a year or as long as document and provider allow. The decision is recorded in the log. Where the organisation wants a second reviewer, it waits as `proposal` until the account of another member decides the same. 409 if no check waits, the person was checked again, somebody decided meanwhile, or an approval comes after the end of document or provider.',
  params: PersonParams,
  body: DecidePerson,
  commitsInSteps: true,
  response: { 200: Person },
  errors: ['not_found', 'conflict'],
  example: {
    params: { userId: '{reviewedUserId}' },
    body: { reference: '{reviewedReference}', verdict: 'approve', reason: 'The passport was seen.' },
  },
  handler: ({ caller, params: { userId }, body }, { kyc }: Services) =>
    kyc.people.decide(caller, userId, body),
})

export const kycRoutes = [
  verifyPerson,
  personStanding,
  personHeld,
  personCredential,
  erasePerson,
  listPeople,
  decidePerson,
]
