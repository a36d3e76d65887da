/** The programs that READMEs of packages begin with, made to run against a server of the test. */
import type { TestApp } from './app.ts'
import { kycValues } from './circuits/inputs/kyc.ts'
import { demandSuccess } from './client.ts'
import { startOf } from './packages.ts'

export interface Start {
  readonly program: string
  /** The same for a page. */
  readonly inBrowser: string
  readonly prints: RegExp
}

const SERVICE = 'https://assay.example.org'

const startOfVerify = async (app: TestApp): Promise<Start> => {
  const { apiKey: key, organisationId } = await app.organisation()
  const post = async (path: string, body: object) =>
    demandSuccess(await app.request<Readonly<Record<string, string>>>('POST', path, { key, body }))
  const rules = [{ field: 'age', op: 'gte', value: 18 }]
  const { jws } = await post('/verify', { data: { age: 36 }, options: { rules } })
  const { token } = await post('/api/tokens/generate', {
    subject: 'member-7',
    audience: 'https://gate.example',
  })
  const before = `const jws = ${JSON.stringify(jws)}\nconst jwt = ${JSON.stringify(token)}`
  const program = await startOf('assay-verify', { [SERVICE]: app.url, 'org_…': organisationId }, before)
  return { program, inBrowser: program, prints: /^YES\nmember-7\n$/ }
}

const startOfPostQuantum = async (app: TestApp): Promise<Start> => {
  const { apiKey: key } = await app.organisation()
  const body = { subject: 'member-7', claims: { decision: 1 } }
  const token = demandSuccess(await app.request('POST', '/v1/tokens/generate-quantum-safe', { key, body }))
  const before = `const hybridToken = ${JSON.stringify(token)}`
  const program = await startOf('assay-verify', { [SERVICE]: app.url }, before, '## Post-quantum signatures')
  return { program, inBrowser: program, prints: /^true\n1\n$/ }
}

const startOfTerminal = async (app: TestApp): Promise<Start> => {
  const { apiKey: key } = await app.organisation()
  const made = demandSuccess(
    await app.request<Readonly<Record<string, string>>>('POST', '/console/api/terminals', {
      key,
      body: { label: 'till 1' },
    }),
  )
  const program = await startOf('assay-terminal', {
    [SERVICE]: app.url,
    'ak_live_…': made.apiKey ?? '',
    'mer_…': made.merchantId ?? '',
    'ter_…': made.terminalId ?? '',
    "'…'": JSON.stringify(made.terminalSecret),
    './till-1': `./till-${made.terminalId}`,
    "'tok_1'": `'tok_${made.terminalId}'`,
  })
  const inBrowser = program
    .replace('journalStorage', 'indexedDbStorage')
    .replace(/journalStorage\('.*'\)/, `indexedDbStorage('${made.terminalId}')`)
    .replace('assay-terminal/node', 'assay-terminal/browser')
  return { program, inBrowser, prints: /^paid[^\n]*\n\d+\n$/ }
}

const startOfClient = async (app: TestApp): Promise<Start> => {
  const { apiKey: key } = await app.organisation()
  demandSuccess(await app.request('POST', '/api/tokens/generate', { key, body: { subject: 'member-7' } }))
  const program = await startOf('assay-client', { [SERVICE]: app.url, 'ak_live_…': key })
  return { program, inBrowser: program, prints: /^YES\nnot_found 404\ntok_\w+\n$/ }
}

/** Values of a circuit as they are written in a program. */
const literalOf = (value: unknown): string => {
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return `[${value.map(literalOf).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value).map(([name, member]) => `${name}: ${literalOf(member)}`)}}`
}

const startOfProving = async (app: TestApp): Promise<Start> => {
  const program = await startOf(
    'assay-proving',
    { [SERVICE]: app.url },
    `const values = ${literalOf(kycValues())}`,
  )
  return { program, inBrowser: program, prints: /^1\ntrue\n$/ }
}

/** By package, or entry of one. */
export const STARTS: Readonly<Record<string, (app: TestApp) => Promise<Start>>> = {
  'assay-verify': startOfVerify,
  'assay-verify/pq': startOfPostQuantum,
  'assay-client': startOfClient,
  'assay-terminal': startOfTerminal,
  'assay-proving': startOfProving,
}

/** Compiles where the types of all packages are found and say what they should. */
export const TYPES_PROGRAM = `
import { type JwsVerdict, readCheckpoint, verifyResult } from 'assay-verify'
import { readCheckpoint as readTwice, verifyHybridToken } from 'assay-verify/pq'
import { type ProofVerdict, verifyPairing } from 'assay-verify/proof'
import { createClient, isErrorOf } from 'assay-client'
import { createProving, kyc } from 'assay-proving'
import { createTerminal, type Terminal } from 'assay-terminal'
import { indexedDbStorage } from 'assay-terminal/browser'
import { journalStorage } from 'assay-terminal/node'

const verdict: JwsVerdict = verifyResult('', { keys: { keys: [] }, issuer: '', organisation: '' })
if (verdict.valid) console.log(verdict.payload.decision)
// @ts-expect-error: a refusal has no payload
else console.log(verdict.payload)
// @ts-expect-error: without keys nothing is checked
verifyResult('', { issuer: '', organisation: '' })
// @ts-expect-error: anybody's word would count who has an organisation there
verifyResult('', { keys: { keys: [] }, issuer: '' })
// @ts-expect-error: no such option
readCheckpoint('', { origin: '', keys: '', witness: '' })
// @ts-expect-error: without the second keys half of it would not be checked
verifyHybridToken({}, { keys: { keys: [] } })
export const isSignedTwice = readTwice('', { origin: '', keys: '' }).valid
export const pairing: Promise<ProofVerdict> = verifyPairing({} as never, {} as never, [])
const assay = createClient({ baseUrl: 'https://assay.example.org' })
export const decision: Promise<'YES' | 'NO' | null | undefined> = assay.verify({ data: {} }).then((result) => result.decision)
// @ts-expect-error: a misspelt member
assay.verify({ data: {}, option: {} })
// @ts-expect-error: a wrong value
assay.listTokens.all({ status: 'lost' })
export const codeOf = (error: unknown) => isErrorOf('verify', error) && error.error === 'rate_limited'
export const proving = (files: Parameters<typeof createProving>[1]) => createProving(kyc, files)
const options = { baseUrl: '', apiKey: '', merchantId: '' }
export const terminals: Promise<Terminal>[] = [
  createTerminal({ ...options, storage: journalStorage('.') }),
  createTerminal({ ...options, storage: indexedDbStorage('till') }),
]
// @ts-expect-error: an amount is a number
terminals[0]?.then((terminal) => terminal.pay({ cardToken: '', amount: '1' }))
`
