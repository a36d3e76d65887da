/**
 * What is kept of a check, sealed under a random key of the person's own, which is itself sealed under the master key.
 * Once that key is destroyed nobody reads the records any more, this service included.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { IssuerPoint, IssuerSignature, KycCredential } from '../../circuits/issuer-signature.ts'
import { createSealing, type Sealing } from '../../keys/sealing.ts'
import { dayOf, isBirthDate } from './calendar-date.ts'
import type { Check, KycData, KycLevel, KycStatus } from './schemas.ts'
import type { CheckRow, SubjectRow } from './store.ts'

const KEY_BYTES = 32
const KEY_PURPOSE = 'kyc-person'
const RECORD_PURPOSE = 'kyc-check'

/** A credential with its signature, as the circuit `kyc` takes it. */
export interface IssuedCredential {
  readonly credential: KycCredential
  /** Undefined: only the holder knows it. */
  readonly secret: bigint | undefined
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

/** One that was signed for version 1 of the circuit, which said nothing of holders; nothing can be proved with it any more. */
export type FormerCredential = Readonly<Record<string, unknown>> & {
  readonly credential: { readonly status?: undefined }
}

/** What is known of one check. */
export interface CheckRecord {
  /** As the caller calls the person. */
  readonly userId: string
  readonly provider: string
  readonly status: KycStatus
  readonly level: KycLevel
  readonly checks: readonly Check[]
  readonly providerReference: string | null
  /** Unix ms. */
  readonly checkedAt: number
  /** Unix ms; null unless the person is verified, or waits for review and the provider said until when they may be. */
  readonly expiresAt: number | null
  /** As it was sent. */
  readonly data: KycData
  /** `yyyy-mm-dd` and ISO 3166-1 alpha-2, where they are known. */
  readonly birthDate: string | undefined
  readonly country: string | undefined
  /** Opens the commitment in the ledger. base64url, 32 bytes. */
  readonly salt: string
  readonly issued: IssuedCredential | FormerCredential | undefined
  /** Where somebody decided on a check that waited for review. */
  readonly review?: {
    /** Of that check, `kyc_…`. */
    readonly reference: string
    readonly reason: string
    /** Accounts, or an API key. */
    readonly decidedBy: string
    readonly proposedBy?: string
  }
}

/** The credential of a check, unless it was signed for version 1 of the circuit. */
export const currentCredential = ({ issued }: CheckRecord): IssuedCredential | undefined =>
  issued === undefined || issued.credential.status === undefined ? undefined : (issued as IssuedCredential)

/**
 * The date of birth of a check, where it was one then: providers' records of before have what was typed in, such as 1974-00-00. The record itself stays as it
 * is, since the log holds its digest.
 */
export const birthDateOf = ({
  birthDate,
  checkedAt,
}: Pick<CheckRecord, 'birthDate' | 'checkedAt'>): string | undefined =>
  birthDate !== undefined && isBirthDate(birthDate, dayOf(checkedAt)) ? birthDate : undefined

const isTyped = (value: unknown): value is { bigint: string } =>
  typeof value === 'object' && value !== null && 'bigint' in value

/** Elements of the field go as `{"bigint": "decimal"}`: JSON has no numbers that long. */
const write = (record: CheckRecord): Buffer =>
  Buffer.from(
    JSON.stringify(record, (_, value: unknown) =>
      typeof value === 'bigint' ? { bigint: String(value) } : value,
    ),
  )

const read = (bytes: Uint8Array): CheckRecord =>
  JSON.parse(Buffer.from(bytes).toString(), (_, value: unknown) =>
    isTyped(value) ? BigInt(value.bigint) : value,
  ) as CheckRecord

type Person = Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>

const keyPlace = ({ organisation, subject, generation }: Person) => ({
  table: 'kyc_subjects',
  column: 'sealed_key',
  row: JSON.stringify([organisation, subject, generation]),
})
const recordPlace = (id: string) => ({ table: 'kyc_checks', column: 'sealed', row: id })

/** Seals and opens the records of one person. */
export interface PersonKey {
  /** For what other domains keep of the person, under purposes of their own. */
  readonly sealing: Sealing
  seal(id: string, record: CheckRecord): Uint8Array
  /** @throws SealingError when it was altered, moved, or is another person's */
  open(row: Pick<CheckRow, 'id' | 'sealed'>): CheckRecord
}

const personKey = (key: Uint8Array): PersonKey => {
  const sealing = createSealing(key)
  return {
    sealing,
    seal: (id, record) => sealing.seal(RECORD_PURPOSE, recordPlace(id), write(record)),
    open: ({ id, sealed }) => read(sealing.open(RECORD_PURPOSE, recordPlace(id), sealed)),
  }
}

export const createPersonKeys = (sealing: Sealing) => ({
  /** A fresh key for a person, and what is kept of it. */
  create(person: Person): { readonly key: PersonKey; readonly sealedKey: string } {
    const bytes = randomBytes(KEY_BYTES)
    const sealed = sealing.seal(KEY_PURPOSE, keyPlace(person), bytes)
    return { key: personKey(bytes), sealedKey: Buffer.from(sealed).toString('base64url') }
  },

  /** @throws SealingError when the key was destroyed, altered or sealed under another master key */
  open: (row: Person & Pick<SubjectRow, 'sealed_key'>): PersonKey =>
    personKey(sealing.open(KEY_PURPOSE, keyPlace(row), Buffer.from(row.sealed_key, 'base64url'))),
})
