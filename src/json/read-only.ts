/** Answers that come back whole: members that the service decides count as absent if they still say what it said. @module */
import { isDeepStrictEqual } from 'node:util'
import { fail, pointerToken } from '../errors.ts'

/** What a change asks for beyond what is so already. @param current what the service would answer now */
export const changesOf = <T extends object>(change: T, current: object): Partial<T> => {
  const now = new Map(Object.entries(current))
  const changes = Object.entries(change).filter(([name, value]) => !isDeepStrictEqual(value, now.get(name)))
  return Object.fromEntries(changes) as Partial<T>
}

/** @throws AppError read_only, always @param names of the members that have another value */
export const failReadOnly = (names: readonly string[]): never => {
  const message = 'is set by the service and has another value; leave it out'
  return fail('read_only', {
    details: names.map((name) => ({ path: `/${pointerToken(name)}`, code: 'read_only', message })),
  })
}

/** Answers about log 0 name no log. */
const UNNAMED_LOG = { log: 0 }

/**
 * @param sent what a caller sent
 * @param stored what the service would answer now; members that it lacks are not compared, but for `log`, which is 0 then
 * @param names of the members that only the service sets
 * @throws AppError read_only naming each that differs
 */
export const requireUnchanged = (sent: object, stored: object, names: readonly string[]): void => {
  const now = new Map<string, unknown>(Object.entries({ ...UNNAMED_LOG, ...stored }))
  const differing = Object.entries(sent).filter(
    ([name, value]) =>
      names.includes(name) &&
      value !== undefined &&
      now.has(name) &&
      !isDeepStrictEqual(value, now.get(name)),
  )
  if (differing.length > 0) failReadOnly(differing.map(([name]) => name))
}
