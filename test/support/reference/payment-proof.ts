/**
 * The payment proof, field by field.
 * @module
 */
import type {
  PaymentFacts,
  PaymentProof,
  ProofInput,
  ProofVerdict,
  StoredPayment,
} from '../../../src/core/index.ts'
import { decode, encode } from './base64url.ts'
import { hmac } from './hmac.ts'
import { sha256 } from './sha256.ts'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

const bigEndian = (value: number | bigint, bytes: number): number[] =>
  Array.from({ length: bytes }, (_, i) => Number((BigInt(value) >> BigInt(8 * (bytes - 1 - i))) & 255n))

const mac = (mid: Uint8Array, nullifier: Uint8Array, nonce: number, facts: PaymentFacts): Uint8Array =>
  hmac(
    mid,
    Uint8Array.from([
      ...utf8('offline-proof/1'),
      ...nullifier,
      ...bigEndian(facts.amountMinor, 8),
      ...utf8(facts.currency),
      ...bigEndian(nonce, 2),
      ...bigEndian(facts.timestampMs, 8),
      ...utf8(facts.merchantId),
    ]),
  )

export const prove = (mid: Uint8Array, input: ProofInput): PaymentProof => {
  const nullifier = sha256(utf8(input.cardToken))
  const body = mac(mid, nullifier, input.nonce, input).subarray(0, 15)
  return {
    compact: encode(Uint8Array.from([...nullifier.subarray(0, 12), ...body])),
    stored: encode(Uint8Array.from([...nullifier, ...body, ...bigEndian(input.nonce, 2)])),
    nullifier,
  }
}

export const verify = (mid: Uint8Array, payment: StoredPayment): ProofVerdict => {
  const proof = decode(payment.stored)
  if (proof?.length !== 49) return 'malformed'
  const nonce = (proof[47] ?? 0) * 256 + (proof[48] ?? 0)
  const expected = mac(mid, proof.subarray(0, 32), nonce, payment)
  return expected.subarray(0, 15).join() === proof.subarray(32, 47).join() ? 'match' : 'mismatch'
}
