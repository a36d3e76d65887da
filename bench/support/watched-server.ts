/**
 * A server as a program of its own, which tells how long its main thread went without a turn of the event loop. Its parent starts it
 * with fork: the arguments are the URL of a database and settings as JSON. It sends where it listens, and answers each message
 * with the longest stretches since the last one.
 * @module
 */
import { watchStretches } from '../../test/support/servers/stretches.ts'
import { startBenchServer } from './bench-server.ts'

export interface Listening {
  readonly url: string
  readonly key: string
}

const [databaseUrl = '', settings = '{}'] = process.argv.slice(2)
const { server, key } = await startBenchServer(databaseUrl, JSON.parse(settings))
const takeStretch = watchStretches()
process.on('message', () => process.send?.(takeStretch()))
process.once('disconnect', () => void server.close().then(() => process.exit()))
process.send?.({ url: server.url, key } satisfies Listening)
