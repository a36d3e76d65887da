/**
 * Readers of CEF and LEEF, written from the formats' guides and independent of the product: "Implementing ArcSight
 * Common Event Format" (revision 26, §§ Header, Extension, Character Encoding) and "IBM QRadar LEEF" (version 2).
 */

export interface Parsed {
  readonly header: readonly string[]
  readonly fields: Readonly<Record<string, string>>
}

/** Cuts a text at a separator that no backslash precedes, at most `count` times; escapes stay. */
const cut = (text: string, separator: string, count: number): string[] => {
  const parts: string[] = []
  let part = ''
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string
    if (character === '\\') part += character + (text[++i] ?? '')
    else if (character === separator && parts.length < count) {
      parts.push(part)
      part = ''
    } else part += character
  }
  return [...parts, part]
}

const unescaped = (text: string, extension: boolean): string => {
  let plain = ''
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '\\') {
      plain += text[i]
      continue
    }
    const escaped = text[++i]
    if (escaped === '\\' || (!extension && escaped === '|') || (extension && escaped === '='))
      plain += escaped
    else if (extension && escaped === 'n') plain += '\n'
    else if (extension && escaped === 'r') plain += '\r'
    else throw new Error(`\\${escaped} is no escape here`)
  }
  return plain
}

/** Seven header fields and an extension of `key=value` pairs, whose keys begin after a space. @throws Error */
export const parseCef = (line: string): Parsed => {
  if (/[\r\n]/.test(line)) throw new Error('an event is one line')
  const parts = cut(line, '|', 7)
  if (parts.length !== 8 || parts[0] !== 'CEF:0') throw new Error('not CEF:0')
  const extension = parts[7] as string
  const starts: number[] = []
  for (const match of extension.matchAll(/(?:^| )(?<key>[A-Za-z0-9_]+)=/g)) {
    const at = match.index + match[0].length - 1
    let slashes = 0
    while (extension[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) starts.push(match.index)
  }
  const fields: Record<string, string> = {}
  for (const [n, start] of starts.entries()) {
    const pair = extension.slice(start, starts[n + 1]).replace(/^ /, '')
    const equals = pair.indexOf('=')
    const key = pair.slice(0, equals)
    if (key in fields) throw new Error(`${key} occurs twice`)
    fields[key] = unescaped(pair.slice(equals + 1), true)
  }
  return { header: parts.slice(0, 7).map((part) => unescaped(part, false)), fields }
}

/** `LEEF:2.0|Vendor|Product|Version|EventID|delimiter|` and attributes; nothing is ever escaped. @throws Error */
export const parseLeef = (line: string): Parsed => {
  if (/[\r\n]/.test(line)) throw new Error('an event is one line')
  const parts = line.split('|')
  const [version, , , , , code = ''] = parts
  if (version !== 'LEEF:2.0') throw new Error('not LEEF:2.0')
  const hex = /^(?:0x|x)([0-9a-f]{2,4})$/i.exec(code)?.[1]
  const delimiter = hex === undefined ? code : String.fromCharCode(Number.parseInt(hex, 16))
  if (delimiter.length !== 1) throw new Error(`${code} is no delimiter`)
  const fields: Record<string, string> = {}
  for (const pair of parts.slice(6).join('|').split(delimiter)) {
    const equals = pair.indexOf('=')
    const key = pair.slice(0, equals)
    if (!/^[A-Za-z0-9_.]+$/.test(key) || key in fields) throw new Error(`"${key}" is no attribute`)
    fields[key] = pair.slice(equals + 1)
  }
  return { header: parts.slice(0, 6), fields }
}
