/** Wire shapes of agents. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../../json/patterns.ts'
import {
  askedId,
  DateTime,
  dateTime,
  NextCursor,
  Nullable,
  orNull,
  pageLimit,
} from '../../../json/schemas.ts'
import { KeyId, keyInput, PrivateJwk, PublicJwk, PublicPqJwk } from '../keys/schemas.ts'
import { AGENT_STATUSES, TRUST_LEVELS } from './states.ts'

const MAX_NAME_CHARACTERS = 100
const MAX_DESCRIPTION_CHARACTERS = 1000
const MAX_URL_CHARACTERS = 2048
const MAX_CAPABILITIES = 64
const MAX_LISTED_NAMES = 100
const MAX_WORD_CHARACTERS = 128
const MAX_REFERENCE_CHARACTERS = 256
const MAX_NONCE_CHARACTERS = 128
/** Base64url of 64 bytes. */
const MAX_SIGNATURE_CHARACTERS = 86
/** Base64url of 3,309 bytes. */
const MAX_PQ_SIGNATURE_CHARACTERS = 4412

const Text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, description })
const Words = (maxItems: number, description: string) =>
  Type.Array(Text(MAX_WORD_CHARACTERS), { maxItems, uniqueItems: true, description })

export const AgentId = askedId('agt', { description: '`agt_…`' })
export const AgentParams = Type.Object({ agentId: AgentId })

export const AgentStatus = Type.Enum([...AGENT_STATUSES], {
  description:
    'pending: the challenge is open for an hour. suspended: temporarily disabled. revoked: permanently disabled. expired: its limits have expired, or the challenge was not answered in time.',
})
export const TrustLevel = Type.Enum([...TRUST_LEVELS], {
  description:
    'registered: possession of the key has not been proven. key_verified: the agent has signed the challenge. domain_verified: in addition, its domain publishes the same key.',
})

const Principal = Type.Object(
  {
    type: Text(MAX_WORD_CHARACTERS, 'Such as `person` or `organisation`.'),
    reference: Text(MAX_REFERENCE_CHARACTERS, 'Your own identifier for them, preferably a pseudonym.'),
  },
  {
    title: 'AgentPrincipal',
    description: 'The person or organisation that the agent acts for. Stored encrypted, never logged.',
  },
)

const Amount = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))

export const Limits = Type.Object(
  {
    currency: Type.String({ minLength: 3, maxLength: 3, description: 'ISO 4217, in upper case.' }),
    per_transaction: Amount('Largest single amount, in units of the currency.'),
    per_day: Amount('Largest total per UTC day, in units of the currency.'),
    allowed_payees: Type.Optional(Words(MAX_LISTED_NAMES, 'Absent: anyone. Empty: nobody.')),
    allowed_actions: Type.Optional(Words(MAX_LISTED_NAMES, 'Absent: any. Empty: none.')),
    expires_at: Type.Optional(dateTime('When the agent and its key expire.')),
  },
  { title: 'AgentLimits', description: "What the agent may do. It can't be changed later." },
)
export type Limits = Static<typeof Limits>

export const Possession = Type.Object(
  {
    nonce: Text(MAX_NONCE_CHARACTERS, 'The nonce of the challenge.'),
    signature: Text(
      MAX_SIGNATURE_CHARACTERS,
      'Over `message` of the challenge, base64url: 64 bytes of Ed25519, or r and s of ECDSA P-256 with SHA-256.',
    ),
    signature_pq: Type.Optional(
      Text(MAX_PQ_SIGNATURE_CHARACTERS, 'Over `message_pq`, where there is a second key. Empty context.'),
    ),
  },
  { title: 'ProofOfPossession' },
)
export type Possession = Static<typeof Possession>

const profile = {
  name: Type.String({
    minLength: 1,
    maxLength: MAX_NAME_CHARACTERS,
    pattern: NOT_BLANK,
    description: 'Shown on its badge.',
  }),
  description: Nullable(Text(MAX_DESCRIPTION_CHARACTERS)),
  url: Nullable(Text(MAX_URL_CHARACTERS, 'Web page about the agent; https.')),
  provider: Nullable(Text(MAX_NAME_CHARACTERS, 'Who develops or operates it.')),
  ...keyInput,
  key_directory_url: Type.Optional(
    Text(
      MAX_URL_CHARACTERS,
      "Web Bot Auth key directory of the agent's domain: `https://host/.well-known/http-message-signatures-directory`, or the host alone.",
    ),
  ),
  agent_card_url: Type.Optional(
    Text(MAX_URL_CHARACTERS, 'A2A agent card, https. The directory is then looked for on its host.'),
  ),
  capabilities: Type.Optional(Words(MAX_CAPABILITIES, 'The capabilities that it declares.')),
  principal: Type.Optional(Principal),
  limits: Type.Optional(Limits),
  proof_of_possession: Type.Optional(Possession),
}

export const Enrolment = Type.Union(
  [
    Type.Object({ ...profile, public_key: PublicJwk }, { title: 'AgentToEnrol' }),
    Type.Object(
      { agent_id: AgentId, proof_of_possession: Possession },
      { title: 'ChallengeAnswer', description: 'The pending agent.' },
    ),
  ],
  { title: 'AgentEnrolment' },
)
export type Enrolment = Static<typeof Enrolment>

export const NewAgent = Type.Object(profile, { title: 'NewAgent' })
export type NewAgent = Static<typeof NewAgent>

const state = {
  agent_id: AgentId,
  name: Type.String(),
  status: AgentStatus,
  trust_level: TrustLevel,
  trust_reasons: Type.Array(Type.String(), { description: 'Why the trust level is not higher.' }),
  kid: KeyId,
  pq_kid: orNull(KeyId),
  created_at: DateTime,
}

const challengeAndGrant = {
  challenge: orNull(
    Type.Object(
      {
        nonce: Type.String(),
        aud: Type.String({ description: 'Base URL of the service.' }),
        org: Type.String({ description: 'Your organisation.' }),
        message: Type.String({
          description: 'The message to sign with the key: exactly these bytes, in UTF-8.',
        }),
        message_pq: orNull(Type.String({ description: 'The message to sign with the second key.' })),
        expires_at: DateTime,
      },
      { title: 'PossessionChallenge' },
    ),
  ),
  free_allocation: orNull(
    Type.Object(
      { granted: Type.Integer({ description: 'Free proofs.' }), expires_at: DateTime },
      {
        title: 'AgentFreeAllocation',
        description: 'Given once per account holder, with the first agent that becomes active.',
      },
    ),
  ),
}

export const AgentEnrolled = Type.Object({ ...state, ...challengeAndGrant }, { title: 'AgentEnrolled' })
export type AgentEnrolled = Static<typeof AgentEnrolled>

const record = {
  ...state,
  description: orNull(Type.String()),
  url: orNull(Type.String()),
  provider: orNull(Type.String()),
  public_key: PublicJwk,
  public_key_pq: orNull(PublicPqJwk),
  key_directory_url: orNull(Type.String()),
  agent_card_url: orNull(Type.String()),
  capabilities: Type.Array(Type.String()),
  principal: orNull(Principal),
  limits: orNull(Limits),
  changed_at: dateTime('When status or trust level last changed.'),
}

export const Agent = Type.Object(record, { title: 'Agent' })
export type Agent = Static<typeof Agent>

export const AgentCreated = Type.Object(
  { ...record, ...challengeAndGrant, private_key: orNull(PrivateJwk) },
  { title: 'AgentCreated' },
)
export type AgentCreated = Static<typeof AgentCreated>

const MAX_PAGE_AGENTS = 1000

export const AgentsQuery = Type.Object({
  cursor: Type.Optional(askedId('agt', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_AGENTS, MAX_PAGE_AGENTS),
})
export type AgentsQuery = Static<typeof AgentsQuery>
export const DEFAULT_PAGE_AGENTS = MAX_PAGE_AGENTS

export const AgentList = Type.Object(
  { agents: Type.Array(Agent), nextCursor: NextCursor },
  { title: 'AgentList' },
)
export type AgentList = Static<typeof AgentList>
