/**
 * Credentials for the circuit `kyc`: issued to whoever is verified, and known again by keyed hashes alone.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { kycMessage } from '../../circuits/issuer-signature.ts'
import type { CurrentIssuer } from '../../keys/issuer.ts'
import { type Sealing, SealingError } from '../../keys/sealing.ts'
import { encodeValue } from '../../rules/encode.ts'
import { dayNumber } from './calendar-date.ts'
import type { IssuedCredential } from './person-records.ts'
import { KYC_LEVELS, type KycLevel, type PersonCredential } from './schemas.ts'
import type { SubjectRow } from './store.ts'

const SECRET_BYTES = 31
const ELEMENT_BYTES = 31
const DIGEST_BYTES = 32
const MS_PER_SECOND = 1000
const REFERENCE_PURPOSE = 'kyc-credential-reference'
const REFERENCE_PLACE = { table: 'kyc_credentials', column: 'digest', row: '' } as const

const toBigInt = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)

/** What a level is inside the circuit. */
export const levelNumber = (level: KycLevel): bigint => BigInt(KYC_LEVELS.indexOf(level))

/** What a country is inside the circuit. @param country ISO 3166-1 alpha-2 */
export const countryElement = (country: string): bigint => encodeValue(country)

interface Attested {
  readonly person: Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>
  /** `yyyy-mm-dd` */
  readonly birthDate: string
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly level: KycLevel
  /** Unix ms. */
  readonly expiresAt: number
}

export const createCredentials = (sealing: Sealing) => {
  /** The same for all credentials of a person between two erasures: whoever is verified anew is no other person. */
  const elementOf = ({ organisation, subject, generation }: Attested['person']): bigint =>
    toBigInt(
      sealing
        .mac('kyc-credential-subject', Buffer.from(JSON.stringify([organisation, subject, generation])))
        .subarray(0, ELEMENT_BYTES),
    )

  return {
    elementOf,

    issue(
      issuer: CurrentIssuer,
      { person, birthDate, country, level, expiresAt }: Attested,
    ): IssuedCredential {
      const credential = {
        subject: elementOf(person),
        birthDate: BigInt(dayNumber(birthDate)),
        country: countryElement(country),
        level: levelNumber(level),
        expiresAt: BigInt(Math.floor(expiresAt / MS_PER_SECOND)),
        secret: toBigInt(randomBytes(SECRET_BYTES)),
      }
      return { credential, signature: issuer.sign(kycMessage(credential)), issuer: issuer.point }
    },

    /** By what a credential is known again: 64 hexadecimal digits. @param message what the issuer signed */
    digestOf: (message: bigint): string =>
      Buffer.from(sealing.mac('kyc-credential', Buffer.from(String(message)))).toString('hex'),

    /**
     * Names a credential in the statement of a proof. Another text each time: two proofs of one credential can't be told
     * to be so by it, except here.
     */
    referenceTo: (digest: string): string =>
      Buffer.from(sealing.seal(REFERENCE_PURPOSE, REFERENCE_PLACE, Buffer.from(digest, 'hex'))).toString(
        'base64url',
      ),

    /** @returns the digest; undefined for what was not made here */
    readReference(reference: unknown): string | undefined {
      if (typeof reference !== 'string') return undefined
      try {
        const opened = sealing.open(REFERENCE_PURPOSE, REFERENCE_PLACE, Buffer.from(reference, 'base64url'))
        return opened.length === DIGEST_BYTES ? Buffer.from(opened).toString('hex') : undefined
      } catch (error) {
        if (error instanceof SealingError) return undefined
        throw error
      }
    },
  }
}

/** A credential as the raw form of the circuit takes it. */
export const signalsOf = ({
  credential,
  signature,
  issuer,
}: IssuedCredential): PersonCredential['signals'] => ({
  subject: String(credential.subject),
  birthDate: String(credential.birthDate),
  country: String(credential.country),
  level: String(credential.level),
  expiresAt: String(credential.expiresAt),
  secret: String(credential.secret),
  r8x: String(signature.r8x),
  r8y: String(signature.r8y),
  s: String(signature.s),
  issuerX: String(issuer.x),
  issuerY: String(issuer.y),
})
