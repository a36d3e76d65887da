/** One server on its embedded database, on a disk so small that it can be filled; and what can happen to it. */
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'
import { type Fault, type Faults, faultsOfServers } from './faults.ts'
import type { Model } from './model.ts'
import { startReceiver } from './receiver.ts'
import {
  closedOnFailure,
  commonSettings,
  createSeat,
  newDirectory,
  removeDirectory,
  startBalancer,
  type World,
} from './world.ts'

const DISK = '1g'
const EVENT_LOG_BYTES = String(64 * 1024 * 1024)
const CHUNK_BYTES = 1024 * 1024

export interface EmbeddedWorld extends World {
  /** DATA_DIR of the server. */
  readonly dataDir: string
  /** The disk that it is on; undefined where none could be mounted (Linux, root). */
  readonly disk: string | undefined
}

/** @param program file of the server */
export const startEmbeddedWorld = (model: Model, program: string): Promise<EmbeddedWorld> =>
  closedOnFailure(async (closers) => {
    const directory = newDirectory()
    closers.push(async () => removeDirectory(directory))
    const folder = join(directory, 'disk')
    mkdirSync(folder)
    const isMounted = mountSmallDisk(folder, DISK)
    if (isMounted) closers.push(async () => unmountSmallDisk(folder))
    const dataDir = join(folder, 'data')
    const adminKey = `admin-${randomBytes(16).toString('hex')}`
    const receiver = await startReceiver(model)
    closers.push(() => receiver.close())
    const settings = commonSettings(receiver, directory, adminKey)
    const seat = await createSeat({
      name: 'the server',
      program,
      directory: join(directory, 'server'),
      env: { ...settings, DATA_DIR: dataDir, EVENT_LOG_BYTES },
    })
    await seat.start()
    closers.push(async () => void (await seat.end('SIGKILL')))
    const entrance = await startBalancer([seat])
    closers.push(() => entrance.stop())
    const name = 'one server on the embedded database'
    const disk = isMounted ? folder : undefined
    return { name, model, adminKey, seats: [seat], receiver, entrance, dataDir, disk }
  })

const fill = (disk: string): Fault => {
  const filler = join(disk, 'filler')
  return {
    kind: 'full disk of the embedded database',
    on: 'disk',
    async begin() {
      const some = Buffer.alloc(CHUNK_BYTES)
      try {
        // Until there is no room, whatever the server writes meanwhile.
        for (;;) appendFileSync(filler, some)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
    },
    end: async () => rmSync(filler, { force: true }),
  }
}

export const faultsOfEmbedded = (world: EmbeddedWorld): Faults => {
  const { disk } = world
  return { ...faultsOfServers(world), ...(disk !== undefined && { disk: () => fill(disk) }) }
}
