/**
 * The texts of the environment as values, read and checked by the schemas of the variables. The environment is handed in:
 * src/config/config.ts alone reads the process's.
 * @module
 */
import { isIP } from 'node:net'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import type Type from 'typebox'
import type { ConfigFault } from './config-error.ts'
import { VARIABLES } from './variables.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type Variables = Type.Static<typeof VARIABLES>
export type Variable = keyof Variables

/** What the schema of a variable says, as variables.ts describes it. */
export interface VariableSchema {
  readonly type?: 'string' | 'integer' | 'boolean' | 'array' | 'object'
  readonly format?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: VariableSchema
  readonly default?: unknown
  readonly description: string
  readonly rule?: string
  readonly secret?: boolean
  readonly unset?: string
  readonly noneIs?: string
}

// Each says more than JSON Schema, which the types of TypeBox don't show.
export const variables = Object.entries(VARIABLES.properties) as unknown as [Variable, VariableSchema][]

const DNS_SERVER = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/
const MAX_PORT = 65_535
const DEFAULT_DNS_PORT = 53

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. @returns `address:port`; undefined for others */
export const readDnsServer = (text: string): string | undefined => {
  const [, v6, v4, digits] = DNS_SERVER.exec(text) ?? []
  const address = v6 ?? v4 ?? text
  const version = isIP(address)
  const port = Number(digits ?? DEFAULT_DNS_PORT)
  if (version === 0 || (v6 !== undefined && version !== 6) || port < 1 || port > MAX_PORT) return undefined
  return `${version === 6 ? `[${address}]` : address}:${port}`
}

const isCidr = (text: string): boolean => {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/** In lower case; empty for what is no URL. */
const schemeOf = (text: string): string => (URL.canParse(text) ? new URL(text).protocol : '')

/** Paths of routes are appended to it. Port 0 is none. */
const isOrigin = (text: string): boolean => {
  const { protocol, pathname, search, hash, username, port } = URL.canParse(text) ? new URL(text) : {}
  return /^https?:$/.test(protocol ?? '') && pathname === '/' && !search && !hash && !username && port !== '0'
}

const isHttpsUrl = (text: string): boolean => {
  const { protocol, username, password } = URL.canParse(text) ? new URL(text) : {}
  return protocol === 'https:' && username === '' && password === ''
}

/** Paths of signals are appended to it. */
const isCollectorUrl = (text: string): boolean => {
  const { protocol, username, password, search, hash } = URL.canParse(text) ? new URL(text) : {}
  return /^https?:$/.test(protocol ?? '') && !username && !password && !search && !hash
}

const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

/** Names such as `10.0.0.256` look like an address, and no URL can have them. */
const isHost = (text: string): boolean =>
  isIP(text) === 6 || (/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text) && URL.canParse(`http://${text}`))

/** RFC 9116 §2.5.3; they become lines of a text. */
const isContact = (text: string): boolean =>
  /^[!-~]{1,500}$/.test(text) && ['mailto:', 'https:', 'tel:'].includes(schemeOf(text))

/** OpenID Connect Discovery §2; without TLS only on this machine. */
const isIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(text)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname))
  return isSafe && !username && !password && !search && !hash
}

const isGrowing = (_: unknown, list: readonly number[]): boolean =>
  list.every((value, i) => i === 0 || value >= (list[i - 1] ?? 0))

// That VARIABLES is a schema, a test says: here it would cost each start and each command a tenth of a second.
const ajv = new Ajv2020({
  allErrors: true,
  useDefaults: true,
  strict: true,
  strictTypes: false,
  validateSchema: false,
})
  .addVocabulary(['rule', 'secret', 'unset', 'noneIs'])
  .addKeyword({ keyword: 'isGrowing', type: 'array', schemaType: 'boolean', validate: isGrowing })
  .addFormat('cidr', isCidr)
  .addFormat('contact', isContact)
  .addFormat('dns-server', (text: string) => readDnsServer(text) !== undefined)
  .addFormat('host', isHost)
  .addFormat('collector-url', isCollectorUrl)
  .addFormat('https-url', isHttpsUrl)
  .addFormat('issuer', isIssuer)
  .addFormat('origin', isOrigin)
  .addFormat('postgres-url', (text: string) => /^postgres(ql)?:\/\//i.test(text) && URL.canParse(text))
  .addFormat('redis-url', (text: string) => /^rediss?:\/\//i.test(text) && URL.canParse(text))
const validate = ajv.compile<Variables>(VARIABLES)

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The value that a text stands for; the text itself where it stands for none of the type. */
const readText = (text: string, { type, items, noneIs }: VariableSchema): unknown => {
  if (type === 'integer') return /^\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'boolean') return text === 'on' || (text === 'off' ? false : text)
  if (type === 'object') return parseJson(text)
  if (type !== 'array' || items === undefined) return text
  return text === noneIs ? [] : text.split(',').map((part) => readText(part.trim(), items))
}

const ruleOf = ({ rule, enum: allowed, type, minimum, maximum }: VariableSchema): string => {
  if (rule !== undefined) return rule
  if (type === 'integer') return `must be a whole number from ${minimum} to ${maximum}`
  return `must be one of ${(type === 'boolean' ? ['on', 'off'] : (allowed ?? [])).join(', ')}`
}

const MAX_SHOWN_CHARACTERS = 100

/** @returns one for each variable, in their order */
const faultsOf = (errors: readonly ErrorObject[], env: Environment): ConfigFault[] => {
  const broken = new Set(errors.map(({ instancePath }) => instancePath.split('/')[1]))
  return variables
    .filter(([variable]) => broken.has(variable))
    .map(([variable, schema]) => {
      const given = schema.secret
        ? ''
        : `, not ${JSON.stringify(env[variable]?.slice(0, MAX_SHOWN_CHARACTERS))}`
      return { variable, rule: ruleOf(schema) + given }
    })
}

/**
 * Reads all variables; an empty one counts as unset.
 * @returns the values with defaults, and every variable that breaks its rule; whose value is then no value of its type
 */
export const readEnvironment = (env: Environment): { values: Variables; faults: ConfigFault[] } => {
  const values: Record<string, unknown> = {}
  for (const [variable, schema] of variables) {
    const text = env[variable]
    if (text) values[variable] = readText(text, schema)
  }
  validate(values)
  return { values: values as Variables, faults: faultsOf(validate.errors ?? [], env) }
}
