/**
 * Consent receipts: the record with the terms of ISO/IEC TS 27560:2023 (record header, PII processing, party
 * identification, events), signed as a compact JWS. The specification fixes terms and no encoding; this is ours.
 * @module
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import { iso } from '../../clock.ts'
import type { CurrentSigner, Signers } from '../../keys/signers.ts'
import { readJws, writeJws } from '../../protocol/jws.ts'
import type { LogConsent } from './schemas.ts'

/** Explicit typing (RFC 8725 §3.11): tells a receipt from every other thing that the key of results signs. */
export const RECEIPT_TYP = 'cr+jws'
const HEADER_MEMBERS = 'alg,kid,typ'
const SCHEMA_VERSION = 'ISO/IEC TS 27560:2023'
const DEFAULT_LEGAL_BASIS = 'consent'
const MS_PER_SECOND = 1000

/** Payload of the JWS. Members that are undefined are left out. */
export interface ReceiptPayload {
  /** BASE_URL. */
  readonly iss: string
  readonly org: string
  /** Unix seconds. */
  readonly iat: number
  readonly header: {
    readonly schema_version: string
    /** `cns_…` */
    readonly record_id: string
    /** A pseudonym: 64 lower-case hex digits. */
    readonly pii_principal_id: string
  }
  readonly pii_processing: {
    readonly purposes: readonly { readonly purpose: string; readonly lawful_basis: string }[]
    readonly pii_information: readonly { readonly pii_type: string }[] | undefined
    readonly pii_controllers: readonly string[]
    readonly privacy_notice: string | undefined
    /** SHA-256, lower-case hex. */
    readonly privacy_notice_hash: string | undefined
    readonly language: string | undefined
    readonly collection_method: string | undefined
    readonly jurisdiction: string | undefined
  }
  readonly party_identification: readonly { readonly party_name: string; readonly party_role: string }[]
  readonly events: readonly {
    readonly event_time: string
    readonly event_type: string
    readonly event_state: 'consent_given' | 'consent_refused'
    /** ISO 8601 duration from `event_time`. */
    readonly validity_duration: string | undefined
    /** Who recorded it: the organisation. */
    readonly entity_id: string
  }[]
}

/** What a receipt is about, besides what the caller said. */
interface Recording {
  readonly issuer: string
  readonly organisation: string
  readonly id: string
  readonly subject: string
  /** Unix ms. */
  readonly at: number
  /** Unix ms. */
  readonly expiresAt: number | null
}

export const receiptPayload = (
  { issuer, organisation, id, subject, at, expiresAt }: Recording,
  input: LogConsent,
): ReceiptPayload => {
  const { controller, purposes, dataCategories, legalBasis = DEFAULT_LEGAL_BASIS } = input
  const answer = input.status ?? 'given'
  return {
    iss: issuer,
    org: organisation,
    iat: Math.floor(at / MS_PER_SECOND),
    header: { schema_version: SCHEMA_VERSION, record_id: id, pii_principal_id: subject },
    pii_processing: {
      purposes: purposes.map((purpose) => ({ purpose, lawful_basis: legalBasis })),
      pii_information: dataCategories?.map((pii_type) => ({ pii_type })),
      pii_controllers: [controller],
      privacy_notice: input.noticeUrl,
      privacy_notice_hash: input.noticeHash,
      language: input.language,
      collection_method: input.method,
      jurisdiction: input.jurisdiction,
    },
    party_identification: [{ party_name: controller, party_role: 'pii_controller' }],
    events: [
      {
        event_time: iso(at),
        event_type: 'explicit',
        event_state: `consent_${answer}`,
        validity_duration: expiresAt === null ? undefined : `PT${(expiresAt - at) / MS_PER_SECOND}S`,
        entity_id: organisation,
      },
    ],
  }
}

export const signReceipt = (payload: ReceiptPayload, { kid, sign }: CurrentSigner): string =>
  writeJws({ alg: 'EdDSA', kid, typ: RECEIPT_TYP }, { ...payload }, sign)

/** SHA-256 of a receipt, 32 bytes. */
export const receiptHash = (receipt: string): Buffer => hash('sha256', receipt, 'buffer')

/** What a stored receipt says. @throws Error for what is none */
export const openReceipt = (receipt: string): ReceiptPayload => {
  const read = readJws(receipt)
  if (read === undefined) throw new Error('A sealed receipt is no JWS.')
  // The type is the writer's: what was sealed was signed here.
  return read.payload as unknown as ReceiptPayload
}

/**
 * The record that a presented receipt claims to be of, once one of our own keys for results is seen to have signed it.
 * Whether it was recorded so is for the caller to compare.
 * @returns undefined for any other text
 */
export const recordIdOf = async (
  signers: Pick<Signers, 'publicKey'>,
  text: string,
): Promise<string | undefined> => {
  const { header, payload, covered, signature } = readJws(text) ?? {}
  if (header === undefined || covered === undefined || signature === undefined) return undefined
  // Other members, such as `jku` or `crit`, would ask for something that is not done here.
  if (Object.keys(header).sort().join() !== HEADER_MEMBERS) return undefined
  const { alg, kid, typ } = header
  if (alg !== 'EdDSA' || typ !== RECEIPT_TYP || typeof kid !== 'string') return undefined
  const jwk = await signers.publicKey('results', 'Ed25519', kid)
  if (jwk === undefined) return undefined
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  if (!verify(null, covered, key, signature)) return undefined
  // What was signed under this typ has the shape that was signed.
  return (payload as unknown as ReceiptPayload).header.record_id
}
