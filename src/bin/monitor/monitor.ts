/**
 * Follows all logs of a service from outside: each must go on from what was seen of it, and log 0 must hold the heads of the others, which go
 * with what these logs publish. So who follows, or cosigns, log 0 sees when another one is shown otherwise to somebody else.
 * @module
 */
import pLimit from 'p-limit'
import { type Clock, systemClock } from '../../clock.ts'
import { readNote } from '../../protocol/checkpoint/note.ts'
import { verifierKey } from '../../protocol/checkpoint/signed-note.ts'
import type { WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import { MAX_LOGS, originOfLog } from '../../protocol/log-heads.ts'
import { type OtherLog, observeHead } from './head-monitor.ts'
import { createLogClient, type LogClient, NOT_FOUND, UnreachableLog } from './log-client.ts'
import { readLogKeys } from './log-keys.ts'
import { createLogMonitor, type MonitorFinding, type Tell, unreachable } from './log-monitor.ts'
import type { LogState, MonitorState } from './monitor-state.ts'

export { FINDING_CODES, type MonitorFinding, type Tell } from './log-monitor.ts'

/** How often numbers of logs are asked for that no log is known to have: one may have been hidden, and with it those after it. */
const PROBE_MS = 3_600_000
/** A look at the logs ends by then, and after it one at the organisation's entries, of which a first one may meet millions. */
const LOGS_MS = 300_000
const ENTRIES_MS = 3_600_000
/** Logs beside log 0 that are looked at at once, so that a slow one holds up few others. */
const AT_ONCE = 16

/** A log publishes nothing that was witnessed earlier than WITNESS_MAX_AGE_SECONDS ago, by default 600; clocks of witnesses may be off by 300. */
export const DEFAULT_MAX_AGE_SECONDS = 900

export interface Round {
  readonly findings: readonly MonitorFinding[]
  /** Of the newest checkpoint of log 0 that was accepted. */
  readonly size: number | undefined
  /** Of the organisation's entries that were found in its log by this round. */
  readonly entries: number
}

interface Options {
  /** Log 0 of the service. */
  readonly log: LogClient
  readonly policy: WitnessPolicy | undefined
  /** How long ago the witnesses of the policy may have cosigned; default: {@link DEFAULT_MAX_AGE_SECONDS}. */
  readonly maxAgeMs?: number
  /** Default: that of the system. */
  readonly clock?: Clock
  /** Of an organisation, whose entries are looked for as well. */
  readonly apiKey: string | undefined
  readonly state: MonitorState
  /** Called before a checkpoint counts as accepted. */
  readonly remember: (state: MonitorState) => Promise<void>
  /** Ends a look: what was not answered by then is a log that can't be reached. */
  readonly stopping?: AbortSignal
}

/** All logs are signed with the same keys, each under its own name. @param keys verifier keys, one a line */
const renamed = (keys: string, name: string): string =>
  readLogKeys(keys, 'the state')
    .map(({ type, publicKey }) => `${verifierKey({ name, type, publicKey })}\n`)
    .join('')

/** What is found; a log that does not answer is a finding itself, so that the others are looked at all the same. */
const attempt = async (
  number: number,
  tell: Tell,
  find: () => Promise<MonitorFinding | undefined>,
): Promise<MonitorFinding | undefined> => {
  const found = await find().catch((error: unknown) => unreachable(error, number))
  if (found !== undefined) tell(found)
  return found
}

/** What a log answered when it was asked for its checkpoint. */
type Answer = string | UnreachableLog

const isSilent = (answer: Answer): boolean => answer instanceof UnreachableLog && answer.status !== NOT_FOUND

/**
 * @returns what looks at the logs once, each time it is called, one call after the other; it calls what it is given with each finding as soon as
 *   there is one
 * @throws Error where the keys of the state are not such that all signatures can be checked
 */
export const createMonitor = ({ log, policy, apiKey, remember, stopping, ...options }: Options) => {
  let { state } = options
  const { maxAgeMs = DEFAULT_MAX_AGE_SECONDS * 1000, clock = systemClock } = options
  const demanded = policy && { policy, maxAgeMs, clock }
  const giveUpAfter = (milliseconds: number): void => {
    const deadline = AbortSignal.timeout(milliseconds)
    log.patience.until = stopping === undefined ? deadline : AbortSignal.any([stopping, deadline])
  }
  const { logs = {}, ...stateOfFirst } = state
  const inTurn = pLimit(1)
  /** One after the other: logs are looked at at once, and what one remembers must not undo what another one does. */
  const change = (changed: (before: MonitorState) => MonitorState): Promise<void> =>
    inTurn(async () => {
      const next = changed(state)
      await remember(next)
      state = next
    })
  const keepFirst = (next: LogState): Promise<void> => change((before) => ({ ...before, ...next }))
  const first = createLogMonitor({ log, state: stateOfFirst, remember: keepFirst })
  const others = new Map<number, OtherLog>()
  /** The greatest number of a log that there was. */
  let highest = Math.max(0, ...Object.keys(logs).map(Number))
  let probedAt = Number.NEGATIVE_INFINITY

  const open = (number: number): OtherLog => {
    const client = createLogClient(log.url, number, log.patience)
    const origin = originOfLog(state.origin, number)
    const fresh = { origin, newest: null, newestEntry: null }
    // Those of log 0 as they are now, also after a rotation.
    const own: LogState = { ...fresh, ...logs[number], keys: renamed(state.keys, origin) }
    const keep = async (next: LogState): Promise<void> => {
      await change((before) => ({ ...before, logs: { ...before.logs, [number]: next } }))
      highest = Math.max(highest, number)
    }
    const opened = { client, monitor: createLogMonitor({ log: client, state: own, remember: keep }) }
    others.set(number, opened)
    return opened
  }
  const other = (number: number): OtherLog => others.get(number) ?? open(number)

  const ask = async (number: number): Promise<Answer> => {
    try {
      return await createLogClient(log.url, number, log.patience).checkpoint()
    } catch (error) {
      if (error instanceof UnreachableLog) return error
      throw error
    }
  }

  /** Whatever else answers at a number, it is no log that there ever was. */
  const isLog = (number: number, answer: Answer): boolean =>
    typeof answer === 'string' && readNote(answer)?.origin === originOfLog(state.origin, number)

  /** @throws UnreachableLog */
  const observeOther = async (number: number, answer: Answer): Promise<MonitorFinding | undefined> => {
    if (typeof answer === 'string') {
      // The checkpoint before the head, which then covers it.
      const fault = await other(number).monitor.observe(answer, undefined)
      return fault ?? (await observeHead(other(number), first))
    }
    if (answer.status !== NOT_FOUND) throw answer
    const note = state.logs?.[number]?.newest?.note
    const detail =
      note === undefined
        ? `There is no log ${number}, but one of a greater number.`
        : `Log ${number}, which was seen before, is gone.`
    return { code: 'LOG_MISSING', log: number, detail, checkpoints: note === undefined ? [] : [note] }
  }

  /** Looks at all logs but log 0. @param seeksNew whether also for logs that were not seen yet */
  const observeOthers = async (
    seeksNew: boolean,
    tell: Tell,
  ): Promise<readonly (MonitorFinding | undefined)[]> => {
    const isProbe = seeksNew && performance.now() - probedAt > PROBE_MS
    const last = isProbe ? MAX_LOGS - 1 : Math.min(highest + Number(seeksNew), MAX_LOGS - 1)
    const numbers = Array.from({ length: last }, (_, i) => i + 1)
    const asked = await Promise.all(numbers.map(async (number) => ({ number, answer: await ask(number) })))
    highest = Math.max(highest, ...asked.map(({ number, answer }) => (isLog(number, answer) ? number : 0)))
    const silent = asked.slice(highest).find(({ answer }) => isSilent(answer))
    if (silent === undefined && isProbe) probedAt = performance.now()
    const atOnce = pLimit(AT_ONCE)
    const outcomes = await Promise.allSettled(
      asked
        .slice(0, highest)
        .map(({ number, answer }) => atOnce(() => attempt(number, tell, () => observeOther(number, answer)))),
    )
    // Whoever ends at an error has nothing left that goes on, and writes.
    const found = outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    })
    if (silent === undefined) return found
    const unknown = unreachable(silent.answer, silent.number)
    tell(unknown)
    return [...found, unknown]
  }

  /** The log that has the organisation's entries, by those that were found before: the service can't choose another one. */
  const ownLog = (): number | undefined => {
    if (state.newestEntry !== null) return 0
    const found = Object.entries(state.logs ?? {}).find(([, { newestEntry }]) => newestEntry !== null)
    return found && Number(found[0])
  }

  /** @returns how many were found in their log @throws UnreachableLog */
  const checkEntries = async (key: string, own: number | undefined, tell: Tell): Promise<number> => {
    const page = await log.entries(key, undefined)
    const said = page.log ?? 0
    if (own === undefined || own === said)
      return (said === 0 ? first : other(said).monitor).checkEntries(key, page, tell)
    const detail = `Entries of log ${own} were seen before, and the list is now said to be of log ${said}.`
    const { newest } = own === 0 ? state : (state.logs?.[own] ?? { newest: null })
    const checkpoints = [newest?.note, page.checkpoint].filter((note) => note !== undefined)
    tell({ code: 'ENTRY_MISSING', log: own, detail, checkpoints })
    return 0
  }

  const checkOwnEntries = async (tell: Tell): Promise<number> => {
    if (apiKey === undefined) return 0
    const own = ownLog()
    try {
      return await checkEntries(apiKey, own, tell)
    } catch (error) {
      tell(unreachable(error, own ?? 0))
      return 0
    }
  }

  return async (tell: Tell = () => undefined): Promise<Round> => {
    giveUpAfter(LOGS_MS)
    const fault = await attempt(0, tell, async () => first.observe(await log.checkpoint(), demanded))
    const isDown = fault?.code === 'UNREACHABLE'
    // A service that is down is told of once.
    const isNews = (found: MonitorFinding): boolean => !(isDown && found.code === 'UNREACHABLE')
    const tellNews: Tell = (found) => {
      if (isNews(found)) tell(found)
    }
    const others = await observeOthers(!isDown, tellNews)
    giveUpAfter(ENTRIES_MS)
    const own: MonitorFinding[] = []
    const entries = await checkOwnEntries((found) => {
      own.push(found)
      tellNews(found)
    })
    const further = [...others, ...own].filter((found) => found !== undefined).filter(isNews)
    return {
      findings: fault === undefined ? further : [fault, ...further],
      size: state.newest?.size,
      entries,
    }
  }
}
