/** What CREDENTIAL_CERTIFICATE may name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ConfigError } from '../../src/config/config-error.ts'
import { readCredentialCertificate } from '../../src/config/credential-certificate.ts'
import { createCertificates } from '../support/servers/certificates.ts'

describe('the certificate for credentials', () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-credential-'))
  const made = createCertificates({ names: ['assay.example'] })
  const other = createCertificates({ names: ['other.example'] })
  after(() => rmSync(folder, { recursive: true }))
  const read = (text: string, baseUrl: string | undefined = 'https://assay.example') => {
    const file = join(folder, 'credential.pem')
    writeFileSync(file, text)
    return readCredentialCertificate(file, baseUrl)
  }

  it('is read with its key, in any order, and sent without the authority at its end', () => {
    for (const text of [made.key + made.cert + made.ca, made.cert + made.key, made.cert + made.ca + made.key])
      expect(read(text).x5c).to.have.length(1)
    expect(read(made.key + made.cert).validTo).to.be.greaterThan(Date.now())
    expect(read(made.key + made.cert, 'https://assay.example/').x5c).to.have.length(1)
  })

  it('is refused where its parts do not belong together, or name another issuer', () => {
    const wrong: [text: string, rule: string, baseUrl?: string][] = [
      ['', 'there is no certificate'],
      [made.cert, 'must be a PEM file'],
      [other.key + made.cert, 'the key is not the one'],
      [made.key + made.cert + other.ca, 'certificate 1 was not issued by the next one'],
      [other.key + other.cert, 'must name https://assay.example (URI) or assay.example (DNS)'],
      [made.key + made.cert, 'BASE_URL must begin with https', 'http://assay.example'],
      [made.key + made.cert, 'must name', 'https://assay.example:8443'],
      [made.key + made.cert, 'must name', 'https://www.assay.example'],
    ]
    for (const [text, rule, baseUrl] of wrong)
      expect(() => read(text, baseUrl), rule)
        .to.throw(ConfigError)
        .with.property('message')
        .that.includes(rule)
    expect(() => readCredentialCertificate(join(folder, 'absent'), 'https://assay.example')).to.throw(
      ConfigError,
    )
  })
})
