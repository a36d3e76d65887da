/** What exists from the first start on: the operator's organisation, its merchant and an admin key. @module */
import { SCOPES, systemCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { newApiKey, secretDigest } from '../../keys/api-keys.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Keys } from './keys.ts'
import * as store from './store.ts'

/** The operator's organisation, named `default`: the only one whose keys may have scope `admin`. A fixed ULID, all zeros. */
export const DEFAULT_ORGANISATION = 'org_00000000000000000000000000'
const DEFAULT_ORGANISATION_MERCHANT = 'mer_00000000000000000000000000'
/** Name of the merchant that every organisation starts with. */
export const DEFAULT_MERCHANT_NAME = 'Default'

interface Deps {
  readonly ledger: Pick<Ledger, 'transact'>
  readonly keys: Pick<Keys, 'draft'>
  readonly clock: Clock
}

/** How the operator's key is found on a start. */
export interface AdminKey {
  /** ADMIN_API_KEY, or the key kept from an earlier start. */
  readonly known?: string
  /** Keeps a generated key before it comes into force. @returns the key that is kept */
  keep(apiKey: string): string
}

/**
 * Makes sure that the default organisation exists and has an admin key. A key that was revoked stays revoked.
 * Safe when several servers start at once.
 * @returns the admin key, if this call generated it
 */
export const createDefaults = ({ ledger, keys, clock }: Deps) => {
  /** The default organisation, its merchant and an admin key, within one change. @returns the key, if it was generated */
  const write = async (trx: Parameters<typeof store.findKey>[0], admin: AdminKey) => {
    const at = clock.now()
    await store.ensureOrganisation(
      trx,
      {
        id: DEFAULT_ORGANISATION,
        name: 'default',
        subscription: 'active',
        rate_limit_per_minute: null,
        default_merchant: DEFAULT_ORGANISATION_MERCHANT,
        created_at: at,
        log: 0,
      },
      {
        id: DEFAULT_ORGANISATION_MERCHANT,
        organisation: DEFAULT_ORGANISATION,
        name: DEFAULT_MERCHANT_NAME,
        limits: {},
        created_at: at,
      },
    )
    const exists =
      admin.known === undefined
        ? await store.hasKeyOfScope(trx, DEFAULT_ORGANISATION, 'admin')
        : (await store.findKeyByDigest(trx, secretDigest(admin.known))) !== undefined
    if (exists) return undefined
    const text = admin.known ?? admin.keep(newApiKey())
    const draft = keys.draft({ organisation: DEFAULT_ORGANISATION, scopes: SCOPES, label: 'admin', at, text })
    await store.insertKey(trx, draft.row.values)
    return { keyId: draft.keyId, generated: admin.known === undefined ? text : undefined }
  }

  return async (admin: AdminKey): Promise<string | undefined> => {
    let generated: string | undefined
    await ledger.transact(systemCaller(DEFAULT_ORGANISATION, 'start'), async (trx) => {
      const made = await write(trx, admin)
      if (made === undefined) return { result: null }
      generated = made.generated
      const data = { event: 'key.created', keyId: made.keyId, scopes: [...SCOPES] }
      return {
        entry: { type: 'account', subject: ['key', made.keyId], keyId: made.keyId, data },
        result: null,
      }
    })
    return generated
  }
}
