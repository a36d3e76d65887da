/**
 * What is told of input that does not fit its schema: one finding, at its place, in words for people.
 * @module
 */
import type { ErrorObject } from 'ajv'
import { type ErrorDetail, pointerToken } from '../../errors.ts'
import { NOT_BLANK, ONE_LINE } from '../../json/patterns.ts'
import { clipPointer } from './json.ts'
import type { JsonSchema } from './schema.ts'
import { readForms } from './union.ts'

/** A message lists at most this many allowed values. */
const LISTED_VALUES = 20

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

/** Patterns that have a sentence of their own. */
const PATTERN_MESSAGES: Readonly<Record<string, string>> = {
  [NOT_BLANK]: 'must not be blank',
  [ONE_LINE]: 'must not contain control characters',
}

/** Members that stand together and must not, as `not` says it by `required`. */
const forbidden = ({ schema, data }: ErrorObject): readonly string[] => {
  const { anyOf = [schema as JsonSchema] } = schema as JsonSchema
  const found = anyOf.find(({ required = [] }) => required.every((name) => Object.hasOwn(Object(data), name)))
  return found?.required ?? []
}

const describe = (error: ErrorObject): { code: string; message: string } => {
  const { keyword, params, parentSchema, message } = error
  const constants = constantsOf(parentSchema)
  if (constants) return { code: 'enum', message: `must be one of ${list(constants)}` }
  switch (keyword) {
    case 'enum':
      return { code: 'enum', message: `must be one of ${list(params.allowedValues)}` }
    case 'const':
      return { code: 'const', message: `must be ${JSON.stringify(params.allowedValue)}` }
    case 'required':
      return { code: 'required', message: 'is required' }
    case 'dependentRequired':
      return { code: 'required', message: `is required with ${params.property}` }
    case 'not': {
      const others = forbidden(error).slice(0, -1)
      return {
        code: 'not_applicable',
        message: others.length === 0 ? 'must not be sent' : `must not be combined with ${others.join(', ')}`,
      }
    }
    case 'additionalProperties':
      return { code: 'not_applicable', message: 'does not fit the other members' }
    case 'pattern':
      return {
        code: 'pattern',
        message: PATTERN_MESSAGES[params.pattern] ?? message ?? 'must match a pattern',
      }
  }
  return { code: snakeCase(keyword), message: message ?? 'does not match the schema' }
}

/**
 * What is worth telling. Of a failed union that is what lies furthest inside, since the value was meant for the
 * alternative that it fits so far; where it fits none, the summary, which ajv puts last.
 */
const worthTelling = (errors: readonly ErrorObject[]): ErrorObject =>
  errors.reduceRight((told, error) => (error.instancePath.length > told.instancePath.length ? error : told))

/** The member that an error is about, where that isn't the value itself. */
const memberOf = (error: ErrorObject): string | undefined => {
  const { keyword, params } = error
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return params.missingProperty
    case 'additionalProperties':
      return params.additionalProperty
    case 'not':
      return forbidden(error).at(-1)
  }
  return undefined
}

const findingOf = (errors: readonly ErrorObject[]): ErrorDetail => {
  const last = errors.at(-1)
  const meant = last && readForms(last)
  if (meant && 'detail' in meant) return meant.detail
  // Alternatives of a union are numbered in the paths of their errors.
  const own =
    meant && errors.filter(({ schemaPath }) => schemaPath.startsWith(`${last?.schemaPath}/${meant.form}/`))
  if (own && own.length > 0) return findingOf(own)
  const error = worthTelling(errors)
  const member = memberOf(error)
  const path = `${error.instancePath}${member === undefined ? '' : `/${pointerToken(member)}`}`
  return { path, ...describe(error) }
}

/** @param prefix of the path: empty for a body, otherwise the place, such as `query` */
export const detailOf = (errors: readonly ErrorObject[], prefix: string): ErrorDetail => {
  const { path, ...words } = findingOf(errors)
  return { path: clipPointer(prefix === '' ? path : `${prefix}${path || '/'}`), ...words }
}
