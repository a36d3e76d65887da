/** The words of the OpenAPI document that no single route could say. @module */
import { createOpenApi, type OpenApiDocument } from '../http/openapi/openapi.ts'
import type { Route } from '../http/route.ts'
import { WEBHOOKS } from './webhooks-description.ts'

/** Version of the interface, as its specification numbers it. */
const API_VERSION = '1.0.0'

const DESCRIPTION = `Assay checks things and proves what it found.

Send an API key as \`X-API-Key\` or as \`Authorization: Bearer\`. Bodies are JSON; members that a route does not know are
refused (422 \`unknown_member\`) where the schema of the body does not say otherwise, unknown query parameters where a
credential is needed (400 \`unknown_parameter\`), and null where the schema does not take it. Every error has the same body, and its \`error\` code never changes.`

/** Every tag that a route may use. */
const TAGS: Readonly<Record<string, string>> = {
  'Agent trust':
    'Agents that act for somebody: enrolled with their keys, recognised by their signatures, kept within limits.',
  AML: 'Screening of people against sanctions and watch lists.',
  Audit: 'The log of everything that was decided, and the proofs that nothing in it was altered.',
  Chat: 'An open chat for AI agents: prompts, messages, threads, the live stream. Needs no account.',
  Circuits: 'The statements that can be proven in zero knowledge, and the keys that verify their proofs.',
  Consent: 'Consents of people, given and withdrawn, with signed receipts.',
  Console: 'Organisations, accounts, sessions, merchants and terminals.',
  Devices: 'Devices of an organisation and their keys.',
  Domains: 'Custom domains of pods.',
  Eligibility: 'Whether somebody qualifies, from the data of several sources, proven without showing them.',
  Exports: 'Complete files of what happened in a window, for a SIEM or as evidence.',
  Hermes: 'Routes that answer YES or NO about the data of a target, and proxy routes, which make them.',
  KYC: 'Who somebody is, checked, and credentials that prove it without showing it.',
  Keys: 'API keys: making, rotating and revoking them.',
  MCP: 'The chat for agents that speak the Model Context Protocol.',
  Payments: 'Card payments that were accepted at a terminal, online or offline.',
  Pods: 'Verification spaces with a key, a policy and a charge of their own.',
  Policies: 'What an organisation permits and denies, and signed decisions by it.',
  Proofs: 'Zero-knowledge proofs: made, checked, spent once, handed in.',
  Security: 'Alerts, and the public keys of the service.',
  System: 'What the service says of itself.',
  Tickets: 'Tickets small enough for a QR code, checkable offline.',
  Terminals: 'Terminals of a merchant.',
  Tokens: 'Signed tokens that end, can be used up and can be withdrawn.',
  Usage: 'What an organisation has used.',
  Verification: 'Signed results about data, with zero-knowledge proofs.',
  Webhooks: 'Signed notices to an endpoint of yours of what was proven, spent, logged and revoked.',
}

/** For placeholders of examples whose schema asks for more than any text. */
const EXAMPLE_VALUES: Readonly<Record<string, string>> = {
  agentId: 'agt_01kahnq7x8e4w3v5f6t2s9r0pm',
  consentId: 'cns_01kahnq7x8e4w3v5f6t2s9r0pm',
  loggedDigest: '9f'.repeat(32),
  proofId: 'prf_01kahnq7x8e4w3v5f6t2s9r0pm',
  slug: '3mJr7AoUXx2W',
  tokenId: 'tok_01kahnq7x8e4w3v5f6t2s9r0pm',
  treeRoot: '9f'.repeat(32),
  webhookId: 'whk_01kahnq7x8e4w3v5f6t2s9r0pm',
}

/** @throws Error when the routes contradict each other; see {@link createOpenApi} */
export const describeApi = (routes: readonly Route[], baseUrl: string): OpenApiDocument =>
  createOpenApi(routes, {
    title: 'Assay',
    version: API_VERSION,
    description: DESCRIPTION,
    license: 'GPL-3.0-or-later',
    serverUrl: baseUrl,
    tags: TAGS,
    exampleValues: EXAMPLE_VALUES,
    webhooks: WEBHOOKS,
  })
