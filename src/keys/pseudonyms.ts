/**
 * Pseudonyms for the log: HMAC-SHA256 over organisation, kind and id under a random key of the epoch. Epochs last 90
 * days; once one begins, the keys of earlier ones are destroyed, and nobody can tell whom their pseudonyms meant.
 * A tombstone keeps a destroyed key from being made again: a server whose clock is slow uses the newest epoch there is.
 * @module
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database } from '../store/database.ts'
import { bytes, integer, type RowOf, table } from '../store/table.ts'
import type { Place, Sealing } from './sealing.ts'

const EPOCH_MS = 90 * 24 * 60 * 60 * 1000
const KEY_BYTES = 32
/** Pseudonyms remembered at once; the same terminals and keys come again and again. */
const REMEMBERED_PSEUDONYMS = 10_000
const PURPOSE = 'pseudonyms'

/** Pseudonyms of one epoch, without waiting. */
export interface PseudonymEpoch {
  /** Days since 1970 divided by 90, rounded down. */
  readonly number: number
  /** @returns 64 lower-case hex digits */
  of(organisation: string, kind: string, id: string): string
}

export interface Pseudonyms {
  /**
   * The epoch of a moment, or a later one that has begun; makes and keeps its key when it is new.
   * @param unixMs defaults to now
   * @throws Error when it lies more than an epoch ahead of the newest one and of the database's clock
   */
  epoch(unixMs?: number): Promise<PseudonymEpoch>
  /** The pseudonym at this moment: 64 lower-case hex digits. */
  of(organisation: string, kind: string, id: string): Promise<string>
}

interface Deps {
  readonly database: Database
  readonly sealing: Sealing
  readonly clock: Clock
}

export const epochs = table('pseudonym_epochs', {
  epoch: integer().key(),
  /** Empty once it is destroyed. */
  sealed_key: bytes(),
})

type EpochRow = RowOf<typeof epochs>

const DESTROYED = Buffer.alloc(0)
/** What may begin: the next epoch, or, after a long silence, the database's own present one and the one after it. */
const LIMIT = `SELECT greatest(max(epoch), (extract(epoch FROM clock_timestamp()) * 1000)::bigint / ${EPOCH_MS}) + 1 AS latest
  FROM pseudonym_epochs`
/** Only where no later epoch has begun. */
const INSERT = `INSERT INTO pseudonym_epochs (epoch, sealed_key) SELECT ?::bigint, ?::bytea
  WHERE NOT EXISTS (SELECT 1 FROM pseudonym_epochs WHERE epoch > ?) ON CONFLICT (epoch) DO NOTHING`

const placeOf = (epoch: number): Place => ({
  table: 'pseudonym_epochs',
  column: 'sealed_key',
  row: String(epoch),
})

const createEpoch = (number: number, key: KeyObject): PseudonymEpoch => {
  const remembered = new Map<string, string>()
  return {
    number,
    of(organisation, kind, id) {
      // JSON keeps the three apart: no two triples have one text.
      const text = JSON.stringify([organisation, kind, id])
      const known = remembered.get(text)
      if (known !== undefined) return known
      const pseudonym = createHmac('sha256', key).update(text).digest('hex')
      if (remembered.size >= REMEMBERED_PSEUDONYMS) remembered.clear()
      remembered.set(text, pseudonym)
      return pseudonym
    },
  }
}

export const createPseudonyms = ({ database, sealing, clock }: Deps): Pseudonyms => {
  const { knex } = database
  const rows = () => knex<EpochRow>('pseudonym_epochs')
  let current: { readonly asked: number; readonly epoch: PseudonymEpoch } | undefined

  /** The tombstone of the epoch before is there even if that epoch never had a key. */
  const destroyBefore = async (number: number): Promise<void> => {
    await rows()
      .insert({ epoch: number - 1, sealed_key: DESTROYED })
      .onConflict('epoch')
      .ignore()
    await rows()
      .where('epoch', '<', number)
      .whereRaw('length(sealed_key) > 0')
      .update({ sealed_key: DESTROYED })
  }

  /** A clock far in the future would end rotation: no epoch before that time would ever begin again. */
  const expectNear = async (asked: number): Promise<void> => {
    const { rows: limits } = await knex.raw<{ rows: { latest: number }[] }>(LIMIT)
    const latest = limits[0]?.latest ?? asked
    if (asked > latest)
      throw new Error(`Pseudonym epoch ${asked} lies after ${latest}: this server's clock is far ahead.`)
  }

  /**
   * The first server of an epoch makes its key; the others find it. Each destroys the keys before it: whoever should
   * have done so may have ended first.
   */
  const load = async (asked: number): Promise<PseudonymEpoch> => {
    const newest = () => rows().where('epoch', '>=', asked).orderBy('epoch', 'desc').first()
    let row = await newest()
    if (row === undefined) {
      await expectNear(asked)
      const sealed = Buffer.from(sealing.seal(PURPOSE, placeOf(asked), randomBytes(KEY_BYTES)))
      await knex.raw(INSERT, [asked, sealed, asked])
      row = await newest()
    }
    if (row === undefined || row.sealed_key.length === 0)
      throw new Error(`The key of pseudonym epoch ${asked} was destroyed while it was read.`)
    const { epoch: number, sealed_key } = row
    await destroyBefore(number)
    return createEpoch(number, createSecretKey(sealing.open(PURPOSE, placeOf(number), sealed_key)))
  }

  const epoch = async (unixMs = clock.now()): Promise<PseudonymEpoch> => {
    const asked = Math.floor(unixMs / EPOCH_MS)
    if (current?.asked === asked) return current.epoch
    const loaded = await load(asked)
    current = { asked, epoch: loaded }
    return loaded
  }

  return {
    epoch,
    async of(organisation, kind, id) {
      return (await epoch()).of(organisation, kind, id)
    },
  }
}
