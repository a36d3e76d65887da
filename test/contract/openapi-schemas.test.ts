/** What the OpenAPI document says of values is exact, and in words that every maker of clients knows. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { RE2JS } from 're2js'
import { WEBHOOK_EVENTS } from '../../src/domain/webhooks/events.ts'
import { ERRORS, type ErrorCode } from '../../src/errors.ts'
import { errorCodesOf } from '../../src/http/errors.ts'
import { asJsonSchema } from '../../src/http/input/schema.ts'
import { describeApi } from '../../src/server/api-description.ts'
import { routes } from '../../src/server/routes.ts'

type Node = Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null

const document = JSON.parse(JSON.stringify(describeApi(routes, 'https://assay.example.org')))

/** Every object of the document with its JSON Pointer, those inside examples left out. */
const nodesOf = (value: unknown, pointer = ''): (readonly [pointer: string, node: Node])[] => {
  if (!isNode(value)) return []
  const inner = Object.entries(value)
    .filter(([name]) => name !== 'example')
    .flatMap(([name, member]) => nodesOf(member, `${pointer}/${name.replaceAll('/', '~1')}`))
  return Array.isArray(value) ? inner : [[pointer, value], ...inner]
}
const nodes = nodesOf(document)

/**
 * One token of what JSON Schema 2020-12 §6.4 and I-Regexp (RFC 9485 §4) have in common, with hexadecimal escapes, which
 * all engines read: characters, escaped punctuation, classes of characters and ranges, groups, alternatives, greedy
 * quantifiers of at most 1,000 (the limit of RE2), and anchors.
 */
const CHARACTER = String.raw`(?:[^\\\[\].^$*+?{}()|-]|\\x[0-9a-f]{2}|\\[nrt]|\\[-\\\[\].^$*+?{}()|/])`
const IN_CLASS = String.raw`(?:[^\\\[\]-]|\\x[0-9a-f]{2}|\\[nrt]|\\[-\\\[\]^])`
const CLASS = String.raw`\[\^?-?(?:${IN_CLASS}(?:-${IN_CLASS})?)*-?\]`
const QUANTIFIER = String.raw`(?:[*+?]|\{\d{1,3}(?:,(?:\d{1,3})?)?\})(?![*+?{])`
const COMMON = new RegExp(
  String.raw`^(?:(?:${CHARACTER}|-|${CLASS}|\))(?:${QUANTIFIER})?|\((?!\?)|\||\^|\$)*$`,
  'u',
)

describe('schemas of the OpenAPI document', () => {
  it('are schemas, which the service takes for granted', () => {
    const ajv = new Ajv2020({ logger: false })
    const wrong = routes.flatMap(({ name, body, query, params, response }) =>
      [body, query, params, ...Object.values(response)]
        .filter((schema) => schema !== undefined && schema !== null)
        .filter((schema) => ajv.validateSchema(asJsonSchema(schema)) !== true)
        .map(() => `${name}: ${ajv.errorsText()}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('have patterns that all engines of regular expressions read alike', () => {
    for (const ours of [String.raw`^(a|[.]{2}|[^\x00-\x1f/-])+$`, '^x{3,}-[!-~]?$'])
      expect(ours).to.match(COMMON)
    for (const other of [
      '\\p{L}',
      '(?<!a)b',
      '(?=a)',
      '(?<name>a)',
      '(?i)a',
      '\\d',
      '\\S',
      'a.b',
      '\\1',
      'a+?',
      'a{2000}',
      '[[:alpha:]]',
    ])
      expect(other).not.to.match(COMMON)
    const patterns = nodes.flatMap(([pointer, { pattern, patternProperties }]) =>
      [pattern, ...Object.keys(patternProperties ?? {})]
        .filter((text) => typeof text === 'string')
        .map((text) => [pointer, text] as const),
    )
    expect(patterns).not.to.have.lengthOf(0)
    expect(patterns.filter(([, text]) => !COMMON.test(text))).to.deep.equal([])
    for (const [pointer, text] of patterns) {
      expect(() => [new RegExp(text), new RegExp(text, 'u')], pointer).not.to.throw()
      expect(() => RE2JS.compile(text), pointer).not.to.throw()
    }
  })

  it('enumerate export formats and webhook events', () => {
    const { schemas } = document.components
    const formatOf = (path: string) =>
      document.paths[path].get.parameters.find(({ name }: Node) => name === 'format').schema.enum
    expect(formatOf('/api/export/siem')).to.include.members(['ndjson', 'ocsf'])
    expect(formatOf('/api/export/evidence')).to.include.members(['ndjson', 'zip'])
    expect(schemas.NewWebhook.properties.events.items.enum).to.deep.equal(WEBHOOK_EVENTS)
    expect(schemas.WebhookChange.properties.events.items.enum).to.deep.equal(WEBHOOK_EVENTS)
  })

  for (const route of routes) {
    it(`list the error codes of each answer of ${route.name}`, () => {
      const { responses } = document.paths[route.path][route.method.toLowerCase()]
      const listed = Object.entries<Node>(responses).flatMap(([status, response]) =>
        nodesOf(response.content)
          .filter(([pointer]) => /\/allOf\/1\/properties\/error$/.test(pointer))
          .flatMap(([, { enum: codes }]) => codes as ErrorCode[])
          .map((code) => {
            expect(ERRORS[code][0], code).to.equal(Number(status))
            return code
          }),
      )
      expect(listed).to.have.members([...errorCodesOf(route)])
    })
  }
})
