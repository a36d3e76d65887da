/**
 * What holders prove with what was issued to them: one proof on one thread, in Node and in the system's Chromium, and what a page
 * waits for that prepares and proves once. BENCH_FORMER names a built checkout of an earlier version, whose circuits are proved
 * with the same code, in turns with those of today; what counts is the fastest turn. `npx tsx bench/holder-proofs.ts`
 * @module
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { WitnessInput } from '../src/circuits/circuit.ts'
import type { CredentialCircuit } from '../src/circuits/credential.ts'
import { createProofMaker } from '../src/circuits/proving/groth16.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { readR1cs } from '../test/support/reference/r1cs.ts'
import { type Row, report } from './support/interleaved.ts'

const ROOT = join(import.meta.dirname, '..')
const { BENCH_FORMER, BENCH_TURNS = '9' } = process.env
const TURNS = Number(BENCH_TURNS)
const IDS: readonly CredentialCircuit[] = ['kyc', 'token_validation', 'consent_verification']
/** Chromium runs the same WebAssembly in the same engine. */
const MOST_IN_CHROMIUM = 1.5

/** A circuit of one checkout, with an input that it has a witness for. */
interface Subject {
  readonly id: CredentialCircuit
  readonly checkout: string
  readonly input: WitnessInput
  readonly publicSignals: string[]
  readonly constraints: number
}
type Place = Pick<Subject, 'id' | 'checkout'>

const zkeyFile = ({ id, checkout }: Place): string => join(checkout, `circuits/keys/${id}.zkey`)
const wasmFile = ({ id, checkout }: Place): string => join(checkout, `build/circuits/${id}.wasm`)
const filesOf = (place: Place) => ({
  zkey: readFileSync(zkeyFile(place)),
  wasm: readFileSync(wasmFile(place)),
})

const subjectsOf = async (checkout: string): Promise<Subject[]> => {
  const { GOOD_INPUTS } = (await import(
    join(checkout, 'test/support/domain/proofs.ts')
  )) as typeof import('../test/support/domain/proofs.ts')
  const subjects = IDS.map(async (id) => {
    const make = await createProofMaker(filesOf({ id, checkout }))
    const { publicSignals } = await make(GOOD_INPUTS[id])
    const { constraints } = readR1cs(readFileSync(join(checkout, `build/circuits/${id}.r1cs`)))
    return { id, checkout, input: GOOD_INPUTS[id], publicSignals, constraints: constraints.length }
  })
  return Promise.all(subjects)
}

/** A page of an origin that has the library and the files of all subjects, by their places. */
const startPages = async (subjects: readonly Subject[]) => {
  const files = new Map([
    ['/proving.js', join(ROOT, 'build/proving.js')],
    ...subjects.flatMap((subject, i): [string, string][] => [
      [`/${i}.zkey`, zkeyFile(subject)],
      [`/${i}.wasm`, wasmFile(subject)],
    ]),
  ])
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '')
    const type = request.url === '/proving.js' ? 'text/javascript' : 'application/octet-stream'
    if (file === undefined) response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')
    else response.writeHead(200, { 'content-type': type }).end(readFileSync(file))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const browser = await launchChromium()
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${port}/`)
  return {
    page,
    async close() {
      await browser.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Milliseconds of preparing and proving once, and of the next proof. */
type Times = readonly [whole: number, next: number]

const inNode = async (subject: Subject): Promise<Times> => {
  const files = filesOf(subject)
  const start = performance.now()
  const make = await createProofMaker(files)
  await make(subject.input)
  const first = performance.now()
  await make(subject.input)
  return [first - start, performance.now() - first]
}

/** The same in a page, whose functions can have no names of their own: the compiler would help itself to one of its. */
const inPage = (page: Page, place: number, { input, publicSignals }: Subject): Promise<Times> =>
  page.evaluate(
    async ([library, at, witness, signals]) => {
      const { createProving } = (await import(library)) as typeof import('../src/circuits/proving/proving.ts')
      const zkey = new Uint8Array(await (await fetch(`/${at}.zkey`)).arrayBuffer())
      const wasm = new Uint8Array(await (await fetch(`/${at}.wasm`)).arrayBuffer())
      const start = performance.now()
      const proving = await createProving(
        {
          witnessInput() {
            return witness
          },
          publicSignals() {
            return signals
          },
        },
        { zkey, wasm },
      )
      await proving.prove(undefined)
      const first = performance.now()
      await proving.prove(undefined)
      return [first - start, performance.now() - first] as const
    },
    ['/proving.js', place, input, publicSignals] as const,
  )

const subjects = [
  ...(await subjectsOf(ROOT)),
  ...(BENCH_FORMER === undefined ? [] : await subjectsOf(BENCH_FORMER)),
]
const pages = await startPages(subjects)
const times = subjects.map(() => ({ node: [] as Times[], chromium: [] as Times[] }))
// The first turn warms up.
for (let turn = 0; turn <= TURNS; turn++)
  for (const [i, subject] of subjects.entries()) {
    const [node, chromium] = [await inNode(subject), await inPage(pages.page, i, subject)]
    if (turn === 0) continue
    times[i]?.node.push(node)
    times[i]?.chromium.push(chromium)
  }
await pages.close()

/** The fastest: whatever else is at work makes a turn slower, and none faster. */
const ms = (of: readonly Times[], which: 0 | 1): number => Math.min(...of.map((one) => one[which]))
const time = (value: number): string => `${value.toFixed(0)} ms`
const rows = subjects.flatMap(({ id, checkout, constraints }, i): Row[] => {
  const { node = [], chromium = [] } = times[i] ?? {}
  const former = times[subjects.findIndex((other) => other.id === id && other.checkout !== ROOT)]
  const name = checkout === ROOT ? id : `${id}, former`
  const row = (what: string, ours: number, peer = '', theirs = Number.NaN, most?: number): Row => ({
    what: `${name} (${constraints} constraints), ${what}`,
    ours: time(ours),
    peer,
    theirs: peer && time(theirs),
    ratio: peer && `${(ours / theirs).toFixed(2)}×`,
    mustReach: most === undefined ? '' : `≤ ${most}×`,
    ok: most === undefined || ours / theirs <= most,
  })
  const beside = checkout === ROOT && former !== undefined
  return [
    row('proof in Chromium', ms(chromium, 1), 'Node (ratio: of times)', ms(node, 1), MOST_IN_CHROMIUM),
    row('prepared and proved in Node', ms(node, 0)),
    row('prepared and proved in Chromium', ms(chromium, 0)),
    ...(beside
      ? [row('proof in Node', ms(node, 1), 'the former (ratio: of times)', ms(former.node, 1))]
      : []),
    ...(beside
      ? [row('proof in Chromium', ms(chromium, 1), 'the former (ratio: of times)', ms(former.chromium, 1))]
      : []),
  ]
})
report(rows)
