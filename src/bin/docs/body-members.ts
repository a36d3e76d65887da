/**
 * Writes docs/body-members.md: every operation with a body, the objects in it that take no other members than those
 * that the OpenAPI document names, and those that take any, with the reason. A test keeps the file fresh.
 * Usage: npm run docs:bodies
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonSchema } from '../../http/input/schema.ts'
import { describeApi } from '../../server/api-description.ts'
import { routes } from '../../server/routes.ts'

const FILE = join(import.meta.dirname, '../../../docs/body-members.md')

interface Operation {
  readonly operationId: string
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: JsonSchema } }
  }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

interface Open {
  readonly operation?: RegExp
  readonly place?: RegExp
  readonly why: string
  /** Whether unknown members are refused there all the same, by what reads the value. */
  readonly isRefused?: true
}

/** All that the document leaves open, and why: what is somebody else's to define, and what outside clients send more of. */
const OPEN: readonly Open[] = [
  {
    operation: /^revokeResult$/,
    place: /^\/asked\//,
    why: 'a result as it was answered, compared as a whole',
  },
  {
    operation: /^(postMessage|postHouseMessage)$/,
    why: 'a post is any body with a name and a text; `notice` names what was ignored',
  },
  { operation: /^removeOwnMessage$/, why: 'a signed envelope, which others extend' },
  {
    operation: /^callMcp$/,
    why: 'a JSON-RPC message, whose further members are ignored; unknown ones of a call or its arguments are an `isError` result',
  },
  {
    operation: /^(decidePolicy|evaluateAccess|evaluateAccessAll)$/,
    why: 'AuthZEN: receivers ignore unknown members',
  },
  { operation: /^tryPolicy$/, place: /^\/facts\/\w+$/, why: 'the facts that a policy is tried on' },
  { operation: /^verifyInPod$/, why: 'the data itself' },
  { operation: /^askHermes$/, why: 'the criteria themselves' },
  {
    operation: /^validateHybridToken$/,
    place: /^(\/(?!expect|claims).*)?$/,
    why: 'any value: faults of a token are told by reasons',
  },
  { place: /\/data$/, why: 'data of yours' },
  { place: /\/(claims|properties|parameters)$/, why: 'claims of yours' },
  { place: /\/criteria(\/\*)*$/, why: 'hermes criteria' },
  { place: /\/public_key(_pq)?$/, why: 'a JSON Web Key (RFC 7517 §4: unknown members are ignored)' },
  { place: /\/agent_card$/, why: 'an A2A agent card' },
  { place: /\/http\/headers$/, why: 'fields of HTTP, by their names' },
  { place: /\/mandate$/, why: 'a mandate of another protocol' },
  { operation: /^(authoriseAgent|verifyByPolicy)$/, place: /^\/context$/, why: 'context of yours' },
  { place: /\/token$/, why: 'a token as it was issued, whose every member is judged' },
  { place: /\/inputs$/, why: 'as the circuit takes them', isRefused: true },
  { place: /\/(transactions|proofs|items)\/\*$/, why: 'judged by itself, with an answer of its own' },
  { place: /\/proof$/, why: 'a proof; what is wrong with it is told by a reason' },
  { place: /^\/context\/statement$/, why: 'what the answer told of the proof, compared as a whole' },
  { place: /\/expect\/statement$/, why: 'what is expected of the statement, by names of its own' },
  { place: /\/value$/, why: 'what data are compared with' },
]

export const document = JSON.parse(
  JSON.stringify(describeApi(routes, 'https://assay.example.org')),
) as Document

export const resolved = (schema: JsonSchema): JsonSchema => {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : resolved(document.components.schemas[name] ?? {})
}

/** An object somewhere in a body. `place` is a JSON Pointer in which `*` stands for any index or name. */
export interface Level {
  readonly place: string
  readonly isClosed: boolean
  /** Whether an object around it has the same schema, as nodes of a tree have. */
  readonly isInItself: boolean
}

const alternativesOf = ({ anyOf, oneOf, allOf }: JsonSchema): readonly JsonSchema[] => [
  ...(anyOf ?? []),
  ...(oneOf ?? []),
  ...(allOf ?? []),
]

/** A value of any kind may be an object as well. */
const isAnything = (schema: JsonSchema): boolean =>
  !['type', 'const', 'enum', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema)

/** @param around the components that the place stands in; one that stands in itself is followed once */
const levelsOf = (given: JsonSchema, place = '', around: readonly string[] = []): Level[] => {
  const { $ref: name } = given
  if (name !== undefined && around.filter((outer) => outer === name).length > 1) return []
  const inside = name === undefined ? around : [...around, name]
  const schema = resolved(given)
  const { type, properties = {}, items, additionalProperties: others } = schema
  const into = (part: JsonSchema, step = '') => levelsOf(part, `${place}${step}`, inside)
  const inner = [
    ...alternativesOf(schema).flatMap((part) => into(part)),
    ...Object.entries(properties).flatMap(([member, part]) => into(part, `/${member}`)),
    ...(items ? into(items, '/*') : []),
    ...(typeof others === 'object' && !isAnything(others) ? into(others, '/*') : []),
  ]
  if (type !== 'object' && !isAnything(schema)) return inner
  return [{ place, isClosed: others === false, isInItself: new Set(inside).size < inside.length }, ...inner]
}

export interface Body {
  readonly operation: string
  readonly path: string
  readonly schema: JsonSchema
  /** Each place once; open where any form of the value is. */
  readonly levels: readonly Level[]
}

/** Bodies of all operations, in the order of the document. */
export const bodies: readonly Body[] = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, { operationId: operation, requestBody }]) => {
    if (requestBody === undefined) return []
    const { schema } = requestBody.content['application/json']
    const all = levelsOf(schema)
    const levels = [...new Set(all.map(({ place }) => place))].map((place) => ({
      place,
      isClosed: all.every((level) => level.place !== place || level.isClosed),
      isInItself: all.some((level) => level.place === place && level.isInItself),
    }))
    return [{ operation, path: `${method.toUpperCase()} ${path}`, schema, levels }]
  }),
)

/** Why the document leaves a level open; undefined where nothing allows it. */
export const openness = (operation: string, { place }: Level): Open | undefined =>
  OPEN.find((open) => (open.operation?.test(operation) ?? true) && (open.place?.test(place) ?? true))

/** The text of docs/body-members.md. */
export const describeBodies = (): string => {
  const shown = (place: string) => (place === '' ? '(the body)' : `\`${place}\``)
  const lines = [
    '# Members of bodies',
    '',
    'Written by `npm run docs:bodies`, and checked by a test, which sends an unknown member in each closed object. In a closed',
    'object only the members that the OpenAPI document names are taken; any other is 422 `unknown_member` with the nearest known',
    'name and place. Places are JSON Pointers, in which `*` stands for any index or name.',
    '',
    '| Operation | Closed | Open, and why |',
    '|---|---|---|',
  ]
  for (const { operation, path, levels } of bodies) {
    const closed = levels.filter(({ isClosed }) => isClosed).map(({ place }) => shown(place))
    const open = levels
      .filter(({ isClosed }) => !isClosed)
      .map((level) => ({ level, ...openness(operation, level) }))
    // What stands in an open object for the same reason needs no line of its own, nor does what an outer node says.
    const told = open
      .filter(
        ({ level, why }) =>
          !level.isInItself &&
          !open.some((outer) => outer.why === why && level.place.startsWith(`${outer.level.place}/`)),
      )
      .map(
        ({ level, why, isRefused }) =>
          `${shown(level.place)}: ${why}${isRefused ? '; unknown members are refused there, too' : ''}`,
      )
    lines.push(`| \`${path}\` | ${closed.join(', ') || '–'} | ${told.join('<br>') || '–'} |`)
  }
  return `${lines.join('\n')}\n`
}

/** What stands in the file now. */
export const writtenBodies = (): string => readFileSync(FILE, 'utf8')

if (process.argv[1] === import.meta.filename) writeFileSync(FILE, describeBodies())
