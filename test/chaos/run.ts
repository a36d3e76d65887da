/**
 * `npm run test:chaos`: servers under load, while faults happen to them and to what they need, drawn from a seed. It ends with a
 * status other than 0, and says what led to it, when an invariant is broken.
 *
 * CHAOS_MINUTES how long (default 2) · CHAOS_SEED which faults, as an earlier run printed it · CHAOS_FAULTS which kinds, by the
 * names of `faults.ts`, separated by commas · CHAOS_RECOVERY_SECONDS how soon all must work again, for machines with other work · CHAOS_SERVER file of the server (default build/server.js)
 */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { startCluster } from './cluster.ts'
import { faultsOfEmbedded, startEmbeddedWorld } from './embedded.ts'
import { faultsOfCluster } from './faults.ts'
import { createModel, type Model } from './model.ts'
import { playPart } from './play.ts'
import { createReport, operationsLine, violationText } from './report.ts'
import { canSkewClocks } from './world.ts'

const {
  CHAOS_MINUTES = '2',
  CHAOS_SEED = String(randomInt(2 ** 31)),
  CHAOS_FAULTS,
  CHAOS_SERVER,
} = process.env
const SERVER = CHAOS_SERVER ?? join(import.meta.dirname, '../../build/server.js')
const MINUTES = Number(CHAOS_MINUTES)
/** The rest is for the servers on PostgreSQL. */
const EMBEDDED_SHARE = 1 / 5
const SEED = Number(CHAOS_SEED)
const MS_PER_SECOND = 1000

const chosen = <F>(faults: Readonly<Record<string, F>>): Readonly<Record<string, F>> =>
  CHAOS_FAULTS === undefined
    ? faults
    : Object.fromEntries(Object.entries(faults).filter(([name]) => CHAOS_FAULTS.split(',').includes(name)))

const onCluster = async (model: Model, report: ReturnType<typeof createReport>): Promise<void> => {
  const world = await startCluster(model, SERVER)
  const database = () => ({ databaseUrl: world.databases.url, dataDir: 'memory' })
  try {
    const faults = chosen(faultsOfCluster(world))
    const minutes = MINUTES * (1 - EMBEDDED_SHARE)
    if (Object.keys(faults).length > 0)
      await playPart({ world, faults, minutes, seed: SEED, database, databaseAfterwards: database, report })
  } finally {
    await world.close()
  }
}

const onEmbedded = async (model: Model, report: ReturnType<typeof createReport>): Promise<void> => {
  const world = await startEmbeddedWorld(model, SERVER)
  try {
    const faults = chosen(faultsOfEmbedded(world))
    const databaseAfterwards = () => ({ dataDir: world.dataDir })
    const minutes = MINUTES * EMBEDDED_SHARE
    if (world.disk === undefined) console.log('!! SKIPPED: no file system can be mounted, so no disk is full')
    if (Object.keys(faults).length > 0)
      await playPart({ world, faults, minutes, seed: SEED, databaseAfterwards, report })
  } finally {
    await world.close()
  }
}

const model = createModel()
const report = createReport()
const begunAt = performance.now()
console.log(`chaos: CHAOS_SEED=${SEED} CHAOS_MINUTES=${MINUTES}`)
if (!canSkewClocks) console.log('!! SKIPPED: clocks are right, for want of libfaketime')
for (const play of [onCluster, onEmbedded]) {
  if (model.violations.length > 0) break
  await play(model, report).catch((error: unknown) => {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
    model.broken('the run comes to its end', told)
  })
}
console.log(`\n${report.text()}\n`)
console.log(operationsLine(model))
for (const violation of model.violations) console.log(`\n${violationText(violation)}`)
const seconds = Math.round((performance.now() - begunAt) / MS_PER_SECOND)
const result = model.violations.length === 0 ? 'no invariant was broken' : 'INVARIANTS WERE BROKEN'
console.log(`\n${result}, in ${seconds} s; CHAOS_SEED=${SEED}`)
process.exit(model.violations.length === 0 ? 0 : 1)
