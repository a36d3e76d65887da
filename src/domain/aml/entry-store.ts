/**
 * The entries that are screened against, packed: a million of them as objects would keep the garbage collector busy, and everybody
 * waiting for it.
 * @module
 */
import type { ListEntry } from './entry.ts'
import { growingInts, type TextPostings, textPostingsBuilder } from './names/postings.ts'

const CHUNK_BYTES = 1_048_576

export interface Listed {
  readonly listId: string
  readonly entry: ListEntry
}

export interface EntryStore {
  readonly count: number
  /** @param number in the order in which entries were added */
  at(number: number): Listed
  /** @returns undefined for one that is not there */
  find(listId: string, entryId: string): ListEntry | undefined
  /** Numbers of the entries that have it, ascending. @param identifier as `comparableIdentifier` writes it */
  withIdentifier(identifier: string): number[]
}

export interface EntryStoreBuilder {
  readonly count: number
  add(listId: string, entry: ListEntry): void
  /** In pieces; to be called once. */
  build(breathe: () => Promise<void> | undefined): Promise<EntryStore>
}

/** List ids hold no slash. */
const keyOf = (listId: string, entryId: string): string => `${listId}/${entryId}`

/** Texts one after the other as UTF-8, in buffers that are never copied. */
const createTexts = () => {
  const chunks: Buffer[] = []
  /** By text: its buffer, and where it begins and ends there. */
  const places = [growingInts(), growingInts(), growingInts()] as const
  let used = CHUNK_BYTES
  return {
    add(text: string): void {
      const bytes = Buffer.byteLength(text)
      if (used + bytes > CHUNK_BYTES) {
        chunks.push(Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes)))
        used = 0
      }
      chunks.at(-1)?.write(text, used)
      places[0].push(chunks.length - 1)
      places[1].push(used)
      used += bytes
      places[2].push(used)
    },
    async build(breathe: () => Promise<void> | undefined) {
      const [chunk, start, end] = [
        await places[0].pack(breathe),
        await places[1].pack(breathe),
        await places[2].pack(breathe),
      ]
      return (number: number): string =>
        chunks[chunk[number] as number]?.toString('utf8', start[number], end[number]) ?? ''
    },
  }
}

export const createEntryStoreBuilder = (): EntryStoreBuilder => {
  const texts = createTexts()
  const listIds: string[] = []
  const lists = growingInts()
  const ids = textPostingsBuilder()
  const identifiers = textPostingsBuilder()
  let count = 0
  return {
    get count() {
      return count
    },
    add(listId, entry) {
      if (listIds.at(-1) !== listId) listIds.push(listId)
      texts.add(JSON.stringify(entry))
      lists.push(listIds.length - 1)
      ids.add([keyOf(listId, entry.id)])
      identifiers.add(entry.identifiers)
      count++
    },
    async build(breathe) {
      const [textOf, listOf] = [await texts.build(breathe), await lists.pack(breathe)]
      const [byId, byIdentifier] = [await ids.build(breathe), await identifiers.build(breathe)]
      const at = (number: number): Listed => ({
        listId: listIds[listOf[number] as number] as string,
        entry: JSON.parse(textOf(number)) as ListEntry,
      })
      /** Texts are kept by their hashes alone, which others may share. */
      const those = (postings: TextPostings, text: string, has: (listed: Listed) => boolean): number[] =>
        postings.of(text).filter((number) => has(at(number)))
      return {
        count,
        at,
        find(listId, entryId) {
          const isIt = (listed: Listed): boolean => listed.listId === listId && listed.entry.id === entryId
          const [number] = those(byId, keyOf(listId, entryId), isIt)
          return number === undefined ? undefined : at(number).entry
        },
        withIdentifier: (identifier) =>
          those(byIdentifier, identifier, ({ entry }) => entry.identifiers.includes(identifier)),
      }
    },
  }
}
