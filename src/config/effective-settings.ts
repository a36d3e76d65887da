/** What the environment comes to, for people to read: every variable with its value or its default, without secrets. @module */
import { isDeepStrictEqual } from 'node:util'
import { type Environment, readEnvironment, type VariableSchema, variables } from './environment.ts'

/** A variable as it takes effect; `value` never shows a secret. */
export interface EffectiveSetting {
  readonly variable: string
  readonly value: string
  /** Whether the environment sets it; else it is the default. */
  readonly isSet: boolean
}

const MASKED = '********'

/**
 * What may be seen of a secret: of an address where it leads to, without user, password and parameters. Without its slashes, or with one, a `?`
 * or a `#` in the password, an address has of user and password what stands behind its host, or for its host and port.
 */
const maskedOf = (text: string, { format = '' }: VariableSchema): string => {
  if (!['origin', 'postgres-url', 'redis-url'].includes(format) || !URL.canParse(text)) return MASKED
  const { protocol, host, pathname, search, hash, username } = new URL(text)
  if (!text.includes('://') || `${pathname}${search}${hash}`.includes('@')) return MASKED
  return `${protocol}//${username === '' ? '' : `${MASKED}@`}${host}${pathname}`
}

/** As the environment would have it. */
const writeValue = (value: unknown, { noneIs = '' }: VariableSchema): string => {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (Array.isArray(value)) return value.join(',') || noneIs
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/**
 * All variables as they take effect, in the order of their table.
 * @param env variables by name
 */
export const effectiveSettings = (env: Environment): readonly EffectiveSetting[] => {
  const { values } = readEnvironment(env)
  return variables.map(([variable, schema]): EffectiveSetting => {
    const isSet = Boolean(env[variable])
    const value: unknown = values[variable]
    if (isSet) {
      const shown = schema.secret ? maskedOf(env[variable] ?? '', schema) : writeValue(value, schema)
      return { variable, isSet, value: shown }
    }
    const usual = value === undefined || isDeepStrictEqual(value, {}) ? schema.unset : undefined
    return { variable, isSet, value: usual ?? (value === undefined ? '' : writeValue(value, schema)) }
  })
}
