/**
 * Appends to a ledger from several callers at once until it is killed, or for a number of entries, and prints a line
 * for each receipt as soon as it is acknowledged. Arguments: database URL or data directory, prefix of the claims,
 * callers, entries (0: for ever, else in an order of its own), and `wait` to begin only at SIGUSR2.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { openDatabase } from '../../../src/store/database.ts'
import { callerOf, claiming, ledgerOn } from '../ledger.ts'

const [target = '', prefix = '', callers = '1', entries = '0', wait] = process.argv.slice(2)
const wanted = Number(entries) || Number.POSITIVE_INFINITY
const RETRY_PAUSE_MS = 10

const database = await openDatabase(
  target.startsWith('postgres') ? { databaseUrl: target, dataDir: 'memory' } : { dataDir: target },
)
const ledger = await ledgerOn(database)
// Synchronous, so that a line is out before anything else happens.
const print = (line: string): void => {
  writeSync(1, `${line}\n`)
}
const begin = wait === undefined ? undefined : once(process, 'SIGUSR2')
// A pending listener alone does not keep a process alive.
const alive = setInterval(() => {}, 60_000)
print('ready')
await begin
/** Each process has an order of its own, so that two that append the same entries meet on the way. */
const placeOf = (number: number): string =>
  createHash('sha256').update(`${process.pid} ${number}`).digest('hex')
const order = Array.from({ length: Number(entries) }, (_, number) => ({ number, place: placeOf(number) }))
  .sort((a, b) => (a.place < b.place ? -1 : 1))
  .map(({ number }) => number)
let next = 0
const append = async (): Promise<void> => {
  while (next < wanted) {
    const number = next++
    const key = `${prefix}-${order[number] ?? number}`
    try {
      const { index, entryId, leafHash } = await ledger.append(callerOf('org_crash'), claiming(key))
      print(`receipt ${index} ${entryId} ${leafHash} ${key}`)
    } catch (error) {
      // A database that is away says so; anything else would be a false refusal, for each key is used once.
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      print(`refused ${code} ${key}`)
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS))
    }
  }
}
await Promise.all(Array.from({ length: Number(callers) }, append))
await ledger.close()
await database.close()
clearInterval(alive)
print('done')
