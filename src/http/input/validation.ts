/**
 * Checks of input and output against the routes' schemas (JSON Schema 2020-12). Validators are compiled at
 * their first use, so that starting does not wait for routes that nobody calls.
 * @module
 */
import type { FuncKeywordDefinition, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { LAST_MS } from '../../clock.ts'
import { type ErrorDetail, type Misfit, pointerToken } from '../../errors.ts'
import { NULL_IS_ABSENT, SHOWN_AS } from '../../json/schemas.ts'
import type { Route } from '../route.ts'
import { detailOf } from './error-details.ts'
import { clipPointer } from './json.ts'
import { asJsonSchema, closed, dropNulls, type JsonSchema } from './schema.ts'
import { findUnknown } from './unknown.ts'

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z')
/** RFC 3339 without leap seconds, which no Date can hold: whatever passes can be parsed, and written in UTC again. */
const isDateTime = (text: string): boolean => {
  const at = RFC3339.test(text) ? Date.parse(text) : Number.NaN
  if (!(at >= FIRST_MS && at <= LAST_MS)) return false
  const day = text.slice(0, 10)
  // A day that its month lacks is taken for one of the next month.
  return new Date(Date.parse(day)).toISOString().startsWith(day)
}

/** Ajv's own looks texts up in an object, which keeps no `__proto__`. All such items are texts or numbers. */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: false,
  error: { message: 'must not have an item twice' },
  validate: (_: true, items: readonly unknown[]) => new Set(items).size === items.length,
}

const createAjv = (options: {
  coerceTypes?: 'array'
  useDefaults?: boolean
  strictTypes?: boolean
}): Ajv2020 => {
  const ajv = new Ajv2020({
    ...options,
    allErrors: false,
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    // Fills parentSchema, from which messages name the allowed values. Data never enters a message.
    verbose: true,
    // That our schemas are schemas, a test says: here it would take the first request a fifth of a second.
    validateSchema: false,
  })
  addFormats.default(ajv)
  ajv.addFormat('date-time', { type: 'string', validate: isDateTime })
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(UNIQUE_ITEMS)
  ajv.addKeyword(NULL_IS_ABSENT)
  ajv.addKeyword(SHOWN_AS)
  return ajv
}

const bodies = createAjv({ useDefaults: true })
const texts = createAjv({ coerceTypes: 'array', useDefaults: true })
// Closing an intersection puts a keyword beside allOf, where strict mode misses a type.
const answers = createAjv({ strictTypes: false })

/** Undefined: it fits. The value may be changed in place: defaults, coercion, dropped nulls. */
export type Check = (value: unknown) => Misfit | undefined

const compiledOnce = (ajv: Ajv2020, schema: JsonSchema): (() => ValidateFunction) => {
  let validate: ValidateFunction | undefined
  return () => {
    validate ??= ajv.compile(schema)
    return validate
  }
}

const misfit = (detail: ErrorDetail): Misfit => ({ code: 'validation_failed', details: [detail] })

const checkOf = (
  shape: JsonSchema,
  compiled: () => ValidateFunction,
  tell: (value: unknown) => Misfit | undefined,
): Check => {
  return (value) => {
    const validate = compiled()
    if (validate(value)) return undefined
    // Nulls are rare, so they are looked for only when something is wrong.
    dropNulls(shape, value)
    if (validate(value)) return undefined
    return tell(value) ?? misfit(detailOf(validate.errors ?? [], ''))
  }
}

/** Checks a parsed body; details point into it. Members that the schema does not know are told before all else. */
export const bodyCheck = (schema: NonNullable<Route['body']>): Check => {
  const shape = closed(asJsonSchema(schema))
  return checkOf(shape, compiledOnce(bodies, shape), (value) => findUnknown(shape, value))
}

/** Checks what others send of their own accord, such as answers of providers: further members are ignored. */
export const openCheck = (schema: NonNullable<Route['body']>): Check => {
  const shape = asJsonSchema(schema)
  return checkOf(shape, compiledOnce(bodies, shape), () => undefined)
}

/** A number in the one way that it is written, and never more digits than end in a finite one. */
const DECIMAL = /^-?(0|[1-9]\d{0,19})(\.\d{1,20})?$/

/**
 * Ajv takes `1e400`, `Infinity`, `0x10` and ` 7` for numbers, and holds only finite ones against their bounds.
 * @returns a name whose text became a number without being a decimal one
 */
const oddNumber = (texts: Record<string, unknown>, values: Record<string, unknown>): string | undefined =>
  Object.keys(texts).find((name) => {
    const sent = [texts[name]].flat()
    return [values[name]]
      .flat()
      .some((value, at) => typeof value === 'number' && !DECIMAL.test(String(sent[at])))
  })

/** Checks query or path parameters, which arrive as text and are turned into what the schema asks for. */
export const textCheck = (schema: NonNullable<Route['query']>, where: 'query' | 'params'): Check => {
  const compiled = compiledOnce(texts, asJsonSchema(schema))
  return (value) => {
    const validate = compiled()
    const sent = { ...(value as Record<string, unknown>) }
    if (!validate(value)) return misfit(detailOf(validate.errors ?? [], where))
    const name = oddNumber(sent, value as Record<string, unknown>)
    if (name === undefined) return undefined
    const path = clipPointer(`${where}/${pointerToken(name)}`)
    return misfit({ path, code: 'type', message: 'must be a decimal number' })
  }
}

/** Checks an answer against the closed form of its schema. */
export const answerCheck = (schema: NonNullable<Route['response'][number]>): Check => {
  const compiled = compiledOnce(answers, closed(asJsonSchema(schema)))
  return (value) => {
    const validate = compiled()
    return validate(value) ? undefined : misfit(detailOf(validate.errors ?? [], ''))
  }
}
