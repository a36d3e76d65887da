/**
 * The service's issuer: the key that signs what circuits prove possession of, and what an attestor has verified.
 * Made once, sealed at rest, replaced by rotation (rotation.ts). A new key is published before it signs. What a replaced key
 * signed stays provable until the key's end; of one that leaked nothing counts.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { IssuerPoint, IssuerSignature } from '../circuits/issuer-signature.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../store/database.ts'
import { createRecent } from '../store/recent.ts'
import { bytes, integer, type RowOf, table, text } from '../store/table.ts'
import { EDDSA_SEED_BYTES, type EddsaKey, eddsaKey } from './eddsa-poseidon.ts'
import { thumbprint } from './jwks.ts'
import type { Place, Sealing } from './sealing.ts'
import { KEY_MEMORY_MS, MARGIN_MS, signingOf } from './succession.ts'

/** A public key of the issuer. */
export interface IssuerKey extends IssuerPoint {
  /** SHA-256 of the point as a JSON Web Key (RFC 7638 §3), base64url, 43 characters. */
  readonly kid: string
  /** Unix ms: when it was made, a minute less where it signs at once. */
  readonly validFrom: number
  /** Unix ms; not valid from then on. Undefined where it wasn't replaced. */
  readonly validUntil?: number
}

/** The key that signs now. Hold it for one request only: a rotation must be noticed. */
export interface CurrentIssuer {
  readonly kid: string
  readonly point: IssuerPoint
  /** @throws RangeError for a message that is no element of the field */
  sign(message: bigint): IssuerSignature
}

export interface Issuer {
  current(): Promise<CurrentIssuer>
  /** All keys that were not ended, the newest first. */
  keys(): Promise<IssuerKey[]>
  /** Whether proofs under this key count. @param atMs Unix ms */
  isValid(point: IssuerPoint, atMs: number): Promise<boolean>
}

export const issuerKeys = table('issuer_keys', {
  kid: text().key(),
  /** From 1. */
  version: integer(),
  /** Decimal. */
  x: text(),
  /** Decimal. */
  y: text(),
  /** The 32-byte seed. */
  sealed_private: bytes(),
  created_at: integer(),
  valid_until: integer().null(),
  signs_from: integer().null(),
  /** Unix ms: it leaked, and counts for nothing any more. */
  ended_at: integer().null(),
})

type IssuerKeyRow = RowOf<typeof issuerKeys>

const SEAL_PURPOSE = 'issuer-key'
const DAY_MS = 86_400_000
/** Longer than anything that is issued is valid. */
export const REPLACED_KEY_VALID_MS = 400 * DAY_MS

const place = (kid: string): Place => ({ table: 'issuer_keys', column: 'sealed_private', row: kid })

/** The id of a point: that of the key as JWK, its coordinates 32 bytes big-endian in base64url. */
export const issuerKeyId = ({ x, y }: IssuerPoint): string => {
  const coordinate = (value: bigint) =>
    Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url')
  return thumbprint({ kty: 'EC', crv: 'BabyJubJub', x: coordinate(x), y: coordinate(y) })
}

const published = ({ kid, x, y, created_at, signs_from, valid_until }: IssuerKeyRow): IssuerKey => ({
  kid,
  x: BigInt(x),
  y: BigInt(y),
  // What one signs that signs at once counts also by a clock that is behind. Before it was made nothing was signed under it.
  validFrom: signs_from === null ? created_at - MARGIN_MS : created_at,
  validUntil: valid_until ?? undefined,
})

/** The columns of a new key that don't depend on those that there are. */
export const draftIssuerKey = (sealing: Pick<Sealing, 'seal'>) => {
  const seed = new Uint8Array(randomBytes(EDDSA_SEED_BYTES))
  const { point } = eddsaKey(seed)
  const kid = issuerKeyId(point)
  return {
    kid,
    x: String(point.x),
    y: String(point.y),
    sealed_private: sealing.seal(SEAL_PURPOSE, place(kid), seed),
  }
}

interface Deps {
  readonly database: Database
  readonly sealing: Sealing
  readonly clock: Clock
}

/**
 * Creates the key if there is none; safe when several servers start at once.
 * @throws SealingError when the database was sealed under another master key
 */
export const createIssuer = async ({ database: { knex }, sealing, clock }: Deps): Promise<Issuer> => {
  const opened = new Map<string, EddsaKey>()
  const load = (): Promise<IssuerKeyRow[]> =>
    knex<IssuerKeyRow>('issuer_keys').whereNull('ended_at').orderBy('version', 'desc')
  const rows = createRecent({ ttlMs: KEY_MEMORY_MS, maxEntries: 1, clock, load })

  const signing = async (): Promise<IssuerKeyRow> => {
    const row = signingOf(await rows.get(''), clock.now())
    if (row === undefined) throw new Error('there is no issuer key')
    return row
  }

  const open = ({ kid, sealed_private }: IssuerKeyRow): EddsaKey => {
    const key = opened.get(kid) ?? eddsaKey(sealing.open(SEAL_PURPOSE, place(kid), sealed_private))
    opened.set(kid, key)
    return key
  }

  // Whoever inserts it first makes it; the others use theirs.
  if ((await load()).length === 0)
    await knex('issuer_keys')
      .insert({ ...draftIssuerKey(sealing), version: 1, created_at: clock.now() })
      .onConflict('version')
      .ignore()
  // Opened now, so that a wrong master key is noticed at the start and not at the first signature.
  open(await signing())

  return {
    async current() {
      const row = await signing()
      return { kid: row.kid, ...open(row) }
    },

    async keys() {
      return (await rows.get('')).map(published)
    },

    async isValid({ x, y }, atMs) {
      const key = (await rows.get('')).map(published).find((one) => one.x === x && one.y === y)
      if (key === undefined) return false
      return key.validFrom <= atMs && (key.validUntil === undefined || atMs < key.validUntil)
    },
  }
}
