/** Keys as the service publishes them, what they sign, and clocks. @module */
import { ed25519 } from '@noble/curves/ed25519.js'
import { createCore } from '../../../../core/index.ts'

const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** In the year 2001. A clock before it counts seconds, or was never set. */
const EARLIEST_CLOCK_MS = 1e12

const core = createCore()

/** A key of `/.well-known/jwks.json`. */
export interface PublishedKey {
  readonly kty: string
  readonly kid?: string
  readonly crv?: string
  readonly x?: string
}

/** RFC 8032, not the looser rules of ZIP 215. */
export const verifyEd25519 = (
  { x = '' }: PublishedKey,
  message: Uint8Array,
  signature: Uint8Array,
): boolean => {
  const key = core.base64urlDecode(x)
  if (key?.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  return ed25519.verify(signature, message, key, { zip215: false })
}

/** Whether a time is one in milliseconds. */
export const isClock = (now: number): boolean => Number.isFinite(now) && now >= EARLIEST_CLOCK_MS
