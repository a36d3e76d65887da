/** Routes of consents. @module */
import { route } from '../../http/route.ts'
import {
  ConsentLogged,
  ConsentParams,
  ConsentStanding,
  ConsentVerdict,
  ConsentWithdrawn,
  LogConsent,
  RevokeConsent,
  VerifyConsent,
} from './schemas.ts'
import { ConsentPage, ConsentsQuery } from './schemas-list.ts'
import type { ConsentService } from './service.ts'

interface Services {
  readonly consents: ConsentService
}

const tag = 'Consent'

const logConsent = route({
  name: 'logConsent',
  method: 'POST',
  path: '/api/consent/log',
  auth: 'key',
  scope: 'consent',
  tag,
  summary: 'Record a consent or a refusal',
  description:
    'Creates a record and a signed receipt that follow ISO/IEC TS 27560. At most 8 purposes and 16 data categories of 128 characters each. A later record of the same subject and controller supersedes this one for the purposes that both name.',
  body: LogConsent,
  commitsInSteps: true,
  response: { 201: ConsentLogged },
  errors: ['conflict'],
  example: {
    body: {
      subjectId: 'customer-1007',
      controller: 'https://shop.example',
      purposes: ['newsletter', 'analytics'],
      dataCategories: ['email', 'purchase_history'],
      legalBasis: 'consent',
      noticeUrl: 'https://shop.example/privacy/2026-01',
      method: 'web_form',
      jurisdiction: 'GB',
      language: 'en-GB',
    },
  },
  handler: ({ caller, body }, { consents }: Services) => consents.log(caller, body),
})

const verifyConsent = route({
  name: 'verifyConsent',
  method: 'POST',
  path: '/api/consent/verify',
  auth: 'key',
  scope: 'consent',
  tag,
  summary: 'Check a consent, now or at an earlier time',
  description:
    'Send `consentId`, or `subjectId` with `purpose`; any further members you send must match too. Every call reads the committed state, so a withdrawal takes effect at once on all servers. Fails closed: anything other than a consent in force is not valid, and `reason` says why. You can send the complete answer that recorded a consent.',
  body: VerifyConsent,
  response: { 200: ConsentVerdict },
  errors: ['not_found', 'read_only'],
  example: {
    body: { subjectId: 'customer-1007', purpose: 'newsletter', controller: 'https://shop.example' },
  },
  handler: ({ caller, body }, { consents }: Services) => consents.verify(caller, body),
})

const consentStatus = route({
  name: 'consentStatus',
  method: 'GET',
  path: '/api/consent/{consentId}/status',
  auth: 'console',
  scope: 'consent',
  tag,
  summary: 'Get the status of a consent',
  params: ConsentParams,
  response: { 200: ConsentStanding },
  errors: ['not_found'],
  handler: ({ caller, params }, { consents }: Services) => consents.status(caller, params.consentId),
})

const revokeConsent = route({
  name: 'revokeConsent',
  method: 'POST',
  path: '/api/consent/revoke',
  auth: 'console',
  scope: 'consent',
  tag,
  summary: 'Withdraw a consent permanently',
  description:
    "Proofs of consent_verification made from it are rejected from then on. A withdrawal can't be undone; record a new consent instead. A repeated request returns the first answer. You can send the complete answer that recorded the consent.",
  body: RevokeConsent,
  response: { 200: ConsentWithdrawn },
  errors: ['not_found', 'read_only'],
  example: { body: { consentId: '{consentId}', reason: 'asked by telephone' } },
  handler: ({ caller, body }, { consents }: Services) => consents.revoke(caller, body),
})

const listConsents = route({
  name: 'listConsents',
  method: 'GET',
  path: '/console/api/consents',
  auth: 'console',
  scope: { all: ['audit', 'consent'] },
  tag,
  summary: 'List the consents of one subject',
  description:
    'Newest first, with what each is worth now. `POST /api/consent/revoke` withdraws one, `GET /api/consent/{consentId}/status` has its history.',
  query: ConsentsQuery,
  response: { 200: ConsentPage },
  errors: [],
  example: { query: { subject: 'customer-1007' } },
  handler: ({ caller, query }, { consents }: Services) => consents.list(caller, query),
})

export const consentRoutes = [logConsent, verifyConsent, consentStatus, revokeConsent, listConsents]
