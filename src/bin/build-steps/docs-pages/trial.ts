/** What a page tells its script of an operation, for the form that runs its example. @module */
import type { Trial } from '../../../web/docs/trial.tsx'
import { bodyOf } from './curl.ts'
import type { Operation } from './description.ts'

/** @returns JSON; undefined where a form can't call: what only a session may, and streams, which don't end */
export const trialOf = (operation: Operation): string | undefined => {
  const { security, responses, parameters = [], method, path } = operation
  const ways = security.flatMap((way) => Object.keys(way))
  if (ways.length > 0 && !ways.includes('bearer')) return undefined
  if (Object.values(responses).some(({ content }) => content?.['text/event-stream'])) return undefined
  const body = bodyOf(operation)
  const trial: Trial = {
    ...{ method, path },
    takesKey: ways.length > 0,
    parameters: parameters.map(({ name, in: place, required, example = '' }) => ({
      ...{ name, in: place, required },
      example: String(example),
    })),
    ...(body !== undefined && { body: JSON.stringify(body, null, 2) }),
  }
  return JSON.stringify(trial)
}
