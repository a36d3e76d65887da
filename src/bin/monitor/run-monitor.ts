/** `npx assay monitor`: looks at a log again and again, prints what it finds, measures, and runs a command for what somebody must see. @module */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Counter, Gauge, Registry } from 'prom-client'
import { readNote } from '../../protocol/checkpoint/note.ts'
import { readWitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import { printable } from '../printable.ts'
import { createLogClient, type LogClient } from './log-client.ts'
import { readLogKeys } from './log-keys.ts'
import { createMonitor, FINDING_CODES, type MonitorFinding, type Round, type Tell } from './monitor.ts'
import { lockState, type MonitorState, readState, writeState } from './monitor-state.ts'

/** Exit statuses beside 0, all is well: something was found · it could not be checked. */
const EXIT_FOUND = 1
const EXIT_UNKNOWN = 2
/** A log that does not answer is told about once it has not answered at so many looks in a row. */
const UNREACHABLE_LOOKS = 3
const ALERT_TIMEOUT_MS = 60_000

export interface Flags {
  readonly state: string
  readonly keys?: string
  readonly witnesses?: string
  /** Seconds; default: that of the monitor. */
  readonly maxAge?: number
  readonly apiKey?: string
  /** Seconds. */
  readonly interval: number
  readonly alert?: string
  readonly metrics?: number
  readonly metricsHost: string
  readonly once?: boolean
}

/** @returns the text @throws Error where its keys are not such that all signatures can be checked */
const checkedKeys = (text: string, source: string): string => {
  readLogKeys(text, source)
  return text
}

/** The state that is kept, or that of a log which is seen for the first time. @throws UnreachableLog, Error */
const openState = async (log: LogClient, { state: file, keys }: Flags): Promise<MonitorState> => {
  const given = keys === undefined ? undefined : checkedKeys(readFileSync(keys, 'utf8'), keys)
  const kept = await readState(file)
  if (kept !== undefined) return { ...kept, keys: given ?? checkedKeys(kept.keys, file) }
  if (given === undefined)
    console.log(
      'Its keys are taken from the log itself and kept: compare them with what others have, or give --keys.',
    )
  const origin = readNote(await log.checkpoint())?.origin
  if (origin === undefined) throw new Error(`${log.url}/checkpoint is no checkpoint.`)
  const own = given ?? checkedKeys(await log.keys(), `${log.url}/checkpoint/keys`)
  return { origin, keys: own, newest: null, newestEntry: null }
}

const createMeasures = () => {
  const registry = new Registry()
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const size = gauge('assay_monitor_tree_size', 'Entries under the newest checkpoint that was accepted.')
  const lastSeen = gauge(
    'assay_monitor_last_success_timestamp_seconds',
    'When the log was last found to be as it should.',
  )
  const rounds = new Counter({
    name: 'assay_monitor_rounds_total',
    help: 'Times that the log was looked at.',
    registers,
  })
  const entries = new Counter({
    name: 'assay_monitor_entries_total',
    help: 'Entries of the organisation that were found in the log.',
    registers,
  })
  const findings = new Gauge({
    name: 'assay_monitor_finding',
    help: '1 while the last look at the log found this.',
    labelNames: ['code'],
    registers,
  })
  const found = (code: MonitorFinding['code']): void => findings.set({ code }, 1)
  const looked = (round: Round): void => {
    rounds.inc()
    entries.inc(round.entries)
    if (round.size !== undefined) size.set(round.size)
    for (const code of FINDING_CODES)
      findings.set({ code }, Number(round.findings.some((one) => one.code === code)))
    if (round.findings.length === 0) lastSeen.setToCurrentTime()
  }
  return { registry, found, looked }
}

/** @throws Error of the system where it can't listen there */
const serveMetrics = async (registry: Registry, port: number, host: string): Promise<Server> => {
  const server = createServer(async (request, response) => {
    const isAsked = request.url === '/metrics'
    response.writeHead(isAsked ? 200 : 404, { 'Content-Type': registry.contentType })
    response.end(isAsked ? await registry.metrics() : '')
  }).listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const at = address !== null && typeof address === 'object' ? address.port : port
  console.log(`Metrics are at http://${host}:${at}/metrics`)
  return server
}

/** Runs the command with the finding, as JSON, on its standard input. @returns whether it took it (exit status 0) */
const runAlert = (command: string, alert: object): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      timeout: ALERT_TIMEOUT_MS,
      // It may not listen to SIGTERM, and nothing else is told until it has ended.
      killSignal: 'SIGKILL',
    })
    child.once('error', () => resolve(false))
    child.once('close', (status) => resolve(status === 0))
    // It may not read what it was given.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${JSON.stringify(alert)}\n`)
  })

const nameOf = ({ code, log }: MonitorFinding): string => (log === 0 ? code : `${code} of log ${log}`)

/** The same finding of another log, or of another entry, is another one. */
const keyOf = (finding: MonitorFinding): string => `${nameOf(finding)} ${finding.index ?? ''}`

const print = (finding: MonitorFinding): void => {
  console.error(printable(`${new Date().toISOString()} ${nameOf(finding)}: ${finding.detail}`))
  for (const note of finding.checkpoints) console.error(note.split('\n').map(printable).join('\n'))
}

/** Tells what was found once, and again after it was gone. */
const createTeller = (log: LogClient, origin: string, { alert, once }: Flags) => {
  const known = new Set<string>()
  /** Looks in a row at which something was found, up to the last one and with this one. */
  let [before, now] = [new Map<string, number>(), new Map<string, number>()]
  /** Ends once all is told so far: one after the other. */
  let telling: Promise<void> = Promise.resolve()
  const tellNow = async (finding: MonitorFinding): Promise<void> => {
    print(finding)
    const at = new Date().toISOString()
    const isTold = alert === undefined || (await runAlert(alert, { at, url: log.url, origin, ...finding }))
    if (isTold) known.add(keyOf(finding))
    else console.error('The alert command failed; it is run again with the next look at the log.')
  }
  const tell: Tell = (finding) => {
    const key = keyOf(finding)
    if (now.has(key)) return
    const looks = (before.get(key) ?? 0) + 1
    now.set(key, looks)
    const isEarly = finding.code === 'UNREACHABLE' && !once && looks < UNREACHABLE_LOOKS
    // What was signed, and could not be held against what was seen, may never be shown again.
    if (isEarly && finding.checkpoints.length > 0) print(finding)
    if (isEarly || known.has(key)) return
    telling = telling.then(() => tellNow(finding))
    // Whoever ends the look hears of it.
    telling.catch(() => undefined)
  }
  /** Ends a look: what was not found at it is gone. */
  const endLook = async (): Promise<void> => {
    await telling
    for (const key of known) if (!now.has(key)) known.delete(key)
    ;[before, now] = [now, new Map()]
  }
  return { tell, endLook }
}

/** The exit status that findings come to. */
const statusOf = (codes: ReadonlySet<string>): number => {
  if ([...codes].some((code) => code !== 'UNREACHABLE')) return EXIT_FOUND
  return codes.size > 0 ? EXIT_UNKNOWN : 0
}

interface Watch {
  readonly origin: string
  readonly look: ReturnType<typeof createMonitor>
  readonly teller: ReturnType<typeof createTeller>
  readonly measures: Pick<ReturnType<typeof createMeasures>, 'found' | 'looked'>
}

/** Looks until it is told to stop. @returns the codes of what was found since the start @throws Error */
const lookAgain = async (
  { origin, look, teller, measures }: Watch,
  { once, interval }: Flags,
  stopping: AbortSignal,
): Promise<ReadonlySet<string>> => {
  /** That the log did not answer counts only for the last look. */
  const found = new Set<string>()
  let size = -1
  do {
    const round = await look((finding) => {
      // What was given up tells nothing of the log, but of what it had signed.
      if (stopping.aborted && finding.code === 'UNREACHABLE' && finding.checkpoints.length === 0) return
      measures.found(finding.code)
      teller.tell(finding)
    }).finally(teller.endLook)
    const told = round.findings.filter(({ code }) => !(stopping.aborted && code === 'UNREACHABLE'))
    measures.looked(round)
    if (!stopping.aborted && round.size !== undefined && round.size !== size && told.length === 0) {
      size = round.size
      console.log(printable(`${new Date().toISOString()} ${origin}: ${size} entries, as they should be`))
    }
    if (!stopping.aborted) found.delete('UNREACHABLE')
    for (const { code } of told) found.add(code)
    if (once) break
    await pause(interval * 1000, undefined, { signal: stopping }).catch(() => undefined)
  } while (!stopping.aborted)
  // Whoever was stopped before anything was found to be right knows nothing.
  if (size < 0 && found.size === 0) found.add('UNREACHABLE')
  return found
}

/** @throws Error, after which nothing of it keeps the process alive */
const follow = async (log: LogClient, flags: Flags): Promise<void> => {
  const policy =
    flags.witnesses === undefined ? undefined : readWitnessPolicy(readFileSync(flags.witnesses, 'utf8'))
  const state = await openState(log, flags)
  const { origin } = state
  const remember = (next: MonitorState): Promise<void> => writeState(flags.state, next)
  const { registry, ...measures } = createMeasures()
  const server =
    flags.metrics === undefined ? undefined : await serveMetrics(registry, flags.metrics, flags.metricsHost)
  const stopping = new AbortController()
  const { maxAge } = flags
  // A variable that is set to nothing names no key.
  const apiKey = flags.apiKey || undefined
  const maxAgeMs = maxAge === undefined ? undefined : maxAge * 1000
  const look = createMonitor({ log, policy, maxAgeMs, apiKey, state, remember, stopping: stopping.signal })
  const stop = (): void => stopping.abort()
  process.once('SIGTERM', stop).once('SIGINT', stop)
  try {
    const watch = { origin, look, teller: createTeller(log, origin, flags), measures }
    process.exitCode = statusOf(await lookAgain(watch, flags, stopping.signal))
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop)
    server?.close()
    server?.closeAllConnections()
  }
}

/** Follows the log of a service. @param url of the service */
export const runMonitor = async (url: string, flags: Flags): Promise<void> => {
  let release = (): void => undefined
  try {
    release = lockState(flags.state)
    await follow(createLogClient(url), flags)
  } catch (error) {
    console.error(printable(error instanceof Error ? error.message : String(error)))
    process.exitCode = EXIT_UNKNOWN
  } finally {
    release()
  }
}
