/**
 * Finds the members of a value that its schema does not know, all over the value and not only up to the first.
 * @module
 */
import { type ErrorDetail, type Misfit, pointerToken } from '../../errors.ts'
import { type KnownName, MAX_UNKNOWN_TOLD, unknownMember } from '../../json/unknown-members.ts'
import { isObject } from '../../protocol/json-object.ts'
import { clipPointer } from './json.ts'
import { isClosed, type JsonSchema } from './schema.ts'

const alternativesOf = (schema: JsonSchema): readonly JsonSchema[] => schema.anyOf ?? schema.oneOf ?? []

/** What was sent says more of what was meant than what was left out. */
const OUTWEIGHS_MISSING = 1000

/** How far a value is from an alternative at first sight. */
const distanceTo = (schema: JsonSchema, value: object): number => {
  const wanted = schema.items ? Array.isArray(value) : schema.properties ? isObject(value) : undefined
  if (wanted === false || (schema.type !== undefined && !['object', 'array'].includes(String(schema.type))))
    return Number.POSITIVE_INFINITY
  if (!isObject(value)) return 0
  const { properties = {}, required = [] } = schema
  const unknown = isClosed(schema)
    ? Object.keys(value).filter((name) => !Object.hasOwn(properties, name))
    : []
  const missing = required.filter((name) => !Object.hasOwn(value, name))
  const other = Object.entries(properties).filter(
    ([name, { const: only }]) => only !== undefined && Object.hasOwn(value, name) && value[name] !== only,
  )
  return (unknown.length + other.length) * OUTWEIGHS_MISSING + missing.length
}

/**
 * A union of objects as one object that knows the members of all its forms; which of them go together is not asked here.
 * Of members that several forms have, those of the nearest form count.
 */
const merged = (alternatives: readonly JsonSchema[], value: object): JsonSchema | undefined => {
  const near = alternatives
    .map((schema) => ({ schema, by: distanceTo(schema, value) }))
    .filter(({ by }) => by !== Number.POSITIVE_INFINITY)
    .sort((a, b) => b.by - a.by)
    .map(({ schema }) => schema)
  if (Array.isArray(value) || !near.every(isClosed)) return near.at(-1)
  return near.length === 0
    ? undefined
    : { properties: Object.assign({}, ...near.map((form) => form.properties)) }
}

/** Every name that a schema knows, with the place in which it knows it. */
const namesIn = (schema: JsonSchema, place: string): KnownName[] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    { name, place },
    ...namesIn(member, place === '' ? name : `${place}.${name}`),
  ]),
  ...[schema.items, ...(schema.prefixItems ?? []), ...alternativesOf(schema), ...(schema.allOf ?? [])]
    .filter((part) => part !== undefined)
    .flatMap((part) => namesIn(part, place)),
]

/**
 * @param root a schema in its closed form
 * @returns undefined where every member is known
 */
export const findUnknown = (root: JsonSchema, value: unknown): Misfit | undefined => {
  const found: ErrorDetail[] = []
  let everywhere: readonly KnownName[] | undefined

  const tell = (pointer: string, name: string, schema: JsonSchema): void => {
    everywhere ??= namesIn(root, '').sort((a, b) => a.place.length - b.place.length)
    found.push(unknownMember(clipPointer(pointer), name, Object.keys(schema.properties ?? {}), everywhere))
  }

  const walk = (schema: JsonSchema, part: unknown, pointer: string): void => {
    if (typeof part !== 'object' || part === null || found.length >= MAX_UNKNOWN_TOLD) return
    const alternatives = alternativesOf(schema)
    if (alternatives.length > 0) {
      const meant = merged(alternatives, part)
      if (meant) walk(meant, part, pointer)
    }
    if (Array.isArray(part)) {
      // A list that is too long is refused for that, and looking all through it would keep others waiting.
      const items = part.slice(0, schema.maxItems)
      if (schema.items) for (const [i, item] of items.entries()) walk(schema.items, item, `${pointer}/${i}`)
      return
    }
    const { properties = {}, additionalProperties: others } = schema
    const closed = isClosed(schema)
    const rest = typeof others === 'object' ? others : Object.values(schema.patternProperties ?? {})[0]
    for (const [name, member] of Object.entries(part)) {
      const inside = Object.hasOwn(properties, name) ? properties[name] : rest
      if (inside) walk(inside, member, `${pointer}/${pointerToken(name)}`)
      else if (closed && found.length < MAX_UNKNOWN_TOLD) tell(pointer, name, schema)
    }
  }

  walk(root, value, '')
  const [first, ...more] = found
  return first && { code: 'unknown_member', details: [first, ...more] }
}
