/** The public side of the log: checkpoints and tiles of hashes, never entries (C2SP tlog-tiles). @module */
import { fail } from '../../errors.ts'
import type { HeadInclusion, SignedLogs } from '../../ledger/checkpoints/signed-logs.ts'

const TILE_HASHES = 256
const DIGITS_PER_SEGMENT = 1_000

interface Deps {
  readonly signedLogs: Pick<SignedLogs, 'at' | 'headOf'>
}

export type PublishedLog = ReturnType<typeof createPublishedLog>

/** `x001/x234/067` → 1234067; `067.p/12` is the first 12 hashes of tile 67. */
const parseTilePath = (path: string): { index: number; width: number } => {
  const [number = '', width] = path.split('.p/')
  const index = number
    .split('/')
    .reduce((sum, part) => sum * DIGITS_PER_SEGMENT + Number(part.replace('x', '')), 0)
  return { index, width: width === undefined ? TILE_HASHES : Number(width) }
}

export const createPublishedLog = ({ signedLogs }: Deps) => ({
  /**
   * The signed note over the present tree, or over the newest one that witnesses have cosigned.
   * @throws AppError log_inconsistent, not_found for a log that there is not
   */
  async checkpoint(log = 0): Promise<string> {
    return (await signedLogs.at(log).checkpoints.published()).note
  },

  /** Verifier keys that the checkpoint is signed under, one a line. @throws AppError not_found for a log that there is not */
  async keys(log = 0): Promise<string> {
    return (await signedLogs.at(log).checkpoints.verifierKeys()).map((key) => `${key}\n`).join('')
  },

  /** Hashes of a tile, 32 bytes each. @throws AppError not_found when the tree does not reach so far */
  async tile(level: number, path: string, log = 0): Promise<Uint8Array> {
    const { index, width } = parseTilePath(path)
    if (width >= TILE_HASHES && path.includes('.p/')) return fail('not_found')
    return (await signedLogs.at(log).tree.tile(level, index, width)) ?? fail('not_found')
  },

  /** The newest head of another log, or the first one that covers an entry, in log 0. @throws AppError not_found, log_inconsistent */
  head: (log: number, index: number | undefined): Promise<HeadInclusion> => signedLogs.headOf(log, index),
})
