/** A JSON Schema in words: what type a value has, and within which limits. @module */
import type { JsonSchema } from '../../../http/input/schema.ts'
import type { Description } from './description.ts'

const LARGEST = Number.MAX_SAFE_INTEGER
const MAX_VALUES_NAMED = 40

/** A schema and the name it goes by in the document, if any. */
export interface Resolved {
  readonly schema: JsonSchema
  readonly name?: string
}

/** @throws Error when the document has no schema of this name */
export const resolve = (schema: JsonSchema, { schemas }: Description): Resolved => {
  if (schema.$ref === undefined) return { schema }
  const name = schema.$ref.split('/').at(-1) ?? ''
  const found = schemas[name]
  if (found === undefined) throw new Error(`the document refers to ${schema.$ref}, which it lacks`)
  const { $ref: _, ...own } = schema
  return { schema: { ...found, ...own }, name: (found.title ?? name).replace(/Input$/, '') }
}

const isNull = ({ type }: JsonSchema): boolean => type === 'null'

/** Its forms, of which a value has one; null is none of them. */
export const formsOf = ({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] =>
  (anyOf ?? oneOf ?? []).filter((form) => !isNull(form))

const mayBeNull = ({ anyOf, oneOf, type }: JsonSchema): boolean =>
  (anyOf ?? oneOf ?? []).some(isNull) || [type ?? []].flat().includes('null')

/** Whether it has members, or is made of what has. @param around names of the schemas that it is inside of */
export const isDeep = (given: JsonSchema, document: Description, around: readonly string[] = []): boolean => {
  const { schema, name } = resolve(given, document)
  if (name !== undefined && around.includes(name)) return false
  const { properties, items, prefixItems = [], additionalProperties } = schema
  if (Object.keys(properties ?? {}).length > 0) return true
  const inside = name === undefined ? around : [...around, name]
  return [
    ...formsOf(schema),
    ...(items ? [items] : []),
    ...prefixItems,
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ].some((part) => isDeep(part, document, inside))
}

const wordOf = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``

const join = (words: readonly string[]): string => {
  const different = [...new Set(words)]
  return different.length < 3
    ? different.join(' or ')
    : `${different.slice(0, -1).join(', ')} or ${different.at(-1)}`
}

const typeOfOne = (schema: JsonSchema, document: Description): string => {
  const forms = formsOf(schema)
  if (schema.const !== undefined) return wordOf(schema.const)
  if (schema.enum)
    return schema.enum.length > MAX_VALUES_NAMED
      ? `one of ${schema.enum.length} words`
      : join(schema.enum.map(wordOf))
  if (forms.length > 0) return join(forms.map((form) => typeOf(form, document)))
  if (schema.items) {
    const of = typeOf(schema.items, document)
    return `array of ${/ or |, /.test(of) ? `(${of})` : of}`
  }
  if (schema.prefixItems) return `array of ${schema.prefixItems.length}`
  if (schema.type === 'object' && !schema.properties && typeof schema.additionalProperties === 'object') {
    const of = schema.additionalProperties
    return Object.keys(of).length === 0 ? 'object' : `map of ${typeOf(of, document)}`
  }
  return join([schema.type ?? []].flat().filter((type) => type !== 'null')) || 'anything'
}

/** @returns Markdown in one line, such as "array of string" or "`YES` or `NO` or null" */
export const typeOf = (given: JsonSchema, document: Description): string => {
  const { schema, name } = resolve(given, document)
  const isNamed = name !== undefined && isDeep(schema, document)
  const type = isNamed ? name : typeOfOne(schema, document)
  return mayBeNull(schema) ? `${type} or null` : type
}

const range = (low: number | undefined, high: number | undefined, unit: string): string | undefined => {
  const top = high === undefined || high >= LARGEST ? undefined : high
  const bottom = low === undefined || low <= -LARGEST ? undefined : low
  if (bottom === undefined && top === undefined) return undefined
  const units = (count: number) =>
    `${count.toLocaleString('en')}${unit && ` ${unit}${count === 1 ? '' : 's'}`}`
  if (bottom === top) return `exactly ${units(bottom ?? 0)}`
  if (top === undefined) return `at least ${units(bottom ?? 0)}`
  if (bottom === undefined) return `at most ${units(top)}`
  return `${bottom.toLocaleString('en')} to ${units(top)}`
}

/** @returns Markdown in one line, such as "1 to 64 characters", empty where anything of the type fits */
export const limitsOf = (given: JsonSchema, document: Description): string => {
  const { schema } = resolve(given, document)
  const [form, ...others] = formsOf(schema)
  // A value or null: what is said of the value.
  const of = form && others.length === 0 ? resolve(form, document).schema : schema
  const { minProperties, maxProperties, uniqueItems } = of as JsonSchema & {
    readonly minProperties?: number
    readonly maxProperties?: number
    readonly uniqueItems?: boolean
  }
  return [
    of.format && `format ${of.format}`,
    range(of.minLength, of.maxLength, 'character'),
    range(of.minimum, of.maximum, ''),
    of.exclusiveMinimum !== undefined && `more than ${of.exclusiveMinimum}`,
    of.exclusiveMaximum !== undefined && `less than ${of.exclusiveMaximum}`,
    of.multipleOf !== undefined && `a multiple of ${of.multipleOf}`,
    range(of.minItems, of.maxItems, 'item'),
    uniqueItems && 'no item twice',
    range(minProperties, maxProperties, 'member'),
    of.pattern && `matches \`${of.pattern}\``,
    of.items && limitsOf(of.items, document) && `each ${limitsOf(of.items, document)}`,
    ...Object.entries(of.dependentRequired ?? {}).map(
      ([name, needed]) => `${wordOf(name)} needs ${needed.map(wordOf).join(' and ')}`,
    ),
  ]
    .filter(Boolean)
    .join('; ')
}
