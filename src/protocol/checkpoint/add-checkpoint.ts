/** What a log sends to a witness, and what it gets back: `add-checkpoint` of C2SP tlog-witness. @module */
import { fromBase64, type ReadNote, readNote } from './note.ts'
import { toBase64 } from './signed-note.ts'

/** Media type of the size that a witness names with 409. */
export const SIZE_TYPE = 'text/x.tlog.size'
export const MAX_PROOF_HASHES = 63
const HASH_BYTES = 32

export interface AddCheckpoint {
  /** Of the checkpoint that the witness cosigned last; 0 if it never cosigned one. */
  readonly oldSize: number
  /** Consistency proof from there (RFC 6962 §2.1.2). */
  readonly proof: readonly Uint8Array[]
  /** The checkpoint, a signed note. */
  readonly note: string
}

/** The body of a request. */
export const writeAddCheckpoint = ({ oldSize, proof, note }: AddCheckpoint): string =>
  [`old ${oldSize}`, ...proof.map(toBase64), '', note].join('\n')

const SIZE = /^(0|[1-9]\d{0,15})$/

const sizeIn = (text: string): number | undefined => {
  const size = SIZE.test(text) ? Number(text) : undefined
  return Number.isSafeInteger(size) ? size : undefined
}

/** Control characters other than line feeds stand in no note (C2SP signed-note). */
const CONTROL = /[^\P{Cc}\n]/u

/** @returns undefined for a body that has not this form */
export const readAddCheckpoint = (
  body: string,
): (AddCheckpoint & { readonly checkpoint: ReadNote }) | undefined => {
  const end = body.indexOf('\n\n')
  if (end < 0 || CONTROL.test(body)) return undefined
  const [first = '', ...lines] = body.slice(0, end).split('\n')
  const oldSize = first.startsWith('old ') ? sizeIn(first.slice('old '.length)) : undefined
  if (oldSize === undefined || lines.length > MAX_PROOF_HASHES) return undefined
  const proof = lines.map(fromBase64)
  if (!proof.every((hash) => hash?.length === HASH_BYTES)) return undefined
  const note = body.slice(end + 2)
  const checkpoint = readNote(note)
  return checkpoint && { oldSize, proof: proof as Uint8Array[], note, checkpoint }
}

/** The size that a witness names with 409. @returns undefined for what is none */
export const readSize = (body: string): number | undefined =>
  body.endsWith('\n') ? sizeIn(body.slice(0, -1)) : undefined
