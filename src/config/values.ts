/** Values of the environment, each read by its rule. The environment is handed in: src/config/config.ts alone reads the process's. @module */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

const MAX_THRESHOLD = 1_000_000_000

/** A variable breaks its rule. The message names the variable and the rule, never a secret value. */
export class ConfigError extends Error {
  readonly variable: string
  constructor(variable: string, rule: string) {
    super(`${variable} ${rule}`)
    this.name = 'ConfigError'
    this.variable = variable
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as unset. */
export const read = (env: Environment, name: string): string | undefined => env[name] || undefined

export const matching = (
  env: Environment,
  name: string,
  pattern: RegExp,
  rule: string,
): string | undefined => {
  const value = read(env, name)
  if (value !== undefined && !pattern.test(value)) throw new ConfigError(name, rule)
  return value
}

export const integer = (
  env: Environment,
  name: string,
  fallback: number,
  min: number,
  max: number,
): number => {
  const value = read(env, name)
  if (value === undefined) return fallback
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= max)) {
    throw new ConfigError(name, `must be a whole number from ${min} to ${max}, not "${value}"`)
  }
  return number
}

export const oneOf = <T extends string>(
  env: Environment,
  name: string,
  values: readonly T[],
  fallback: T,
): T => {
  const value = read(env, name)
  if (value === undefined) return fallback
  const found = values.find((allowed) => allowed === value)
  if (found === undefined) throw new ConfigError(name, `must be one of ${values.join(', ')}, not "${value}"`)
  return found
}

/** A JSON object of positive whole numbers; what it does not name keeps its default. */
export const thresholds = <T extends { readonly [K in keyof T]: number }>(
  env: Environment,
  name: string,
  defaults: T,
): T => {
  const value = read(env, name)
  if (value === undefined) return defaults
  const names = Object.keys(defaults)
  const rule = `must be a JSON object with whole numbers from 1 to ${MAX_THRESHOLD} for any of ${names.join(', ')}`
  let given: unknown
  try {
    given = JSON.parse(value)
  } catch {
    throw new ConfigError(name, rule)
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new ConfigError(name, rule)
  for (const [key, limit] of Object.entries(given)) {
    if (!names.includes(key) || !Number.isInteger(limit) || limit < 1 || limit > MAX_THRESHOLD)
      throw new ConfigError(name, rule)
  }
  return Object.freeze({ ...defaults, ...given })
}

export const url = (env: Environment, name: string, protocols: readonly string[]): string | undefined => {
  const value = read(env, name)
  if (value === undefined) return undefined
  // The value may hold a password, so it is not repeated in the message.
  if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
    throw new ConfigError(
      name,
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    )
  }
  return value
}

const isCidr = (text: string): boolean => {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

export const list = (value: string): string[] => value.split(',').map((part) => part.trim())

/** A single address counts as its own network. */
export const readCidrs = (env: Environment, name: string): readonly string[] => {
  const value = read(env, name)
  if (value === undefined || value === 'off') return []
  return list(value).map((cidr) => {
    if (!isCidr(cidr)) throw new ConfigError(name, `must be CIDRs separated by commas, not "${cidr}"`)
    return cidr.includes('/') ? cidr : `${cidr}/${isIP(cidr) === 4 ? 32 : 128}`
  })
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** @returns the certificates of the file, and nothing else that stands in it */
export const readCertificates = (env: Environment, name: string): string | undefined => {
  const file = read(env, name)
  if (file === undefined) return undefined
  try {
    const found = readFileSync(file, 'utf8').match(PEM_CERTIFICATE) ?? []
    if (found.length === 0) throw new Error('there is none')
    for (const pem of found) new X509Certificate(pem)
    return `${found.join('\n')}\n`
  } catch (error) {
    throw new ConfigError(name, `must be a file with certificates in PEM: ${String(error)}`)
  }
}
