/** The programs that READMEs of packages begin with, made to run against a server of the test. */
import type { TestApp } from './app.ts'
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
  const { apiKey: key } = await app.organisation()
  const post = async (path: string, body: object) =>
    demandSuccess(await app.request<Readonly<Record<string, string>>>('POST', path, { key, body }))
  const rules = [{ field: 'age', op: 'gte', value: 18 }]
  const { jws } = await post('/verify', { data: { age: 36 }, options: { rules } })
  const { token } = await post('/api/tokens/generate', {
    subject: 'member-7',
    audience: 'https://gate.example',
  })
  const before = `const jws = ${JSON.stringify(jws)}\nconst jwt = ${JSON.stringify(token)}`
  const program = await startOf('assay-verify', { [SERVICE]: app.url }, before)
  return { program, inBrowser: program, prints: /^YES\nmember-7\n$/ }
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

/** By package. */
export const STARTS: Readonly<Record<string, (app: TestApp) => Promise<Start>>> = {
  'assay-verify': startOfVerify,
  'assay-terminal': startOfTerminal,
}

/** Compiles where the types of all packages are found and say what they should. */
export const TYPES_PROGRAM = `
import { type JwsVerdict, readCheckpoint, verifyResult } from 'assay-verify'
import { type ProofVerdict, verifyPairing } from 'assay-verify/proof'
import { createTerminal, type Terminal } from 'assay-terminal'
import { indexedDbStorage } from 'assay-terminal/browser'
import { journalStorage } from 'assay-terminal/node'

const verdict: JwsVerdict = verifyResult('', { keys: { keys: [] }, issuer: '' })
if (verdict.valid) console.log(verdict.payload.decision)
// @ts-expect-error: a refusal has no payload
else console.log(verdict.payload)
// @ts-expect-error: without keys nothing is checked
verifyResult('', { issuer: '' })
// @ts-expect-error: no such option
readCheckpoint('', { origin: '', keys: '', witness: '' })
export const pairing: Promise<ProofVerdict> = verifyPairing({} as never, {} as never, [])
const options = { baseUrl: '', apiKey: '', merchantId: '' }
export const terminals: Promise<Terminal>[] = [
  createTerminal({ ...options, storage: journalStorage('.') }),
  createTerminal({ ...options, storage: indexedDbStorage('till') }),
]
// @ts-expect-error: an amount is a number
terminals[0]?.then((terminal) => terminal.pay({ cardToken: '', amount: '1' }))
`
