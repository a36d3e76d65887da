/**
 * JSON Schema → values, for fuzzing operations: ones that fit, and ones that are a single step away from fitting.
 * Knows the keywords that the OpenAPI document uses.
 */
import fc from 'fast-check'
import type { JsonSchema } from '../../src/http/input/schema.ts'
import { anyCharacter } from './any-character.ts'
import { createMutation } from './fuzz/mutation.ts'
import { createRandom } from './fuzz/random.ts'

const DEFAULT_MAX_LENGTH = 40
const DEFAULT_MAX_ITEMS = 4
/** Schemas of trees refer to themselves; from this depth on only the shortest values are made. */
const MAX_DEPTH = 5

/** Components of the document, by name. */
export type Components = Readonly<Record<string, JsonSchema>>

const text = ({ format, pattern, minLength = 0, maxLength }: JsonSchema): fc.Arbitrary<string> => {
  if (format === 'uuid') return fc.uuid()
  if (format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
      .map((date) => date.toISOString())
  if (format === 'uri') return fc.webUrl()
  if (format === 'email') return fc.emailAddress()
  const longest = maxLength ?? DEFAULT_MAX_LENGTH
  const made = pattern
    ? fc.stringMatching(new RegExp(pattern, 'u'))
    : fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(longest, 400)) })
  const fits = (value: string) => [...value].length >= minLength && [...value].length <= longest
  const whole = pattern ? new RegExp(pattern, 'u') : undefined
  return made.map((value) => {
    const cut = [...value].slice(0, longest).join('')
    const padded = cut.padEnd(minLength, 'x')
    return fits(padded) && (whole?.test(padded) ?? true) ? padded : value
  })
}

const integer = ({ minimum, maximum, exclusiveMinimum }: JsonSchema): fc.Arbitrary<number> => {
  const min = Math.ceil(minimum ?? (exclusiveMinimum === undefined ? -1e9 : exclusiveMinimum + 1))
  return fc.integer({ min: Math.max(min, -(2 ** 31)), max: Math.min(maximum ?? 1e9, 2 ** 31 - 1) })
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

/** What the parts of an intersection say together. */
const merged = (parts: readonly JsonSchema[]): JsonSchema => ({
  ...Object.assign({}, ...parts),
  properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
  required: parts.flatMap(({ required = [] }) => required),
})

/** Whether a value that fits needs nothing that another component describes, as a node of a tree needs nodes. */
const isLeaf = ({ $ref, items, anyOf = [], properties = {}, required = [] }: JsonSchema): boolean =>
  [$ref, items?.$ref].every((name) => name === undefined) &&
  anyOf.every(isLeaf) &&
  required.every((name) => isLeaf(properties[name] ?? {}))

/** @returns makers of values for schemas of one document */
export const createArbitraries = (components: Components) => {
  const resolved = (schema: JsonSchema): JsonSchema => {
    const name = schema.$ref?.split('/').at(-1)
    if (name === undefined) return schema
    return resolved(components[name] ?? schema.$defs?.[name] ?? {})
  }

  const object = (schema: JsonSchema, depth: number): fc.Arbitrary<unknown> => {
    const { properties = {}, required = [], additionalProperties } = schema
    const { minProperties = 0 } = schema as { minProperties?: number }
    const named = Object.entries(properties).filter(([name]) => depth > 0 || required.includes(name))
    const known = fc.record(
      Object.fromEntries(named.map(([name, member]) => [name, fitting(member, depth - 1)])),
      { requiredKeys: required.filter((name) => name in properties) },
    )
    if (typeof additionalProperties !== 'object') return known
    const others = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 8 }),
      fitting(additionalProperties, depth - 1),
      {
        minKeys: minProperties,
        maxKeys: Math.max(minProperties, 3),
      },
    )
    return fc.tuple(others, known).map(([more, mine]) => ({ ...more, ...mine }))
  }

  /** Values that fit the schema. */
  const fitting = (given: JsonSchema, depth = MAX_DEPTH): fc.Arbitrary<unknown> => {
    const schema = resolved(given)
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum) return fc.constantFrom(...schema.enum)
    if (schema.allOf)
      return fitting(
        merged([schema, ...schema.allOf.map(resolved)].map(({ allOf: _, ...rest }) => rest)),
        depth,
      )
    const alternatives = (schema.anyOf ?? schema.oneOf)?.map(resolved)
    if (alternatives) {
      const leaves = alternatives.filter(isLeaf)
      const usable = depth > 0 || leaves.length === 0 ? alternatives : leaves
      return fc.oneof(...usable.map((part) => fitting(part, depth - 1)))
    }
    switch (schema.type) {
      case 'integer':
        return integer(schema)
      case 'number':
        return number(schema)
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      case 'string':
        return text(schema)
      case 'array': {
        const { items = {}, minItems = 0, maxItems = DEFAULT_MAX_ITEMS } = schema
        const most = depth > 0 ? Math.min(maxItems, Math.max(minItems, DEFAULT_MAX_ITEMS)) : minItems
        return fc.array(fitting(items, depth - 1), { minLength: minItems, maxLength: most })
      }
      case 'object':
        return object(schema, depth)
      default:
        return fc.jsonValue({ maxDepth: 2 })
    }
  }
  return { fitting, resolved }
}

/** Values that tend to break things. */
export const awkward: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: anyCharacter, maxLength: 30 }),
  fc.constantFrom<unknown>(
    ...[null, [], {}, '', true, false, [[]], { a: null }, [null]],
    ...[0, -0, -1, 0.1, 1e308, -1e308, 5e-324, 2 ** 53, 2 ** 63],
    ...['\u0000', '\ud800', '\u202e', '\ufeff', 'é'.repeat(300), '9'.repeat(400), 'x'.repeat(70_000)],
    ...['2026-02-30', '2026-02-30T00:00:00Z', '9999-12-31T23:59:59.999Z', '-1', '1e400', 'NaN', '0x10', ' 7'],
    ...[
      'https://',
      'https:/x',
      'https://127.0.0.1:0/',
      'http://[::1',
      'file:///etc/passwd',
      '../../etc/passwd',
    ],
    ...["' OR 1=1 --", '%00', '%', '__proto__', 'constructor', 'toString', '{}', '[]', 'null'],
    ...[{ logic: { op: 'AND', children: [] } }, { rules: [] }, { toString: 1 }, { length: 1e9 }],
  ),
)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Path = readonly string[]

/** Every place of a value, the whole first. */
const placesOf = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]))]
    : [path]

const GONE = Symbol('removed')

/** A copy in which what stands at the place is changed. */
const changedAt = (value: unknown, [name, ...rest]: Path, change: (part: unknown) => unknown): unknown => {
  if (name === undefined) return change(value)
  if (Array.isArray(value)) {
    const items = value.map((item, i) => (String(i) === name ? changedAt(item, rest, change) : item))
    return items.filter((item) => item !== GONE)
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, member]): [string, unknown] =>
    key === name ? [key, changedAt(member, rest, change)] : [key, member],
  )
  return Object.fromEntries(entries.filter(([, member]) => member !== GONE))
}

/** A text in which bytes are changed, or what is encoded in it: a JWS says something else then. */
const changedText = (part: unknown, seed: number): unknown => {
  if (typeof part !== 'string') return part
  const text = Buffer.from(part)
  return createMutation(createRandom(seed), () => [text])(text).toString()
}

/** Most copies that a list is filled up with. */
const MANY = 120

/** A value that is one step away from the given one, at any place inside it. */
export const mutated = (value: unknown): fc.Arbitrary<unknown> => {
  const change: fc.Arbitrary<(part: unknown) => unknown> = fc.oneof(
    { weight: 2, arbitrary: fc.constant(() => GONE) },
    { weight: 2, arbitrary: fc.constant(() => null) },
    { weight: 5, arbitrary: awkward.map((other) => () => other) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('undeclared', 'Data', 'options', 'expires_at', 'x'.repeat(200)), awkward)
        .map(
          ([name, other]) =>
            (part: unknown) =>
              isObject(part) ? { ...part, [name]: other } : [part],
        ),
    },
    { weight: 2, arbitrary: fc.nat().map((seed) => (part: unknown) => changedText(part, seed)) },
    {
      weight: 1,
      arbitrary: fc
        .nat(MANY)
        .map(
          (copies) => (part: unknown) =>
            Array.isArray(part) ? Array.from({ length: copies }, () => part[0] ?? 0) : JSON.stringify(part),
        ),
    },
  )
  return fc
    .tuple(fc.constantFrom(...placesOf(value)), change)
    .map(([place, step]) => changedAt(value, place, step))
    .map((result) => (result === GONE ? undefined : result))
}
