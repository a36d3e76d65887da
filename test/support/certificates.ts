/** Certificates for TLS servers of tests, made by the openssl program: a fresh authority and one server each time. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificates {
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string
  /** PEM of the server's certificate and of its private key. */
  readonly cert: string
  readonly key: string
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** @param names host names and IP addresses that the server's certificate is for; valid for a day */
export const createCertificates = ({ names }: { names: readonly string[] }): Certificates => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-certificates-'))
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const read = (name: string) => readFileSync(file(name), 'utf8')
  try {
    const alternatives = names.map((name) => `${isIP(name) ? 'IP' : 'DNS'}:${name}`).join(',')
    writeFileSync(file('extensions'), `subjectAltName=${alternatives}\n`)
    const authority = ['-x509', '-days', '1', '-subj', '/CN=Test authority']
    openssl('req', ...authority, ...CURVE, '-keyout', file('ca.key'), '-out', file('ca.pem'))
    openssl('req', '-subj', '/CN=Test server', ...CURVE, '-keyout', file('key'), '-out', file('request'))
    const signer = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '1']
    openssl(
      'x509',
      '-req',
      '-in',
      file('request'),
      ...signer,
      '-extfile',
      file('extensions'),
      '-out',
      file('cert'),
    )
    return { ca: read('ca.pem'), cert: read('cert'), key: read('key') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
