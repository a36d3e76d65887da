/** A consent inside: what it says, the fields that its circuit knows of it, and what is kept, sealed, of both. @module */
import { hash } from 'node:crypto'
import {
  CONSENT_PURPOSES,
  type ConsentFields,
  type Issued,
  type IssuerPoint,
  type IssuerSignature,
} from '../../circuits/issuer-signature.ts'
import { type KeptRecipient, keepRecipient, readRecipient } from '../../circuits/kept-recipient.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { h248 } from '../../rules/encode.ts'
import { openReceipt, type ReceiptPayload } from './receipt.ts'

/** A signature and the key that made it. */
interface IssuerSigned {
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

type Decimals<T> = { readonly [Name in keyof T]: string }

interface KeptSignature {
  readonly signature: Decimals<IssuerSignature>
  readonly issuer: Decimals<IssuerPoint>
}

const decimals = <T extends object>(elements: T): Decimals<T> =>
  // The keys are the same.
  Object.fromEntries(Object.entries(elements).map(([name, value]) => [name, String(value)])) as Decimals<T>

const keepSignature = ({ signature, issuer }: IssuerSigned): KeptSignature => ({
  signature: decimals(signature),
  issuer: decimals(issuer),
})

/** @throws SyntaxError for what `keepSignature` did not make */
const readSignature = ({ signature: { r8x, r8y, s }, issuer: { x, y } }: KeptSignature): IssuerSigned => ({
  signature: { r8x: BigInt(r8x), r8y: BigInt(r8y), s: BigInt(s) },
  issuer: { x: BigInt(x), y: BigInt(y) },
})

/** What the circuit consent_verification takes of a consent. */
export interface CircuitConsent extends IssuerSigned {
  readonly consent: ConsentFields
  /** Undefined: only the holder knows it. */
  readonly secret: bigint | undefined
}

/** A consent as it is kept. */
export interface OpenedConsent {
  /** Compact JWS. */
  readonly receipt: string
  readonly payload: ReceiptPayload
  /** Undefined where it was refused, for nothing is signed for a circuit then, and where it was signed for version 1 of the circuit. */
  readonly circuit: CircuitConsent | undefined
}

const MS_PER_SECOND = 1000
/** 9999-12-31T23:59:59Z: when a consent that never expires is over for its circuit, in Unix seconds. */
const NEVER = 253_402_300_799n
const PURPOSE = 'consent'
const place = (id: string) => ({ table: 'consents', column: 'sealed', row: id })
const REASON_PURPOSE = 'consent-withdrawal'
const reasonPlace = (id: string) => ({ table: 'consent_withdrawals', column: 'sealed_reason', row: id })

/** The element that stands for somebody. @param pseudonym permanent, 64 hex digits */
export const subjectElement = (pseudonym: string): bigint => h248(pseudonym)

/** The element that stands for a controller or a purpose. */
export const nameElement = (text: string): bigint => h248(text)

/** SHA-256 of a controller or a purpose, 32 bytes: what rows are found by. */
export const nameHash = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Texts as the first 31 bytes of their SHA-256, times rounded down to seconds. @param expiresAt Unix ms */
export const consentFields = (
  { header, pii_processing, iat }: ReceiptPayload,
  expiresAt: number | null,
  issued: Issued,
): ConsentFields => {
  const [controller = ''] = pii_processing.pii_controllers
  return {
    subject: subjectElement(header.pii_principal_id),
    controller: nameElement(controller),
    purposes: Array.from({ length: CONSENT_PURPOSES }, (_, i) => {
      const named = pii_processing.purposes[i]
      return named === undefined ? 0n : nameElement(named.purpose)
    }),
    from: BigInt(iat),
    to: expiresAt === null ? NEVER : BigInt(Math.floor(expiresAt / MS_PER_SECOND)),
    ...issued,
  }
}

/** As sealed. Version 1 signed a secret, which stood there in place of a recipient. */
interface Kept {
  readonly receipt: string
  readonly circuit?: KeptSignature & { readonly recipient?: KeptRecipient }
}

export const sealConsent = (sealing: Sealing, { receipt, payload, circuit }: OpenedConsent): Uint8Array => {
  const kept: Kept = {
    receipt,
    ...(circuit && {
      circuit: {
        ...keepSignature(circuit),
        recipient: keepRecipient({ issued: circuit.consent, secret: circuit.secret }),
      },
    }),
  }
  return sealing.seal(PURPOSE, place(payload.header.record_id), Buffer.from(JSON.stringify(kept)))
}

/** @throws SealingError when it was altered, moved, or sealed under another master key */
export const openConsent = (
  sealing: Sealing,
  {
    id,
    organisation,
    sealed,
    expires_at,
  }: {
    readonly id: string
    readonly organisation: string
    readonly sealed: Uint8Array
    readonly expires_at: number | null
  },
): OpenedConsent => {
  const opened = Buffer.from(sealing.open(PURPOSE, place(id), sealed)).toString()
  const { receipt, circuit } = JSON.parse(opened) as Kept
  const payload = openReceipt(receipt)
  if (circuit?.recipient === undefined) return { receipt, payload, circuit: undefined }
  const { issued, secret } = readRecipient(organisation, circuit.recipient)
  const consent = consentFields(payload, expires_at, issued)
  return { receipt, payload, circuit: { consent, secret, ...readSignature(circuit) } }
}

/** Why a consent was withdrawn, as it is kept: callers write what they like, and that may name people. */
export const sealReason = (sealing: Sealing, id: string, reason: string): Uint8Array =>
  sealing.seal(REASON_PURPOSE, reasonPlace(id), Buffer.from(reason))

/** @throws SealingError as {@link openConsent} */
export const openReason = (
  sealing: Sealing,
  { id, sealed_reason }: { readonly id: string; readonly sealed_reason: Uint8Array | null },
): string | undefined =>
  sealed_reason === null
    ? undefined
    : Buffer.from(sealing.open(REASON_PURPOSE, reasonPlace(id), sealed_reason)).toString()
