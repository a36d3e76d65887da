/** Entries of a list in the database: compressed JSON lines in parts. @module */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { newId } from '../../../ids.ts'
import type { Database } from '../../../store/database.ts'
import { createBreather } from '../breather.ts'
import type { CheckType, ListEntry } from '../entry.ts'
import { findPart, forgetContent, type StoredList, stagePart } from '../store.ts'
import { inTypeOrder, type ListSource, readSource } from './list-source.ts'
import { type ListFile, ListFileError, readLines } from './loaders/list-file.ts'

const PART_BYTES = 1024 * 1024
/** Entries that are compressed at a time. */
const LINES_PER_PIECE = 256
/** More than all published lists together have; a server needs about a kibibyte of memory for each entry. */
export const MAX_LIST_ENTRIES = 1_000_000

/** Hashes and counts what is read of a file. */
const measured = (file: ListFile) => {
  const hash = createHash('sha256')
  let size = 0
  return {
    file: {
      name: file.name,
      async *open() {
        for await (const bytes of file.open()) {
          hash.update(bytes)
          size += bytes.length
          yield bytes
        }
      },
    },
    sum: () => ({ name: file.name, sha256: hash.digest('hex'), bytes: size }),
  }
}

/** What is learnt of a list while it is read. */
const createTally = () => {
  const hash = createHash('sha256')
  const types = new Set<CheckType>()
  const ids = new Set<string>()
  let names = 0
  return {
    /** @throws ListFileError for an id that was there before, or one too many */
    line(listId: string, entry: ListEntry): string {
      if (ids.has(entry.id))
        throw new ListFileError(listId, undefined, `has two entries with the id ${entry.id}`)
      if (ids.size === MAX_LIST_ENTRIES)
        throw new ListFileError(listId, undefined, `has more than ${MAX_LIST_ENTRIES} entries`)
      ids.add(entry.id)
      names += entry.names.length
      for (const type of entry.types) types.add(type)
      const text = `${JSON.stringify(entry)}\n`
      hash.update(text)
      return text
    },
    sum: () => ({ checkTypes: inTypeOrder(types), entries: ids.size, names, sha256: hash.digest('hex') }),
  }
}

async function* toLines(source: ListSource, tally: ReturnType<typeof createTally>): AsyncGenerator<string> {
  const breathe = createBreather()
  let lines: string[] = []
  for await (const entry of readSource(source)) {
    lines.push(tally.line(source.listId, entry))
    if (lines.length === LINES_PER_PIECE) {
      yield lines.join('')
      lines = []
    }
    await breathe()
  }
  yield lines.join('')
}

/**
 * Reads a list and keeps its entries; they count once a snapshot names them.
 * @throws ListFileError for a list that is broken or holds nobody
 */
export const stageList = async (
  database: Database,
  {
    source,
    from,
    now,
  }: { readonly source: ListSource; readonly from: StoredList['source']; readonly now: number },
): Promise<StoredList> => {
  const content = newId('aml', now)
  const files = source.files.map(measured)
  const tally = createTally()
  let parts = 0
  const keep = (bytes: Uint8Array): Promise<void> =>
    stagePart(database, { content, part: parts++, bytes, staged_at: now })
  try {
    await pipeline(
      Readable.from(toLines({ ...source, files: files.map(({ file }) => file) }, tally)),
      createGzip(),
      async (compressed: AsyncIterable<Buffer>) => {
        let waiting: Buffer[] = []
        let size = 0
        for await (const bytes of compressed) {
          waiting.push(bytes)
          size += bytes.length
          if (size < PART_BYTES) continue
          await keep(Buffer.concat(waiting))
          waiting = []
          size = 0
        }
        await keep(Buffer.concat(waiting))
      },
    )
    const sum = tally.sum()
    if (sum.entries === 0) throw new ListFileError(source.listId, undefined, 'contains no entries')
    const { listId, format } = source
    return { listId, format, source: from, ...sum, files: files.map((file) => file.sum()), content, parts }
  } catch (error) {
    await forgetContent(database, content)
    throw error
  }
}

/**
 * The entries of a list that was kept.
 * @throws Error when a part is gone or the entries are not those that were kept
 */
export async function* readContent(database: Database, list: StoredList): AsyncGenerator<ListEntry> {
  const { content, parts, listId } = list
  const hash = createHash('sha256')
  async function* compressed(): AsyncGenerator<Uint8Array> {
    for (let part = 0; part < parts; part++) {
      const bytes = await findPart(database, content, part)
      if (bytes === undefined) throw new Error(`part ${part} of the list ${listId} is gone`)
      yield bytes
    }
  }
  const open = (): AsyncIterable<Uint8Array> => Readable.from(compressed()).compose(createGunzip())
  for await (const { text } of readLines({ name: listId, open })) {
    hash.update(`${text}\n`)
    yield JSON.parse(text) as ListEntry
  }
  if (hash.digest('hex') !== list.sha256) throw new Error(`the list ${listId} is not what was kept`)
}
