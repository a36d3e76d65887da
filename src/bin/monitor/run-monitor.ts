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
import { createMonitor, FINDING_CODES, type MonitorFinding, type Round } from './monitor.ts'
import { type MonitorState, readState, writeState } from './monitor-state.ts'

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
  readonly apiKey?: string
  /** Seconds. */
  readonly interval: number
  readonly alert?: string
  readonly metrics?: number
  readonly metricsHost: string
  readonly once?: boolean
}

/** The state that is kept, or that of a log which is seen for the first time. @throws UnreachableLog, Error */
const openState = async (log: LogClient, { state: file, keys }: Flags): Promise<MonitorState> => {
  const given = keys === undefined ? undefined : readFileSync(keys, 'utf8')
  const kept = await readState(file)
  if (kept !== undefined) return { ...kept, keys: given ?? kept.keys }
  if (given === undefined)
    console.log(
      'Its keys are taken from the log itself and kept: compare them with what others have, or give --keys.',
    )
  const origin = readNote(await log.checkpoint())?.origin
  if (origin === undefined) throw new Error(`${log.url}/checkpoint is no checkpoint.`)
  return { origin, keys: given ?? (await log.keys()), newest: null, newestEntry: null }
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
  const told = (round: Round): void => {
    rounds.inc()
    entries.inc(round.entries)
    if (round.size !== undefined) size.set(round.size)
    for (const code of FINDING_CODES)
      findings.set({ code }, Number(round.findings.some((one) => one.code === code)))
    if (round.findings.length === 0) lastSeen.setToCurrentTime()
  }
  return { registry, told }
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
    })
    child.once('error', () => resolve(false))
    child.once('close', (status) => resolve(status === 0))
    // It may not read what it was given.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${JSON.stringify(alert)}\n`)
  })

/** The same finding of another log is another one. */
const keyOf = ({ code, log }: MonitorFinding): string => (log === 0 ? code : `${code} of log ${log}`)

/** Tells what was found once, and again after it was gone. */
const createTeller = (log: LogClient, origin: string, { alert, once }: Flags) => {
  const known = new Set<string>()
  /** Looks in a row at which something was found. */
  let looks: ReadonlyMap<string, number> = new Map()
  const tell = async (finding: MonitorFinding): Promise<void> => {
    console.error(printable(`${new Date().toISOString()} ${keyOf(finding)}: ${finding.detail}`))
    for (const note of finding.checkpoints) console.error(note.split('\n').map(printable).join('\n'))
    const at = new Date().toISOString()
    const isTold = alert === undefined || (await runAlert(alert, { at, url: log.url, origin, ...finding }))
    if (isTold) known.add(keyOf(finding))
    else console.error('The alert command failed; it is run again with the next look at the log.')
  }
  return async (findings: readonly MonitorFinding[]): Promise<void> => {
    looks = new Map(findings.map(keyOf).map((key) => [key, (looks.get(key) ?? 0) + 1]))
    for (const key of known) if (!looks.has(key)) known.delete(key)
    for (const finding of findings) {
      const key = keyOf(finding)
      const isEarly = finding.code === 'UNREACHABLE' && !once && (looks.get(key) ?? 0) < UNREACHABLE_LOOKS
      if (!isEarly && !known.has(key)) await tell(finding)
    }
  }
}

/** The exit status that findings come to. */
const statusOf = (codes: ReadonlySet<string>): number => {
  if ([...codes].some((code) => code !== 'UNREACHABLE')) return EXIT_FOUND
  return codes.size > 0 ? EXIT_UNKNOWN : 0
}

const follow = async (log: LogClient, flags: Flags): Promise<void> => {
  const policy =
    flags.witnesses === undefined ? undefined : readWitnessPolicy(readFileSync(flags.witnesses, 'utf8'))
  const state = await openState(log, flags)
  const remember = (next: MonitorState): Promise<void> => writeState(flags.state, next)
  const look = createMonitor({ log, policy, apiKey: flags.apiKey, state, remember })
  const { registry, told } = createMeasures()
  const tell = createTeller(log, state.origin, flags)
  const server =
    flags.metrics === undefined ? undefined : await serveMetrics(registry, flags.metrics, flags.metricsHost)
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  process.once('SIGTERM', stop).once('SIGINT', stop)
  /** What was found since the start; that the log did not answer counts only for the last look. */
  const found = new Set<string>()
  let size = -1
  do {
    const round = await look()
    told(round)
    if (round.size !== undefined && round.size !== size && round.findings.length === 0) {
      size = round.size
      console.log(`${new Date().toISOString()} ${state.origin}: ${size} entries, as they should be`)
    }
    await tell(round.findings)
    found.delete('UNREACHABLE')
    for (const { code } of round.findings) found.add(code)
    if (flags.once) break
    await pause(flags.interval * 1000, undefined, { signal: stopping.signal }).catch(() => undefined)
  } while (!stopping.signal.aborted)
  server?.close()
  server?.closeAllConnections()
  process.exitCode = statusOf(found)
}

/** Follows the log of a service. @param url of the service */
export const runMonitor = async (url: string, flags: Flags): Promise<void> => {
  try {
    await follow(createLogClient(url), flags)
  } catch (error) {
    console.error(printable(error instanceof Error ? error.message : String(error)))
    process.exitCode = EXIT_UNKNOWN
  }
}
