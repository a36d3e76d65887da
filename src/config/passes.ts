/** Who signs passes for wallets: what PASS_CERTIFICATES names, read and checked at the start. @module */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isObject } from '../protocol/json-object.ts'
import { ConfigError } from './config-error.ts'

/** Looked for where the variable names a directory. */
const FILE = 'passes.json'

/** A certificate for passes of Apple's developer programme, and whose passes it signs. */
export interface ApplePassSigner {
  readonly passTypeIdentifier: string
  readonly teamIdentifier: string
  /** Shown on the pass. */
  readonly organizationName: string
  /** PEM; the key as PKCS #8 without a passphrase. */
  readonly certificate: string
  readonly key: string
  /** PEM of Apple's intermediate authority (WWDR) that issued the certificate. */
  readonly wwdr: string
  /** PNG; a plain square where absent. */
  readonly icon: Buffer | undefined
  /** Unix ms; from then on it signs no more. */
  readonly validTo: number
}

/** A service account of Google Cloud that may issue passes of Google Wallet. */
export interface GooglePassSigner {
  /** Decimal digits, from the Google Wallet console. */
  readonly issuerId: string
  /** Shown on the pass. */
  readonly organizationName: string
  readonly clientEmail: string
  /** RSA. */
  readonly key: KeyObject
  readonly keyId: string
}

/** At least one of the two. */
export interface PassSigners {
  readonly apple: ApplePassSigner | undefined
  readonly google: GooglePassSigner | undefined
}

type Json = Readonly<Record<string, unknown>>

const demand: (holds: boolean, rule: string) => asserts holds = (holds, rule) => {
  if (!holds) throw new Error(rule)
}

const readObject = (file: string): Json => {
  const text = readFileSync(file, 'utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Its message would repeat some of the text.
    throw new Error(`${file} is not JSON`)
  }
  demand(isObject(value), `${file} must hold a JSON object`)
  return value
}

/** A member that is a text. @param where what holds it, for the message */
const textOf = (object: Json, where: string, name: string, pattern = /^\S(.{0,198}\S)?$/): string => {
  const value = object[name]
  demand(typeof value === 'string' && pattern.test(value), `${where} needs a fitting ${name}`)
  return value
}

/** Apple's certificates name the pass type as UID and the team as OU. */
const namesIn = ({ subject }: X509Certificate, attribute: string): readonly string[] =>
  subject
    .split('\n')
    .filter((line) => line.startsWith(`${attribute}=`))
    .map((line) => line.slice(attribute.length + 1))

const readApple = (given: Json, folder: string): ApplePassSigner => {
  const text = (name: string, pattern?: RegExp) => textOf(given, 'apple', name, pattern)
  const fileOf = (name: string, fallback?: string) =>
    readFileSync(resolve(folder, fallback !== undefined && given[name] === undefined ? fallback : text(name)))
  const passTypeIdentifier = text('passTypeIdentifier', /^pass\.[A-Za-z0-9.-]{1,150}$/)
  const teamIdentifier = text('teamIdentifier', /^[A-Z0-9]{10}$/)
  const certificate = new X509Certificate(fileOf('certificate', 'pass.pem'))
  const wwdr = new X509Certificate(fileOf('wwdr', 'wwdr.pem'))
  const passphrase = given.keyPassphrase === undefined ? undefined : text('keyPassphrase')
  const key = createPrivateKey({ key: fileOf('key', 'pass.key'), passphrase })
  demand(key.asymmetricKeyType === 'rsa', "apple's key must be an RSA key")
  demand(certificate.checkPrivateKey(key), "apple's key is not the one of its certificate")
  demand(
    certificate.checkIssued(wwdr) && certificate.verify(wwdr.publicKey),
    "apple's certificate was not issued by the one in wwdr",
  )
  demand(
    namesIn(certificate, 'UID').includes(passTypeIdentifier),
    "apple's certificate is for another passTypeIdentifier",
  )
  demand(namesIn(certificate, 'OU').includes(teamIdentifier), "apple's certificate is for another team")
  return {
    passTypeIdentifier,
    teamIdentifier,
    organizationName: text('organizationName'),
    certificate: certificate.toString(),
    key: String(key.export({ format: 'pem', type: 'pkcs8' })),
    wwdr: wwdr.toString(),
    icon: given.icon === undefined ? undefined : fileOf('icon'),
    validTo: Date.parse(certificate.validTo),
  }
}

const readGoogle = (given: Json, folder: string): GooglePassSigner => {
  const file = given.serviceAccount === undefined ? 'google.json' : textOf(given, 'google', 'serviceAccount')
  const account = readObject(resolve(folder, file))
  const key = createPrivateKey(textOf(account, file, 'private_key', /^-----BEGIN [\s\S]+$/))
  demand(key.asymmetricKeyType === 'rsa', "google's key must be an RSA key")
  return {
    issuerId: textOf(given, 'google', 'issuerId', /^\d{1,25}$/),
    organizationName: textOf(given, 'google', 'organizationName'),
    clientEmail: textOf(account, file, 'client_email', /^[^\s@]+@[^\s@]+$/),
    keyId: textOf(account, file, 'private_key_id'),
    key,
  }
}

/**
 * Reads `passes.json`: `{apple?, google?}`. Names of files in it count from its directory.
 * @param path what PASS_CERTIFICATES says: the directory of that file, or the file itself
 * @throws ConfigError when a file can't be read, or keys and certificates don't belong together
 */
export const readPassSigners = (path: string): PassSigners => {
  try {
    const file = statSync(path).isDirectory() ? join(path, FILE) : path
    const { apple, google } = readObject(file)
    const folder = dirname(file)
    demand(isObject(apple) || isObject(google), 'there is neither apple nor google')
    return Object.freeze({
      apple: isObject(apple) ? readApple(apple, folder) : undefined,
      google: isObject(google) ? readGoogle(google, folder) : undefined,
    })
  } catch (error) {
    // What Node says of keys and certificates repeats nothing of them.
    const rule = `must be a directory with ${FILE}, or such a file: ${String(error)}`
    throw new ConfigError({ variable: 'PASS_CERTIFICATES', rule })
  }
}
