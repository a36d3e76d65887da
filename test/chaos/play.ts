/** A part of a run: load on a world, faults in rounds, and checks between them. */
import { setTimeout as pause } from 'node:timers/promises'
import type { openDatabase } from '../../src/store/database.ts'
import { drawRound, type Fault, type Faults } from './faults.ts'
import { type Load, startLoad } from './load.ts'
import { seeded } from './random.ts'
import { awaitRecovery, RECOVERY_LIMIT_MS } from './recovery.ts'
import type { Report } from './report.ts'
import type { World } from './world.ts'

const CHECK_EVERY_MS = 60_000
/** How long faults last, and how long after the first the others begin. */
const HOLD_MS = [300, 4_000] as const
const MAX_LATER_MS = 1_500
const QUIET_MS = [500, 2_000] as const

export interface Part {
  readonly world: World
  readonly faults: Faults
  readonly minutes: number
  readonly seed: number
  /** Of the database, while servers run; absent: it can be read only when they have ended. */
  readonly database?: () => Parameters<typeof openDatabase>[0]
  /** Of the database when the servers have ended. */
  readonly databaseAfterwards: () => Parameters<typeof openDatabase>[0]
  readonly report: Report
}

const playFault = async ({ model }: World, fault: Fault, afterMs: number, holdMs: number): Promise<void> => {
  const { kind, on } = fault
  await pause(afterMs)
  model.happened(`${kind} (${on}) begins, for ${holdMs} ms`)
  await fault.begin()
  await pause(holdMs)
  await fault.end()
  model.happened(`${kind} (${on}) has ended`)
}

/** Plays faults until time is up or an invariant is broken. */
const playRounds = async (part: Part, load: Load): Promise<void> => {
  const { world, faults, minutes, seed, database, report } = part
  const { model } = world
  const random = seeded(seed, `${world.name}: faults`)
  const between = ([from, to]: readonly [number, number]): number => from + random.below(to - from)
  const endAt = performance.now() + minutes * 60_000
  let checkAt = performance.now() + CHECK_EVERY_MS
  await awaitRecovery(world, load.shop, Number.POSITIVE_INFINITY)
  while (performance.now() < endAt && model.violations.length === 0) {
    const round = drawRound(faults, random).map((fault) => ({
      fault,
      afterMs: random.below(MAX_LATER_MS),
      holdMs: between(HOLD_MS),
    }))
    await pause(between(QUIET_MS))
    await Promise.all(round.map(({ fault, afterMs, holdMs }) => playFault(world, fault, afterMs, holdMs)))
    const limits = round.map(({ fault }) => fault.recoveryLimitMs ?? RECOVERY_LIMIT_MS)
    const recoveryMs = await awaitRecovery(world, load.shop, Math.max(...limits))
    report.add(
      round.map(({ fault }) => fault.kind),
      recoveryMs,
    )
    model.happened(`served again after ${Math.round(recoveryMs)} ms`)
    const kinds = round.map(({ fault }) => `${fault.kind} (${fault.on})`).join(' + ')
    console.log(`${new Date().toISOString()} ${kinds}: served again after ${Math.round(recoveryMs)} ms`)
    for (const { fault } of round) await fault.repair?.()
    if (database === undefined || performance.now() < checkAt) continue
    await load.check(database(), false)
    checkAt = performance.now() + CHECK_EVERY_MS
  }
}

export const playPart = async (part: Part): Promise<void> => {
  const { world, seed, databaseAfterwards } = part
  const { model, seats } = world
  const load = await startLoad(world, seed)
  await playRounds(part, load)
  await load.settle()
  for (const seat of seats) {
    const code = await seat.end('SIGTERM')
    if (code !== 0) model.broken('stops in order', `${seat.name} ended with ${code}`)
  }
  await load.check(databaseAfterwards(), true)
}
