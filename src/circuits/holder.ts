/**
 * A holder: a secret that stays with whoever credentials are issued to, and what an organisation knows them by. Nobody without the
 * secret can make a proof of what is issued to it. Works in browsers and in Node.
 * @module
 */
import { CompactEncrypt, compactDecrypt } from 'jose'
import { organisationElement } from '../rules/encode.ts'
import type { Credential } from './credential.ts'
import { holderCommitment } from './holder-commitment.ts'

export interface Holder {
  /** `org_…`: who issues to it. */
  readonly organisation: string
  /** 248 random bits. Whoever has it can prove in the holder's place. */
  readonly secret: bigint
  /** The commitment, 64 lower-case hex digits: `holder` of the routes that issue. */
  readonly holder: string
}

/** What {@link exportHolder} keeps. */
export interface HolderBackup {
  readonly holder: Holder
  readonly credentials: readonly Credential[]
}

/** A text is no export of a holder, or the passphrase is another. */
export class HolderImportError extends Error {
  override readonly name = 'HolderImportError'
}

const SECRET_BYTES = 31
const COMMITMENT_HEX_DIGITS = 64
const MIN_PASSPHRASE_CHARACTERS = 12

/**
 * PBKDF2 is the one function for passphrases that JWE knows (RFC 7518 §4.8) and browsers have. OWASP asks for 600,000 iterations with
 * SHA-256 and 210,000 with SHA-512: these are 600,000 of the stronger, once for each export and import.
 */
const ALGORITHM = 'PBES2-HS512+A256KW'
const ENCRYPTION = 'A256GCM'
const ITERATIONS = 600_000
/** Whoever hands over an export chooses its count: this is what an import takes upon itself at most. */
const MAX_ITERATIONS = 2_000_000
const TYPE = 'assay-holder'

/** A holder of a secret. @param organisation `org_…` @throws RangeError for a secret that is no element of the field */
const holderOf = (organisation: string, secret: bigint): Holder => ({
  organisation,
  secret,
  holder: holderCommitment(secret, organisationElement(organisation, 'holder'))
    .toString(16)
    .padStart(COMMITMENT_HEX_DIGITS, '0'),
})

/**
 * Makes a holder with a fresh secret. Make one for each organisation that issues: they can't tell then that it is one person.
 * @param asked.organisation `org_…` of the issuer
 */
export const createHolder = ({ organisation }: { readonly organisation: string }): Holder => {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return holderOf(
    organisation,
    bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n),
  )
}

/** Length counts, not kinds of characters (NIST SP 800-63B §5.1.1). @throws RangeError */
const keyOf = (passphrase: string): Uint8Array => {
  if (passphrase.length < MIN_PASSPHRASE_CHARACTERS)
    throw new RangeError(`passphrase must have at least ${MIN_PASSPHRASE_CHARACTERS} characters`)
  // One passphrase, however a keyboard composes its accents.
  return new TextEncoder().encode(passphrase.normalize('NFKC'))
}

/**
 * A holder and credentials as a text that can be kept anywhere: a compact JWE (RFC 7516) under a passphrase.
 * @throws RangeError for a passphrase of fewer than 12 characters
 */
export const exportHolder = async (
  { organisation, secret }: Pick<Holder, 'organisation' | 'secret'>,
  passphrase: string,
  credentials: readonly Credential[] = [],
): Promise<string> => {
  const content = JSON.stringify({ organisation, secret: String(secret), credentials })
  return new CompactEncrypt(new TextEncoder().encode(content))
    .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, typ: TYPE })
    .setKeyManagementParameters({ p2c: ITERATIONS })
    .encrypt(keyOf(passphrase))
}

/**
 * Reads what {@link exportHolder} wrote.
 * @throws HolderImportError for another text or passphrase; RangeError for a passphrase of fewer than 12 characters
 */
export const importHolder = async (text: string, passphrase: string): Promise<HolderBackup> => {
  const key = keyOf(passphrase)
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(text, key, {
      keyManagementAlgorithms: [ALGORITHM],
      contentEncryptionAlgorithms: [ENCRYPTION],
      maxPBES2Count: MAX_ITERATIONS,
    })
    if (protectedHeader.typ !== TYPE) throw new RangeError('typ')
    // What was decrypted was written here.
    const { organisation, secret, credentials } = JSON.parse(new TextDecoder().decode(plaintext)) as {
      readonly organisation: string
      readonly secret: string
      readonly credentials: readonly Credential[]
    }
    if (!Array.isArray(credentials)) throw new RangeError('credentials')
    return { holder: holderOf(organisation, BigInt(secret)), credentials }
  } catch (cause) {
    throw new HolderImportError('The text is no export of a holder, or the passphrase is another.', { cause })
  }
}
