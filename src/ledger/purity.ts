/** Whether decisions are pure, for tests: each is run a second time, an hour later, told the same, and must do the same. @module */
import { isDeepStrictEqual } from 'node:util'
import { type Decide, type Tx, WithRoot } from './decision.ts'

/** What a decision said, and what it was told. */
interface Call {
  readonly said: readonly unknown[]
  readonly told: unknown
}

const demandSame = (first: unknown, second: unknown, what: string): void => {
  if (!isDeepStrictEqual(first, second))
    throw new Error(`A decision is not pure: run again, ${what} differed.`)
}

type Told = (name: keyof Tx, said: readonly unknown[], tell: () => unknown) => unknown

/** Passes everything on, by way of `told`. */
const passing = (tx: Tx, told: Told): Tx => ({
  at: tx.at,
  // Each gets back what the method of the same name returned, now or in the first run.
  holder: (kind, key) => told('holder', [kind, key], () => tx.holder(kind, key)) as ReturnType<Tx['holder']>,
  counter: (name) => told('counter', [name], () => tx.counter(name)) as number,
  claim: (kind, key, holder) => void told('claim', [kind, key, holder], () => tx.claim(kind, key, holder)),
  add: (counter, amount) => told('add', [counter, amount], () => tx.add(counter, amount)) as number,
  append: (entry) => told('append', [entry], () => tx.append(entry)) as ReturnType<Tx['append']>,
  write: (row) => void told('write', [row], () => tx.write(row)),
  withRoot: (finish) => tx.withRoot(finish),
})

/** Notes every call. */
const noting = (calls: Call[]): Told => {
  return (name, args, tell) => {
    const said = [name, ...args]
    try {
      const told = tell()
      calls.push({ said, told })
      return told
    } catch (error) {
      calls.push({ said, told: error })
      throw error
    }
  }
}

/** Tells what was told before, as long as the same is said. */
const retelling = (calls: readonly Call[]): Told & { readonly finished: () => void } => {
  let next = 0
  const retell: Told = (name, args) => {
    const call = calls[next++]
    demandSame(call?.said, [name, ...args], `what it read or wrote (${name})`)
    if (call?.told instanceof Error) throw call.told
    return call?.told
  }
  return Object.assign(retell, {
    finished: () => demandSame(calls.length, next, 'how much it read or wrote'),
  })
}

const attempt = <R>(work: () => R): { readonly value?: R; readonly error?: unknown } => {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

const HOUR_MS = 3_600_000

/** What a run does whose clock is an hour ahead: decisions have their time from the batch. */
const anHourLater = <R>(run: () => R): R => {
  const { now } = Date
  Date.now = () => now() + HOUR_MS
  try {
    return run()
  } finally {
    Date.now = now
  }
}

const isImpure = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('A decision is not pure')

/** @returns what a run answers @throws where the next one does something else */
const runTwice =
  <R>(decide: Decide<R>): Decide<R> =>
  (tx) => {
    const calls: Call[] = []
    const first = attempt(() => decide(passing(tx, noting(calls))))
    const retell = retelling(calls)
    const second = anHourLater(() => attempt(() => decide(passing(tx, retell))))
    if (isImpure(second.error)) throw second.error
    demandSame(String(first.error), String(second.error), 'what it threw')
    retell.finished()
    if ('error' in first) throw first.error
    if (!(first.value instanceof WithRoot && second.value instanceof WithRoot)) {
      demandSame(first.value, second.value, 'its answer')
      return first.value as R
    }
    const [ends, endsAgain] = [first.value, second.value]
    return tx.withRoot((root, treeSize) => {
      const answer = ends.finish(root, treeSize)
      const again = anHourLater(() => endsAgain.finish(root, treeSize))
      demandSame(answer, again, 'its answer')
      retell.finished()
      return answer
    })
  }

/** The same decision, which throws where it is not pure, and from then on. */
export const checkedTwice = <R>(decide: Decide<R>): Decide<R> => {
  const decideTwice = runTwice(decide)
  let impurity: unknown
  return (tx) => {
    // What the first run of all throws is forgotten, and it may be the only one that differs.
    if (impurity !== undefined) throw impurity
    try {
      return decideTwice(tx)
    } catch (error) {
      if (isImpure(error)) impurity = error
      throw error
    }
  }
}
