/** Writes SD-JWT VCs (RFC 9901, draft-ietf-oauth-sd-jwt-vc-18). @module */
import { hash, randomBytes, sign } from 'node:crypto'
import type { CredentialCertificate } from '../../../config/credential-certificate.ts'
import type { Signers } from '../../../keys/signers.ts'
import type { Attribute } from './type-metadata.ts'

/** RFC 9901 §9.3: 128 bits. */
const SALT_BYTES = 16

/** What is said of a person, and how it is signed. */
export interface SdJwtContent {
  readonly claims: Readonly<Record<string, unknown>> & { readonly iss: string; readonly vct: string }
  readonly attributes: Readonly<Partial<Record<Attribute, string | boolean>>>
}

interface Signer {
  /** What of the header names the key. */
  readonly header: { readonly x5c: readonly string[] } | { readonly kid: string }
  sign(message: Uint8Array): Uint8Array
}

/** The certificate's key where there is one, else the service's own for credentials. */
export const signerOf = async (
  signers: Pick<Signers, 'current'>,
  certificate: CredentialCertificate | undefined,
): Promise<Signer> => {
  if (certificate === undefined) {
    const { kid, sign: signOwn } = await signers.current('credentials', 'ES256')
    return { header: { kid }, sign: signOwn }
  }
  const { key, x5c } = certificate
  return { header: { x5c }, sign: (message) => sign('sha256', message, { key, dsaEncoding: 'ieee-p1363' }) }
}

/** @returns the issuer's SD-JWT with all disclosures; the holder shows those that they choose */
export const writeSdJwt = async (signer: Signer, { claims, attributes }: SdJwtContent): Promise<string> => {
  // Loaded when the first one is made: most servers make none, and it would slow down each start.
  const { SDJwtVcInstance } = await import('@sd-jwt/sd-jwt-vc')
  const instance = new SDJwtVcInstance({
    signAlg: 'ES256',
    signer: (data) => Buffer.from(signer.sign(Buffer.from(data))).toString('base64url'),
    hashAlg: 'sha-256',
    hasher: (data) => hash('sha256', typeof data === 'string' ? data : new Uint8Array(data), 'buffer'),
    saltGenerator: () => randomBytes(SALT_BYTES).toString('base64url'),
  })
  const shown = Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
  return instance.issue({ ...claims, ...shown }, { _sd: Object.keys(shown) } as never, {
    header: signer.header,
  })
}
