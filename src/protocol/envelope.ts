/**
 * `assay-client/envelope` (in a checkout also `assay/envelope`): the relay envelope `agent-relay/1`, in which an agent signs what it asks of the chat. Runs in browsers
 * (in pages it needs `'wasm-unsafe-eval'` in the content security policy) and in Node. docs/envelopes.md has the format, a
 * vector, and a signer that needs nothing but node:crypto.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { createCore } from '../core/index.ts'
import { canonicalJson } from './canonical-json.ts'

/** Marks the format, and begins what is signed. */
export const ENVELOPE_SCHEMA = 'agent-relay/1'
export const ENVELOPE_ACTIONS = ['chat.post', 'chat.remove'] as const
export type EnvelopeAction = (typeof ENVELOPE_ACTIONS)[number]
/** From `issued_at` to `expires_at`. */
export const ENVELOPE_MAX_LIFE_SECONDS = 600
const DEFAULT_LIFE_SECONDS = 300
const SEED_BYTES = 32
const MS_PER_SECOND = 1000

/** JWK of an Ed25519 public key (RFC 8037): `x` is base64url of 32 bytes. */
export interface EnvelopeKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
}

/** The same with the 32 bytes of the private key (RFC 8032 §5.1.5) as `d`. */
export interface EnvelopePrivateKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly d: string
  /** Where it is given, it must be that of `d`. */
  readonly x?: string
}

/** A proof that comes along, as `POST /v1/proofs/generate` answers it to a `context.nonce` of {@link proofNonce}. */
export interface EnvelopeProof {
  readonly circuit_id: string
  /** JSON form of snarkjs, or `zk1.…`. */
  readonly proof: unknown
  readonly public_signals: string[]
  /** What the public signal `ctx` is the hash of. */
  readonly context: unknown
}

export interface RelayEnvelope {
  readonly schema: typeof ENVELOPE_SCHEMA
  /** 8 to 64 visible ASCII characters; a key may use an id once. */
  readonly id: string
  /** 1 to 128 characters. */
  readonly agent_id: string
  readonly key: EnvelopeKey
  /** Host of the service, with its port where its URL names one; lower case. */
  readonly audience: string
  readonly action: EnvelopeAction
  /** JSON: the message for `chat.post`, `{id}` for `chat.remove`. */
  readonly params: unknown
  /** RFC 3339. */
  readonly issued_at: string
  /** RFC 3339, at most {@link ENVELOPE_MAX_LIFE_SECONDS} later. */
  readonly expires_at: string
  /** Plain text, at most 280 characters. */
  readonly about?: string
  readonly proof?: EnvelopeProof
  /** base64url Ed25519 over {@link signingBytes}. */
  readonly signature: string
}

/** What a sender says. `id` defaults to a random one, `issued_at` to now, `expires_at` to five minutes later. */
export type EnvelopeFields = Omit<RelayEnvelope, 'schema' | 'key' | 'signature' | Defaulted> &
  Partial<Pick<RelayEnvelope, Defaulted>>
type Defaulted = 'id' | 'issued_at' | 'expires_at'

const core = createCore()

const decodeKey = (text: string, member: string): Uint8Array => {
  const bytes = core.base64urlDecode(text)
  if (bytes?.length !== SEED_BYTES)
    throw new RangeError(`The key's ${member} must be ${SEED_BYTES} bytes in base64url.`)
  return bytes
}

/** @throws RangeError for anything but 32 bytes, or a JWK whose parts belong together */
const seedOf = (privateKey: Uint8Array | EnvelopePrivateKey): Uint8Array => {
  if (privateKey instanceof Uint8Array) {
    if (privateKey.length !== SEED_BYTES)
      throw new RangeError(`The private key must be ${SEED_BYTES} bytes, not ${privateKey.length}.`)
    return privateKey
  }
  const { kty, crv, d, x } = privateKey
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof d !== 'string')
    throw new RangeError('The private key must be 32 bytes, or a JWK {kty: "OKP", crv: "Ed25519", d}.')
  const seed = decodeKey(d, 'd')
  if (x !== undefined && x !== publicKeyOf(seed).x)
    throw new RangeError("The key's x is not the public key of its d.")
  return seed
}

const publicKeyOf = (seed: Uint8Array): EnvelopeKey => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: core.base64urlEncode(ed25519.getPublicKey(seed)),
})

/** The public key of a private one. @throws RangeError for what is no key */
export const envelopeKey = (privateKey: Uint8Array | EnvelopePrivateKey): EnvelopeKey =>
  publicKeyOf(seedOf(privateKey))

/**
 * The name of a key: `SHA256:` and base64url of SHA-256 over its 32 bytes.
 * @param key 32 bytes, or a JWK @throws RangeError for what is no key
 */
export const keyFingerprint = (key: Uint8Array | Pick<EnvelopeKey, 'x'>): string => {
  const raw = key instanceof Uint8Array ? key : decodeKey(key.x, 'x')
  if (raw.length !== SEED_BYTES)
    throw new RangeError(`The public key must be ${SEED_BYTES} bytes, not ${raw.length}.`)
  return `SHA256:${core.base64urlEncode(core.sha256(raw))}`
}

/**
 * The nonce that the context of an envelope's proof must name: key and envelope, so that nobody else can use the proof.
 * @param fingerprint of the key that signs the envelope @param id of the envelope
 */
export const proofNonce = (fingerprint: string, id: string): string => `${fingerprint}:${id}`

/**
 * What is signed: UTF-8 of `agent-relay/1`, a newline, and the canonical JSON (RFC 8785) of the envelope without `signature`.
 * @throws Error for what has no canonical JSON: numbers that are not finite, texts with half a surrogate pair
 */
export const signingBytes = (envelope: object): Uint8Array => {
  const { signature: _, ...signed } = envelope as { readonly signature?: unknown }
  return new TextEncoder().encode(`${ENVELOPE_SCHEMA}\n${canonicalJson(signed)}`)
}

/**
 * Signs what an agent asks of a service. The result is JSON, to be sent as `envelope`.
 * @param privateKey 32 bytes (RFC 8032 §5.1.5), or a JWK with `d`
 * @throws RangeError for what is no key, or a time that is none
 */
export const signEnvelope = (
  { id = crypto.randomUUID(), issued_at, expires_at, ...fields }: EnvelopeFields,
  privateKey: Uint8Array | EnvelopePrivateKey,
): RelayEnvelope => {
  const seed = seedOf(privateKey)
  const issuedAt = issued_at ?? new Date(Date.now()).toISOString()
  const expiresAt =
    expires_at ?? new Date(Date.parse(issuedAt) + DEFAULT_LIFE_SECONDS * MS_PER_SECOND).toISOString()
  const unsigned = {
    schema: ENVELOPE_SCHEMA,
    id,
    key: publicKeyOf(seed),
    ...fields,
    issued_at: issuedAt,
    expires_at: expiresAt,
  } as const
  return { ...unsigned, signature: core.base64urlEncode(ed25519.sign(signingBytes(unsigned), seed)) }
}
