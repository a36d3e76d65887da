/**
 * The service's issuer: the key that signs what circuits prove possession of, and what an attestor has verified.
 * Made once, sealed at rest, replaced by rotation. What a replaced key signed stays provable until the key's end.
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

/** A public key of the issuer. */
export interface IssuerKey extends IssuerPoint {
  /** SHA-256 of the point as a JSON Web Key (RFC 7638 §3), base64url, 43 characters. */
  readonly kid: string
  /** Unix ms. */
  readonly validFrom: number
  /** Unix ms; not valid from then on. Undefined for the key that signs. */
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
  /** All keys there ever were, the newest first. */
  keys(): Promise<IssuerKey[]>
  /** Whether proofs under this key count. @param atMs Unix ms */
  isValid(point: IssuerPoint, atMs: number): Promise<boolean>
  /**
   * Replaces the key that signs.
   * @param validForMs how long proofs under the replaced key count; 0 where it leaked
   * @returns the new key's id
   */
  rotate(validForMs?: number): Promise<string>
}

export const issuerKeys = table('issuer_keys', {
  kid: text().key(),
  /** The greatest signs. */
  version: integer(),
  /** Decimal. */
  x: text(),
  /** Decimal. */
  y: text(),
  /** The 32-byte seed. */
  sealed_private: bytes(),
  created_at: integer(),
  valid_until: integer().null(),
})

type IssuerKeyRow = RowOf<typeof issuerKeys>

/** How soon a rotation on another server is noticed. */
const KEY_CACHE_MS = 1000
const SEAL_PURPOSE = 'issuer-key'
const DAY_MS = 86_400_000
/** Longer than anything that is issued is valid. */
const REPLACED_KEY_VALID_MS = 400 * DAY_MS

const place = (kid: string): Place => ({ table: 'issuer_keys', column: 'sealed_private', row: kid })

/** The id of a point: that of the key as JWK, its coordinates 32 bytes big-endian in base64url. */
export const issuerKeyId = ({ x, y }: IssuerPoint): string => {
  const coordinate = (value: bigint) =>
    Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url')
  return thumbprint({ kty: 'EC', crv: 'BabyJubJub', x: coordinate(x), y: coordinate(y) })
}

const published = ({ kid, x, y, created_at, valid_until }: IssuerKeyRow): IssuerKey => ({
  kid,
  x: BigInt(x),
  y: BigInt(y),
  validFrom: created_at,
  validUntil: valid_until ?? undefined,
})

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
  const load = (): Promise<IssuerKeyRow[]> => knex<IssuerKeyRow>('issuer_keys').orderBy('version', 'desc')
  const rows = createRecent({ ttlMs: KEY_CACHE_MS, maxEntries: 1, clock, load })

  /** Whoever inserts a version first makes it, and ends the one before in the same query. */
  const insert = async (version: number, validForMs: number): Promise<void> => {
    const seed = new Uint8Array(randomBytes(EDDSA_SEED_BYTES))
    const { point } = eddsaKey(seed)
    const kid = issuerKeyId(point)
    const sealed = sealing.seal(SEAL_PURPOSE, place(kid), seed)
    const now = clock.now()
    await knex.raw(
      `WITH fresh AS (
        INSERT INTO issuer_keys (kid, version, x, y, sealed_private, created_at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (version) DO NOTHING RETURNING version)
      UPDATE issuer_keys SET valid_until = ?
      WHERE valid_until IS NULL AND version < (SELECT version FROM fresh)`,
      [kid, version, String(point.x), String(point.y), Buffer.from(sealed), now, now + validForMs],
    )
    await rows.clear()
  }

  const newest = async (): Promise<IssuerKeyRow> => {
    const [row] = await rows.get('')
    if (row === undefined) throw new Error('there is no issuer key')
    return row
  }

  const open = ({ kid, sealed_private }: IssuerKeyRow): EddsaKey => {
    const key = opened.get(kid) ?? eddsaKey(sealing.open(SEAL_PURPOSE, place(kid), sealed_private))
    opened.set(kid, key)
    return key
  }

  if ((await load()).length === 0) await insert(1, 0)
  // Opened now, so that a wrong master key is noticed at the start and not at the first signature.
  open(await newest())

  return {
    async current() {
      const row = await newest()
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

    async rotate(validForMs = REPLACED_KEY_VALID_MS) {
      const { version } = await newest()
      await insert(version + 1, validForMs)
      return (await newest()).kid
    },
  }
}
