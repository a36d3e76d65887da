/** Certificates for tests, made by the openssl program: a fresh authority each time, and what it signs. */
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
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

const RSA = ['-newkey', 'rsa:2048', '-nodes']
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

export const PASS_TYPE = 'pass.org.example.token'
export const PASS_TEAM = 'ABCDE12345'

export interface PassFolder {
  readonly path: string
  /** File of the authority that stands for Apple's. */
  readonly authority: string
  /** PEM of the public key of the service account that stands for Google's. */
  readonly googleKey: string
  /** Writes passes.json anew. @param members laid over those that fit */
  configure(members: { apple?: object | null; google?: object | null }): void
  remove(): void
}

/** A directory as PASS_CERTIFICATES names it, with certificates that are valid for a day; remove it. */
export const createPassFolder = (): PassFolder => {
  const path = mkdtempSync(join(tmpdir(), 'assay-passes-'))
  const file = (name: string) => join(path, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const subject = `/UID=${PASS_TYPE}/CN=Pass Type ID: ${PASS_TYPE}/OU=${PASS_TEAM}`
  openssl(
    'req',
    '-x509',
    '-days',
    '1',
    '-subj',
    '/CN=Test WWDR',
    ...RSA,
    '-keyout',
    file('ca.key'),
    '-out',
    file('wwdr.pem'),
  )
  openssl('req', '-subj', subject, ...RSA, '-keyout', file('pass.key'), '-out', file('request'))
  const signer = ['-CA', file('wwdr.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '1']
  openssl('x509', '-req', '-in', file('request'), ...signer, '-out', file('pass.pem'))
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = {
    type: 'service_account',
    client_email: 'passes@example.iam.gserviceaccount.com',
    private_key_id: 'k1',
    private_key: privateKey.export({ format: 'pem', type: 'pkcs8' }),
  }
  writeFileSync(file('google.json'), JSON.stringify(account))
  const APPLE = { passTypeIdentifier: PASS_TYPE, teamIdentifier: PASS_TEAM, organizationName: 'Example' }
  const GOOGLE = { issuerId: '3388000000012345678', organizationName: 'Example' }
  const configure: PassFolder['configure'] = ({ apple = {}, google = {} }) =>
    writeFileSync(
      file('passes.json'),
      JSON.stringify({
        ...(apple && { apple: { ...APPLE, ...apple } }),
        ...(google && { google: { ...GOOGLE, ...google } }),
      }),
    )
  configure({})
  return {
    path,
    authority: file('wwdr.pem'),
    googleKey: String(publicKey.export({ format: 'pem', type: 'spki' })),
    configure,
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
