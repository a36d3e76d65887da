/**
 * Is the server there, and quick enough to be asked about payments? One probe at a time, at short intervals right after
 * an outage, then every five seconds. A probe that is no longer waited for may still be answered: a slow link is a link.
 * @module
 */
import type { Probe } from './merchant-api.ts'

/** Pauses before the probes that follow a start or an outage, in ms. */
export const PROBE_INTERVALS_MS = [1, 1, 1, 5, 10, 50, 100, 250, 500, 1000, 2000, 5000] as const
/** The pause once those are used up, and while the server is there. */
export const STEADY_PROBE_INTERVAL_MS = 5000

/** Calls `run` after `ms`. @returns a function that prevents it */
export type Delay = (ms: number, run: () => void) => () => void

/** A timer that keeps no Node process alive. */
export const timerDelay: Delay = (ms, run) => {
  const timer: unknown = setTimeout(run, ms)
  // Node returns an object, browsers a number.
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
    timer.unref()
  }
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}

export interface Connectivity {
  readonly online: boolean
  /** Begins to probe. */
  start(): void
  /** Probes now, or joins the probe that runs. */
  probe(): Promise<boolean>
  /** A request did not get through: offline until a probe does. */
  lost(): void
  /** Probes no more and waits for the one that runs. */
  close(): Promise<void>
}

interface Options {
  /** Asks once; settles in bounded time. @param patient waits for a slow answer too */
  readonly ask: (patient: boolean) => Probe
  /** Called on every change, and with `true` first if the server is there at the start. */
  readonly onChange: (online: boolean) => void
  /** Called whenever a probe was answered, quickly or slowly. */
  readonly onAnswer: () => void
  readonly delay?: Delay
}

export const createConnectivity = ({
  ask,
  onChange,
  onAnswer,
  delay = timerDelay,
}: Options): Connectivity => {
  let online = false
  let step = 0
  let losses = 0
  let cancel: (() => void) | undefined
  let running: Promise<boolean> | undefined
  /** A probe may be slow. Those that begin meanwhile have to be quick, so that they don't pile up on a dead link. */
  let isOneSlow = false
  let closed = false

  const schedule = (): void => {
    cancel?.()
    if (closed) return
    const pause = online ? STEADY_PROBE_INTERVAL_MS : (PROBE_INTERVALS_MS[step] ?? STEADY_PROBE_INTERVAL_MS)
    if (!online) step++
    cancel = delay(pause, () => void probe())
  }

  const change = (to: boolean): void => {
    if (to === online) return
    online = to
    step = 0
    onChange(to)
  }

  const ended = (wasPatient: boolean, wasAnswered: boolean): void => {
    if (wasPatient) isOneSlow = false
    if (wasAnswered && !closed) onAnswer()
  }

  const run = async (): Promise<boolean> => {
    const lossesBefore = losses
    const patient = !isOneSlow
    isOneSlow = true
    const { quick, answered } = ask(patient)
    const isQuick = await quick
    running = undefined
    // A loss seen meanwhile is newer than what this probe saw when it began.
    if (!closed && losses === lossesBefore) change(isQuick)
    void answered.then((wasAnswered) => ended(patient, wasAnswered))
    schedule()
    return online
  }

  const probe = (): Promise<boolean> => {
    cancel?.()
    running ??= run()
    return running
  }

  return {
    get online() {
      return online
    },
    start: schedule,
    probe,
    lost: () => {
      losses++
      if (!online) return
      change(false)
      if (!running) schedule()
    },
    close: async () => {
      closed = true
      cancel?.()
      await running
    },
  }
}
