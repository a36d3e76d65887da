/**
 * The brake on guessing passwords and secrets. An attempt is reserved before anything is compared, in the database that
 * all servers share, so that guesses sent all at once, or to several servers, get no further than guesses sent one by one.
 * @module
 */
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Database } from '../../store/database.ts'
import { bytes, integer, type RowOf, table } from '../../store/table.ts'

const WINDOW_MS = 15 * 60_000
/** Rows of ended windows are removed at most this often, when somebody makes an attempt. */
const SWEEP_PAUSE_MS = 3_600_000
/** Rows removed at once: whoever made the attempt waits for it. */
const SWEEP_ROWS = 500
const MAC_PURPOSE = 'credential-attempts'

/** Attempts that are counted together, and who is told when there are too many. */
export interface AttemptBudget {
  /** What is counted. Only a keyed hash of it is stored. */
  readonly bucket: string
  /** Wrong attempts in 15 minutes. */
  readonly limit: number
  readonly organisation: string
  /** Subject of the alert. */
  readonly subject: string
}

export const attempts = table('credential_attempts', {
  bucket: bytes().key(),
  attempts: integer(),
  ends_at: integer(),
})

type AttemptRow = RowOf<typeof attempts>

interface Reservation {
  readonly bucket: Uint8Array
  /** Which window it counts in: the next one owes it nothing. */
  readonly endsAt: number
}

interface Deps {
  readonly database: Database
  readonly clock: Clock
  readonly sealing: Pick<Sealing, 'mac'>
  /** Called for each refusal; must not throw. */
  onRefused(budget: AttemptBudget): void
}

/** Opens a window, or counts in the one that is open, unless it is full: then no row comes back. */
const RESERVE = `
  INSERT INTO credential_attempts AS known (bucket, attempts, ends_at) VALUES (:bucket, 1, :endsAt)
  ON CONFLICT (bucket) DO UPDATE SET
    attempts = CASE WHEN known.ends_at <= :now THEN 1 ELSE known.attempts + 1 END,
    ends_at = CASE WHEN known.ends_at <= :now THEN excluded.ends_at ELSE known.ends_at END
  WHERE known.ends_at <= :now OR known.attempts < :limit
  RETURNING ends_at`

export const createAttempts = ({ database: { knex }, clock, sealing, onRefused }: Deps) => {
  const rows = () => knex<AttemptRow>('credential_attempts')
  let sweepAfter = clock.now() + SWEEP_PAUSE_MS

  const deleteEnded = (now: number): Promise<number> => {
    // Another server may be at it too.
    const some = rows().select('bucket').where('ends_at', '<=', now).orderBy('ends_at').limit(SWEEP_ROWS)
    return rows().whereIn('bucket', some.forUpdate().skipLocked()).delete()
  }

  const sweep = async (now: number): Promise<void> => {
    if (now < sweepAfter) return
    sweepAfter = now + SWEEP_PAUSE_MS
    const swept = await deleteEnded(now)
    // There are more.
    if (swept === SWEEP_ROWS) sweepAfter = now
  }

  const reserve = async ({ bucket: name, limit }: AttemptBudget): Promise<Reservation | undefined> => {
    const bucket = sealing.mac(MAC_PURPOSE, Buffer.from(name))
    const now = clock.now()
    const { rows: counted } = await knex.raw<{ rows: Pick<AttemptRow, 'ends_at'>[] }>(RESERVE, {
      bucket,
      limit,
      now,
      endsAt: now + WINDOW_MS,
    })
    return counted[0] && { bucket, endsAt: counted[0].ends_at }
  }

  const release = async (reservations: readonly Reservation[]): Promise<void> => {
    for (const { bucket, endsAt } of reservations)
      await rows().where({ bucket, ends_at: endsAt }).where('attempts', '>', 0).decrement('attempts', 1)
  }

  const refuse = async (budget: AttemptBudget): Promise<never> => {
    onRefused(budget)
    const bucket = sealing.mac(MAC_PURPOSE, Buffer.from(budget.bucket))
    const endsAt = (await rows().where({ bucket }).first('ends_at'))?.ends_at ?? 0
    throw new AppError('rate_limited', {
      message: 'Too many failed attempts.',
      retryAfter: Math.max(1, Math.ceil((endsAt - clock.now()) / 1000)),
    })
  }

  /** In order, so that what a narrow budget refuses uses up nothing of a wider one. */
  const reserveAll = async (budgets: readonly AttemptBudget[]): Promise<Reservation[]> => {
    const held: Reservation[] = []
    for (const budget of budgets) {
      const reservation = await reserve(budget)
      if (reservation === undefined) {
        await release(held)
        return refuse(budget)
      }
      held.push(reservation)
    }
    return held
  }

  return {
    /**
     * Runs a check of a credential within its budgets. What was right, or could not be checked, is not counted.
     * @param budgets the narrowest first
     * @param check answers undefined for a wrong credential
     * @throws AppError rate_limited, before anything is checked, and whatever the check throws
     */
    async guard<T>(
      budgets: readonly AttemptBudget[],
      check: () => Promise<T | undefined>,
    ): Promise<T | undefined> {
      await sweep(clock.now())
      const held = await reserveAll(budgets)
      let result: T | undefined
      try {
        result = await check()
      } catch (error) {
        // The check's own error is the answer; what can't be released stays counted for its 15 minutes.
        await release(held).catch(() => undefined)
        throw error
      }
      if (result !== undefined) await release(held)
      return result
    },
  }
}
