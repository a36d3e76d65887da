/**
 * Holds the newest head that log 0 has of another log against both: it must stand in log 0, go with what the other log publishes, and soon
 * cover what was seen of that log.
 * @module
 */
import { leafHash, nodeHash } from '../../ledger/tree/merkle.ts'
import { fromHex, hexOf, readNote } from '../../protocol/checkpoint/note.ts'
import { headIn, type SaidHead } from '../../protocol/log-heads.ts'
import type { HeadAnswer, LogClient } from './log-client.ts'
import { type LogMonitor, type MonitorFinding, wrongTiles } from './log-monitor.ts'

/** A service appends heads each second, and at once for whoever asks; one that is missing for so long is not coming. */
const HEAD_PATIENCE_MS = 10_000

/** One of a service's logs beside log 0. */
export interface OtherLog {
  readonly client: LogClient
  readonly monitor: LogMonitor
}

/** @returns undefined where no head stands in the tree of the checkpoint that came with it */
const readHead = (head: HeadAnswer): SaidHead | undefined => {
  const note = readNote(head.checkpoint)
  const place = { ...head, hashes: head.hashes.map(fromHex) }
  return note && headIn(place, note, { leafHash, nodeHash })
}

/**
 * Says which size the head must reach next: of a log that grows a greater one only once it has.
 * @param size of the newest head
 * @returns what it did not reach in time
 */
const missedSize = async (monitor: LogMonitor, size: number): Promise<number | undefined> => {
  const { newest, awaited = { size: 0, since: 0 } } = monitor.state()
  if (size < awaited.size)
    // The clock may have been set back since then.
    return Math.abs(Date.now() - awaited.since) > HEAD_PATIENCE_MS ? awaited.size : undefined
  if (newest !== null && newest.size > awaited.size) await monitor.awaitHead(newest.size)
  return undefined
}

/** @param first of log 0 @throws UnreachableLog */
export const observeHead = async (
  { client, monitor }: OtherLog,
  first: LogMonitor,
): Promise<MonitorFinding | undefined> => {
  const { number } = client
  const head = await client.head()
  const found = (code: MonitorFinding['code'], detail: string): MonitorFinding => ({
    code,
    log: number,
    detail,
    checkpoints: [monitor.state().newest?.note, head?.checkpoint].filter((note) => note !== undefined),
  })
  let size = 0
  if (head !== undefined) {
    const fault = await first.observe(head.checkpoint, undefined)
    if (fault !== undefined) return fault
    const said = readHead(head)
    if (said?.log !== number)
      return found('HEAD_INVALID', `Entry ${head.index} of log 0 is not there, or no head of log ${number}.`)
    const isSame = await monitor.goesWith({ size: said.size, root: hexOf(said.root) })
    if (isSame === undefined)
      return found('TILES_INVALID', wrongTiles(Math.max(said.size, monitor.state().newest?.size ?? 0)))
    if (!isSame)
      return found(
        'LOG_FORKED',
        `Log ${number} is another one than its head of ${said.size} entries in log 0.`,
      )
    size = said.size
  }
  const missed = await missedSize(monitor, size)
  if (missed === undefined) return undefined
  const has = size === 0 ? 'no head of it' : `none of more than ${size}`
  return found('HEAD_MISSING', `Log ${number} has ${missed} entries, and log 0 holds ${has}.`)
}
