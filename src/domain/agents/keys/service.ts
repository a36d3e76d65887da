/**
 * The public keys by which an organisation's agents and devices are known. A key belongs to one of them for good: that of
 * a revoked agent is never registered again.
 * @module
 */
import type { Clock } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import type { Jwk } from '../../../keys/jwks.ts'
import { CLAIM_KINDS } from '../../../ledger/claim-kinds.ts'
import type { Tx } from '../../../ledger/decision.ts'
import type { Database } from '../../../store/database.ts'
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
   * Reads keys that are to be registered; without any it makes a pair, whose private part nobody keeps.
   * @throws AppError validation_failed naming the key that is none
   */
  read(sent: SentKeys): Promise<ReadKeys>
  /** @throws AppError key_registered where one of the keys is somebody's */
  demandFree(tx: Tx, keys: readonly NamedKey[]): void
  /** Registers keys that are free, for good. @param at Unix ms */
  register(tx: Tx, organisation: string, owner: KeyOwner, keys: readonly NamedKey[], at: number): void
}

const CLAIM_KIND = CLAIM_KINDS.registeredKey
/** SHA-256 in base64url (RFC 7638). */
const THUMBPRINT = /^[\w-]{43}$/

interface Deps {
  readonly database: Database
  readonly clock: Clock
}

export const createRegisteredKeys = ({ database, clock }: Deps): RegisteredKeysService => ({
  async find(organisation, kid) {
    // It stands in what somebody signed, and may be anything, such as a text that no database takes.
    if (!THUMBPRINT.test(kid)) return undefined
    const row = await findKeyInUse(database, organisation, kid, clock.now())
    return row && { kid: row.kid, jwk: row.jwk as Jwk, owner: { type: row.owner_type, id: row.owner_id } }
  },

  read: readKeys,

  demandFree(tx, keys) {
    if (keys.some(({ kid }) => tx.holder(CLAIM_KIND, kid))) fail('key_registered')
  },

  register(tx, organisation, owner, keys, at) {
    for (const { kid, jwk } of keys) {
      tx.claim(CLAIM_KIND, kid)
      tx.write(
        registeredKeys.row({
          organisation,
          kid,
          jwk: { ...jwk },
          owner_type: owner.type,
          owner_id: owner.id,
          created_at: at,
        }),
      )
    }
  },
})
