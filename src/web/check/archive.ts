/** Evidence in its form `zip` (APPNOTE.TXT 6.3): only archives as the service makes them are read. @module */
import { EVIDENCE_ENTRY, INSTRUCTIONS_ENTRY } from '../../protocol/evidence/evidence-format.ts'
import { EvidenceFileError } from '../../protocol/evidence/evidence-lines.ts'
import { piecesOf } from './file.ts'

const END = { signature: 0x06054b50, bytes: 22 }
const END_64_LOCATOR = { signature: 0x07064b50, bytes: 20 }
const END_64 = { signature: 0x06064b50, bytes: 56 }
const ENTRY = { signature: 0x02014b50, bytes: 46 }
const LOCAL = { signature: 0x04034b50, bytes: 30 }
const EXTRA_64 = 1
/** Stands where a number has no room, which is then told elsewhere. */
const ELSEWHERE = 0xffff_ffff
const STORED = 0
const DEFLATED = 8
/** The directory of two files. */
const MAX_DIRECTORY_BYTES = 4096
const SIGNATURE_BYTES = 4

const refuse = (what: string): never => {
  throw new EvidenceFileError(`The archive can’t be read: ${what}.`)
}

/** @throws EvidenceFileError unless the bytes are there and begin with the signature */
const readRecord = async (
  file: Blob,
  at: number,
  { signature, bytes }: { signature: number; bytes: number },
): Promise<DataView> => {
  const view = new DataView(await file.slice(Math.max(0, at), at + bytes).arrayBuffer())
  if (at < 0 || view.byteLength < bytes || view.getUint32(0, true) !== signature)
    refuse('it was cut off, or made by another program')
  return view
}

const uint64 = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))

/** Whether a file begins like an archive. */
export const isArchive = async (file: Blob): Promise<boolean> => {
  const head = new DataView(await file.slice(0, SIGNATURE_BYTES).arrayBuffer())
  return head.byteLength === SIGNATURE_BYTES && head.getUint32(0, true) === LOCAL.signature
}

const readDirectory = async (file: Blob): Promise<DataView> => {
  const end = await readRecord(file, file.size - END.bytes, END)
  let [bytes, at] = [end.getUint32(12, true), end.getUint32(16, true)]
  if (at === ELSEWHERE) {
    const locator = await readRecord(file, file.size - END.bytes - END_64_LOCATOR.bytes, END_64_LOCATOR)
    const end64 = await readRecord(file, uint64(locator, 8), END_64)
    ;[bytes, at] = [uint64(end64, 40), uint64(end64, 48)]
  }
  if (bytes > MAX_DIRECTORY_BYTES) refuse('it holds more than the service puts there')
  return new DataView(await file.slice(at, at + bytes).arrayBuffer())
}

interface Entry {
  readonly name: string
  readonly method: number
  /** Compressed. */
  readonly bytes: number
  readonly at: number
}

/** Sizes and places beyond 4 GiB, in the order in which the entry has no room for them. */
const readExtra64 = (directory: DataView, from: number, to: number): number[] => {
  for (let at = from; at + SIGNATURE_BYTES <= to; at += SIGNATURE_BYTES + directory.getUint16(at + 2, true))
    if (directory.getUint16(at, true) === EXTRA_64)
      return Array.from({ length: Math.floor(directory.getUint16(at + 2, true) / 8) }, (_, place) =>
        uint64(directory, at + SIGNATURE_BYTES + 8 * place),
      )
  return []
}

const readEntries = (directory: DataView): Entry[] => {
  const entries: Entry[] = []
  for (let at = 0; at < directory.byteLength; ) {
    if (directory.getUint32(at, true) !== ENTRY.signature) refuse('its directory is damaged')
    const lengths = [28, 30, 32].map((place) => directory.getUint16(at + place, true))
    const [name = 0, extra = 0, comment = 0] = lengths
    const from = at + ENTRY.bytes
    const large = readExtra64(directory, from + name, from + name + extra)
    const [, bytes = 0, place = 0] = [24, 20, 42].map((field) => {
      const told = directory.getUint32(at + field, true)
      return told === ELSEWHERE ? (large.shift() ?? refuse('its directory is damaged')) : told
    })
    entries.push({
      name: new TextDecoder().decode(new Uint8Array(directory.buffer, from, name)),
      method: directory.getUint16(at + 10, true),
      bytes,
      at: place,
    })
    at = from + name + extra + comment
  }
  return entries
}

/** What unpacking throws is another error in each browser; a DOMException is about the file, which can't be read. */
async function* unpack(packed: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array> {
  try {
    yield* piecesOf(packed.pipeThrough(new DecompressionStream('deflate-raw')))
  } catch (error) {
    if (error instanceof DOMException) throw error
    refuse('it is damaged')
  }
}

/**
 * The lines in an archive. It holds what the service put there and nothing else: of two files of one name, whoever
 * unpacks it might get the one that was not checked.
 * @throws EvidenceFileError, also while it is read
 */
export const readArchive = async (file: Blob): Promise<AsyncGenerator<Uint8Array>> => {
  let entries: Entry[]
  try {
    entries = readEntries(await readDirectory(file))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return refuse('its directory is damaged')
  }
  const names = entries.map(({ name }) => name)
  const isOurs = names.every(
    (name, place) =>
      (name === EVIDENCE_ENTRY || name === INSTRUCTIONS_ENTRY) && names.indexOf(name) === place,
  )
  const entry = entries.find(({ name }) => name === EVIDENCE_ENTRY)
  if (!isOurs || entry === undefined)
    return refuse(`it must hold one ${EVIDENCE_ENTRY}, and nothing else but ${INSTRUCTIONS_ENTRY}`)
  const local = await readRecord(file, entry.at, LOCAL)
  const from = entry.at + LOCAL.bytes + local.getUint16(26, true) + local.getUint16(28, true)
  const data = file.slice(from, from + entry.bytes).stream()
  if (entry.method === STORED) return piecesOf(data)
  if (entry.method !== DEFLATED) return refuse('it is compressed in another way than the service does')
  return unpack(data)
}
