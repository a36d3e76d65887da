/**
 * Sealing of secrets at rest: AES-256-GCM (NIST SP 800-38D), and keyed hashes, under keys derived from the master key per purpose
 * (HKDF-SHA256, RFC 5869). The place of a secret is authenticated with it, so a sealed value moved to another
 * row, column or table does not open.
 * @module
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** Where a sealed value is kept. */
export interface Place {
  readonly table: string
  readonly column: string
  /** The row's id. */
  readonly row: string
}

export interface Sealing {
  /** @returns version (1) ‖ nonce (12) ‖ ciphertext ‖ tag (16): 29 bytes more than the plaintext */
  seal(purpose: string, place: Place, plaintext: Uint8Array): Uint8Array
  /**
   * Opens what `seal` made for the same purpose and place.
   * @throws SealingError when the value was altered or moved, or was sealed under another master key
   */
  open(purpose: string, place: Place, sealed: Uint8Array): Uint8Array
  /** HMAC-SHA-256 (RFC 2104), 32 bytes: recognises data again that nobody without the master key can guess at. */
  mac(purpose: string, data: Uint8Array): Uint8Array
}

/** A sealed value does not open: altered, moved, or sealed under another master key. */
export class SealingError extends Error {
  constructor(place: Place, cause?: unknown) {
    super(
      `The value in ${place.table}.${place.column} does not open: it was altered or sealed under another MASTER_KEY.`,
      { cause },
    )
    this.name = 'SealingError'
  }
}

const CIPHER = 'aes-256-gcm'
const VERSION = 1
const MASTER_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES

/** Unambiguous: JSON keeps `a`,`bc` apart from `ab`,`c`. */
const associatedData = ({ table, column, row }: Place): Buffer =>
  Buffer.from(JSON.stringify([VERSION, table, column, row]))

/**
 * @param masterKey 32 bytes
 * @throws RangeError when the key has another length
 */
export const createSealing = (masterKey: Uint8Array): Sealing => {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new RangeError(`master key must be ${MASTER_KEY_BYTES} bytes, got ${masterKey.length}`)
  }
  const master = createSecretKey(masterKey)
  const derived = new Map<string, KeyObject>()
  const keyFor = (purpose: string, use: 'sealing' | 'mac' = 'sealing'): KeyObject => {
    const info = `assay/${use}/1/${purpose}`
    let key = derived.get(info)
    if (key === undefined) {
      key = createSecretKey(new Uint8Array(hkdfSync('sha256', master, '', info, 32)))
      derived.set(info, key)
    }
    return key
  }

  return {
    seal(purpose, place, plaintext) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, keyFor(purpose), nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(associatedData(place))
      const body = cipher.update(plaintext)
      return Buffer.concat([Buffer.of(VERSION), nonce, body, cipher.final(), cipher.getAuthTag()])
    },

    open(purpose, place, sealed) {
      if (sealed.length < HEADER_BYTES + TAG_BYTES || sealed[0] !== VERSION) throw new SealingError(place)
      const tagStart = sealed.length - TAG_BYTES
      const nonce = sealed.subarray(1, HEADER_BYTES)
      const decipher = createDecipheriv(CIPHER, keyFor(purpose), nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(associatedData(place))
      decipher.setAuthTag(sealed.subarray(tagStart))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES, tagStart)), decipher.final()])
      } catch (error) {
        throw new SealingError(place, error)
      }
    },

    mac: (purpose, data) => createHmac('sha256', keyFor(purpose, 'mac')).update(data).digest(),
  }
}
