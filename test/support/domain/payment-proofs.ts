/** Payment proofs made with nothing but node:crypto, so that tests do not trust the code they test. @module */
import { createHash, createHmac } from 'node:crypto'

export interface ProofInput {
  key: string
  cardToken: string
  /** Minor units. */
  amountMinor: number
  currency: string
  nonce: number
  /** Unix ms. */
  timestampMs: number
  merchantId: string
}

/** Builds both forms of a proof, in base64url. */
export const makeProof = (input: ProofInput): { stored: string; compact: string } => {
  const nullifier = createHash('sha256').update(input.cardToken).digest()
  const amount = Buffer.alloc(8)
  amount.writeBigUInt64BE(BigInt(input.amountMinor))
  const nonce = Buffer.alloc(2)
  nonce.writeUInt16BE(input.nonce)
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(input.timestampMs))
  const mac = createHmac('sha256', input.key)
    .update('offline-proof/1')
    .update(nullifier)
    .update(amount)
    .update(input.currency)
    .update(nonce)
    .update(time)
    .update(input.merchantId)
    .digest()
  const body = mac.subarray(0, 15)
  return {
    stored: Buffer.concat([nullifier, body, nonce]).toString('base64url'),
    compact: Buffer.concat([nullifier.subarray(0, 12), body]).toString('base64url'),
  }
}
