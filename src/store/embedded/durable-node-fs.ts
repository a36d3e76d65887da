/**
 * The file system of the embedded database. PGlite's own NodeFS never calls fsync(2): emscripten gives its NODEFS no
 * such operation and answers 0, so a power cut loses what was acknowledged. This one supplies it.
 * @module
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { NodeFS } from '@electric-sql/pglite/nodefs'

/** EIO of WASI errno, what emscripten expects when the cause is unknown. */
const WASI_EIO = 29

/** An open file as emscripten's NODEFS keeps it. `nfd` is the system's descriptor; directories have none. */
interface Stream {
  readonly nfd?: number | null
  readonly node: object
}

/** The part of emscripten's NODEFS that is used here; its types know nothing of it. */
interface NodeFilesystem {
  readonly stream_ops: { fsync?: (stream: Stream) => number }
  realPath(node: object): string
}

const isNodeFilesystem = (value: unknown): value is NodeFilesystem =>
  typeof value === 'object' &&
  value !== null &&
  'stream_ops' in value &&
  typeof value.stream_ops === 'object' &&
  'realPath' in value &&
  typeof value.realPath === 'function'

const syncDirectory = (path: string): void => {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

type Init = NodeFS['init']

/** NodeFS with fsync(2). Takes effect only with `fsync=on` and `wal_sync_method=fsync`, and without `-F`. */
export class DurableNodeFS extends NodeFS {
  /** While false, fsync is put off: for a first start, whose thousand files are synced together at its end. */
  durable: boolean
  readonly #onSync: (() => void) | undefined

  /** @param onSync called after each fsync(2); for tests */
  constructor(directory: string, durable: boolean, onSync?: () => void) {
    super(directory)
    this.durable = durable
    this.#onSync = onSync
  }

  override async init(...args: Parameters<Init>): ReturnType<Init> {
    const { emscriptenOpts } = await super.init(...args)
    const addSync = (module: object): void => {
      const filesystem: unknown = 'NODEFS' in module ? module.NODEFS : undefined
      if (!isNodeFilesystem(filesystem))
        throw new Error('This version of PGlite has no NODEFS to make durable.')
      filesystem.stream_ops.fsync = (stream) => this.#sync(filesystem, stream)
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), addSync] } }
  }

  /** @returns 0, or an errno: PostgreSQL then stops rather than go on with a lost write */
  #sync(filesystem: NodeFilesystem, stream: Stream): number {
    if (!this.durable) return 0
    try {
      if (typeof stream.nfd === 'number') fsyncSync(stream.nfd)
      else syncDirectory(filesystem.realPath(stream.node))
    } catch {
      return WASI_EIO
    }
    this.#onSync?.()
    return 0
  }
}
