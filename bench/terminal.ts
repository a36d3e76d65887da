/**
 * What a payment costs on the terminal: `pay` offline with memory storage, with a journal against a bare write and
 * fsync on the same disk, group commit of payments at once, and the start from a long journal.
 * Run with `npm run bench terminal`.
 */
import { mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createTerminal,
  journalStorage,
  memoryStorage,
  type Storage,
  type Terminal,
} from '../src/terminal/node.ts'
import { type Row, report } from './support/interleaved.ts'

const GOAL_PAY_US = 20
/** One durable payment against one durable write of as many bytes. */
const GOAL_FSYNC_RATIO = 1.25
/** Payments at once must get so many times more through than one after another. */
const GOAL_GROUP_COMMIT_RATIO = 5
const GOAL_RESTORE_MS = 1000

const SLICES = 15
const PAIRS = 100
const RESTORED_PAYMENTS = 100_000
/** A frame of one payment. */
const FRAME_BYTES = 260

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const rows: Row[] = []
const row = (
  what: string,
  ours: string,
  mustReach: string,
  ok: boolean,
  peer = '',
  theirs = '',
  ratio = '',
) => rows.push({ what, ours, peer, theirs, ratio, mustReach, ok })

let cards = 0
const openTerminal = (storage: Storage): Promise<Terminal> =>
  createTerminal({
    baseUrl: 'http://127.0.0.1:9',
    apiKey: 'vk_bench_0123456789',
    merchantId: 'mer_bench',
    storage,
    limits: { storedSumLimit: 'none' },
  })
const payOne = async (terminal: Terminal): Promise<void> => {
  const { accepted, error } = await terminal.pay({ cardToken: `tok_${cards++}`, amount: 12.5 })
  if (!accepted) throw new Error(error)
}

/** Microseconds a call, one after another. */
const each = async (calls: number, call: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  for (let i = 0; i < calls; i++) await call()
  return ((performance.now() - from) * 1000) / calls
}

const benchMemory = async (): Promise<void> => {
  const terminal = await openTerminal(memoryStorage())
  await each(20_000, () => payOne(terminal))
  const slices: number[] = []
  for (let i = 0; i < SLICES; i++) slices.push(await each(5000, () => payOne(terminal)))
  await terminal.close()
  const us = median(slices)
  row('pay offline, memory storage', `${us.toFixed(2)} µs`, `< ${GOAL_PAY_US} µs`, us < GOAL_PAY_US)
}

const benchJournal = async (directory: string): Promise<void> => {
  const terminal = await openTerminal(journalStorage(join(directory, 'journal')))
  const bare = await open(join(directory, 'bare'), 'w')
  const frame = new Uint8Array(FRAME_BYTES).fill(120)
  let position = 0
  const writeBare = async (): Promise<void> => {
    await bare.write(frame, 0, frame.length, position)
    await bare.datasync()
    position += frame.length
  }
  await each(1000, writeBare)
  await each(1000, () => payOne(terminal))
  // One by one in turn, since what else the disk does changes from one moment to the next.
  const ratios: number[] = []
  const singles: number[] = []
  for (let i = 0; i < SLICES; i++) {
    const bareUs: number[] = []
    const payUs: number[] = []
    for (let pair = 0; pair < PAIRS; pair++) {
      bareUs.push(await each(1, writeBare))
      payUs.push(await each(1, () => payOne(terminal)))
    }
    ratios.push(median(payUs) / median(bareUs))
    singles.push(median(payUs))
  }
  const ratio = median(ratios)
  const single = median(singles)
  row(
    'pay offline, durable journal',
    `${single.toFixed(0)} µs`,
    `≤ ${GOAL_FSYNC_RATIO}×`,
    ratio <= GOAL_FSYNC_RATIO,
    'one bare write and fsync (ratio: of times)',
    `${(single / ratio).toFixed(0)} µs`,
    `${ratio.toFixed(2)}×`,
  )

  const clients = 64
  const gains: number[] = []
  let rate = 0
  for (let i = 0; i < SLICES; i++) {
    const alone = await each(100, () => payOne(terminal))
    const together =
      (await each(20, () => Promise.all(Array.from({ length: clients }, () => payOne(terminal))))) / clients
    gains.push(alone / together)
    rate = 1e6 / together
  }
  const gain = median(gains)
  row(
    `pay offline, durable journal, ${clients} at once`,
    `${rate.toFixed(0)}/s`,
    `${GOAL_GROUP_COMMIT_RATIO}×`,
    gain >= GOAL_GROUP_COMMIT_RATIO,
    'one by one',
    `${(rate / gain).toFixed(0)}/s`,
    `${gain.toFixed(1)}×`,
  )
  await bare.close()
  await terminal.close()
}

const benchRestore = async (directory: string): Promise<void> => {
  const folder = join(directory, 'restore')
  let terminal = await openTerminal(journalStorage(folder))
  for (let paid = 0; paid < RESTORED_PAYMENTS; paid += 1000) {
    await Promise.all(Array.from({ length: 1000 }, () => payOne(terminal)))
  }
  await terminal.close()
  const { size } = await stat(join(folder, 'journal'))
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const from = performance.now()
    terminal = await openTerminal(journalStorage(folder))
    times.push(performance.now() - from)
    if (terminal.pending().count !== RESTORED_PAYMENTS) throw new Error('payments were lost')
    await terminal.close()
  }
  const ms = median(times)
  row(
    `start with ${RESTORED_PAYMENTS.toLocaleString('en')} queued payments (${(size / 2 ** 20).toFixed(0)} MiB)`,
    `${ms.toFixed(0)} ms`,
    `< ${GOAL_RESTORE_MS} ms`,
    ms < GOAL_RESTORE_MS,
  )
}

const directory = await mkdtemp(join(tmpdir(), 'assay-bench-'))
try {
  await benchMemory()
  await benchJournal(directory)
  await benchRestore(directory)
} finally {
  await rm(directory, { recursive: true, force: true })
}
report(rows)
