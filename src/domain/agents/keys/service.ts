/**
 * The public keys by which an organisation's agents and devices are known. A key belongs to one of them for good: that of
 * a revoked agent is never registered again.
 * @module
 */
import type { Clock } from '../../../clock.ts'
import type { Jwk } from '../../../keys/jwks.ts'
import type { Claim } from '../../../ledger/item.ts'
import type { Database } from '../../../store/database.ts'
import type { Row } from '../../../store/table.ts'
import { type ReadKeys, readKeys, type SentKeys } from './reading.ts'
import { findKeyInUse, registeredKeys } from './store.ts'

export type { ReadKeys } from './reading.ts'

export interface KeyOwner {
  readonly type: 'agent' | 'device'
  /** `agt_…` or `dev_…` */
  readonly id: string
}

export interface RegisteredKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly jwk: Jwk
  readonly owner: KeyOwner
}

/** A key that is to be registered. */
export type NamedKey = Pick<RegisteredKey, 'kid' | 'jwk'>

export interface RegisteredKeysService {
  /**
   * An organisation's key of this thumbprint, if its owner is active now: what was suspended, revoked or has expired is not
   * found any more. Never remembered, so that holds at once and on every server.
   */
  find(organisation: string, kid: string): Promise<RegisteredKey | undefined>
  /**
   * Reads keys that are to be registered; without `public_key` it makes a pair, whose private part nobody keeps.
   * @throws AppError validation_failed naming the key that is none
   */
  read(sent: SentKeys): Promise<ReadKeys>
  /** Claims that are lost where a key is registered already. @param look only asks, and registers nothing */
  claims(keys: readonly NamedKey[], look: boolean): readonly Claim[]
  /** Rows that register keys, to be written with their claims. @param at Unix ms */
  rows(organisation: string, owner: KeyOwner, keys: readonly NamedKey[], at: number): readonly Row[]
}

const CLAIM_KIND = 'registered-key'

interface Deps {
  readonly database: Database
  readonly clock: Clock
}

export const createRegisteredKeys = ({ database, clock }: Deps): RegisteredKeysService => ({
  async find(organisation, kid) {
    const row = await findKeyInUse(database, organisation, kid, clock.now())
    return row && { kid: row.kid, jwk: row.jwk as Jwk, owner: { type: row.owner_type, id: row.owner_id } }
  },

  read: readKeys,

  claims: (keys, look) =>
    keys.map(({ kid }) => ({ kind: CLAIM_KIND, key: kid, code: 'key_registered', ...(look && { look }) })),

  rows: (organisation, owner, keys, at) =>
    keys.map(({ kid, jwk }) =>
      registeredKeys.row({
        organisation,
        kid,
        jwk: { ...jwk },
        owner_type: owner.type,
        owner_id: owner.id,
        created_at: at,
      }),
    ),
})
