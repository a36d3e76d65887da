/**
 * The core without WebAssembly: the same interface, slow and readable. Tests run the same suites against both.
 * @module
 */
import type { Core, ProofKey } from '../../../src/core/index.ts'
import { decode, encode } from './base64url.ts'
import { hmac, midstate } from './hmac.ts'
import { prove, verify } from './payment-proof.ts'
import { sha256 } from './sha256.ts'

const bytesOf = (message: Uint8Array | string): Uint8Array =>
  typeof message === 'string' ? new TextEncoder().encode(message) : message

const openMidstate = (mid: Uint8Array): ProofKey => ({
  prove: (input) => prove(mid, input),
  proveCompact: (input) => prove(mid, input).compact,
  verifyBatch: (payments) => payments.map((payment) => verify(mid, payment)),
  dispose: () => {
    mid.fill(0)
  },
})

export const createReferenceCore = (): Core => ({
  sha256: (message) => sha256(bytesOf(message)),
  sha256Batch: (messages, length) =>
    Uint8Array.from(
      Array.from({ length: messages.length / length }, (_, i) => [
        ...sha256(messages.slice(i * length, (i + 1) * length)),
      ]).flat(),
    ),
  hmacMidstate: (key) => midstate(bytesOf(key)),
  hmac: (mid, message) => hmac(mid, bytesOf(message)),
  base64urlEncode: encode,
  base64urlDecode: decode,
  loadKey: (key) => openMidstate(midstate(bytesOf(key))),
  loadMidstate: (mid) => openMidstate(mid.slice()),
  verifyBatch: (mid, payments) => payments.map((payment) => verify(mid, payment)),
})
