/** Whom something was issued to, in a form that JSON can hold: services keep it sealed. @module */
import { type Binding, bindingOf, organisationElement } from '../rules/encode.ts'
import type { Issued } from './issuer-signature.ts'

/** What is known of whom something was issued to. */
export interface IssuedTo {
  /** What the issuer signs of it. */
  readonly issued: Issued
  /** Undefined: only the holder knows it. */
  readonly secret: bigint | undefined
}

/** Elements as decimals. */
export interface KeptRecipient {
  readonly binding: Binding
  readonly holder: string
  readonly status: string
  readonly secret?: string
}

export const keepRecipient = ({ issued, secret }: IssuedTo): KeptRecipient => ({
  binding: bindingOf(issued.organisation),
  holder: String(issued.holder),
  status: String(issued.status),
  ...(secret !== undefined && { secret: String(secret) }),
})

/** @param organisation `org_…` of who issued it */
export const readRecipient = (
  organisation: string,
  { binding, holder, status, secret }: KeptRecipient,
): IssuedTo => ({
  issued: {
    holder: BigInt(holder),
    organisation: organisationElement(organisation, binding),
    status: BigInt(status),
  },
  secret: secret === undefined ? undefined : BigInt(secret),
})
