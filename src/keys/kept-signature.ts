/** A circuit's signature in JSON, as it is kept sealed: elements of the field as decimals. @module */
import type { IssuerPoint, IssuerSignature } from '../circuits/issuer-signature.ts'

/** A signature and the key that made it. */
export interface IssuerSigned {
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

type Decimals<T> = { readonly [Name in keyof T]: string }

export interface KeptSignature {
  readonly signature: Decimals<IssuerSignature>
  readonly issuer: Decimals<IssuerPoint>
}

const decimals = <T extends object>(elements: T): Decimals<T> =>
  // The keys are the same.
  Object.fromEntries(Object.entries(elements).map(([name, value]) => [name, String(value)])) as Decimals<T>

export const keepSignature = ({ signature, issuer }: IssuerSigned): KeptSignature => ({
  signature: decimals(signature),
  issuer: decimals(issuer),
})

/** @throws SyntaxError for what `keepSignature` did not make */
export const readSignature = ({
  signature: { r8x, r8y, s },
  issuer: { x, y },
}: KeptSignature): IssuerSigned => ({
  signature: { r8x: BigInt(r8x), r8y: BigInt(r8y), s: BigInt(s) },
  issuer: { x: BigInt(x), y: BigInt(y) },
})
