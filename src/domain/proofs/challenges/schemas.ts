/** Wire shapes of challenges. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, idOf, orNull } from '../../../json/schemas.ts'
import {
  AnyProof,
  Digest,
  madeElsewhere,
  NullableDecision,
  ProofContextJson,
  PublicSignals,
  SentSignals,
  SnarkProofJson,
} from '../schemas.ts'

const MAX_TTL_SECONDS = 900
const MAX_ISSUERS = 16
const MAX_PURPOSE_CHARACTERS = 128

const ChallengeId = askedId('chl')
export const ChallengeParams = Type.Object({ challengeId: ChallengeId })

const Status = Type.Enum(['required', 'not_required'], {
  description:
    'Whether an answer must disclose the status of the credential, so that revocation is seen at once. Disclosed, two answers with one credential can be linked. `not_required` is for `kyc`.',
})
const RequestUrl = Type.String({
  description: 'Where whoever is asked sees the question; also what the QR code says.',
})
const Issuers = Type.Array(Type.String(), {
  description: 'Organisations; one of them must have issued what is proved of.',
})

export const NewChallenge = Type.Object(
  {
    circuit_id: Type.String({ minLength: 1, maxLength: 64 }),
    inputs: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'The question: for `kyc` {minLevel, minAge | latestBirthDate, countries?}, for `token_validation` {audience?}, for `consent_verification` {purpose, controller}.',
    }),
    purpose: Type.String({
      minLength: 1,
      maxLength: MAX_PURPOSE_CHARACTERS,
      description: 'What the answer is for: a person can be spent once per purpose.',
    }),
    issuers: Type.Optional(
      Type.Array(askedId('org'), {
        minItems: 1,
        maxItems: MAX_ISSUERS,
        description: 'Organisations of which one must have issued what is proved of. Default: your own.',
      }),
    ),
    status: Type.Optional(Status),
    unique: Type.Optional(
      Type.Boolean({
        description:
          'Only `kyc`: whether one person counts once per purpose. If false, the answer says nothing by which a person could be counted, and it cannot be spent; answers made with one secret for one purpose can still be told to be so. Default: true.',
      }),
    ),
    ttl: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        default: 300,
        description: 'Seconds.',
      }),
    ),
  },
  { title: 'NewProofChallenge' },
)
export type NewChallenge = Static<typeof NewChallenge>

export const ChallengeMade = Type.Object(
  {
    challenge_id: idOf('chl'),
    proof_id: Type.String({
      description: 'The id that the answer will have: `proof.verified` and GET name it.',
    }),
    nonce: Type.String(),
    context: ProofContextJson,
    expires_at: DateTime,
    request_url: RequestUrl,
    qr: Type.String({ description: 'A QR code of `request_url`, as the text of an SVG picture.' }),
  },
  { title: 'ProofChallengeMade' },
)
export type ChallengeMade = Static<typeof ChallengeMade>

export const ChallengeTold = Type.Object(
  {
    challenge_id: idOf('chl'),
    proof_id: idOf('prf'),
    circuit_id: Type.String(),
    state: Type.Enum(['open', 'verified', 'failed', 'expired'], {
      description: '`failed`: five answers came, and none of them was verified.',
    }),
    attempts: Type.Integer({ minimum: 0, description: 'Answers that came without a credential.' }),
    reason_codes: Type.Array(Type.String(), { description: 'Why the last of them was not verified.' }),
    nonce: Type.String(),
    context: ProofContextJson,
    issuers: Issuers,
    status: Status,
    expires_at: DateTime,
    request_url: RequestUrl,
    result: orNull(
      Type.Object(
        {
          verified: Type.Literal(true),
          decision: NullableDecision,
          digest: Digest,
          ...madeElsewhere,
          proof: SnarkProofJson,
          public_signals: PublicSignals,
          verified_at: DateTime,
        },
        { title: 'ProofChallengeResult' },
      ),
      { description: 'The answer that was verified; null while there is none.' },
    ),
  },
  { title: 'ProofChallenge' },
)
export type ChallengeTold = Static<typeof ChallengeTold>

export const PublicChallenge = Type.Object(
  {
    challenge_id: idOf('chl'),
    state: Type.Enum(['open', 'closed', 'expired']),
    asker: Type.Object(
      {
        organisation: idOf('org'),
        name: Type.String({ description: 'As the organisation calls itself.' }),
        domain: orNull(Type.String(), {
          description: 'A domain that the organisation has proven to be its own; null if there is none.',
        }),
      },
      { title: 'ProofChallengeAsker' },
    ),
    circuit_id: Type.String(),
    question: Type.String({
      description:
        'What an answer of YES shows, in the words of the service. The asker chooses none of them.',
    }),
    context: Type.Object(ProofContextJson.properties, {
      title: 'ProofChallengeContext',
      description:
        "What the proof must be bound to. The `purpose` in its statement is the asker's text: do not show it.",
    }),
    issuers: Issuers,
    status: Status,
    expires_at: DateTime,
    answer_url: Type.String(),
  },
  { title: 'ProofChallengeRequest' },
)
export type PublicChallenge = Static<typeof PublicChallenge>

export const ChallengeAnswer = Type.Object(
  { proof: AnyProof, public_signals: SentSignals },
  { title: 'ProofChallengeAnswer' },
)
export type ChallengeAnswer = Static<typeof ChallengeAnswer>

export const ChallengeReceived = Type.Object(
  { status: Type.Literal('received') },
  { title: 'ProofChallengeReceived' },
)
