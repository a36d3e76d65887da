/**
 * The index of the chat's search, `chat_messages_words`: words of the texts and, as words that no text has, in which blocks of ids a
 * message lies, who wrote it, in which thread, to which prompt, and whether it is verified. So everything that a search asks
 * for is looked up together, and only messages that are found are read.
 * @module
 */
import type { Database } from '../../store/database.ts'
import { COLUMNS, type MessageRow, type Selection } from './store.ts'

/** Ids in a block of each level, as powers of two. */
const BLOCK_BITS = [10, 14, 18] as const
/** Blocks of a level that are searched before those of the next. */
const LEAST_BLOCKS = 16
/** Blocks that are searched first: a page of words that are common is found in them. */
const FIRST_BLOCKS = 2

/** Ids from the first to be looked at to the last; upwards or downwards. */
export interface Span {
  readonly first: number
  readonly last: number
}

/** A span of which some blocks are searched together, named as the index has them; all of it where none are named. */
export interface Window extends Span {
  readonly blocks?: readonly string[]
}

const blockOf = (id: number, bits: number): number => Math.floor(id / 2 ** bits)

/**
 * The blocks of one level, up to where one of the next begins.
 * @returns them, and the id at which to go on; undefined where the span ends
 */
const blocksOf = ({ first, last }: Span, level: number): { blocks: string[]; next: number | undefined } => {
  const [bits = 0, parentBits = bits] = BLOCK_BITS.slice(level)
  const step = first <= last ? 1 : -1
  const blocks: string[] = []
  const end = blockOf(last, bits)
  for (let block = blockOf(first, bits); ; block += step) {
    blocks.push(` ${level}.${block}`)
    if (block === end) return { blocks, next: undefined }
    const next = step > 0 ? (block + 1) * 2 ** bits : block * 2 ** bits - 1
    const isAtEdge = blockOf(next, parentBits) !== blockOf(next - step, parentBits)
    if (blocks.length >= LEAST_BLOCKS && isAtEdge) return { blocks, next }
  }
}

/**
 * Cuts a span into windows, small ones first: each is at most some thirty times as long as all before it, so what was too
 * rare to be found in those is rare in it as well.
 */
export function* windowsOf({ first, last }: Span): Generator<Window> {
  let rest = { first, last }
  for (const level of BLOCK_BITS.keys()) {
    const { blocks, next } = blocksOf(rest, level)
    const most = level === 0 ? FIRST_BLOCKS : blocks.length
    yield { ...rest, blocks: blocks.slice(0, most) }
    if (blocks.length > most) yield { ...rest, blocks: blocks.slice(most) }
    if (next === undefined) return
    rest = { first: next, last }
  }
  yield rest
}

/** The expression of the index, see its migration. */
const INDEXED = `(to_tsvector('simple', text) || array_to_tsvector(array_remove(ARRAY[
  ' 0.' || (id >> 10)::text, ' 1.' || (id >> 14)::text, ' 2.' || (id >> 18)::text,
  ' a' || agent_name, ' t' || thread_id::text, ' p' || prompt_id, CASE WHEN verified THEN ' v' END
] COLLATE "C", NULL)))`

const WORDS = "plainto_tsquery('simple', $1)"

/** `id + 0` keeps the planner from walking through ids. A query without words would find everything that the rest fits. */
const searchText = (order: 'ASC' | 'DESC'): string => `SELECT ${COLUMNS} FROM chat_messages
  WHERE ${INDEXED} @@ coalesce(${WORDS} && $2::text::tsquery, ${WORDS}) AND numnode(${WORDS}) > 0
    AND removed_at IS NULL AND id + 0 BETWEEN $3 AND $4 ORDER BY id + 0 ${order} LIMIT $5`

const DOWNWARDS = { text: searchText('DESC'), name: 'chat-search-down' }
const UPWARDS = { text: searchText('ASC'), name: 'chat-search-up' }

/** As a tsquery is written. */
const quoted = (word: string): string => `'${word.replace(/['\\]/g, '$&$&')}'`

/** What the index must have beside the words; null for nothing. */
const besideWords = ({ blocks }: Window, { agent, thread, promptId, verified }: Selection): string | null => {
  const marks = [
    agent !== undefined && ` a${agent}`,
    thread !== undefined && ` t${thread}`,
    promptId !== undefined && ` p${promptId}`,
    verified && ' v',
  ].filter((mark) => typeof mark === 'string')
  const all = [...marks.map(quoted), ...(blocks ? [`(${blocks.map(quoted).join(' | ')})`] : [])]
  return all.length === 0 ? null : all.join(' & ')
}

export type Query = Database['query']

/** Messages of a window whose text holds all words. @param query asks the database */
export const searchWindow = async (
  query: Query,
  words: string,
  selection: Selection,
  window: Window,
  isUpwards: boolean,
): Promise<MessageRow[]> => {
  const { first, last } = window
  const { text, name } = isUpwards ? UPWARDS : DOWNWARDS
  const ids = [Math.min(first, last), Math.max(first, last)]
  const values = [words, besideWords(window, selection), ...ids, selection.limit]
  return (await query<MessageRow>(text, values, name)).rows
}
