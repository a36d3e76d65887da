/** The public side of the log: checkpoints and tiles of hashes, never entries (C2SP tlog-tiles). @module */
import { fail } from '../../errors.ts'
import type { WitnessedCheckpoints } from '../../ledger/checkpoints/witnessing.ts'
import type { Log } from '../../ledger/tree/log.ts'

const TILE_HASHES = 256
const DIGITS_PER_SEGMENT = 1_000

interface Deps {
  readonly log: Pick<Log, 'tile'>
  readonly checkpoints: Pick<WitnessedCheckpoints, 'published' | 'verifierKeys'>
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

export const createPublishedLog = ({ log, checkpoints }: Deps) => ({
  /** The signed note over the present tree, or over the newest one that witnesses have cosigned. @throws AppError log_inconsistent */
  async checkpoint(): Promise<string> {
    return (await checkpoints.published()).note
  },

  /** Verifier keys that the checkpoint is signed under, one a line. */
  async keys(): Promise<string> {
    return (await checkpoints.verifierKeys()).map((key) => `${key}\n`).join('')
  },

  /** Hashes of a tile, 32 bytes each. @throws AppError not_found when the tree does not reach so far */
  async tile(level: number, path: string): Promise<Uint8Array> {
    const { index, width } = parseTilePath(path)
    if (width >= TILE_HASHES && path.includes('.p/')) return fail('not_found')
    return (await log.tile(level, index, width)) ?? fail('not_found')
  },
})
