/**
 * Sealing of secrets at rest: AES-256-GCM (NIST SP 800-38D), and keyed hashes, under keys derived per purpose from a root
 * (HKDF-SHA256, RFC 5869), or from one of the keys that came after it. The place of a secret is authenticated with it, so a
 * sealed value moved to another row, column or table does not open.
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
  /** @returns version of the key (1) ‖ nonce (12) ‖ ciphertext ‖ tag (16): 29 bytes more than the plaintext */
  seal(purpose: string, place: Place, plaintext: Uint8Array): Uint8Array
  /**
   * Opens what `seal` made for the same purpose and place.
   * @throws SealingError when the value was altered or moved, or was sealed under another master key; AppError unavailable
   *   when it was sealed under a key that another server has just added
   */
  open(purpose: string, place: Place, sealed: Uint8Array): Uint8Array
  /**
   * HMAC-SHA-256 (RFC 2104), 32 bytes: recognises data again that nobody without the master key can guess at. Always under the
   * root: under another key nothing would be recognised.
   */
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

/** Keys that came after the root, by version, from 2. */
export interface NewerKeys {
  /** The version that seals now; 1 is the root. */
  current(): number
  /** @returns undefined where there is none @throws AppError unavailable for one that has just been added */
  find(version: number): KeyObject | undefined
}

const CIPHER = 'aes-256-gcm'
const ROOT_VERSION = 1
const ROOT_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES

/** Unambiguous: JSON keeps `a`,`bc` apart from `ab`,`c`. */
const associatedData = (version: number, { table, column, row }: Place): Buffer =>
  Buffer.from(JSON.stringify([version, table, column, row]))

/** The version of the key that a value was sealed under. */
export const sealedVersion = (sealed: Uint8Array): number | undefined => sealed[0]

/**
 * @param rootKey 32 bytes
 * @param newer absent: there is only the root
 * @throws RangeError when the key has another length
 */
export const createSealing = (rootKey: Uint8Array, newer?: NewerKeys): Sealing => {
  if (rootKey.length !== ROOT_KEY_BYTES) {
    throw new RangeError(`master key must be ${ROOT_KEY_BYTES} bytes, got ${rootKey.length}`)
  }
  const root = createSecretKey(rootKey)
  const derived = new Map<string, KeyObject>()
  const derive = (source: KeyObject, version: number, info: string): KeyObject => {
    const name = `${version} ${info}`
    let key = derived.get(name)
    if (key === undefined) {
      key = createSecretKey(new Uint8Array(hkdfSync('sha256', source, '', info, 32)))
      derived.set(name, key)
    }
    return key
  }
  const sealingKey = (version: number, purpose: string): KeyObject | undefined => {
    const source = version === ROOT_VERSION ? root : newer?.find(version)
    return source && derive(source, version, `assay/sealing/1/${purpose}`)
  }

  return {
    seal(purpose, place, plaintext) {
      const version = newer?.current() ?? ROOT_VERSION
      const key = sealingKey(version, purpose)
      if (key === undefined) throw new Error(`There is no key ${version} to seal with.`)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(associatedData(version, place))
      const body = cipher.update(plaintext)
      return Buffer.concat([Buffer.of(version), nonce, body, cipher.final(), cipher.getAuthTag()])
    },

    open(purpose, place, sealed) {
      if (sealed.length < HEADER_BYTES + TAG_BYTES) throw new SealingError(place)
      const version = sealedVersion(sealed) ?? 0
      const key = sealingKey(version, purpose)
      if (key === undefined) throw new SealingError(place)
      const tagStart = sealed.length - TAG_BYTES
      const nonce = sealed.subarray(1, HEADER_BYTES)
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(associatedData(version, place))
      decipher.setAuthTag(sealed.subarray(tagStart))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES, tagStart)), decipher.final()])
      } catch (error) {
        throw new SealingError(place, error)
      }
    },

    mac: (purpose, data) =>
      createHmac('sha256', derive(root, ROOT_VERSION, `assay/mac/1/${purpose}`))
        .update(data)
        .digest(),
  }
}
