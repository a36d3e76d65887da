/**
 * Pseudonyms for the log: HMAC-SHA256 over organisation, kind and id under a random key of the epoch. Epochs last 90
 * days; once one begins, the keys of earlier ones are destroyed, and nobody can tell whom their pseudonyms meant.
 * @module
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database } from '../store/database.ts'
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
  /** The epoch of a moment; makes and keeps its key when it is new. @param unixMs defaults to now */
  epoch(unixMs?: number): Promise<PseudonymEpoch>
  /** The pseudonym at this moment: 64 lower-case hex digits. */
  of(organisation: string, kind: string, id: string): Promise<string>
}

interface Deps {
  readonly database: Database
  readonly sealing: Sealing
  readonly clock: Clock
}

interface EpochRow {
  epoch: number
  sealed_key: Uint8Array
}

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
  let current: PseudonymEpoch | undefined

  /** The first server of an epoch makes its key; the others find it. */
  const load = async (number: number): Promise<PseudonymEpoch> => {
    const { knex } = database
    const read = () => knex<EpochRow>('pseudonym_epochs').where({ epoch: number }).first()
    let row = await read()
    if (row === undefined) {
      const sealed = sealing.seal(PURPOSE, placeOf(number), randomBytes(KEY_BYTES))
      await knex('pseudonym_epochs')
        .insert({ epoch: number, sealed_key: Buffer.from(sealed) })
        .onConflict('epoch')
        .ignore()
      await knex<EpochRow>('pseudonym_epochs').where('epoch', '<', number).delete()
      row = await read()
    }
    if (row === undefined)
      throw new Error(`The key of pseudonym epoch ${number} was destroyed: is a clock wrong?`)
    return createEpoch(number, createSecretKey(sealing.open(PURPOSE, placeOf(number), row.sealed_key)))
  }

  const epoch = async (unixMs = clock.now()): Promise<PseudonymEpoch> => {
    const number = Math.floor(unixMs / EPOCH_MS)
    if (current?.number === number) return current
    const loaded = await load(number)
    current = loaded
    return loaded
  }

  return {
    epoch,
    async of(organisation, kind, id) {
      return (await epoch()).of(organisation, kind, id)
    },
  }
}
