/** A file of a watch list, read as a stream. What is wrong with it is told with its name and line. @module */
import { hash } from 'node:crypto'
import { createBreather } from '../../breather.ts'

/** Longest line of JSON, in characters; the longest of published lists have some hundred thousand. */
export const MAX_LINE_CHARACTERS = 4 * 1024 * 1024
/** Parsers are handed no more at a time, so that requests are answered in between. */
const PIECE_CHARACTERS = 16_384

/** A file that is not what it should be. Its message is for whoever provides the lists. */
export class ListFileError extends Error {
  override readonly name = 'ListFileError'
  readonly file: string
  /** From 1; undefined where no line is to blame. */
  readonly line: number | undefined
  constructor(file: string, line: number | undefined, what: string, cause?: unknown) {
    // What a file holds is quoted; the database takes neither NUL nor half a surrogate pair.
    const said = what.replaceAll(/[\p{Cs}\p{Cc}]/gu, '\uFFFD')
    super(`${file}${line === undefined ? '' : `, line ${line}`}: ${said}`, { cause })
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

const countLines = (text: string): number => {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

/**
 * The file's text in pieces of at most {@link PIECE_CHARACTERS}, without a byte order mark. Others have their turn in between.
 * @throws ListFileError where it is not UTF-8
 */
export async function* readText({ name, open }: ListFile): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const breathe = createBreather()
  let line = 1
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch (cause) {
      throw new ListFileError(name, line, 'is not UTF-8 here or soon after', cause)
    }
  }
  for await (const bytes of open()) {
    for (let start = 0; start < bytes.length; start += PIECE_CHARACTERS) {
      const text = decode(bytes.subarray(start, start + PIECE_CHARACTERS))
      line += countLines(text)
      yield text
      await breathe()
    }
  }
  yield decode()
}

/** The file's lines with their numbers, blank ones left out. @throws ListFileError for a line that is too long */
export async function* readLines(
  file: ListFile,
): AsyncGenerator<{ readonly text: string; readonly line: number }> {
  let parts: string[] = []
  let characters = 0
  let line = 1
  const take = (): string => {
    const text = parts.join('')
    parts = []
    characters = 0
    return text
  }
  for await (const piece of readText(file)) {
    let start = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      parts.push(piece.slice(start, end))
      const text = take()
      if (text.trim() !== '') yield { text, line }
      line++
      start = end + 1
    }
    const rest = piece.slice(start)
    parts.push(rest)
    characters += rest.length
    if (characters > MAX_LINE_CHARACTERS)
      throw new ListFileError(file.name, line, `has more than ${MAX_LINE_CHARACTERS} characters`)
  }
  const text = take()
  if (text.trim() !== '') yield { text, line }
}
