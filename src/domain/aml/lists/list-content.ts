/** Entries of a list in the database: compressed JSON lines in parts. @module */
import { createHash } from 'node:crypto'
import { pipeline as pipe, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { newId } from '../../../ids.ts'
import { isWritable } from '../../../json/moments.ts'
import type { Database } from '../../../store/database.ts'
import { createBreather } from '../breather.ts'
import type { CheckType, ListEntry } from '../entry.ts'
import { findPart, forgetContent, type StoredList, stagePart } from '../store.ts'
import { WideMap } from '../wide-map.ts'
import { type ListFile, ListFileError, readLines } from './files/list-file.ts'
import { inTypeOrder, type ListSource, readSource } from './list-source.ts'

/** The embedded database takes a part on the main thread, so that larger ones would keep everybody waiting. */
const PART_BYTES = 256 * 1024
/** Entries that are compressed at a time. */
const LINES_PER_PIECE = 256
/** More than all published lists together have. */
export const MAX_LIST_ENTRIES = 1_000_000

/** Hashes and counts what is read of a file when it is opened last: some formats are told by its beginning, and then read from there. */
const measured = (file: ListFile) => {
  let hash = createHash('sha256')
  let size = 0
  return {
    file: {
      name: file.name,
      async *open() {
        hash = createHash('sha256')
        size = 0
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
  const ids = new WideMap<true>()
  let names = 0
  let publishedAt: number | null = null
  return {
    publish(at: number | undefined): void {
      publishedAt = at !== undefined && isWritable(at) ? at : null
    },
    /** @throws ListFileError for an id that was there before, or one too many */
    line(listId: string, entry: ListEntry): string {
      if (ids.has(entry.id))
        throw new ListFileError(listId, undefined, `has two entries with the id ${entry.id}`)
      if (ids.size === MAX_LIST_ENTRIES)
        throw new ListFileError(listId, undefined, `has more than ${MAX_LIST_ENTRIES} entries`)
      ids.set(entry.id, true)
      names += entry.names.length
      for (const type of entry.types) types.add(type)
      const text = `${JSON.stringify(entry)}\n`
      hash.update(text)
      return text
    },
    sum: () => ({
      checkTypes: inTypeOrder(types),
      entries: ids.size,
      names,
      sha256: hash.digest('hex'),
      publishedAt,
    }),
  }
}

/** The entries as lines of JSON; what the file says of itself is told when all of it was read. */
async function* toLines(source: ListSource, tally: ReturnType<typeof createTally>): AsyncGenerator<string> {
  const breathe = createBreather()
  const entries = readSource(source)
  let lines: string[] = []
  for (let step = await entries.next(); ; step = await entries.next()) {
    if (step.done) {
      tally.publish(step.value)
      break
    }
    lines.push(tally.line(source.listId, step.value))
    if (lines.length === LINES_PER_PIECE) {
      yield lines.join('')
      lines = []
    }
    await breathe()
  }
  yield lines.join('')
}

/** What to name where a list holds nobody: its file, where it has one. */
const fileOf = ({ listId, files: [first, ...others] }: ListSource): string =>
  first === undefined || others.length > 0 ? listId : first.name

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
    if (sum.entries === 0) throw new ListFileError(fileOf(source), undefined, 'contains no entries')
    const { listId, format } = source
    const read = files.map((file) => file.sum())
    return { listId, format, source: from, ...sum, files: read, loadedAt: now, content, parts }
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
  const open = (): AsyncIterable<Uint8Array> => {
    const plain = createGunzip()
    // What fails, and that nobody reads on, is told by the stream that is read; nobody waits for the pipeline.
    pipe(Readable.from(compressed()), plain, () => undefined)
    return plain
  }
  for await (const { text } of readLines({ name: listId, open })) {
    hash.update(`${text}\n`)
    yield JSON.parse(text) as ListEntry
  }
  if (hash.digest('hex') !== list.sha256) throw new Error(`the list ${listId} is not what was kept`)
}
