/** The key and certificate that sign credentials for wallets: what CREDENTIAL_CERTIFICATE names, read and checked at the start. @module */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'

export interface CredentialCertificate {
  /** P-256. */
  readonly key: KeyObject
  /** RFC 7515 §4.1.6: DER in base64, the leaf first; without the trust anchor, which verifiers have. */
  readonly x5c: readonly string[]
  /** Unix ms; from then on it signs no more. */
  readonly validTo: number
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

const demand: (holds: boolean, rule: string) => asserts holds = (holds, rule) => {
  if (!holds) throw new Error(rule)
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)

/** Names of a certificate, as Node prints them: `DNS:assay.example, URI:https://assay.example`. */
const namesOf = ({ subjectAltName = '' }: X509Certificate): readonly string[] => subjectAltName.split(', ')

/**
 * @param path PEM file with a private key and its certificates, the leaf first
 * @param baseUrl as configured; credentials name its origin as `iss`
 * @throws ConfigError when the file can't be read, its parts don't belong together, or the certificate is for another issuer
 */
export const readCredentialCertificate = (path: string, baseUrl = ''): CredentialCertificate => {
  try {
    const text = readFileSync(path, 'utf8')
    const chain = (text.match(PEM_CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem))
    const [leaf] = chain
    demand(leaf !== undefined, 'there is no certificate')
    const key = createPrivateKey(text)
    demand(key.asymmetricKeyDetails?.namedCurve === 'prime256v1', 'the key must be on P-256')
    demand(leaf.checkPrivateKey(key), 'the key is not the one of the first certificate')
    demand(!isIssuedBy(leaf, leaf), 'the first certificate must not be self-signed: wallets refuse that')
    for (const [i, above] of chain.slice(1).entries())
      demand(
        isIssuedBy(chain[i] as X509Certificate, above),
        `certificate ${i + 1} was not issued by the next one`,
      )
    demand(baseUrl.startsWith('https:') && URL.canParse(baseUrl), 'BASE_URL must begin with https')
    const { origin: issuer, host, hostname } = new URL(baseUrl)
    const isNamed = namesOf(leaf).some(
      (name) => name === `URI:${issuer}` || (host === hostname && name === `DNS:${hostname}`),
    )
    demand(
      isNamed,
      `the first certificate must name ${issuer} (URI) or ${hostname} (DNS) in its subjectAltName`,
    )
    const sent = chain.filter((certificate, i) => i === 0 || !isIssuedBy(certificate, certificate))
    return Object.freeze({
      key,
      x5c: sent.map(({ raw }) => raw.toString('base64')),
      validTo: Math.min(...chain.map(({ validTo }) => Date.parse(validTo))),
    })
  } catch (error) {
    // What Node says of keys and certificates repeats nothing of them.
    const rule = `must be a PEM file with a private key and its certificates: ${String(error)}`
    throw new ConfigError({ variable: 'CREDENTIAL_CERTIFICATE', rule })
  }
}
