/** Takes an export into the browser, piece by piece, so that how far it is can be shown and what came can be checked. @module */
import { piecesOf } from '../../check/file.ts'
import { UnreachableError } from '../../http.ts'
import { askFor } from '../session.ts'

/** Pieces are put together from time to time: browsers keep large blobs on disk. */
const KEPT_BYTES = 16 * 1024 * 1024
const NEWLINE = 0x0a

/** How far something is. */
export interface Progress {
  readonly bytes: number
  readonly lines: number
}

export interface Download {
  readonly name: string
  readonly file: Blob
}

const countLines = (bytes: Uint8Array): number => {
  let lines = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines++
  return lines
}

/**
 * @param path of an export, with its query
 * @param tell is told of each piece
 * @throws ServiceError; UnreachableError, also when the connection ends early; AbortError of `signal`
 */
export const download = async (
  path: string,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Download> => {
  const response = await askFor(path, signal)
  const name = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') ?? '')?.[1] ?? 'export'
  const type = response.headers.get('Content-Type') ?? ''
  const blobs: Blob[] = []
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let [bytes, lines, waiting] = [0, 0, 0]
  try {
    for await (const piece of piecesOf(response.body ?? new Blob().stream())) {
      pieces.push(piece)
      bytes += piece.length
      waiting += piece.length
      lines += countLines(piece)
      if (waiting > KEPT_BYTES) {
        blobs.push(new Blob(pieces))
        ;[pieces, waiting] = [[], 0]
      }
      tell({ bytes, lines })
    }
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new UnreachableError(
      'The connection ended before the file did. Nothing of it was kept: make the export again.',
      { cause },
    )
  }
  return { name, file: new Blob([...blobs, ...pieces], { type }) }
}

/** Hands a file over to the browser, which keeps it where it keeps downloads. */
export const save = ({ name, file }: Download): void => {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
