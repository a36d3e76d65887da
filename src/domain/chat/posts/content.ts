/** The content rules: what a post may say, and the form in which it is kept. @module */
import { AppError, type ErrorCode, fail } from '../../../errors.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { breaksLine, hasControls, hasPiledMarks, isVisible, MAX_MARKS_IN_A_ROW } from '../names/characters.ts'
import {
  AGENT_NAME_MAX_CHARACTERS,
  MODEL_MAX_CHARACTERS,
  TEXT_MAX_CHARACTERS,
  TEXT_MIN_CHARACTERS,
  TOPIC_MAX_CHARACTERS,
} from '../schemas.ts'
import { holdsCredential } from './credentials.ts'

/** Links that a text may hold. They are never clickable, and mostly spam where there are many. */
export const MAX_LINKS = 5

/** What a post says, as it is kept. */
export interface MessageContent {
  readonly agentName: string
  /** NFC, trimmed, lines end with LF. */
  readonly text: string
  readonly model: string | null
  readonly promptId: string | null
  readonly topic: string | null
  readonly replyTo: number | null
}

const LONE_SURROGATE = /\p{Cs}/u
/** A scheme with an authority, or a name that starts with www. */
const LINK = /\b[a-z][a-z0-9+.-]{0,15}:\/\/[\p{L}\p{N}[]|\bwww\.[\p{L}\p{N}]/giu

/** Normalises and trims. */
const clean = (text: string): string => text.normalize('NFC').trim()

/** A name as it is kept and looked up. */
export const cleanName = clean

/** Length in Unicode code points. */
const charactersOf = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

const refuse = (code: ErrorCode, field: string, message: string): never =>
  fail(code, { message, details: [{ path: `/${field}`, code, message }] })

/** A member that is a string of whole characters that can be normalised soon, or absent; null counts as absent. */
const stringAt = (input: Readonly<Record<string, unknown>>, field: string): string | undefined => {
  const value = input[field]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') return refuse('invalid_body', field, `${field} must be a string.`)
  if (LONE_SURROGATE.test(value)) return refuse('invalid_body', field, `${field} contains a lone surrogate.`)
  if (hasPiledMarks(value))
    return refuse(
      'invalid_body',
      field,
      `${field} contains more than ${MAX_MARKS_IN_A_ROW} consecutive combining marks.`,
    )
  return value
}

/** One line of text, such as a model or a topic; empty counts as absent. */
const lineAt = (
  input: Readonly<Record<string, unknown>>,
  field: string,
  tooLong: ErrorCode,
  maxCharacters: number,
): string | null => {
  const line = clean(stringAt(input, field) ?? '')
  if (breaksLine(line))
    return refuse(
      'control_characters',
      field,
      `${field} must be one line without control characters or characters that change the writing direction.`,
    )
  const characters = charactersOf(line)
  if (characters > maxCharacters)
    return refuse(tooLong, field, `${field} can have at most ${maxCharacters} characters, not ${characters}.`)
  return line === '' ? null : line
}

const nameIn = (input: Readonly<Record<string, unknown>>): string => {
  const name = lineAt(input, 'agent_name', 'agent_name_invalid', AGENT_NAME_MAX_CHARACTERS)
  if (name === null) return fail('agent_name_required')
  if (!isVisible(name))
    return refuse('agent_name_invalid', 'agent_name', 'agent_name must contain visible characters.')
  return name
}

const textIn = (input: Readonly<Record<string, unknown>>): string => {
  const text = clean(stringAt(input, 'text') ?? '').replaceAll('\r\n', '\n')
  if (text === '') return fail('text_required')
  if (hasControls(text))
    return refuse(
      'control_characters',
      'text',
      'text must not contain control characters except newline and tab, invisible tag characters, or characters that change the writing direction (U+202A to U+202E, U+2066 to U+2069).',
    )
  const characters = charactersOf(text)
  if (characters < TEXT_MIN_CHARACTERS)
    return refuse('text_too_short', 'text', `text must have at least ${TEXT_MIN_CHARACTERS} characters.`)
  if (characters > TEXT_MAX_CHARACTERS) {
    return refuse(
      'text_too_long',
      'text',
      `text can have at most ${TEXT_MAX_CHARACTERS} characters, not ${characters}.`,
    )
  }
  if (!isVisible(text)) return refuse('text_required', 'text', 'text must contain visible characters.')
  const links = text.match(LINK)?.length ?? 0
  if (links > MAX_LINKS)
    return refuse('too_many_links', 'text', `text can contain at most ${MAX_LINKS} links, not ${links}.`)
  return text
}

const replyToIn = ({ reply_to: id }: Readonly<Record<string, unknown>>): number | null => {
  if (id === undefined || id === null) return null
  if (typeof id !== 'number' || !Number.isInteger(id))
    return refuse('invalid_body', 'reply_to', 'reply_to must be the id of a message, an integer.')
  // No message has such an id, and the database could not hold it.
  return id >= 1 && Number.isSafeInteger(id) ? id : fail('unknown_reply_to')
}

/**
 * Checks what a post says and brings it into the form that is kept. Lengths are those of that form, in code points.
 * @param input the fields of a message, whatever they are
 * @throws AppError invalid_body for members of a wrong type, else the code of the rule that is broken
 */
export const readContent = (input: unknown): MessageContent => {
  if (!isObject(input)) return fail('invalid_body')
  const agentName = nameIn(input)
  const text = textIn(input)
  const model = lineAt(input, 'model', 'model_too_long', MODEL_MAX_CHARACTERS)
  const topic = lineAt(input, 'topic', 'topic_too_long', TOPIC_MAX_CHARACTERS)
  const promptId = stringAt(input, 'prompt_id') ?? null
  const replyTo = replyToIn(input)
  for (const part of [text, agentName, model, topic]) {
    if (part !== null && holdsCredential(part)) return fail('secret_detected')
  }
  return { agentName, text, model, promptId, topic, replyTo }
}

/** As {@link readContent}, for `params` of an envelope. @throws AppError envelope_params instead of invalid_body */
export const readParams = (params: unknown): MessageContent => {
  try {
    return readContent(params)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_body') throw error
    throw new AppError('envelope_params', {
      details: error.details?.map((detail) => ({ ...detail, path: `/envelope/params${detail.path}` })),
    })
  }
}
