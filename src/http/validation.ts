/**
 * Checks of input and output against the routes' schemas (JSON Schema 2020-12). Validators are compiled at
 * their first use, so that starting does not wait for routes that nobody calls.
 * @module
 */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { ErrorDetail } from '../errors.ts'
import { clipPointer, pointerToken } from './json.ts'
import type { Route } from './route.ts'
import { asJsonSchema, closed, dropNulls, type JsonSchema } from './schema.ts'

/** A message lists at most this many allowed values. */
const LISTED_VALUES = 20

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i
/** RFC 3339 without leap seconds, which no Date can hold: whatever passes can be parsed. */
const isDateTime = (text: string): boolean => {
  if (!RFC3339.test(text) || Number.isNaN(Date.parse(text))) return false
  const day = text.slice(0, 10)
  // A day that its month lacks is taken for one of the next month.
  return new Date(Date.parse(day)).toISOString().startsWith(day)
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
  })
  addFormats.default(ajv)
  ajv.addFormat('date-time', { type: 'string', validate: isDateTime })
  return ajv
}

const bodies = createAjv({ useDefaults: true })
const texts = createAjv({ coerceTypes: 'array', useDefaults: true })
// Closing an intersection puts a keyword beside allOf, where strict mode misses a type.
const answers = createAjv({ strictTypes: false })

const snakeCase = (keyword: string): string =>
  keyword.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const list = (values: readonly unknown[]): string => {
  const shown = values.slice(0, LISTED_VALUES).map((value) => JSON.stringify(value))
  return values.length > LISTED_VALUES ? `${shown.join(', ')}, …` : shown.join(', ')
}

/** The constants of a union that consists of nothing else. */
const constantsOf = (schema: JsonSchema | undefined): unknown[] | undefined => {
  const alternatives = schema?.anyOf ?? schema?.oneOf
  if (!alternatives?.every((alternative) => 'const' in alternative)) return undefined
  return alternatives.map((alternative) => alternative.const)
}

const describe = (error: ErrorObject): { code: string; message: string } => {
  const constants = constantsOf(error.parentSchema)
  if (constants) return { code: 'enum', message: `must be one of ${list(constants)}` }
  if (error.keyword === 'enum')
    return { code: 'enum', message: `must be one of ${list(error.params.allowedValues)}` }
  if (error.keyword === 'const')
    return { code: 'const', message: `must be ${JSON.stringify(error.params.allowedValue)}` }
  if (error.keyword === 'required') return { code: 'required', message: 'is required' }
  return { code: snakeCase(error.keyword), message: error.message ?? 'does not fit the schema' }
}

/**
 * What is worth telling. Of a failed union that is what lies furthest inside, since the value was meant for the
 * alternative that it fits so far; where it fits none, the summary, which ajv puts last.
 */
const worthTelling = (errors: readonly ErrorObject[]): ErrorObject =>
  errors.reduceRight((told, error) => (error.instancePath.length > told.instancePath.length ? error : told))

const detailOf = (errors: readonly ErrorObject[], prefix: string): ErrorDetail => {
  const error = worthTelling(errors)
  const missing = error.keyword === 'required' ? `/${pointerToken(String(error.params.missingProperty))}` : ''
  const pointer = `${error.instancePath}${missing}`
  const path = prefix === '' ? pointer : `${prefix}${pointer || '/'}`
  return { path: clipPointer(path), ...describe(error) }
}

/** Undefined: it fits. The value may be changed in place: defaults, coercion, dropped nulls. */
export type Check = (value: unknown) => ErrorDetail | undefined

const compiledOnce = (ajv: Ajv2020, schema: JsonSchema): (() => ValidateFunction) => {
  let validate: ValidateFunction | undefined
  return () => {
    validate ??= ajv.compile(schema)
    return validate
  }
}

/** Checks a parsed body; details point into it. Optional fields that are null count as absent. */
export const bodyCheck = (schema: NonNullable<Route['body']>): Check => {
  const shape = asJsonSchema(schema)
  const compiled = compiledOnce(bodies, shape)
  return (value) => {
    const validate = compiled()
    if (validate(value)) return undefined
    // Nulls are rare, so they are looked for only when something is wrong.
    dropNulls(shape, value)
    return validate(value) ? undefined : detailOf(validate.errors ?? [], '')
  }
}

/** A number as people write it, and never more digits than end in a finite one. */
const DECIMAL = /^-?\d{1,20}(\.\d{1,20})?$/

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
    if (!validate(value)) return detailOf(validate.errors ?? [], where)
    const name = oddNumber(sent, value as Record<string, unknown>)
    if (name === undefined) return undefined
    const path = clipPointer(`${where}/${pointerToken(name)}`)
    return { path, code: 'type', message: 'must be a decimal number' }
  }
}

/** Checks an answer against the closed form of its schema. */
export const answerCheck = (schema: NonNullable<Route['response'][number]>): Check => {
  const compiled = compiledOnce(answers, closed(asJsonSchema(schema)))
  return (value) => {
    const validate = compiled()
    return validate(value) ? undefined : detailOf(validate.errors ?? [], '')
  }
}
