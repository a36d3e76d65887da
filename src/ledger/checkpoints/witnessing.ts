/**
 * Shows the log's checkpoints to the witnesses of a policy, and keeps what they cosign. One of several servers asks at a time, every few
 * seconds; no write waits for it. The newest checkpoint that the policy accepts is what the log publishes.
 * @module
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { isNoteSigned } from '../../keys/note-signatures.ts'
import { readNote } from '../../protocol/checkpoint/note.ts'
import { judgeCheckpoint, type WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import type { Database } from '../../store/database.ts'
import type { Head, Log } from '../tree/log.ts'
import type { Checkpoint, Checkpoints } from './checkpoint.ts'
import { type CosignatureRow, createCosignatures, type WitnessedCheckpoint } from './cosignatures.ts'
import { type Asked, askWitness, type PostToWitness, sitesOf, type WitnessSite } from './witness-client.ts'

/** A server that asked and did not say so again for so long, beyond its pause, has ended, and another one takes over. */
const LEASE_MS = 45_000
const MAX_BACK_OFF_MS = 300_000
/** How often somebody who waits for a witnessed checkpoint looks for one. */
const LOOK_PAUSE_MS = 200
/** How long somebody waits for the next round, at most, and then for the witnesses. */
const ROUND_PATIENCE_MS = 10_000
const ANSWER_PATIENCE_MS = 5_000
/** Whole characters of base64 that four bytes of a key id fill. */
const KEY_ID_CHARACTERS = 5

/** How the checkpoints of the log are witnessed. */
export interface WitnessingState {
  /** pending: none was yet. late: the newest is older than it may be, or none came in that time. */
  readonly status: 'current' | 'pending' | 'late'
  /** Of the newest witnessed checkpoint. */
  readonly size: number | undefined
  /** Since it was witnessed; before the first, since the server began to wait for it. */
  readonly ageSeconds: number
}

export interface Witnessing {
  /** The newest checkpoint that the policy accepts. */
  newest(): Promise<WitnessedCheckpoint | undefined>
  /** What is published: the newest witnessed checkpoint, or the latest one while that is older than it may be. */
  published(latest: Checkpoint): Promise<Checkpoint>
  /** The same checkpoint, with what witnesses have cosigned of it. */
  cosigned(latest: Checkpoint): Promise<Checkpoint>
  /** A witnessed checkpoint that covers another one, if it comes soon; else that one. */
  covering(latest: Checkpoint): Promise<Checkpoint>
  state(): Promise<WitnessingState>
  /** Lets another server ask at once. */
  close(): Promise<void>
}

export interface WitnessingDeps {
  readonly database: Database
  readonly log: Pick<Log, 'consistency'>
  /** Without cosignatures of witnesses. */
  readonly checkpoints: Pick<Checkpoints, 'latest'>
  readonly clock: Clock
  /** The name of the log. */
  readonly origin: string
  readonly policy: WitnessPolicy
  /** Pause between two rounds. */
  readonly intervalMs: number
  /** Greatest age of the newest witnessed checkpoint. */
  readonly maxAgeMs: number
  readonly post: PostToWitness
  readonly logger: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  /** Called for each answer of a witness, and for each one that did not come. */
  readonly onAsked: (witness: string, outcome: Asked['outcome']) => void
  /** Called when a witness says that it has seen another log than this one is. */
  readonly onContradiction: (witness: string, detail: string) => void
}

const isSame = (a: Head, b: Head): boolean => a.size === b.size && Buffer.compare(a.root, b.root) === 0

/** Ids of the log's own keys in a note, as base64 begins with them: who signed before a rotation is not who signs now. */
const ownKeys = (note: string, origin: string): string => {
  const beginning = `— ${origin} `
  const lines = note.split('\n').filter((line) => line.startsWith(beginning))
  return lines.map((line) => line.slice(beginning.length, beginning.length + KEY_ID_CHARACTERS)).join(' ')
}

/** What a policy says of notes, the last one remembered: each is asked about again and again. */
const createJudge = (policy: WitnessPolicy) => {
  // Which logs whoever verifies accepts is not the log's own affair.
  const demand: WitnessPolicy = { ...policy, logs: [] }
  const urls = new Set(sitesOf(policy).map(({ url }) => url))
  let last: { readonly note: string; readonly isMet: boolean } | undefined
  return {
    /** Lines of the witnesses of the policy that cosigned this very checkpoint last. */
    linesOf: (checkpoint: Head, rows: readonly CosignatureRow[]): string =>
      rows
        .filter((row) => urls.has(row.witness) && isSame(row, checkpoint))
        .map(({ lines }) => lines)
        .join(''),
    isMet(note: string): boolean {
      if (last?.note !== note) {
        const read = readNote(note)
        last = { note, isMet: read !== undefined && judgeCheckpoint(read, demand, isNoteSigned).isMet }
      }
      return last.isMet
    },
  }
}

/** Remembers which witnesses have failed, to ask them less often, and says when that changes. */
const createPatience = ({ intervalMs, clock, logger, onAsked, onContradiction }: WitnessingDeps) => {
  const failing = new Map<
    string,
    { readonly outcome: string; readonly pauseMs: number; readonly until: number }
  >()
  return {
    isDue: ({ url }: WitnessSite): boolean => (failing.get(url)?.until ?? 0) <= clock.now(),
    note({ url, name }: WitnessSite, asked: Asked): void {
      const { outcome } = asked
      const before = failing.get(url)
      onAsked(name, outcome)
      if (asked.outcome === 'cosigned') {
        if (failing.delete(url)) logger.info({ witness: name }, 'a witness cosigns again')
        return
      }
      const pauseMs = Math.min(MAX_BACK_OFF_MS, 2 * (before?.pauseMs ?? intervalMs / 2))
      failing.set(url, { outcome, pauseMs, until: clock.now() + pauseMs })
      if (before?.outcome === outcome) return
      logger.warn({ witness: name, outcome, detail: asked.detail }, 'a witness did not cosign')
      if (outcome === 'ahead' || outcome === 'refused') onContradiction(name, asked.detail)
    },
  }
}

/** What a round of asking does, once a server has the right to. */
const createRound = (
  deps: WitnessingDeps,
  store: ReturnType<typeof createCosignatures>,
  signal: AbortSignal,
) => {
  const { checkpoints, clock, log, policy, post, maxAgeMs } = deps
  const sites = sitesOf(policy)
  const patience = createPatience(deps)
  const { linesOf, isMet } = createJudge(policy)

  const publishNow = async (checkpoint: Checkpoint): Promise<void> => {
    const note = checkpoint.note + linesOf(checkpoint, await store.find())
    if (!isMet(note)) return
    await store.publish({ size: checkpoint.size, root: checkpoint.root, note, at: clock.now() })
  }

  let tail: Promise<void> = Promise.resolve()
  /** Publishes the checkpoint with what was cosigned of it so far, if that is enough. One after the other: each knows more than the last. */
  const publish = (checkpoint: Checkpoint): Promise<void> => {
    const published = tail.then(() => publishNow(checkpoint))
    tail = published.catch(() => undefined)
    return published
  }

  const ask = async (
    site: WitnessSite,
    checkpoint: Checkpoint,
    known: CosignatureRow | undefined,
  ): Promise<void> => {
    const oldSize = Math.min(known?.size ?? 0, checkpoint.size)
    const { latest } = checkpoints
    const asked = await askWitness({ site, checkpoint, latest, oldSize, log, post, now: clock.now(), signal })
    if (signal.aborted) return
    patience.note(site, asked)
    if (asked.outcome !== 'cosigned') return
    const { size, root } = asked.checkpoint
    await store.keep({ witness: site.url, size, root, lines: asked.lines, cosigned_at: clock.now() })
    await publish(asked.checkpoint)
  }

  return async (): Promise<void> => {
    const checkpoint = await checkpoints.latest()
    const known = new Map((await store.find()).map((row) => [row.witness, row]))
    /** A log that does not grow is shown again in time, so that the age says that witnesses still see it. */
    const isFresh = (row: CosignatureRow | undefined): boolean =>
      row !== undefined && isSame(row, checkpoint) && clock.now() - row.cosigned_at < maxAgeMs / 2
    const due = sites.filter((site) => !isFresh(known.get(site.url)) && patience.isDue(site))
    await Promise.all(due.map((site) => ask(site, checkpoint, known.get(site.url))))
  }
}

export const createWitnessing = (deps: WitnessingDeps): Witnessing => {
  const { database, clock, origin, policy, intervalMs, maxAgeMs, logger } = deps
  const store = createCosignatures(database, origin)
  const holder = randomUUID()
  const startedAt = clock.now()
  const ending = new AbortController()
  const round = createRound(deps, store, ending.signal)

  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      try {
        if (await store.acquire(holder, LEASE_MS + intervalMs)) await round()
      } catch (error) {
        logger.warn({ err: error }, 'witnesses could not be asked')
      }
      await pause(intervalMs, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
    }
    // Nobody needs to wait for the lease to end. If this fails, they do.
    await store.release(holder).catch(() => undefined)
  }
  const ended = run()

  const secondsSince = (at: number): number => Math.max(0, Math.round((clock.now() - at) / 1000))
  const isLate = ({ at }: WitnessedCheckpoint): boolean => clock.now() - at > maxAgeMs
  const { linesOf, isMet } = createJudge(policy)

  /** What met another policy may not meet this one. */
  const findNewest = async (): Promise<WitnessedCheckpoint | undefined> => {
    const found = await store.newest()
    return found && isMet(found.note) ? found : undefined
  }

  const cosigned = async ({ size, root, note }: Checkpoint): Promise<Checkpoint> => ({
    size,
    root,
    note: note + linesOf({ size, root }, await store.find()),
  })

  return {
    newest: findNewest,
    cosigned,

    async published(latest) {
      const newest = await findNewest()
      const isOutdated = newest === undefined || isLate(newest) || isSame(newest, latest)
      return isOutdated || ownKeys(newest.note, origin) !== ownKeys(latest.note, origin)
        ? cosigned(latest)
        : newest
    },

    async covering(latest) {
      const giveUpAt = performance.now() + Math.min(intervalMs, ROUND_PATIENCE_MS) + ANSWER_PATIENCE_MS
      for (;;) {
        const newest = await findNewest()
        if (newest !== undefined && newest.size > latest.size) return newest
        // Witnesses that are late won't come soon.
        const isHopeless = newest === undefined || isLate(newest) || performance.now() > giveUpAt
        if (isHopeless || isSame(newest, latest)) return cosigned(latest)
        await pause(LOOK_PAUSE_MS)
      }
    },

    async state() {
      const newest = await findNewest()
      if (newest === undefined) {
        const status = clock.now() - startedAt > maxAgeMs ? 'late' : 'pending'
        return { status, size: undefined, ageSeconds: secondsSince(startedAt) }
      }
      const status = isLate(newest) ? 'late' : 'current'
      return { status, size: newest.size, ageSeconds: secondsSince(newest.at) }
    },

    async close() {
      ending.abort()
      await ended
    },
  }
}

/** What the service hands out of its log: checkpoints with what witnesses have cosigned of them, where it has a policy. */
export interface WitnessedCheckpoints extends Checkpoints {
  /** For everybody: the newest one that the policy accepts, or the latest where there is no policy. @throws AppError log_inconsistent */
  published(): Promise<Checkpoint>
  /** One that covers all that is committed now and that the policy accepts, if it comes soon; else the latest. @throws AppError log_inconsistent */
  covering(): Promise<Checkpoint>
  /** The newest one that the policy accepts; undefined before the first, null where there is no policy. */
  newestWitnessed(): Promise<WitnessedCheckpoint | undefined | null>
}

/** @param witnessing absent: there is no policy */
export const withWitnesses = (
  checkpoints: Checkpoints,
  witnessing: Witnessing | undefined,
): WitnessedCheckpoints => {
  const { latest } = checkpoints
  if (witnessing === undefined)
    return { ...checkpoints, published: latest, covering: latest, newestWitnessed: async () => null }
  return {
    ...checkpoints,
    latest: async () => witnessing.cosigned(await latest()),
    published: async () => witnessing.published(await latest()),
    covering: async () => witnessing.covering(await latest()),
    newestWitnessed: () => witnessing.newest(),
  }
}
