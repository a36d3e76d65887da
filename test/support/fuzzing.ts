/** Requests for every operation of an OpenAPI document, from its schemas and examples: right ones, and nearly right ones. */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { JsonSchema } from '../../src/http/input/schema.ts'
import { anyCharacter } from './any-character.ts'
import { awkward, type Components, createArbitraries, mutated } from './arbitrary.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: JsonSchema
}

interface Response {
  readonly content?: Readonly<Record<string, unknown>>
}

/** An operation as the document describes it. */
export interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>
  }
  readonly responses: Readonly<Record<string, Response>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Components }
}

/** What is known to work: the example of a route with its placeholders filled. */
export interface Known {
  /** Path and query. */
  readonly url: string
  readonly body?: unknown
  /** Headers of the credential that may call it. */
  readonly credential: Readonly<Record<string, string>>
}

export interface FuzzRequest {
  /** Percent-encoded, with the query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Longer ones don't fit into the 16 KiB of a request's head. */
const MAX_QUERY_CHARACTERS = 8000

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Lone surrogates have no form in UTF-8. */
const wellFormed = (text: string): string => Buffer.from(text).toString()

const encode = (text: string): string => encodeURIComponent(wellFormed(text))

const pathOf = (template: string, known: string): fc.Arbitrary<string> => {
  const segments = template.split('/')
  const filled = known.split('/')
  const odd = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    fc.constantFrom(
      '0',
      '-1',
      '01',
      '1e3',
      '%00',
      '..',
      '.',
      'x'.repeat(300),
      'agt_00000000000000000000000000',
      'é',
      '9'.repeat(30),
    ),
  )
  const oddPath = fc
    .array(odd, { minLength: segments.length, maxLength: segments.length })
    .map((others) =>
      segments.map((segment, i) => (segment.startsWith('{') ? encode(others[i] ?? '') : segment)).join('/'),
    )
  if (!template.includes('{')) return fc.constant(known)
  return fc.oneof({ weight: 6, arbitrary: fc.constant(filled.join('/')) }, { weight: 1, arbitrary: oddPath })
}

const queryOf = (
  parameters: readonly Parameter[],
  known: string,
  fitting: (schema: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<string> => {
  const pairs = parameters.map(({ name, schema }) =>
    fc.oneof(fitting(schema), awkward).map((value) => `${encode(name)}=${encode(asText(value))}`),
  )
  const unknown = fc
    .tuple(fc.string({ maxLength: 8 }), awkward)
    .map(([name, value]) => `${encode(name)}=${encode(asText(value))}`)
  const broken = fc.constantFrom('%', '%zz=1', '=&=', '&&', 'a', '%00=1', 'since=1&since=2')
  const some = fc
    .array(fc.oneof(...pairs, ...pairs, unknown, broken), { maxLength: 4 })
    .map((list) => list.join('&'))
  return fc.oneof(
    { weight: pairs.length > 0 ? 3 : 8, arbitrary: fc.constant(known) },
    { weight: 3, arbitrary: some },
  )
}

/** What is no JSON object in the eyes of any route. */
const brokenText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    '{',
    '{"a":1',
    '[]',
    'null',
    '0',
    '"text"',
    '{"a":1}}',
    '{"a":1,"a":2}',
    '\ufeff{}',
    '{"__proto__":{}}',
    '{"constructor":1}',
  ),
  fc.constantFrom(100, 5000).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc.constant(`{"a":"${'x'.repeat(300_000)}"}`),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
)

/** Beside the members of any object. */
const MEMBERS = [
  ...[
    '"__proto__":{"scopes":["admin"]}',
    '"constructor":{"prototype":1}',
    '"\\u005f_proto__":1',
    '"toString":1',
  ],
  ...[
    '"a":1,"a":2',
    '"a":1,"\\u0061":2',
    '"":1',
    '"a":"\\ud800"',
    '"\\ud800":1',
    '"a":"\\u0000"',
    '"a":1e999',
    '"a":-0',
  ],
]

/** A member that no route has, at any depth; and members twice. */
const withMember = (text: string): fc.Arbitrary<string> => {
  const places = [...text.matchAll(/\{/g)].map(({ index }) => index + 1)
  if (places.length === 0) return fc.constant(text)
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom(...MEMBERS))
    .map(([at, member]) => `${text.slice(0, at)}${member}${text[at] === '}' ? '' : ','}${text.slice(at)}`)
}

/** The same text in bytes that are no UTF-8, or say that they are something else. */
const encodings: readonly ((text: string) => Uint8Array)[] = [
  (text) => Buffer.from(text, 'utf16le'),
  (text) => Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from(text)]),
  (text) =>
    Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.of(0xc0, 0xaf), Buffer.from(text.slice(-1))]),
  (text) => Buffer.from(text.replaceAll('"', '\u00e9"'), 'latin1'),
  (text) => gzipSync(text),
]

const bodyOf = (
  schema: JsonSchema,
  example: unknown,
  fitting: (schema: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<string | Uint8Array> => {
  const values = fc.oneof(
    { weight: 3, arbitrary: fc.constant(example) },
    { weight: 6, arbitrary: mutated(example) },
    { weight: 3, arbitrary: fitting(schema) },
    { weight: 4, arbitrary: fitting(schema).chain(mutated) },
  )
  const texts = values.map((value) => JSON.stringify(value) ?? '')
  return fc.oneof(
    { weight: 16, arbitrary: texts.map(wellFormed) },
    { weight: 1, arbitrary: brokenText.map(wellFormed) },
    { weight: 2, arbitrary: texts.chain(withMember).map(wellFormed) },
    {
      weight: 1,
      arbitrary: fc.tuple(texts, fc.constantFrom(...encodings)).map(([text, encoded]) => encoded(text)),
    },
  )
}

const contentTypes = fc.oneof(
  { weight: 15, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[
        'text/plain',
        'application/json; charset=utf-8',
        'application/json; charset=utf-16',
        'application/xml',
      ],
      ...['application/problem+json', 'application/x-www-form-urlencoded', 'application/json;', '*/*', ''],
    ),
  },
)

const otherHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        '*/*',
        'application/json',
        'text/html',
        'image/png',
        'image/svg+xml',
        'text/event-stream',
        'x/y;q=0',
      )
      .map((accept) => ({ accept })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('a', 'retry-1', '', 'x'.repeat(256), 'é')
      .map((key) => ({ 'idempotency-key': encodeURI(key) })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'if-none-match': '*' },
      { 'if-none-match': 'W/"x"' },
      { 'last-event-id': '-1' },
      { 'last-event-id': '1e9' },
      { 'x-request-id': 'x'.repeat(200) },
      { range: 'bytes=0-1' },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'identity' },
      { 'accept-encoding': 'br;q=0, gzip;q=2, *' },
      { cookie: 'assay_session=x; assay_ht_0=%' },
      { origin: 'https://elsewhere.example' },
    ),
  },
)

const address = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => `10.${parts.join('.')}`)

/**
 * @param path template of the operation
 * @param credentials of others, which are mostly wrong here
 */
export const requestsOf = (
  { components }: Document,
  path: string,
  operation: Operation,
  known: Known,
  credentials: readonly Readonly<Record<string, string>>[],
): fc.Arbitrary<FuzzRequest> => {
  const { fitting } = createArbitraries(components.schemas)
  const [knownPath = '', knownQuery = ''] = known.url.split('?')
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const schema = operation.requestBody?.content['application/json']?.schema
  return fc
    .record({
      path: pathOf(path, knownPath),
      query: queryOf(parameters, knownQuery, fitting),
      body: schema ? bodyOf(schema, known.body ?? {}, fitting) : fc.constant(undefined),
      type: contentTypes,
      credential: fc.oneof(
        { weight: 10, arbitrary: fc.constant(known.credential) },
        { weight: 2, arbitrary: fc.constantFrom(...credentials) },
      ),
      others: otherHeaders,
      address,
    })
    .map(({ path: target, query, body, type, credential, others, address: from }) => ({
      target: query === '' || query.length > MAX_QUERY_CHARACTERS ? target : `${target}?${query}`,
      headers: {
        'x-forwarded-for': from,
        ...(body !== undefined && { 'content-type': type }),
        ...others,
        ...credential,
      },
      ...(body !== undefined && { body }),
    }))
}
