/**
 * Schemas for the OpenAPI document: those with a name become components, written once and referred to.
 * @module
 */
import type { TSchema } from 'typebox'
import { asJsonSchema, type JsonSchema } from './schema.ts'

const COMPONENT_NAME = /^[A-Z][A-Za-z0-9]*$/

export interface SchemaComponents {
  /** The schema as the document shows it: a reference if it has a name. @throws Error when a name means two things */
  use(schema: TSchema): JsonSchema
  /** Every named schema used so far, by name in alphabetical order. */
  all(): Record<string, JsonSchema>
}

const nameOf = (schema: JsonSchema): string | undefined =>
  [schema.$id, schema.title].find((name) => name !== undefined && COMPONENT_NAME.test(name))

export const createSchemaComponents = (): SchemaComponents => {
  const components = new Map<string, JsonSchema>()

  const mapRecord = (record: Record<string, JsonSchema> | undefined) =>
    record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, convert(value)]))

  const convertInside = (schema: JsonSchema): JsonSchema => {
    // Through JSON, so that only what a reader sees is left.
    const { $id: _, ...copy } = JSON.parse(JSON.stringify(schema)) as JsonSchema
    if (copy.$ref !== undefined && COMPONENT_NAME.test(copy.$ref))
      copy.$ref = `#/components/schemas/${copy.$ref}`
    if (copy.properties) copy.properties = mapRecord(copy.properties)
    if (copy.patternProperties) copy.patternProperties = mapRecord(copy.patternProperties)
    if (copy.items) copy.items = convert(copy.items)
    if (copy.prefixItems) copy.prefixItems = copy.prefixItems.map(convert)
    if (copy.anyOf) copy.anyOf = copy.anyOf.map(convert)
    if (copy.oneOf) copy.oneOf = copy.oneOf.map(convert)
    if (copy.allOf) copy.allOf = copy.allOf.map(convert)
    if (typeof copy.additionalProperties === 'object')
      copy.additionalProperties = convert(copy.additionalProperties)
    return copy
  }

  const convert = (schema: JsonSchema): JsonSchema => {
    const name = nameOf(schema)
    const converted = convertInside(schema)
    if (name === undefined) return converted
    const known = components.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(converted)) {
      throw new Error(`two different schemas are called ${name}`)
    }
    components.set(name, converted)
    return { $ref: `#/components/schemas/${name}` }
  }

  return {
    use: (schema) => convert(asJsonSchema(schema)),
    all: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
