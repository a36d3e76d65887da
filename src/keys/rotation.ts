/**
 * Replaces the service's own keys, and ends those that leaked. All of it happens in one transaction, on rows that are read there:
 * of two rotations that meet the second one finds what the first one made, and no key is ended later than by the first.
 * @module
 */
import type { Database } from '../store/database.ts'
import { draftIssuerKey, REPLACED_KEY_VALID_MS } from './issuer.ts'
import type { Sealing } from './sealing.ts'
import {
  algorithmsOf,
  draftSigningKey,
  SIGNING_PURPOSES,
  type SigningAlgorithm,
  type SigningPurpose,
} from './signers.ts'
import { PUBLISHED_AHEAD_MS, signingOf } from './succession.ts'

type Trx = Database['knex']

/** What a key signs, and how. */
interface Kind {
  readonly purpose: SigningPurpose | 'issuer'
  readonly alg: SigningAlgorithm | 'EdDSA-Poseidon'
}

/** A new key that has no place yet, as columns of its row. */
interface Draft extends Kind {
  readonly columns: { readonly kid: string }
}

/** What became of a key. */
export interface KeyChange extends Kind {
  readonly kid: string
  readonly change: 'new' | 'replaced' | 'ended'
  /** Unix ms: when it was made. */
  readonly madeAt: number
  /** Unix ms: from when a new one signs, until when a replaced one does, since when another one is ended. */
  readonly at: number
}

interface KeyRow extends Kind {
  readonly kid: string
  readonly version: number
  readonly created_at: number
  readonly signs_from: number | null
  readonly ended_at: number | null
}

/** In the place of ids: every key but those of the log. */
const ALL = 'all'

const tableOf = ({ purpose }: Kind) => (purpose === 'issuer' ? 'issuer_keys' : 'signing_keys')

/** New keys of a purpose, one for each algorithm. They are made before the transaction, since that takes a while. */
export const draftKeys = (sealing: Pick<Sealing, 'seal'>, purpose: Kind['purpose']): readonly Draft[] =>
  purpose === 'issuer'
    ? [{ purpose, alg: 'EdDSA-Poseidon', columns: draftIssuerKey(sealing) }]
    : algorithmsOf(purpose).map((alg) => ({ purpose, alg, columns: draftSigningKey(sealing, purpose, alg) }))

/** New keys of all purposes but the log's: by its keys witnesses and monitors know it. */
export const draftAllKeys = (sealing: Pick<Sealing, 'seal'>): readonly Draft[] =>
  [...SIGNING_PURPOSES.filter((purpose) => purpose !== 'log'), 'issuer' as const].flatMap((purpose) =>
    draftKeys(sealing, purpose),
  )

const readKeys = async (trx: Trx): Promise<readonly KeyRow[]> => {
  const { rows } = await trx.raw<{ rows: KeyRow[] }>(
    `SELECT kid, purpose, alg, version, created_at, signs_from, ended_at FROM signing_keys UNION ALL
     SELECT kid, 'issuer', 'EdDSA-Poseidon', version, created_at, signs_from, ended_at FROM issuer_keys`,
  )
  return rows
}

/** @throws Error for an id that is none of these keys', or a key of the log */
const findLeaked = (keys: readonly KeyRow[], leaked: readonly string[]): ReadonlySet<KeyRow> =>
  new Set(
    leaked.flatMap((kid) => {
      if (kid === ALL) return keys.filter(({ purpose, ended_at }) => purpose !== 'log' && ended_at === null)
      const key = keys.find((one) => one.kid === kid)
      if (key === undefined)
        throw new Error(
          `${kid} is no key of this service: /.well-known/jwks.json, jwks-pq.json and issuer-keys there list them. Nothing was changed.`,
        )
      if (key.purpose === 'log')
        throw new Error(
          `${kid} is a key of the log, by which witnesses and monitors know it: it is neither replaced nor ended by this (docs/operations.md). Nothing was changed.`,
        )
      return key
    }),
  )

/** Puts a new key in its place. */
const succeed = async (
  trx: Trx,
  { purpose, alg, columns }: Draft,
  version: number,
  { at, signsAt }: { readonly at: number; readonly signsAt: number },
): Promise<KeyChange> => {
  const table = tableOf({ purpose, alg })
  // At once, also by a clock that is behind.
  const signs_from = signsAt === at ? null : signsAt
  await trx(table).insert({ ...columns, version, created_at: at, signs_from })
  if (purpose === 'issuer')
    await trx(table)
      .whereNull('valid_until')
      .where('version', '<', version)
      .update({ valid_until: signsAt + REPLACED_KEY_VALID_MS })
  return { purpose, alg, kid: columns.kid, change: 'new', madeAt: at, at: signsAt }
}

interface Options {
  /** Ids of keys that leaked, or `all`. They end at once; those that were ended before stay so. */
  readonly leaked?: readonly string[]
  /** Unix ms. */
  readonly at: number
  /** How long new keys are published before they sign. */
  readonly aheadMs?: number
}

/**
 * Puts new keys in the place of those that sign: at once where that one leaked, else after some time. Replaced keys stay published;
 * those of the issuer count for as long as anything that they signed.
 * @returns what became of each key
 * @throws Error, before anything is written, for an id of `leaked` that can't be ended
 */
export const rotateKeys = async (
  trx: Trx,
  drafts: readonly Draft[],
  { leaked = [], at, aheadMs = PUBLISHED_AHEAD_MS }: Options,
): Promise<readonly KeyChange[]> => {
  // Rotations take turns; readers go on.
  await trx.raw('LOCK TABLE signing_keys, issuer_keys IN SHARE ROW EXCLUSIVE MODE')
  const keys = await readKeys(trx)
  const ending = findLeaked(keys, leaked)
  const changes: KeyChange[] = []
  for (const draft of drafts) {
    const { purpose, alg } = draft
    const ofKind = keys.filter((key) => key.purpose === purpose && key.alg === alg)
    const live = ofKind.filter(({ ended_at }) => ended_at === null)
    const before = signingOf(live, at)
    const signsAt = before === undefined || ending.has(before) ? at : at + aheadMs
    const version = Math.max(0, ...ofKind.map((key) => key.version)) + 1
    changes.push(await succeed(trx, draft, version, { at, signsAt }))
    for (const key of live)
      if (!ending.has(key) && key.version >= (before?.version ?? 0))
        changes.push({ purpose, alg, kid: key.kid, change: 'replaced', madeAt: key.created_at, at: signsAt })
  }
  for (const { purpose, alg, kid, created_at, ended_at } of ending) {
    await trx(tableOf({ purpose, alg })).where({ kid }).whereNull('ended_at').update({ ended_at: at })
    changes.push({ purpose, alg, kid, change: 'ended', madeAt: created_at, at: ended_at ?? at })
  }
  return changes
}
