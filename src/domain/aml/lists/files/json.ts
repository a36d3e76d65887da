/** JSON of a watch list, value by value. @module */
import { JSONParser } from '@streamparser/json'
import { createBreather } from '../../breather.ts'
import { type ListFile, ListFileError, MAX_LINE_CHARACTERS, readLines, readText } from './list-file.ts'

/** Longer lines are parsed in pieces, since `JSON.parse` would keep everybody waiting. */
const WHOLE_CHARACTERS = 262_144
const PIECE_CHARACTERS = 16_384

export interface JsonValue {
  readonly value: unknown
  /** Undefined where values are not lines. */
  readonly line: number | undefined
}

const parseLong = async (text: string): Promise<unknown> => {
  const breathe = createBreather()
  const parser = new JSONParser({ paths: ['$'] })
  let parsed: unknown
  parser.onValue = ({ value }) => {
    parsed = value
  }
  for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
    parser.write(text.slice(start, start + PIECE_CHARACTERS))
    await breathe()
  }
  if (!parser.isEnded) throw new SyntaxError('is cut off')
  return parsed
}

/** A JSON value a line. @throws ListFileError */
export async function* readJsonLines(file: ListFile): AsyncGenerator<JsonValue> {
  for await (const { text, line } of readLines(file)) {
    let value: unknown
    try {
      value = text.length > WHOLE_CHARACTERS ? await parseLong(text) : JSON.parse(text)
    } catch (cause) {
      throw new ListFileError(file.name, line, 'is not JSON', cause)
    }
    yield { value, line }
  }
}

/**
 * The elements of one array: of the member of this name where the file is an object, of the file where it is an array.
 * @throws ListFileError for what is no JSON, cut off, or an element that is too long
 */
export async function* readJsonArray(file: ListFile, member: string): AsyncGenerator<JsonValue> {
  let parser: JSONParser | undefined
  const ready: unknown[] = []
  let characters = 0
  const begin = (text: string): JSONParser => {
    const paths = text.trimStart().startsWith('[') ? ['$.*'] : [`$.${member}.*`]
    const started = new JSONParser({ paths, keepStack: false })
    started.onValue = ({ value }) => {
      characters = 0
      ready.push(value)
    }
    return started
  }
  const refuse = (what: string, cause?: unknown): never => {
    throw new ListFileError(file.name, undefined, what, cause)
  }
  for await (const text of readText(file)) {
    if (parser === undefined && text.trim() === '') continue
    parser ??= begin(text)
    for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
      const piece = text.slice(start, start + PIECE_CHARACTERS)
      characters += piece.length
      if (characters > MAX_LINE_CHARACTERS)
        refuse(`has an entry of more than ${MAX_LINE_CHARACTERS} characters`)
      try {
        parser.write(piece)
      } catch (cause) {
        refuse('is not JSON', cause)
      }
      for (const value of ready.splice(0)) yield { value, line: undefined }
    }
  }
  if (parser === undefined) refuse('is empty')
  else if (!parser.isEnded) refuse('is cut off')
}
