/** Credentials for the circuit `kyc`: issued to whoever is verified. @module */
import { writeCredential } from '../../circuits/credential.ts'
import { kycMessage } from '../../circuits/issuer-signature.ts'
import type { IssuedTo } from '../../circuits/kept-recipient.ts'
import type { CurrentIssuer } from '../../keys/issuer.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { encodeValue } from '../../rules/encode.ts'
import { dayNumber } from './calendar-date.ts'
import type { IssuedCredential } from './person-records.ts'
import { KYC_LEVELS, type KycLevel, type PersonCredential } from './schemas.ts'
import type { SubjectRow } from './store.ts'

export const CIRCUIT = 'kyc'
const ELEMENT_BYTES = 31
const MS_PER_SECOND = 1000

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
    issue(
      issuer: CurrentIssuer,
      { person, birthDate, country, level, expiresAt }: Attested,
      { issued, secret }: IssuedTo,
    ): IssuedCredential {
      const credential = {
        subject: elementOf(person),
        birthDate: BigInt(dayNumber(birthDate)),
        country: countryElement(country),
        level: levelNumber(level),
        expiresAt: BigInt(Math.floor(expiresAt / MS_PER_SECOND)),
        ...issued,
      }
      return { credential, secret, signature: issuer.sign(kycMessage(credential)), issuer: issuer.point }
    },
  }
}

/** What a verification answers as `credential`. */
export const kycCredential = (organisation: string, { credential, secret, ...signed }: IssuedCredential) =>
  writeCredential(CIRCUIT, organisation, credential, signed, secret)

/** A credential as the raw form of the circuit takes it. */
export const signalsOf = ({
  credential,
  secret,
  signature,
  issuer,
}: IssuedCredential): PersonCredential['signals'] => ({
  subject: String(credential.subject),
  birthDate: String(credential.birthDate),
  country: String(credential.country),
  level: String(credential.level),
  expiresAt: String(credential.expiresAt),
  ...(secret !== undefined && { secret: String(secret) }),
  organisation: String(credential.organisation),
  status: String(credential.status),
  r8x: String(signature.r8x),
  r8y: String(signature.r8y),
  s: String(signature.s),
  issuerX: String(issuer.x),
  issuerY: String(issuer.y),
})
