/**
 * Files of the event log: numbered segments of one size, of which the oldest are removed when there are too many. The
 * last one grows; the others carry in their names the times that they span. Each begins with a line that says where
 * the ledger was when it was begun and what had rolled off by then, so the last file alone says where to go on.
 * @module
 */
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { readLines } from './lines.ts'
import { readStamp } from './rows.ts'

/** Segments that the ceiling is divided into: what rolls off at a time is one of so many parts. */
const SEGMENTS = 16
/** Written at a time. */
const WRITE_MAX_CHARS = 256 * 1024
const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700

const NAME = /^(?<number>\d{10})(?:-(?<from>\d{1,15})-(?<until>\d{1,15}))?\.jsonl$/

/** Times of rows, Unix ms, both inclusive. */
interface Span {
  from: number
  until: number
}

interface Segment {
  readonly number: number
  readonly file: string
  readonly bytes: number
  /** Undefined where no row was written yet. */
  readonly span: Span | undefined
}

/** First line of a segment. */
interface Header {
  readonly segment: number
  /** Index of the first entry of log 0 that no earlier segment holds. */
  readonly next: number
  /** The same of other logs, by their numbers; absent where there are none. */
  readonly others?: Readonly<Record<string, number>>
  /** Time of the newest row that is no longer there, Unix ms; null while nothing has rolled off. */
  readonly watermark: number | null
}

export interface Line {
  /** With its newline. */
  readonly text: string
  /** Unix ms. */
  readonly at: number
  /** Of an entry: its index. */
  readonly index?: number
  /** And its log; default 0. */
  readonly log?: number
}

/** The segments that may hold rows of a window, as they were when they were opened. */
export interface Opened {
  readonly watermark: number | null
  readonly files: readonly { readonly handle: FileHandle; readonly bytes: number }[]
  close(): Promise<void>
}

export interface Segments {
  /** Index of the first entry of a log that is not held here. */
  next(log: number): number
  /** The last entry's line, where the segment that grew at the opening held one. */
  readonly lastEntry: string | undefined
  /** Writes lines in order, whole or not at all as far as later readings are concerned. @throws Error of the file system */
  append(lines: readonly Line[]): Promise<void>
  /** Files stay readable until they are closed, even if they roll off. @param since inclusive @param until exclusive */
  open(since: number, until: number): Promise<Opened>
  close(): Promise<void>
}

export interface SegmentsOptions {
  readonly directory: string
  readonly maxBytes: number
  /** Where a log begins that holds nothing yet. */
  begin(): Promise<Pick<Header, 'next' | 'others' | 'watermark'>>
}

const widen = (span: Span | undefined, at: number): Span =>
  span === undefined
    ? { from: at, until: at }
    : { from: Math.min(span.from, at), until: Math.max(span.until, at) }

const nameOf = (number: number, span?: Span): string =>
  `${String(number).padStart(10, '0')}${span === undefined ? '' : `-${span.from}-${span.until}`}.jsonl`

const listSegments = async (directory: string): Promise<Segment[]> => {
  const found: Segment[] = []
  for (const name of (await readdir(directory)).sort()) {
    const { number, from, until } = NAME.exec(name)?.groups ?? {}
    if (number === undefined) continue
    const file = join(directory, name)
    const span = from === undefined ? undefined : { from: Number(from), until: Number(until) }
    found.push({ number: Number(number), file, bytes: (await stat(file)).size, span })
  }
  return found
}

const readHeader = (line: Buffer | undefined): Header | undefined => {
  try {
    const header = JSON.parse(line?.toString() ?? '') as Partial<Header>
    return typeof header.next === 'number' && header.watermark !== undefined ? (header as Header) : undefined
  } catch {
    return undefined
  }
}

/** Where each log was taken up to, as a header says it. */
const readNexts = ({ next, others = {} }: Pick<Header, 'next' | 'others'>): Map<number, number> =>
  new Map([[0, next], ...Object.entries(others).map(([log, index]) => [Number(log), index] as const)])

const writeNexts = (nexts: ReadonlyMap<number, number>): Pick<Header, 'next' | 'others'> => {
  const { 0: next = 0, ...others } = Object.fromEntries(nexts)
  return { next, ...(Object.keys(others).length > 0 && { others }) }
}

interface Scan extends Pick<Header, 'watermark'> {
  readonly nexts: Map<number, number>
  /** Up to the end of the last whole line. */
  readonly bytes: number
  readonly span: Span | undefined
  readonly lastEntry: string | undefined
}

/** Reads a segment up to the first line that is none: a crash may have torn its end. */
const scan = async (handle: FileHandle, size: number): Promise<Scan | undefined> => {
  let header: Header | undefined
  let bytes = 0
  let nexts = new Map<number, number>()
  let span: Span | undefined
  let lastEntry: string | undefined
  const result = () => header && { watermark: header.watermark, nexts, bytes, span, lastEntry }
  for await (const lines of readLines(handle, size)) {
    let entry: Buffer | undefined
    for (const line of lines) {
      const stamp = header && readStamp(line)
      if (header === undefined) {
        header = readHeader(line)
        if (header === undefined) return undefined
        nexts = readNexts(header)
      } else if (stamp === undefined) {
        lastEntry = entry?.toString() ?? lastEntry
        return result()
      } else {
        span = widen(span, stamp.at)
        if (stamp.index !== undefined) {
          nexts.set(stamp.log, stamp.index + 1)
          entry = line
        }
      }
      bytes += line.length + 1
    }
    lastEntry = entry?.toString() ?? lastEntry
  }
  return result()
}

interface Growing {
  readonly number: number
  file: string
  readonly handle: FileHandle
  bytes: number
  span: Span | undefined
}

/** Opens the last segment for writing, without what a crash has torn. @returns undefined where there is none to go on with */
const resume = async (segments: Segment[]): Promise<{ growing: Growing; scanned: Scan } | undefined> => {
  for (let last = segments.pop(); last !== undefined; last = segments.pop()) {
    const { number, file } = last
    const handle = await open(file, 'r+')
    const scanned = await scan(handle, last.bytes)
    if (scanned !== undefined) {
      await handle.truncate(scanned.bytes)
      return { growing: { number, file, handle, bytes: scanned.bytes, span: scanned.span }, scanned }
    }
    // Not even its first line was finished.
    await handle.close()
    await rm(file)
  }
  return undefined
}

/** Begins a segment, on the disk before this returns; where that fails, nothing is left of it. */
const create = async (directory: string, header: Header): Promise<Growing> => {
  const file = join(directory, nameOf(header.segment))
  const handle = await open(file, 'wx+', FILE_MODE)
  const line = `${JSON.stringify(header)}\n`
  try {
    await handle.writeFile(line)
    await handle.datasync()
  } catch (error) {
    await handle.close()
    await rm(file, { force: true })
    throw error
  }
  return { number: header.segment, file, handle, bytes: Buffer.byteLength(line), span: undefined }
}

const total = (segments: readonly { bytes: number }[]): number =>
  segments.reduce((sum, { bytes }) => sum + bytes, 0)

/** Joins lines into pieces of bounded size. */
function* pieces(
  lines: readonly Line[],
  maxChars: number,
): Generator<{ text: string; lines: readonly Line[] }> {
  let [first, text] = [0, '']
  for (const [place, line] of lines.entries()) {
    if (text !== '' && text.length + line.text.length > maxChars) {
      yield { text, lines: lines.slice(first, place) }
      ;[first, text] = [place, '']
    }
    text += line.text
  }
  if (text !== '') yield { text, lines: lines.slice(first) }
}

/**
 * Opens the log of a directory that nobody else writes to, and repairs what a crash has torn.
 * @throws Error of the file system
 */
export const openSegments = async ({ directory, maxBytes, begin }: SegmentsOptions): Promise<Segments> => {
  await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE })
  const segmentBytes = Math.floor(maxBytes / SEGMENTS)
  const maxChars = Math.min(WRITE_MAX_CHARS, Math.floor(segmentBytes / 4))
  let sealed = await listSegments(directory)
  const resumed = await resume(sealed)
  const beginAnew = async () => {
    const begun = await begin()
    return { watermark: begun.watermark, nexts: readNexts(begun) }
  }
  const begun: Pick<Scan, 'watermark' | 'nexts'> = resumed?.scanned ?? (await beginAnew())
  const { nexts } = begun
  let { watermark } = begun
  let growing = resumed?.growing ?? (await create(directory, { segment: 1, ...writeNexts(nexts), watermark }))
  const inSequence = pLimit(1)

  /** Seals the segment that grows, begins another, and lets the oldest go that have no room beside it. */
  const roll = async (): Promise<void> => {
    const { number, file, handle, bytes, span } = growing
    const name = join(directory, nameOf(number, span))
    await handle.datasync()
    await rename(file, name)
    // Where the next segment can't be begun (the disk is full), this one goes on under its new name.
    growing.file = name
    const kept: Segment[] = [...sealed, { number, file: name, bytes, span }]
    const gone: Segment[] = []
    while (total(kept) + segmentBytes > maxBytes) gone.push(kept.shift() as Segment)
    let passed = watermark
    for (const segment of gone) passed = Math.max(passed ?? 0, segment.span?.until ?? 0)
    // Recorded before it is true: after a crash in between, the log rather holds more than it says.
    growing = await create(directory, {
      segment: number + 1,
      ...writeNexts(nexts),
      watermark: passed,
    })
    ;[sealed, watermark] = [kept, passed]
    await handle.close()
    for (const segment of gone) await rm(segment.file, { force: true })
  }

  const write = async (text: string, lines: readonly Line[]): Promise<void> => {
    const bytes = Buffer.from(text)
    if (growing.span !== undefined && growing.bytes + bytes.length > segmentBytes) await roll()
    try {
      for (let done = 0; done < bytes.length; )
        done += (await growing.handle.write(bytes, done, bytes.length - done, growing.bytes + done))
          .bytesWritten
    } catch (error) {
      await growing.handle.truncate(growing.bytes).catch(() => undefined)
      throw error
    }
    growing.bytes += bytes.length
    for (const { at, index, log = 0 } of lines) {
      growing.span = widen(growing.span, at)
      if (index !== undefined) nexts.set(log, index + 1)
    }
  }

  const openFile = async (file: string, bytes: number) => ({ handle: await open(file, 'r'), bytes })

  return {
    next: (log) => nexts.get(log) ?? 0,
    lastEntry: resumed?.scanned.lastEntry,
    append: (lines) =>
      inSequence(async () => {
        for (const piece of pieces(lines, maxChars)) await write(piece.text, piece.lines)
      }),
    open: (since, until) =>
      inSequence(async () => {
        const files: Awaited<ReturnType<typeof openFile>>[] = []
        const close = async (): Promise<void> => {
          await Promise.all(files.map(({ handle }) => handle.close()))
        }
        try {
          for (const { file, bytes, span } of [...sealed, growing])
            if (span !== undefined && span.until >= since && span.from < until)
              files.push(await openFile(file, bytes))
        } catch (error) {
          await close()
          throw error
        }
        return { watermark, files, close }
      }),
    close: () => inSequence(() => growing.handle.close()),
  }
}
