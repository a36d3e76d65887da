/** Processor time of other processes, as Linux counts it. @see proc_pid_stat(5), utime and stime @module */
import { readFileSync } from 'node:fs'

/** What /proc counts in on every architecture that Node runs on. */
const TICK_MS = 10

const ticksIn = (stat: string): number => {
  // The second field may hold anything, in parentheses; utime is the 14th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** Of all threads since the process began, in ms. @throws Error where there is no such process */
export const processMs = (pid: number): number => ticksIn(readFileSync(`/proc/${pid}/stat`, 'utf8')) * TICK_MS

/** Of its main thread. */
export const mainThreadMs = (pid: number): number =>
  ticksIn(readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8')) * TICK_MS
