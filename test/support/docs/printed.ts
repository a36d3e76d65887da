/**
 * What documents say that a command prints, held against what it printed. `…` stands for anything: a value, the rest of
 * a text, further members of an object or elements of a list.
 */

/** Stand in for a bare `…` while the text is read as JSON. */
const ANY = '\u0001any'
const REST = '\u0001rest'

const PART = /"(?:[^"\\]|\\.)*"|…|[^"…]+/g

/** JSON with bare `…` in it, as JSON. */
const withStandIns = (text: string): string => {
  const parts = text.match(PART) ?? []
  return parts
    .map((part, at) => {
      if (part !== '…') return part
      if (parts[at - 1]?.trimEnd().endsWith(':')) return JSON.stringify(ANY)
      return parts[at + 1]?.trimStart().startsWith('}') ? `${JSON.stringify(REST)}:0` : JSON.stringify(REST)
    })
    .join('')
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

const fitsText = (pattern: string, text: string): boolean =>
  new RegExp(`^${pattern.split('…').map(escaped).join('[^]*')}$`).test(text)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value))

/** @returns where they differ and how, undefined where they don't */
const difference = (said: unknown, found: unknown, path = ''): string | undefined => {
  if (said === ANY && found !== undefined) return undefined
  if (typeof said === 'string' && typeof found === 'string' && fitsText(said, found)) return undefined
  if (Array.isArray(said) && Array.isArray(found)) {
    const isOpen = said.at(-1) === REST
    const items = isOpen ? said.slice(0, -1) : said
    if (!isOpen && items.length !== found.length)
      return `${path}: ${found.length} elements, not ${items.length}`
    return firstOf(items.map((item, at) => difference(item, found[at], `${path}/${at}`)))
  }
  if (isObject(said) && isObject(found)) {
    const unnamed = REST in said ? [] : Object.keys(found).filter((name) => !(name in said))
    if (unnamed.length > 0) return `${path}: has ${unnamed.join(', ')}, of which nothing is said`
    const names = Object.keys(said).filter((name) => name !== REST)
    return firstOf(names.map((name) => difference(said[name], found[name], `${path}/${name}`)))
  }
  return said === found ? undefined : `${path || '/'}: ${show(found)}, not ${show(said)}`
}

const firstOf = (differences: readonly (string | undefined)[]): string | undefined =>
  differences.find((found) => found !== undefined)

/** @returns how what was printed differs from what is said of it; undefined where it doesn't */
export const printedDifference = (said: string, printed: string): string | undefined => {
  if (!/^[[{]/.test(said))
    return fitsText(said.trim(), printed.trim()) ? undefined : `printed ${show(printed)}`
  let found: unknown
  try {
    found = JSON.parse(printed)
  } catch {
    return `printed ${show(printed)}, which is not JSON`
  }
  return difference(JSON.parse(withStandIns(said)), found)
}
