/** KYC_PROVIDERS: those who check people for this service. @module */

import { isObject } from '../protocol/json-object.ts'
import { ConfigError, type Environment, read } from './values.ts'

/** Somebody who checks people over HTTPS; docs/kyc.md has the contract. */
export interface KycProvider {
  readonly url: string
  readonly apiKey: string
}

/** By name. */
export type KycProviders = Readonly<Record<string, KycProvider>>

const VARIABLE = 'KYC_PROVIDERS'
const MAX_PROVIDERS = 32
const NAME = /^[a-z][a-z0-9_-]{0,31}$/
/** The service itself. */
const OWN_NAME = 'internal'
const API_KEY = /^[!-~]{1,512}$/
const RULE =
  `must be a JSON object of up to ${MAX_PROVIDERS} providers, {"name": {"url": "https://…", "apiKey": "…"}}; names ` +
  `have up to 32 of a-z, 0-9, _ and -, begin with a letter and are not ${OWN_NAME}`

/** The URL is asked with personal data and a key, so never in the clear. */
const isUrl = (value: unknown): value is string => {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return protocol === 'https:' && username === '' && password === ''
}

const isProvider = (value: unknown): value is KycProvider & Record<string, unknown> =>
  isObject(value) &&
  Object.keys(value).sort().join() === 'apiKey,url' &&
  isUrl(value.url) &&
  typeof value.apiKey === 'string' &&
  API_KEY.test(value.apiKey)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // What is wrong with it can't be told without repeating some of it, and it holds keys.
    throw new ConfigError(VARIABLE, RULE)
  }
}

/** @throws ConfigError, which repeats nothing of the value: it holds keys */
export const readKycProviders = (env: Environment): KycProviders => {
  const value = read(env, VARIABLE)
  if (value === undefined) return Object.freeze({})
  const given = parse(value)
  if (!isObject(given) || Object.keys(given).length > MAX_PROVIDERS) throw new ConfigError(VARIABLE, RULE)
  const providers = Object.entries(given).map(([name, provider]): [string, KycProvider] => {
    if (!NAME.test(name) || name === OWN_NAME || !isProvider(provider)) throw new ConfigError(VARIABLE, RULE)
    return [name, Object.freeze({ url: provider.url, apiKey: provider.apiKey })]
  })
  return Object.freeze(Object.fromEntries(providers))
}
