/** The browser's own WebCrypto, or bundled code where the browser lacks what is needed. @module */
import { loadCode } from '../http.ts'
import { type Bytes, type PageCrypto, PUBLIC_KEY_BYTES } from './page-crypto.ts'

const ALGORITHM = 'Ed25519'
/** Any valid key will do to learn whether the browser knows the algorithm: RFC 8032 §7.1, test 1. */
const PROBE_KEY = Uint8Array.from([
  0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
  0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
])

const importKey = (subtle: SubtleCrypto, key: Bytes): Promise<CryptoKey> =>
  subtle.importKey('raw', key, ALGORITHM, false, ['verify'])

const isException = (error: unknown, name: string): boolean =>
  error instanceof DOMException && error.name === name

const withSubtle = (subtle: SubtleCrypto): PageCrypto => ({
  name: 'WebCrypto of the browser',
  sha256: async (data) => new Uint8Array(await subtle.digest('SHA-256', data)),
  async verifyEd25519(publicKey, message, signature) {
    if (publicKey.length !== PUBLIC_KEY_BYTES) return false
    return subtle.verify(ALGORITHM, await importKey(subtle, publicKey), signature, message)
  },
})

/**
 * Finds what can check Ed25519 here. Pages that came over plain HTTP have no WebCrypto, and older browsers none with
 * this algorithm; only they load the bundled code.
 * @throws UnreachableError where that can't be had
 */
export const openCrypto = async (subtle?: SubtleCrypto): Promise<PageCrypto> => {
  if (subtle !== undefined) {
    try {
      await importKey(subtle, PROBE_KEY)
      return withSubtle(subtle)
    } catch (error) {
      if (!isException(error, 'NotSupportedError')) throw error
    }
  }
  const { bundledCrypto } = await loadCode(() => import('./bundled-crypto.ts'))
  return bundledCrypto
}
