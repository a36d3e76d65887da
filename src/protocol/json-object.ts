/** Objects among JSON values. @module */

/** Whether a JSON value is an object: not null, and no list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as text; of a list the texts with commas between them; undefined for what holds objects, whose text may be anything. */
export const plainText = (value: unknown): string | undefined => {
  const parts = Array.isArray(value) ? value : [value]
  return parts.some((part) => typeof part === 'object' && part !== null) ? undefined : parts.join()
}
