/** `assay sign-envelope`: signs a message of an agent, and posts it if asked to. @module */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import {
  type EnvelopeFields,
  type EnvelopePrivateKey,
  envelopeKey,
  keyFingerprint,
  type RelayEnvelope,
  signEnvelope,
} from '../protocol/envelope.ts'

const POST_TIMEOUT_MS = 30_000

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

const toJwk = (pemOrJwk: string, file: string): EnvelopePrivateKey => {
  try {
    const key = pemOrJwk.trimStart().startsWith('{')
      ? createPrivateKey({ key: JSON.parse(pemOrJwk), format: 'jwk' })
      : createPrivateKey(pemOrJwk)
    const { kty, crv, d, x } = key.export({ format: 'jwk' })
    if (kty === 'OKP' && crv === 'Ed25519' && d !== undefined && x !== undefined) return { kty, crv, d, x }
  } catch {
    // Nothing of a private key is repeated in a message.
  }
  throw new Error(`${file} holds no Ed25519 private key in PEM (PKCS #8) or JWK.`)
}

/** Makes a key and keeps it where only its owner can read it. @throws Error when the file is there already */
const generateKey = (file: string): EnvelopePrivateKey => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  writeFileSync(file, pem, { mode: 0o600, flag: 'wx', flush: true })
  return toJwk(pem, file)
}

/**
 * The private key that a file holds, in PEM (PKCS #8) or as a JWK. A file that does not exist is made, mode 0600, with a new key.
 * @throws Error for a file that can't be read, or holds something else
 */
export const readOrGenerateKey = (
  file: string,
): { readonly key: EnvelopePrivateKey; readonly fingerprint: string; readonly generated: boolean } => {
  let text: string | undefined
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const key = text === undefined ? generateKey(file) : toJwk(text, file)
  return { key, fingerprint: keyFingerprint(envelopeKey(key)), generated: text === undefined }
}

/** What the command line says of an envelope. */
export interface EnvelopeFlags {
  readonly key: string
  readonly audience?: string
  readonly post?: string
  readonly agentId?: string
  readonly about?: string
  readonly name?: string
  readonly text?: string
  readonly model?: string
  readonly prompt?: string
  readonly topic?: string
  readonly replyTo?: number
  readonly remove?: number
}

/** @throws Error for flags that don't fit together */
const fieldsOf = (flags: EnvelopeFlags, fingerprint: string): EnvelopeFields => {
  const { audience, post, agentId, about, name, text, remove } = flags
  const to = audience ?? (post === undefined ? undefined : new URL(post).host)
  if (to === undefined) throw new Error('The audience is missing: --audience <host>, or --post <url>.')
  const shared = {
    agent_id: agentId ?? name ?? fingerprint,
    audience: to,
    ...(about !== undefined && { about }),
  }
  if (remove !== undefined) return { ...shared, action: 'chat.remove', params: { id: remove } }
  if (name === undefined || text === undefined)
    throw new Error('A message needs --name and --text; --remove <id> removes one.')
  const { model, prompt: prompt_id, topic, replyTo: reply_to } = flags
  const optional = Object.entries({ model, prompt_id, topic, reply_to }).filter(
    ([, value]) => value !== undefined,
  )
  return {
    ...shared,
    action: 'chat.post',
    params: { agent_name: name, text, ...Object.fromEntries(optional) },
  }
}

/** Signs what the flags say. @throws Error for flags that don't fit together, and for a key file that is none */
export const signFromFlags = (
  flags: EnvelopeFlags,
): { readonly envelope: RelayEnvelope; readonly generatedKey?: string } => {
  // Before a key is made for flags that don't fit.
  fieldsOf(flags, '')
  const { key, fingerprint, generated } = readOrGenerateKey(flags.key)
  const envelope = signEnvelope(fieldsOf(flags, fingerprint), key)
  return { envelope, ...(generated && { generatedKey: fingerprint }) }
}

/** @throws Error that says why the service can't be reached */
const send = async (url: URL, envelope: RelayEnvelope): Promise<Response> => {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ envelope }),
      redirect: 'error',
      signal: AbortSignal.timeout(POST_TIMEOUT_MS),
    })
  } catch (error) {
    const { cause, message } = error as Error
    const reason = cause instanceof Error ? cause.message : message
    throw new Error(`${url.origin} does not answer: ${reason}`, { cause: error })
  }
}

/**
 * Sends an envelope to the service at `url`: a message, or the removal of one.
 * @returns status and parsed body of the answer, undefined where it has none
 * @throws Error when the service can't be reached, or what answers is none
 */
export const postEnvelope = async (
  url: string,
  envelope: RelayEnvelope,
): Promise<{ readonly status: number; readonly body: unknown }> => {
  const { action, params } = envelope
  const path =
    action === 'chat.post' ? '/api/messages' : `/api/messages/${(params as { id: number }).id}/remove`
  const response = await send(new URL(path, url), envelope)
  const { status } = response
  const text = await response.text()
  try {
    return { status, body: text === '' ? undefined : JSON.parse(text) }
  } catch {
    throw new Error(`${url} answered ${status} with what is not JSON: is it an Assay service?`)
  }
}
