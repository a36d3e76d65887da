/**
 * Clients that two generators make of the OpenAPI document refuse, when they are compiled, what the server refuses for
 * its shape, and take the example of every operation.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import { expect } from 'chai'
import openapiTs, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import type { JsonSchema } from '../../src/http/input/schema.ts'
import { describeApi } from '../../src/server/api-description.ts'
import { routes } from '../../src/server/routes.ts'
import { createArbitraries } from '../support/arbitrary.ts'
import type { Document, Operation } from '../support/fuzzing.ts'

const document = JSON.parse(JSON.stringify(describeApi(routes, 'https://assay.example.org'))) as Document & {
  readonly openapi: '3.1.0'
}
const { resolved } = createArbitraries(document.components.schemas)

type Members = Readonly<Record<string, unknown>>

/** A body or query that a client may write for an operation, or must not. */
interface Call {
  readonly operation: string
  readonly part: 'body' | 'query'
  readonly value: unknown
  /** What is wrong with it; undefined: nothing. */
  readonly wrong?: string
}

const without = (value: Members, name: string): Members =>
  Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))

/** The example, and each of its members wrong in every way that a type can tell. */
const callsOf = ({ operationId: operation, requestBody }: Operation): Call[] => {
  const media = requestBody?.content['application/json'] as
    | { schema: JsonSchema; example: Members }
    | undefined
  if (media === undefined) return []
  const { example } = media
  const shape = resolved(media.schema)
  const { properties = {}, required = [], anyOf } = shape
  const call = (value: unknown, wrong?: string): Call => ({ operation, part: 'body', value, wrong })
  const isClosed = (anyOf ?? [shape]).every((form) => resolved(form).additionalProperties === false)
  const wrongEnums = Object.entries(properties)
    .filter(([name, member]) => name in example && resolved(member).enum)
    .map(([name]) => call({ ...example, [name]: 'no such value' }, `a value of ${name} that is not listed`))
  return [
    call(example),
    ...(isClosed ? [call({ ...example, undeclared: 1 }, 'an unknown member')] : []),
    ...required.map((name) => call(without(example, name), `no ${name}`)),
    ...(anyOf ? [call({}, 'none of the forms')] : []),
    ...wrongEnums,
  ]
}

/** What once was taken and meant something else than its sender thought. */
const SEEN: readonly Call[] = [
  { operation: 'verify', part: 'body', value: { data: { age: 12 }, rules: [] }, wrong: 'rules beside data' },
  {
    operation: 'verify',
    part: 'body',
    value: { data: {}, options: { rule: [] } },
    wrong: 'a misspelt member inside',
  },
  {
    operation: 'generateToken',
    part: 'body',
    value: { subject: 'a', single_use: true },
    wrong: 'single_use',
  },
  {
    operation: 'checkComposite',
    part: 'body',
    value: {
      dataSources: [{ id: 'a', type: 'kyc' }],
      logicTree: { op: 'eq', field: 'status', value: 'verified' },
    },
    wrong: 'a source of nobody',
  },
  {
    operation: 'createDevice',
    part: 'body',
    value: { name: 'a', public_key: { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA' } },
    wrong: 'a post-quantum key in the place of the first',
  },
  { operation: 'changeWebhook', part: 'body', value: { activ: false }, wrong: 'activ' },
  { operation: 'createApiKey', part: 'body', value: { scope: ['verify'] }, wrong: 'scope' },
  { operation: 'createApiKey', part: 'body', value: { scopes: null }, wrong: 'scopes that are null' },
  {
    operation: 'createWebhook',
    part: 'body',
    value: { label: 'a', url: 'https://a.example/', events: ['proof.lost'] },
    wrong: 'an unknown event',
  },
  { operation: 'exportSiem', part: 'query', value: { format: 'csv' } },
  { operation: 'exportSiem', part: 'query', value: { format: 'zip' }, wrong: 'a format of another export' },
  { operation: 'exportEvidence', part: 'query', value: { format: 'xml' }, wrong: 'an unknown format' },
  { operation: 'exportSiem', part: 'query', value: { sinse: '2026-01-01' }, wrong: 'an unknown parameter' },
  {
    operation: 'changeWatchLists',
    part: 'body',
    value: { action: 'upload' },
    wrong: 'an upload without a list',
  },
  {
    operation: 'validateTokenByCircuit',
    part: 'body',
    value: { audience: 'gate' },
    wrong: 'none of the forms',
  },
  ...[
    { value: { field: 'a', op: 'exists' } },
    { value: { op: 'NOR', children: [{ op: 'NOT', child: { field: 'a', op: 'eq', value: null } }] } },
    { value: { op: 'NOT' }, wrong: 'a NOT without child' },
    { value: { op: 'AND' }, wrong: 'a gate without children' },
    { value: { op: 'AND', child: { field: 'a', op: 'exists' } }, wrong: 'a gate with one child' },
    { value: { op: 'eq', value: 1 }, wrong: 'a rule without field' },
    { value: { field: 'a', op: 'eq' }, wrong: 'nothing to compare with' },
    { value: { field: 'a', op: 'is', value: 1 }, wrong: 'an unknown operator' },
  ].flatMap(({ value, wrong }): Call[] =>
    [value, { op: 'OR', children: [value] }].flatMap((logic) => [
      { operation: 'verify', part: 'body', value: { data: {}, options: { logic } }, wrong },
      { operation: 'createPod', part: 'body', value: { name: 'a', logic }, wrong },
      {
        operation: 'checkComposite',
        part: 'body',
        value: { identifier: 'a', dataSources: [{ id: 'b', type: 'kyc' }], logicTree: logic },
        wrong,
      },
    ]),
  ),
]

const calls = [
  ...Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .flatMap(callsOf),
  ...SEEN,
]

/** @returns the calls that do not compile, by their number */
const misfitsOf = (directory: string, head: string, typeOf: (call: Call) => string): Set<number> => {
  const lines = calls.map(
    (call, i) => `export const call${i}: ${typeOf(call)} = ${JSON.stringify(call.value)}`,
  )
  const file = join(directory, 'calls.ts')
  const headLines = head.split('\n').length
  const text = `${head}\n${lines.join('\n')}\n`
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022) : read(name, ...rest)
  const program = ts.createProgram([file], options, host)
  const source = program.getSourceFile(file)
  const wrong = new Set<number>()
  for (const diagnostic of ts.getPreEmitDiagnostics(program, source)) {
    const { line } = ts.getLineAndCharacterOfPosition(
      diagnostic.file ?? (source as ts.SourceFile),
      diagnostic.start ?? 0,
    )
    wrong.add(line - headLines)
  }
  return wrong
}

const expectVerdicts = (misfits: ReadonlySet<number>) => {
  const say = ({ operation, value, wrong }: Call) =>
    `${operation} (${wrong ?? 'right'}): ${JSON.stringify(value).slice(0, 200)}`
  const differing = calls.filter(({ wrong }, i) => misfits.has(i) !== (wrong !== undefined))
  expect(differing.map(say)).to.deep.equal([])
}

describe('clients generated from the OpenAPI document', function () {
  this.timeout(120_000)
  let directory: string
  before(async () => {
    // Inside the tree, so that what is generated finds its packages.
    directory = await mkdtemp(join(import.meta.dirname, '../../build/clients-'))
  })
  after(() => rm(directory, { recursive: true }))

  it('openapi-typescript: examples compile, and what the server refuses for its shape does not', async () => {
    await writeFile(join(directory, 'types.ts'), astToString(await openapiTs(document as never)))
    const head = `import type { operations } from './types.ts'
type Body<Name extends keyof operations> = operations[Name] extends { requestBody?: { content: { 'application/json': infer T } } } ? T : never
type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>`
    expectVerdicts(
      misfitsOf(
        directory,
        head,
        ({ operation, part }) => `${part === 'body' ? 'Body' : 'Query'}<'${operation}'>`,
      ),
    )
  })

  it('@hey-api/openapi-ts: the same', async () => {
    const output = join(directory, 'hey-api')
    await createClient({
      input: document as never,
      output,
      plugins: ['@hey-api/typescript'],
      logs: { level: 'silent' },
    })
    const dataOf = (name: string) => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Data`
    const head = `import type * as client from './hey-api/types.gen.ts'`
    expectVerdicts(
      misfitsOf(
        directory,
        head,
        ({ operation, part }) => `NonNullable<client.${dataOf(operation)}['${part}']>`,
      ),
    )
  })
})
