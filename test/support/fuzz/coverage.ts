/**
 * Which parts of our own sources run in this thread, as V8 counts them: what tells a fuzzer that an input did something new.
 * @module
 */
import { type Profiler, Session } from 'node:inspector'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../sources.ts'

const OWN = pathToFileURL(`${ROOT}/src/`).href

/** Characters of a script that ran, and never had run before. */
interface Fresh {
  readonly scriptId: string
  readonly places: readonly number[]
}

export interface Coverage {
  /** What has run since the last call, and is not among what is remembered. */
  take(): readonly Fresh[]
  remember(fresh: readonly Fresh[]): void
  /** Characters that are remembered. */
  characters(): number
  close(): void
}

type Functions = readonly Profiler.FunctionCoverage[]

/** 1 for each character that ran. Outer functions and blocks come first; what is inside of them says otherwise. */
const paint = (functions: Functions): Uint8Array => {
  const ran = new Uint8Array(Math.max(...functions.map(({ ranges }) => ranges[0]?.endOffset ?? 0)))
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      ran.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  return ran
}

const hasRun = (functions: Functions): boolean =>
  functions.some(({ ranges }) => ranges.some(({ count }) => count > 0))

/** A session counts for its own thread, and answers at once. */
export const watchCoverage = (): Coverage => {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const remembered = new Map<string, Set<number>>()

  const freshOf = ({ scriptId, functions }: Profiler.ScriptCoverage): Fresh => {
    const known = remembered.get(scriptId)
    const ran = paint(functions)
    const places: number[] = []
    for (let at = ran.indexOf(1); at >= 0; at = ran.indexOf(1, at + 1)) if (!known?.has(at)) places.push(at)
    return { scriptId, places }
  }

  return {
    take() {
      let fresh: readonly Fresh[] = []
      session.post('Profiler.takePreciseCoverage', (error, { result }) => {
        if (error) throw error
        fresh = result
          .filter(({ url, functions }) => url.startsWith(OWN) && hasRun(functions))
          .map(freshOf)
          .filter(({ places }) => places.length > 0)
      })
      return fresh
    },
    remember(fresh) {
      for (const { scriptId, places } of fresh) {
        const known = remembered.get(scriptId) ?? new Set()
        for (const place of places) known.add(place)
        remembered.set(scriptId, known)
      }
    },
    characters: () => [...remembered.values()].reduce((sum, { size }) => sum + size, 0),
    close: () => session.disconnect(),
  }
}
