/**
 * JSON Schema → values, for fuzzing routes: ones that fit, and ones that are a single step away from fitting.
 * Knows the keywords that routes use.
 */
import fc from 'fast-check'
import type { JsonSchema } from '../../src/http/schema.ts'

const DEFAULT_MAX_LENGTH = 40
const DEFAULT_MAX_ITEMS = 4

const text = (schema: JsonSchema): fc.Arbitrary<string> => {
  const { format, pattern, minLength = 0, maxLength = DEFAULT_MAX_LENGTH } = schema
  if (format === 'uuid') return fc.uuid()
  if (format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
      .map((date) => date.toISOString())
  if (format === 'uri') return fc.webUrl()
  if (format === 'email') return fc.emailAddress()
  const unbound =
    pattern === undefined ? fc.string({ minLength, maxLength }) : fc.stringMatching(new RegExp(pattern, 'u'))
  return unbound.filter(
    (value) =>
      [...value].length >= minLength && [...value].length <= (schema.maxLength ?? Number.POSITIVE_INFINITY),
  )
}

const number = ({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): fc.Arbitrary<number> =>
  fc.double({
    min: minimum ?? exclusiveMinimum,
    max: maximum ?? exclusiveMaximum,
    minExcluded: minimum === undefined && exclusiveMinimum !== undefined,
    maxExcluded: maximum === undefined && exclusiveMaximum !== undefined,
    noNaN: true,
    noDefaultInfinity: true,
  })

const object = ({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<unknown> =>
  fc.record(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fitting(schema)])), {
    requiredKeys: required,
  })

/** Values that fit the schema. */
export const fitting = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return fc.oneof(...alternatives.map(fitting))
  switch (schema.type) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9 })
    case 'number':
      return number(schema)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return text(schema)
    case 'array':
      return fc.array(fitting(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? DEFAULT_MAX_ITEMS,
      })
    case 'object':
      return schema.properties ? object(schema) : fc.dictionary(fc.string(), fc.jsonValue())
    default:
      return fc.jsonValue()
  }
}

/** Values that tend to break things. */
const awkward: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    null,
    [],
    {},
    '',
    0,
    -1,
    1e308,
    5e-324,
    '\u0000',
    '\ud800',
    'é'.repeat(300),
    '9'.repeat(400),
    true,
    [[]],
    { a: null },
  ),
)

/** A value that fits, with one property replaced, added or removed; or something else altogether. */
export const mutated = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const names = Object.keys(schema.properties ?? {})
  if (names.length === 0) return awkward
  const replaced = fc
    .tuple(fitting(schema), fc.constantFrom(...names, 'undeclared'), awkward)
    .map(([value, name, other]) => ({ ...(value as object), [name]: other }))
  const removed = fc
    .tuple(fitting(schema), fc.constantFrom(...names))
    .map(([value, name]) =>
      Object.fromEntries(Object.entries(value as object).filter(([key]) => key !== name)),
    )
  return fc.oneof(
    { weight: 5, arbitrary: replaced },
    { weight: 2, arbitrary: removed },
    { weight: 1, arbitrary: awkward },
  )
}
