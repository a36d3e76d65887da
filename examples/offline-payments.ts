/**
 * Two tills of a shop, a server that dies in the middle, and not one payment lost.
 *
 * Starts a real server with data of its own in a temporary directory, kills it with SIGKILL while payments are under
 * way, goes on without it, and starts it again. At the end it checks that every accepted payment has arrived and none
 * twice; the exit status says so. Run it after `npm run build`:
 *
 *     npx tsx examples/offline-payments.ts
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'assay-client'
import { createTerminal, journalStorage, type PaymentResult, type Terminal } from 'assay-terminal/node'

const SERVER = join(import.meta.dirname, '../build/cli.js')
/**
 * A till would go on offline after 500 ms. Here it waits, so that a busy machine doesn't change the story: only a
 * server that was killed is away.
 */
const PATIENCE_MS = 120_000
const POLL_MS = 20

const directory = await mkdtemp(join(tmpdir(), 'assay-example-'))
const adminKey = randomBytes(24).toString('hex')
const url = `http://127.0.0.1:${await freePort()}`
/** As the administrator of the shop. */
const shop = createClient({ baseUrl: url, key: adminKey })
let server: ChildProcess | undefined

/** A port that nobody uses, so that the tills find the second server where the first one was. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const giveUpAt = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`)
    await sleep(POLL_MS)
  }
}

const isUp = (): Promise<boolean> =>
  shop.getReadiness({}, { retries: 0 }).then(
    () => true,
    () => false,
  )

const startServer = async (): Promise<void> => {
  server = spawn(process.execPath, [SERVER, 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: new URL(url).port,
      DATA_DIR: join(directory, 'server'),
      ADMIN_API_KEY: adminKey,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await until('the server answers', () => {
    if (server?.exitCode != null) throw new Error(`The server ended with status ${server.exitCode}.`)
    return isUp()
  })
}

const endServer = async (signal: NodeJS.Signals): Promise<void> => {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  server.kill(signal)
  await once(server, 'exit')
}

const openTill = async (name: string): Promise<Terminal> => {
  const { apiKey, merchantId, terminalId, terminalSecret } = await shop.createTerminal({ label: name })
  const till = await createTerminal({
    baseUrl: url,
    apiKey,
    merchantId,
    terminalId,
    terminalSecret,
    storage: journalStorage(join(directory, name)),
    timeouts: { quickMs: PATIENCE_MS },
  })
  till.on('online', () => console.log(`     ${name} is online`))
  till.on('offline', () => console.log(`     ${name} is offline`))
  till.on('conflict', ({ transactionId, message }) =>
    console.log(`   ! ${name} ${transactionId}: ${message}`),
  )
  return till
}

/** Everything that was accepted, with its card. */
const accepted: { card: string; transactionId: string; till: string }[] = []

const pay = async (tills: Record<string, Terminal>, till: string, card: string): Promise<PaymentResult> => {
  const result = await (tills[till] as Terminal).pay({ cardToken: card, amount: 12.5 })
  const how = result.synced ? 'accepted, the server has it' : 'accepted offline, queued'
  console.log(`   ${till} ${card.padEnd(8)} ${result.accepted ? how : `refused: ${result.error}`}`)
  if (result.accepted) accepted.push({ card, transactionId: result.transactionId, till })
  return result
}

const failures: string[] = []
const check = (what: string, isSo: boolean): void => {
  console.log(`   ${isSo ? 'yes' : 'NO '}  ${what}`)
  if (!isSo) failures.push(what)
}

const play = async (tills: { A: Terminal; B: Terminal }): Promise<void> => {
  console.log('1. The server is there: payments are checked with it.')
  await Promise.all([tills.A.probe(), tills.B.probe()])
  for (const card of ['tok_01', 'tok_02']) await pay(tills, 'A', card)
  await pay(tills, 'B', 'tok_03')
  const second = await pay(tills, 'B', 'tok_01')
  check('a card used at till A is refused at till B', !second.accepted)

  console.log('2. The server is killed while payments are under way.')
  const underWay = ['tok_04', 'tok_05', 'tok_06', 'tok_07'].map((card, i) =>
    pay(tills, i % 2 ? 'B' : 'A', card),
  )
  await endServer('SIGKILL')
  const results = await Promise.all(underWay)
  check(
    'every one of them was accepted all the same',
    results.every((result) => result.accepted),
  )

  console.log('3. Business goes on without it.')
  await until('both tills have noticed', () => !tills.A.status().online && !tills.B.status().online)
  for (const card of ['tok_08', 'tok_09']) await pay(tills, 'A', card)
  for (const card of ['tok_10', 'tok_11']) await pay(tills, 'B', card)
  check('a card the till has seen is refused without a server', !(await pay(tills, 'A', 'tok_08')).accepted)
  await pay(tills, 'B', 'tok_08')
  console.log('     (till B can not know yet that till A has seen tok_08)')
  for (const [name, till] of Object.entries(tills)) {
    const { count, sums } = till.pending()
    console.log(`     ${name} holds ${count} payments: ${JSON.stringify(sums)}`)
  }

  console.log('4. The server is back: the tills upload by themselves.')
  await startServer()
  await until('the queues are empty', () => tills.A.pending().count + tills.B.pending().count === 0)
}

const verify = async (tills: { A: Terminal; B: Terminal }): Promise<void> => {
  console.log('5. What has become of it all?')
  const conflicts = Object.values(tills).flatMap((till) => till.status().rejected)
  check('the second use of tok_08 is reported, and nothing else', conflicts.length === 1)
  const lostId = conflicts[0]?.transactionId
  check('it is a conflict of two tills', conflicts[0]?.code === 'DOUBLE_SPEND')
  const { alerts } = await shop.listConsoleAlerts()
  check(
    'the merchant was alerted',
    alerts.some(({ type }) => type === 'double_spend'),
  )

  const kept = accepted.filter(({ transactionId }) => transactionId !== lostId)
  check('no card was paid with twice', new Set(kept.map(({ card }) => card)).size === kept.length)
  await until('both tills are online', async () => (await tills.A.probe()) && tills.B.probe())
  console.log(
    '   Each accepted card is presented once more, at the other till, where the server must know it:',
  )
  let known = 0
  for (const { card, till } of kept) {
    const { error } = await tills[till === 'A' ? 'B' : 'A'].pay({ cardToken: card, amount: 12.5 })
    if (error?.startsWith('DOUBLE_SPEND')) known++
  }
  check(`all ${kept.length} accepted payments are on the server`, known === kept.length && known === 11)
}

try {
  await startServer()
  const tills = { A: await openTill('A'), B: await openTill('B') }
  try {
    await play(tills)
    await verify(tills)
  } finally {
    await Promise.all([tills.A.close(), tills.B.close()])
  }
} finally {
  await endServer('SIGTERM')
  await rm(directory, { recursive: true, force: true })
}
console.log(
  failures.length === 0 ? 'No payment was lost, none was stored twice.' : `FAILED: ${failures.join('; ')}`,
)
process.exitCode = failures.length === 0 ? 0 : 1
