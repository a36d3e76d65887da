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
  summary: 'Have a person checked',
  description:
    '`internal` checks whether what was typed in is complete, plausible and free of contradictions, the machine-readable zone of a document included; it reaches level basic, source self_asserted. Standard and enhanced need a provider that the operator configured. What is missing or unclear is `review`, what contradicts itself `rejected`; `checks` say why. Whoever is verified gets a credential for the circuit `kyc`. Everything that is known of a person is kept sealed under a key of their own.',
  body: VerifyPerson,
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
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'How a person stands',
  description: 'Without personal data. A verification whose time is over is `expired`, with level none.',
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
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'Everything that is held of a person',
  description:
    'For answering somebody who asks what you know of them (GDPR article 15). With `salt` each check can be shown to be the one that the ledger committed to.',
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
  summary: 'The credential of a verified person, to be proven elsewhere',
  description:
    'For the person, who can then prove age, country and level in a browser without showing them. It is a bearer credential: hand it to its subject and to nobody else.',
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
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'Forget a person',
  description:
    'Destroys the key of everything that is known of them, and revokes their credential: proofs of it are not verified any more. The ledger keeps its entries, which hold digests only, and still verifies. Again: the first answer.',
  params: PersonParams,
  response: { 200: PersonErased },
  errors: ['not_found'],
  example: { params },
  handler: ({ caller, params }, { kyc }: Services) => kyc.erase(caller, params.userId),
})

export const kycRoutes = [verifyPerson, personStanding, personHeld, personCredential, erasePerson]
