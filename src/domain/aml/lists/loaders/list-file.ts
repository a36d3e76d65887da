/** A file of a watch list, read as a stream. What is wrong with it is told with its name and line. @module */
import { hash } from 'node:crypto'

/** Longest line of JSON, in characters; the longest of published lists have some hundred thousand. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024

/** A file that is not what it should be. Its message is for whoever provides the lists. */
export class ListFileError extends Error {
  override readonly name = 'ListFileError'
  readonly file: string
  /** From 1; undefined where no line is to blame. */
  readonly line: number | undefined
  constructor(file: string, line: number | undefined, what: string, cause?: unknown) {
    super(`${file}${line === undefined ? '' : `, line ${line}`}: ${what}`, { cause })
    this.file = file
    this.line = line
  }
}

export interface ListFile {
  /** Without its folder. */
  readonly name: string
  /** Its bytes, from the beginning each time. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** A file that came as text. */
export const textFile = (name: string, text: string): ListFile => ({
  name,
  open: () => [Buffer.from(text)],
})

/** SHA-256 of bytes, lower-case hex. */
export const sha256Hex = (bytes: Uint8Array | string): string => hash('sha256', bytes, 'hex')

const countLines = (text: string): number => text.split('\n').length - 1

/** The file's text in pieces, without a byte order mark. @throws ListFileError where it is not UTF-8 */
export async function* readText({ name, open }: ListFile): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch (cause) {
      throw new ListFileError(name, line, 'is not UTF-8 here or soon after', cause)
    }
  }
  for await (const bytes of open()) {
    const text = decode(bytes)
    line += countLines(text)
    yield text
  }
  yield decode()
}

/** The file's lines with their numbers, blank ones left out. @throws ListFileError for a line that is too long */
export async function* readLines(
  file: ListFile,
): AsyncGenerator<{ readonly text: string; readonly line: number }> {
  let rest = ''
  let line = 0
  for await (const piece of readText(file)) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      line++
      if (text.trim() !== '') yield { text, line }
    }
    if (rest.length > MAX_LINE_CHARACTERS)
      throw new ListFileError(file.name, line + 1, `has more than ${MAX_LINE_CHARACTERS} characters`)
  }
  if (rest.trim() !== '') yield { text: rest, line: line + 1 }
}
