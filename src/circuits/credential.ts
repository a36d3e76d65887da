/**
 * What an issuing route answers once as `credential`: the fields that the issuer signed, and the signature. With the secret behind
 * `holder` it is all that a proof takes. Works in browsers and in Node.
 * @module
 */
import { type Binding, bindingOf, organisationElement } from '../rules/encode.ts'
import { isCanonicalSignal } from './circuit.ts'
import { demandHolder } from './holder-commitment.ts'
import {
  type ConsentFields,
  consentMessage,
  demandSignature,
  type Issued,
  type IssuerPoint,
  type IssuerSignature,
  type KycCredential,
  kycMessage,
  type TokenFields,
  tokenMessage,
} from './issuer-signature.ts'

/** Fields as the issuer signs them, by circuit. */
export interface SignedFields {
  readonly kyc: KycCredential
  readonly token_validation: TokenFields
  readonly consent_verification: ConsentFields
}

export type CredentialCircuit = keyof SignedFields

/** Decimals by name; a list for the purposes of a consent. */
type Decimals = Readonly<Record<string, string | readonly string[]>>

export interface Credential<C extends CredentialCircuit = CredentialCircuit> {
  readonly circuit: C
  readonly binding: Binding
  /** `org_…` of the issuer. */
  readonly organisation: string
  /** Decimals by the names of {@link SignedFields}. */
  readonly fields: Decimals
  readonly signature: Readonly<Record<'r8x' | 'r8y' | 's' | 'issuerX' | 'issuerY', string>>
  /** Decimal; of a bearer credential only: whoever has it can make proofs. */
  readonly secret?: string
}

/** What mappers take of a credential, whatever is asked of it. */
interface Held {
  readonly secret: bigint
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

/** The parts of a mapper's values that a credential brings. */
export interface HeldValues {
  readonly kyc: Held & { readonly credential: KycCredential }
  readonly token_validation: Held & { readonly token: TokenFields }
  readonly consent_verification: Held & { readonly consent: ConsentFields }
}

const ISSUED = ['holder', 'organisation', 'status'] as const
/** Of each circuit: its fields, what their message is, and what its mapper calls them. */
const FORMS = {
  kyc: {
    names: ['subject', 'birthDate', 'country', 'level', 'expiresAt', ...ISSUED],
    message: kycMessage,
    as: 'credential',
  },
  token_validation: {
    names: ['tokenId', 'subject', 'audience', 'claims', 'issuedAt', 'expiresAt', ...ISSUED],
    message: tokenMessage,
    as: 'token',
  },
  consent_verification: {
    names: ['subject', 'controller', 'purposes', 'from', 'to', ...ISSUED],
    message: consentMessage,
    as: 'consent',
  },
} as const

/** The form in which something that was signed is handed over. @param organisation `org_…` of the issuer */
export const writeCredential = <C extends CredentialCircuit>(
  circuit: C,
  organisation: string,
  fields: SignedFields[C],
  { signature, issuer }: Pick<Held, 'signature' | 'issuer'>,
  secret: bigint | undefined,
): Credential<C> => {
  const { r8x, r8y, s } = signature
  const decimals = Object.entries(fields).map(([name, value]: [string, bigint | readonly bigint[]]) => [
    name,
    typeof value === 'bigint' ? String(value) : value.map(String),
  ])
  return {
    circuit,
    binding: bindingOf(fields.organisation),
    organisation,
    fields: Object.fromEntries(decimals),
    signature: {
      r8x: String(r8x),
      r8y: String(r8y),
      s: String(s),
      issuerX: String(issuer.x),
      issuerY: String(issuer.y),
    },
    ...(secret !== undefined && { secret: String(secret) }),
  }
}

/** @throws RangeError */
const elementOf = (name: string, text: unknown): bigint => {
  if (!isCanonicalSignal(text)) throw new RangeError(`${name} must be a canonical decimal of the field`)
  return BigInt(text)
}

/** @throws RangeError unless there are just these fields */
const readFields = (names: readonly string[], fields: Decimals): Record<string, bigint | bigint[]> => {
  if (Object.keys(fields).sort().join() !== [...names].sort().join())
    throw new RangeError(`fields must be ${names.join(', ')}`)
  const entries = names.map((name) => {
    const value: unknown = fields[name]
    return [name, Array.isArray(value) ? value.map((one) => elementOf(name, one)) : elementOf(name, value)]
  })
  return Object.fromEntries(entries)
}

/**
 * What the mapper of its circuit takes of a credential: spread it into the values.
 * @param secret of the {@link Holder} that it was issued to; a bearer credential brings its own
 * @throws RangeError for fields that are none, for an organisation or a secret that is not the one that it was issued for, and
 *   where the signature doesn't hold
 */
export const credentialValues = <C extends CredentialCircuit>(
  { circuit, binding, organisation, fields, signature, secret: own }: Credential<C>,
  secret?: bigint,
): HeldValues[C] => {
  const { names, message, as } = FORMS[circuit]
  // Read by the names of its circuit.
  const signed = readFields(names, fields) as unknown as Issued
  const used = secret ?? (own === undefined ? undefined : elementOf('secret', own))
  if (used === undefined) throw new RangeError('a credential of a holder takes the secret of the holder')
  if (signed.organisation !== organisationElement(organisation, binding))
    throw new RangeError('the credential is of another organisation or binding than it says')
  const { r8x, r8y, s, issuerX, issuerY } = signature
  const held: Held = {
    secret: used,
    signature: { r8x: elementOf('r8x', r8x), r8y: elementOf('r8y', r8y), s: elementOf('s', s) },
    issuer: { x: elementOf('issuerX', issuerX), y: elementOf('issuerY', issuerY) },
  }
  demandHolder(signed.holder, used, signed.organisation)
  demandSignature((message as (fields: Issued) => bigint)(signed), held.signature, held.issuer)
  return { ...held, [as]: signed } as unknown as HeldValues[C]
}
