/**
 * What the kit needs to know of a JSON Schema: whether it leaves shapes open, which nulls count as absent, and
 * its closed form, which bodies and answers are checked against.
 * @module
 */
import type { TSchema } from 'typebox'
import { isObject } from '../../protocol/json-object.ts'

/** The JSON Schema (2020-12) keywords that routes use. */
export interface JsonSchema {
  $id?: string
  $ref?: string
  title?: string
  description?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  default?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  minItems?: number
  maxItems?: number
  properties?: Record<string, JsonSchema>
  patternProperties?: Record<string, JsonSchema>
  additionalProperties?: boolean | JsonSchema
  unevaluatedProperties?: boolean | JsonSchema
  required?: string[]
  items?: JsonSchema
  prefixItems?: JsonSchema[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  not?: JsonSchema
  $defs?: Record<string, JsonSchema>
  dependentRequired?: Record<string, string[]>
  /** See `schemas.ts`, as for the next. */
  nullIsAbsent?: true
  shownAs?: JsonSchema
}

/** TypeBox values are JSON Schemas; its own notes are not enumerable. */
export const asJsonSchema = (schema: TSchema): JsonSchema => schema as JsonSchema

/** Whether only objects fit: an object, or one in several forms. */
export const takesObjects = ({ type, anyOf }: JsonSchema): boolean =>
  type === 'object' || (anyOf?.every(takesObjects) ?? false)

const CONSTRAINTS = ['type', 'const', 'enum', 'anyOf', 'oneOf', 'allOf', '$ref'] as const

/** A schema that says nothing of the value, such as Type.Unknown(). */
const isUnconstrained = (schema: JsonSchema): boolean =>
  CONSTRAINTS.every((keyword) => schema[keyword] === undefined)

/** The schemas right inside of one. */
export const partsOf = (schema: JsonSchema): JsonSchema[] =>
  [
    ...Object.values(schema.properties ?? {}),
    schema.items,
    ...(schema.prefixItems ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
    ...Object.values(schema.$defs ?? {}),
    ...Object.values(schema.patternProperties ?? {}),
    typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined,
  ].filter((member) => member !== undefined)

/**
 * Whether a value that fits may have a depth or a number of keys that the schema does not bound: maps, unknown
 * values, recursion. Members that a schema does not name are refused, so they leave nothing open.
 */
export const isOpen = (schema: JsonSchema): boolean =>
  schema.$ref !== undefined ||
  schema.patternProperties !== undefined ||
  (schema.additionalProperties !== undefined && schema.additionalProperties !== false) ||
  (schema.type === 'object' && schema.properties === undefined) ||
  isUnconstrained(schema) ||
  partsOf(schema).some(isOpen)

/** Removes, in place, members that are null where the schema says that their null counts as absent. */
export const dropNulls = (schema: JsonSchema, value: unknown): void => {
  for (const part of [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
    dropNulls(part, value)
  if (Array.isArray(value)) {
    if (schema.items) for (const item of value) dropNulls(schema.items, item)
    return
  }
  if (!isObject(value)) return
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const member = value[name]
    if (member === null && property.nullIsAbsent) delete value[name]
    else if (typeof member === 'object' && member !== null) dropNulls(property, member)
  }
}

const mapValues = (
  record: Record<string, JsonSchema> | undefined,
  change: (schema: JsonSchema) => JsonSchema,
) => record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

/** Whether the schema names members of an object and says of no others that they may stand beside them. */
export const isClosed = (schema: JsonSchema): boolean =>
  schema.properties !== undefined &&
  schema.patternProperties === undefined &&
  (schema.additionalProperties ?? false) === false

/** Whether an unknown member can be found anywhere. */
export const isClosedSomewhere = (schema: JsonSchema): boolean =>
  isClosed(schema) || partsOf(schema).some(isClosedSomewhere)

/**
 * The same schema without room for members that it does not name, unless it says that there is room.
 * @param insideAllOf parts of an intersection only close together, at the intersection
 */
export const closed = (schema: JsonSchema, insideAllOf = false): JsonSchema => {
  const close = (part: JsonSchema) => closed(part)
  const copy: JsonSchema = { ...schema }
  if (schema.properties) copy.properties = mapValues(schema.properties, close)
  if (schema.patternProperties) copy.patternProperties = mapValues(schema.patternProperties, close)
  if (schema.$defs) copy.$defs = mapValues(schema.$defs, close)
  if (schema.items) copy.items = close(schema.items)
  if (schema.shownAs) copy.shownAs = close(schema.shownAs)
  if (schema.prefixItems) copy.prefixItems = schema.prefixItems.map(close)
  if (schema.anyOf) copy.anyOf = schema.anyOf.map((part) => closed(part, insideAllOf))
  if (schema.oneOf) copy.oneOf = schema.oneOf.map((part) => closed(part, insideAllOf))
  if (schema.allOf) {
    copy.allOf = schema.allOf.map((part) => closed(part, true))
    if (!insideAllOf) copy.unevaluatedProperties = false
  }
  if (typeof schema.additionalProperties === 'object')
    copy.additionalProperties = close(schema.additionalProperties)
  else if (isClosed(schema) && !insideAllOf) copy.additionalProperties = false
  return copy
}
