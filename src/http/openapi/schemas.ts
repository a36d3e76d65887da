/**
 * Schemas for the OpenAPI document: those with a name become components, written once and referred to.
 * @module
 */
import type { TSchema } from 'typebox'
import { asJsonSchema, closed, type JsonSchema, partsOf } from '../input/schema.ts'

const ANY_NAME = '^.*$'
const COMPONENT_NAME = /^[A-Z][A-Za-z0-9]*$/

export interface SchemaComponents {
  /** The schema as the document shows it: a reference if it has a name. @throws Error when a name means two things */
  use(schema: TSchema): JsonSchema
  /** The same of what is sent to us: in its closed form, which has a name of its own where answers hold the schema too. */
  useClosed(schema: TSchema): JsonSchema
  /** Every named schema used so far, by name in alphabetical order. */
  all(): Record<string, JsonSchema>
}

const nameOf = (schema: JsonSchema): string | undefined =>
  [schema.$id, schema.title].find((name) => name !== undefined && COMPONENT_NAME.test(name))

/** Every name that a schema and its parts go by. */
const namesOf = (schema: JsonSchema): string[] => [
  ...[nameOf(schema)].filter((name) => name !== undefined),
  ...partsOf(schema)
    .concat(schema.shownAs ?? [])
    .flatMap(namesOf),
]

/** In what form a schema stands in the document: what components are called, and whether clients send what fits it. */
interface Form {
  called(name: string): string
  readonly isSent: boolean
}

/** Its default in words: makers of clients take a member that has a default for one that is always there. */
const withDefaultTold = ({ default: usual, ...schema }: JsonSchema): JsonSchema =>
  usual === undefined
    ? schema
    : {
        ...schema,
        description: [schema.description, `Default: \`${JSON.stringify(usual)}\`.`].filter(Boolean).join(' '),
      }

/** @param answers schemas of what the service sends */
export const createSchemaComponents = (answers: readonly TSchema[]): SchemaComponents => {
  const components = new Map<string, JsonSchema>()
  const answered = new Set(answers.flatMap((schema) => namesOf(asJsonSchema(schema))))

  const convertInside = (schema: JsonSchema, convert: (part: JsonSchema) => JsonSchema): JsonSchema => {
    const mapRecord = (record: Record<string, JsonSchema> | undefined) =>
      record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, convert(value)]))
    // Through JSON, so that only what a reader sees is left.
    const { $id: _, ...copy } = JSON.parse(JSON.stringify(schema)) as JsonSchema
    // A map, in the words that makers of clients know: TypeBox asks every name to fit this pattern.
    const { [ANY_NAME]: values, ...patterns } = copy.patternProperties ?? {}
    if (values !== undefined && Object.keys(patterns).length === 0) {
      delete copy.patternProperties
      copy.additionalProperties ??= values
    }
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

  const convert = (schema: JsonSchema, form: Form): JsonSchema => {
    const { nullIsAbsent, ...shape } = schema
    if (nullIsAbsent) return { anyOf: [convert(shape, form), { type: 'null' }] }
    if (schema.shownAs) return convert(schema.shownAs, form)
    if (schema.$ref) return { ...schema, $ref: `#/components/schemas/${form.called(schema.$ref)}` }
    const own = nameOf(schema)
    const inside = convertInside(schema, (part) => convert(part, form))
    const converted = form.isSent ? withDefaultTold(inside) : inside
    if (own === undefined) return converted
    const name = form.called(own)
    const known = components.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(converted)) {
      throw new Error(`two different schemas are called ${name}`)
    }
    components.set(name, converted)
    return { $ref: `#/components/schemas/${name}` }
  }

  const as = { called: (name: string) => name, isSent: false }
  const asSent = { called: (name: string) => (answered.has(name) ? `${name}Input` : name), isSent: true }
  return {
    use: (schema) => convert(asJsonSchema(schema), as),
    useClosed: (schema) => convert(closed(asJsonSchema(schema)), asSent),
    all: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
