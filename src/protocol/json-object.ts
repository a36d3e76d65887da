/** Objects among JSON values. @module */

/** Whether a JSON value is an object: not null, and no list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
