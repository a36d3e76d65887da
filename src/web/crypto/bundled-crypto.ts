/** Ed25519 and SHA-256 in JavaScript, for browsers without. A chunk of its own, since hardly any needs it. @module */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { type PageCrypto, PUBLIC_KEY_BYTES } from './page-crypto.ts'

const SIGNATURE_BYTES = 64

export const bundledCrypto: PageCrypto = {
  name: 'the code of this page, since the browser has no Ed25519 here',
  sha256: async (data) => sha256(data),
  async verifyEd25519(publicKey, message, signature) {
    if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
    // As strict as WebCrypto: RFC 8032, not the looser rules of ZIP 215.
    return ed25519.verify(signature, message, publicKey, { zip215: false })
  },
}
