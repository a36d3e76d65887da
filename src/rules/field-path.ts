/**
 * Paths into JSON: `address.country`, or a JSON Pointer (RFC 6901) when the text begins with a slash.
 * @module
 */
import { MAX_FIELD_CHARS } from './rule.ts'

const ARRAY_INDEX = /^(?:0|[1-9]\d{0,15})$/

const fromPointer = (text: string): string[] | undefined => {
  if (/~(?![01])/.test(text)) return undefined
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const fromDotted = (text: string): string[] | undefined => {
  if (!/^(?:[^\\]|\\[.\\])*$/s.test(text)) return undefined
  // A piece between dots; an escaped character belongs to it, whatever it is.
  const names = text.match(/(?:[^\\.]|\\.)+/gs) ?? []
  const dots = text.replace(/\\./gs, '').split('.').length - 1
  if (names.length !== dots + 1) return undefined
  return names.map((name) => name.replace(/\\(.)/gs, '$1'))
}

/**
 * Reads a path. In the dotted form `\.` is a dot inside a name and `\\` a backslash; names are not empty.
 * @returns the names, outermost first, or undefined when the text is no path
 */
export const parseFieldPath = (text: string): readonly string[] | undefined => {
  if (text.length === 0 || text.length > MAX_FIELD_CHARS) return undefined
  return text.startsWith('/') ? fromPointer(text) : fromDotted(text)
}

/**
 * The value at a path: own properties of objects and elements of arrays, never what a prototype holds.
 * @returns undefined when there is none
 */
export const valueAt = (data: unknown, path: readonly string[]): unknown => {
  let value = data
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    if (Array.isArray(value) && !ARRAY_INDEX.test(name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
