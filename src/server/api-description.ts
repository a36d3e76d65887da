/** The words of the OpenAPI document that no single route could say. @module */
import { setImmediate } from 'node:timers/promises'
import {
  createOpenApi,
  type OpenApiDocument,
  type OpenApiInfo,
  openApiSteps,
} from '../http/openapi/openapi.ts'
import type { Route } from '../http/route.ts'
import { exampleAnswers } from './example-answers.ts'
import { WEBHOOKS } from './webhooks-description.ts'

/** Version of the interface, as its specification numbers it. */
const API_VERSION = '1.0.0'

const DESCRIPTION = `Assay verifies data and returns signed, provable results.

Send an API key as \`X-API-Key\` or as \`Authorization: Bearer\`. Bodies are JSON; members that a route does not know are
refused (422 \`unknown_member\`) where the schema of the body does not say otherwise, unknown query parameters where a
credential is needed (400 \`unknown_parameter\`), and null where the schema does not take it. Every error has the same body, and its \`error\` code never changes.`

/** Every tag that a route may use. */
const TAGS: Readonly<Record<string, string>> = {
  'Agent trust':
    'Agents that act on behalf of others: enrolment with keys, verification of signatures, limits.',
  AML: 'Screening of people against sanctions and watch lists.',
  Audit: 'The log of all decisions, and the proofs that it was only appended to.',
  Chat: 'An open chat for AI agents: prompts, messages, threads, the live stream. Needs no account.',
  Circuits: 'The statements that can be proven in zero knowledge, and the keys that verify their proofs.',
  Consent: 'Consents, withdrawals and signed receipts.',
  Console: 'Organisations, accounts, sessions, merchants and terminals.',
  Team: 'Members of an organisation, their roles, and invitations.',
  Devices: 'Devices of an organisation and their keys.',
  Domains: 'Custom domains of pods.',
  Eligibility: 'Eligibility decisions over several data sources, proven without revealing the data.',
  Exports: 'Complete files of the events in a time window, for a SIEM or as evidence.',
  Hermes: 'Routes that answer YES or NO about the data of a target, and the proxy routes that create them.',
  KYC: 'Identity checks, and credentials that prove their results without revealing the data.',
  Keys: 'Creating, rotating and revoking API keys.',
  MCP: 'The chat for agents that speak the Model Context Protocol.',
  Payments: 'Card payments that were accepted at a terminal, online or offline.',
  Pods: 'Verification spaces with their own key, policy and charge.',
  Policies: 'The policies of an organisation, and signed decisions by them.',
  Proofs: 'Zero-knowledge proofs: making, verifying, spending and uploading them.',
  Security: 'Alerts, and the public keys of the service.',
  'Status lists': 'Public lists of what was revoked, for verifiers outside of the service.',
  System: 'Health, metrics, keys and description of the service.',
  Tickets: 'Tickets small enough for a QR code, verifiable offline.',
  Terminals: 'Terminals of a merchant.',
  Tokens: 'Signed tokens that expire, can be single-use and can be revoked.',
  Usage: 'Usage of an organisation.',
  Verification: 'Signed results about data, with zero-knowledge proofs.',
  Webhooks: 'Signed notifications to your endpoints about proofs, spending, log entries and revocations.',
}

/** For placeholders of examples whose schema asks for more than any text. */
const EXAMPLE_VALUES: Readonly<Record<string, string>> = {
  agentId: 'agt_01kahnq7x8e4w3v5f6t2s9r0pm',
  consentId: 'cns_01kahnq7x8e4w3v5f6t2s9r0pm',
  holderX: 'TCAER19Zvu3OHF4j4W4vfSVoHIP1ILilDls7vCeGemc',
  holderY: 'ZxjiWWbZMQGHVWKVQ4hbSIirsVfuecCE6t4jT9F2HZQ',
  loggedDigest: '9f'.repeat(32),
  paymentTime: '2026-01-15T12:00:00Z',
  proofId: 'prf_01kahnq7x8e4w3v5f6t2s9r0pm',
  reviewedReference: 'kyc_01kahnq7x8e4w3v5f6t2s9r0pm',
  slug: '3mJr7AoUXx2W',
  tokenId: 'tok_01kahnq7x8e4w3v5f6t2s9r0pm',
  treeRoot: '9f'.repeat(32),
  webhookId: 'whk_01kahnq7x8e4w3v5f6t2s9r0pm',
}

const infoOf = (baseUrl: string): OpenApiInfo => ({
  title: 'Assay',
  version: API_VERSION,
  description: DESCRIPTION,
  license: 'GPL-3.0-or-later',
  serverUrl: baseUrl,
  tags: TAGS,
  exampleValues: EXAMPLE_VALUES,
  exampleAnswers: exampleAnswers(baseUrl),
  webhooks: WEBHOOKS,
})

/** @throws Error when the routes contradict each other; see {@link openApiSteps} */
export const describeApi = (routes: readonly Route[], baseUrl: string): OpenApiDocument =>
  createOpenApi(routes, infoOf(baseUrl))

/** The same, giving others their turn after each step. */
export const describeApiInTurns = async (
  routes: readonly Route[],
  baseUrl: string,
): Promise<OpenApiDocument> => {
  const steps = openApiSteps(routes, infoOf(baseUrl))
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await setImmediate()
  }
}
