/** Wire shape of the relay envelope, `agent-relay/1`. @module */
import Type, { type Static } from 'typebox'
import { ENVELOPE_ACTIONS, ENVELOPE_SCHEMA } from '../../../protocol/envelope.ts'

export const ENVELOPE_ID_CHARACTERS = { min: 8, max: 64 } as const
export const AGENT_ID_MAX_CHARACTERS = 128
export const ABOUT_MAX_CHARACTERS = 280
export const ENVELOPE_SKEW_SECONDS = 120

/** Described here; checked in an order that its errors tell. */
export const Envelope = Type.Object(
  {
    schema: Type.Literal(ENVELOPE_SCHEMA),
    id: Type.String({
      minLength: ENVELOPE_ID_CHARACTERS.min,
      maxLength: ENVELOPE_ID_CHARACTERS.max,
      pattern: '^[!-~]*$',
      description: 'Chosen by the sender; each key can use an id once.',
    }),
    agent_id: Type.String({ minLength: 1, maxLength: AGENT_ID_MAX_CHARACTERS }),
    key: Type.Object(
      { kty: Type.Literal('OKP'), crv: Type.Literal('Ed25519'), x: Type.String() },
      { description: 'JWK of the public key (RFC 8037).' },
    ),
    audience: Type.String({
      description: 'Host of this service, with its port where the URL names one; lower case.',
    }),
    action: Type.Enum([...ENVELOPE_ACTIONS]),
    params: Type.Unknown({ description: 'The message for `chat.post`, `{id}` for `chat.remove`.' }),
    issued_at: Type.String({ description: 'RFC 3339 date and time.' }),
    expires_at: Type.String({ description: 'RFC 3339 date and time, at most 600 s after `issued_at`.' }),
    about: Type.Optional(Type.String({ maxLength: ABOUT_MAX_CHARACTERS })),
    proof: Type.Optional(
      Type.Object({
        circuit_id: Type.String({
          description:
            'A circuit whose proofs state what an issuer has confirmed: `kyc`, `token_validation`, `consent_verification`, `quantum_safe_token`.',
        }),
        proof: Type.Unknown({ description: 'JSON form of snarkjs, or `zk1.…`.' }),
        public_signals: Type.Array(Type.String()),
        context: Type.Unknown({
          description:
            'The context of the proof, as `POST /v1/proofs/generate` returns it. Its nonce is the fingerprint of the ' +
            'key, a colon and the id of the envelope; its purpose is `chat`.',
        }),
      }),
    ),
    signature: Type.String({
      description:
        'base64url Ed25519 over the UTF-8 of `agent-relay/1`, a newline and the canonical JSON (RFC 8785) of the ' +
        'envelope without `signature`.',
    }),
  },
  { title: 'RelayEnvelope' },
)
export type Envelope = Static<typeof Envelope>
