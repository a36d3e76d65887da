/** Reads relay envelopes: who signed what, for whom and when. docs/envelopes.md has the format. @module */
import { createCore } from '../../../core/index.ts'
import { fail } from '../../../errors.ts'
import { verifyEd25519 } from '../../../keys/ed25519.ts'
import {
  ENVELOPE_SCHEMA,
  type EnvelopeAction,
  type EnvelopeProof,
  keyFingerprint,
} from '../../../protocol/envelope.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { type ReadEnvelope, readEnvelope } from './envelope-form.ts'
import { createProofCheck, type ProofCheckDeps, type ProofFindings } from './envelope-proof.ts'
import { ENVELOPE_SKEW_SECONDS } from './schemas-envelope.ts'

const MS_PER_SECOND = 1000
const SKEW_MS = ENVELOPE_SKEW_SECONDS * MS_PER_SECOND

/** An envelope whose signature holds. Its proof is unchecked still, and it is not consumed. */
export interface OpenedEnvelope {
  /** Of the key that signed: `SHA256:…` */
  readonly fingerprint: string
  /** Chosen by the sender: a key may use it once. */
  readonly id: string
  readonly agentId: string
  /** Empty where there was none. */
  readonly about: string
  /** Of `chat.post` an object, of `chat.remove` `{id}`. */
  readonly params: Readonly<Record<string, unknown>>
  /** Unix ms from which on it is refused as expired: until then fingerprint and id must be remembered. */
  readonly expiresAt: number
  /** Unchecked. */
  readonly proof: EnvelopeProof | undefined
}

export interface EnvelopeReader {
  /**
   * Everything but the proof, in this order: form, audience, action, time, signature, params. Takes a fraction of a millisecond.
   * @throws AppError envelope_schema, envelope_audience, envelope_action, envelope_not_yet_valid, envelope_expired,
   *   envelope_signature, envelope_params
   */
  open(envelope: unknown, action: EnvelopeAction): OpenedEnvelope
  /**
   * Checks the proof of an opened envelope, if it has one: to be asked when everything else is found good, for it takes some
   * 20 ms.
   * @throws AppError proof_not_accepted, envelope_proof_invalid, proof_service_unavailable
   */
  checkProof(opened: OpenedEnvelope): Promise<ProofFindings | undefined>
}

export type EnvelopeDeps = ProofCheckDeps

const core = createCore()

/** What is asked for must be what this action takes. @throws AppError envelope_params */
const readParams = (action: EnvelopeAction, params: unknown): Readonly<Record<string, unknown>> => {
  if (!isObject(params)) return fail('envelope_params', { message: 'envelope.params must be an object.' })
  const { id } = params
  if (action === 'chat.remove' && !(Number.isSafeInteger(id) && Number(id) > 0))
    fail('envelope_params', { message: 'envelope.params.id must be the id of a message.' })
  return params
}

/** @throws AppError envelope_signature */
const requireSignature = ({ envelope, signed, key }: ReadEnvelope): void => {
  const signature = core.base64urlDecode(envelope.signature)
  if (signature && verifyEd25519(key, signed, signature)) return
  fail('envelope_signature', {
    message: `The signature is not valid for the envelope's key. It must cover "${ENVELOPE_SCHEMA}", a newline and the canonical JSON (RFC 8785) of the envelope without signature.`,
  })
}

/** The host that envelopes must be addressed to. @param baseUrl BASE_URL; what a request says of its host counts nothing */
export const audienceOf = (baseUrl: string): string => new URL(baseUrl).host

export const createEnvelopeReader = (deps: EnvelopeDeps): EnvelopeReader => {
  const { clock, baseUrl } = deps
  const audience = audienceOf(baseUrl)

  /** @throws AppError envelope_not_yet_valid, envelope_expired @returns Unix ms from which on it is refused */
  const requireTime = (issuedAt: number, expiresAt: number): number => {
    const now = clock.now()
    if (issuedAt > now + SKEW_MS)
      fail('envelope_not_yet_valid', {
        message: `envelope.issued_at is more than ${ENVELOPE_SKEW_SECONDS} s ahead of ${new Date(now).toISOString()}, the time here.`,
      })
    if (now >= expiresAt + SKEW_MS)
      fail('envelope_expired', {
        message: `envelope.expires_at is ${ENVELOPE_SKEW_SECONDS} s or more before ${new Date(now).toISOString()}, the time here.`,
      })
    return expiresAt + SKEW_MS
  }

  return {
    open(input, action) {
      const read = readEnvelope(input)
      const { envelope, key, issuedAt, expiresAt } = read
      if (envelope.audience !== audience)
        fail('envelope_audience', { message: `envelope.audience must be "${audience}".` })
      if (envelope.action !== action)
        fail('envelope_action', { message: `envelope.action must be "${action}" here.` })
      const refusedFrom = requireTime(issuedAt, expiresAt)
      requireSignature(read)
      const { id, agent_id, about, proof } = envelope
      return {
        fingerprint: keyFingerprint(key),
        id,
        agentId: agent_id,
        about: about ?? '',
        params: readParams(action, envelope.params),
        expiresAt: refusedFrom,
        proof: proof ?? undefined,
      }
    },

    checkProof: createProofCheck(deps),
  }
}
