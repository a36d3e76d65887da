/**
 * Writes docs/api-coverage.md: every route that the specifications name, by what it is known in OpenAPI, and the tests
 * that call it. A test keeps the file fresh, and fails for a route that nothing serves or nothing tests.
 * Usage: npm run docs:coverage
 * @module
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Route } from '../../http/route.ts'
import { routes } from '../../server/routes.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'docs/api-coverage.md')
/** Tests of everything: that one of them meets a route says nothing about it. */
const OF_ALL_ROUTES =
  /^test\/((contract|openapi|openapi-schemas|body-members|generated-clients|fuzz|errors|architecture|api-coverage)\.test|support\/fixtures)\.ts$/
const MAX_TESTS_NAMED = 4

/** Every route of the specifications, by family, as they write them. */
export const SPECIFIED: Readonly<Record<string, readonly string[]>> = {
  Chat: [
    'GET /api/prompts',
    'GET /api/prompts/daily',
    'GET /api/prompts/random',
    'GET /api/prompts/{id}',
    'GET /api/messages',
    'POST /api/messages',
    'GET /api/messages/{id}',
    'GET /api/stream',
    'GET /api/stats',
    'POST /mcp',
  ],
  'Root routes': [
    'GET /',
    'GET /health',
    'GET /health/ready',
    'GET /health/live',
    'GET /verify',
    'POST /verify',
    'POST /verify/batch',
    'GET /verify/qr/{hash}',
    'GET /pod/{podId}',
    'POST /pod/{podId}/verify',
    'GET /pod/{podId}/stats',
    'POST /domain/verify',
    'GET /domain/status/{domain}',
    'POST /hermes/{slug}',
    'GET /hermes/{slug}',
    'POST /proxy',
    'GET /proxy',
    'GET /proxy/{id}',
    'DELETE /proxy/{id}',
    'GET /metrics',
  ],
  '/v1': [
    'GET /v1/health',
    'GET /v1/openapi.json',
    'GET /v1/metrics',
    'POST /v1/api-keys',
    'POST /v1/agents',
    'POST /v1/devices',
    'POST /v1/verify',
    'POST /v1/proofs/generate',
    'POST /v1/proofs/verify',
    'POST /v1/nior/policy/decide',
    'POST /v1/tokens/generate-quantum-safe',
    'POST /v1/tokens/validate-quantum-safe',
    'POST /v1/offline/transactions',
    'POST /v1/qr/tickets',
    'POST /v1/qr/proofs/batch',
  ],
  '/api': [
    'POST /api/merchant/terminals/authenticate',
    'POST /api/merchant/payments/validate',
    'POST /api/merchant/transactions/sync',
    'POST /api/proof/generate',
    'POST /api/proof/verify',
    'POST /api/proof/sync',
    'GET /api/circuits',
    'POST /api/circuits/token-validation',
    'POST /api/circuits/consent-verification',
    'POST /api/circuits/audit-proof',
    'POST /api/circuits/proof-aggregation',
    'POST /api/circuits/quantum-safe-token',
    'POST /api/circuits/offline-validation',
    'POST /api/eligibility/check',
    'POST /api/eligibility/composite',
    'POST /api/consent/verify',
    'POST /api/consent/log',
    'GET /api/consent/{consentId}/status',
    'POST /api/consent/revoke',
    'POST /api/tokens/generate',
    'POST /api/tokens/validate',
    'POST /api/tokens/revoke',
    'GET /api/tokens/{tokenId}/status',
    'GET /api/tokens/{tokenId}/qr',
    'GET /api/tokens/{tokenId}/nfc-payload',
    'POST /api/tokens/generate-quantum-safe',
    'POST /api/kyc/verify',
    'POST /api/aml/check',
    'GET /api/audit',
    'POST /api/audit/zkp-proof',
    'POST /api/audit/zkp-verify',
    'GET /api/audit/pseudonymised',
    'GET /api/usage',
    'GET /api/security/alerts',
  ],
  '/ext/v1': [
    'POST /ext/v1/agent-trust/enrol',
    'POST /ext/v1/agent-trust/verify',
    'POST /ext/v1/agent-trust/authorise',
    'POST /ext/v1/agent-trust/audit',
    'POST /ext/v1/agent-trust/badge',
  ],
  'Webhooks and exports': [
    'GET /api/webhooks',
    'POST /api/webhooks',
    'PATCH /api/webhooks/{id}',
    'DELETE /api/webhooks/{id}',
    'POST /api/webhooks/{id}/rotate-secret',
    'GET /api/export/siem',
    'GET /api/export/evidence',
  ],
}

interface Source {
  readonly file: string
  readonly text: string
}

const read = (folder: string): Source[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => {
      const file = `${folder}/${name.replaceAll('\\', '/')}`
      return { file, text: readFileSync(join(ROOT, file), 'utf8') }
    })

/** Names of parameters are ours to choose. */
const shapeOf = (operation: string): string => operation.replaceAll(/\{\w+\}/g, '{}')

/** The path as a program writes it: what stands for a parameter is a value or an expression. */
const written = (path: string): string =>
  path
    .split(/\{\w+\}/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('(?:\\$\\{[^}]*\\}|[^/\'"`\\s?]+)')

const START = '(?<![\\w/-])(?:\\$\\{[^}]*\\})?'
/** The root by itself could be the end of any other. */
const ROOT_CALL = /'GET', '\/'/
const mention = (path: string): RegExp =>
  path === '/' ? ROOT_CALL : new RegExp(`${START}${written(path)}(?![\\w/{$-])`)
/** A path whose last segment is an expression. */
const beginning = (path: string): RegExp => new RegExp(`${START}${written(path)}/\\$\\{`)

const filesOf = (sources: readonly Source[]): string[] => [...new Set(sources.map(({ file }) => file))].sort()

export interface Coverage {
  readonly family: string
  readonly operation: string
  /** operationId; undefined where nothing serves it. */
  readonly name: string | undefined
  /** Files that call it, or that use the support file which does. */
  readonly tests: readonly string[]
}

/** @returns each specified route with the tests that call it */
export const readCoverage = (served: readonly Pick<Route, 'method' | 'path' | 'name'>[]): Coverage[] => {
  const tests = read('test').filter(({ file }) => !OF_ALL_ROUTES.test(file))
  const isTest = ({ file }: Source): boolean => file.endsWith('.test.ts')
  const testsOf = (path: string): string[] => {
    const callers = (pattern: RegExp): { direct: Source[]; through: Source[] } => {
      const files = tests.filter(({ text }) => pattern.test(text))
      const supports = files
        .filter((file) => !isTest(file))
        .map(({ file }) => `${file.replace('test/', '')}'`)
      const through = tests.filter(
        (test) => isTest(test) && supports.some((name) => test.text.includes(name)),
      )
      return { direct: files.filter(isTest), through }
    }
    const { direct, through } = callers(mention(path))
    const calling = [...new Set([...filesOf(direct), ...filesOf(through)])]
    if (calling.length > 0) return calling
    // Otherwise the path is put together, here or in a support file, from what all routes of a kind begin with.
    const cut = path.lastIndexOf('/')
    const assembled = callers(beginning(path.slice(0, cut)))
    const word = new RegExp(`\\b${path.slice(cut + 1)}\\b`)
    return filesOf([...assembled.direct, ...assembled.through].filter(({ text }) => word.test(text)))
  }
  return Object.entries(SPECIFIED).flatMap(([family, operations]) =>
    operations.map((operation) => {
      const [, path = ''] = operation.split(' ')
      const name = served.find(
        (route) => shapeOf(`${route.method} ${route.path}`) === shapeOf(operation),
      )?.name
      return { family, operation, name, tests: testsOf(path) }
    }),
  )
}

/** The text of docs/api-coverage.md. */
export const describeCoverage = (coverage: readonly Coverage[]): string => {
  const lines = [
    '# Coverage of the specified interface',
    '',
    `Written by \`npm run docs:coverage\`, and checked by a test. The specifications name ${coverage.length} operations. Each is`,
    'served under its `operationId` in `GET /v1/openapi.json`. Beside the tests named here, all of them are called wrongly by',
    '`test/contract/contract.test.ts` and with the examples of the document by `test/contract/openapi.test.ts`.',
  ]
  for (const family of Object.keys(SPECIFIED)) {
    lines.push('', `## ${family}`, '', '| Operation | operationId | Tests |', '|---|---|---|')
    for (const { operation, name, tests } of coverage.filter((one) => one.family === family)) {
      const named = tests.slice(0, MAX_TESTS_NAMED).map((file) => `\`${file.replace(/^test\//, '')}\``)
      // Without a number, which each new test would change.
      const more = tests.length > MAX_TESTS_NAMED ? ['others'] : []
      lines.push(
        `| \`${operation}\` | ${name === undefined ? '–' : `\`${name}\``} | ${[...named, ...more].join(', ')} |`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}

/** What stands in the file now. */
export const writtenCoverage = (): string => readFileSync(FILE, 'utf8')

if (process.argv[1] === import.meta.filename) writeFileSync(FILE, describeCoverage(readCoverage(routes)))
