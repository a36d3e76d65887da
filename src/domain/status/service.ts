/**
 * Status lists (draft-ietf-oauth-status-list-20): what is revoked, withdrawn or replaced, for readers outside. Inside, a status holds
 * from its commit on; lists are made of the same rows, so a crash loses nothing.
 * @module
 */
import { deflateSync } from 'node:zlib'
import type { Clock } from '../../clock.ts'
import { fail } from '../../errors.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Tx } from '../../ledger/decision.ts'
import { writeJws } from '../../protocol/jws.ts'
import { STATUS_LIST_ENTRIES, statusListUri, statusNumber, statusPlace } from '../../protocol/status.ts'
import { STATUS_LIST_TYP } from '../../protocol/status-list.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import { createStatusNumbers } from './numbers.ts'
import { eachRevoked, isRevoked, revokedAmong, revokedStatuses } from './store.ts'

interface StatusesDeps {
  readonly database: Database
  readonly sealing: Pick<Sealing, 'mac'>
  readonly signers: Pick<Signers, 'current'>
  readonly openRecent: OpenRecent
  readonly clock: Clock
  readonly baseUrl: string
}

/** A list is published anew this often, whether it changed or not: when one changed can't be told by when it was published. */
const PUBLISHED_EVERY_SECONDS = 60
/** How long readers may use a list that they hold before they look for a newer one, and until when they may use it at all. */
const TTL_SECONDS = 60
const EXPIRES_AFTER_SECONDS = 300
/** At most 30 KB each. */
const MAX_LISTS_REMEMBERED = 256
const MS_PER_SECOND = 1000
const BEST_COMPRESSION = 9
const { statusRevoked: REVOKED } = CLAIM_KINDS

/** Member `status` of a JWT (§6.2). */
export interface StatusReference {
  readonly status_list: { readonly idx: number; readonly uri: string }
}

/** A list as it is published. */
export interface PublishedStatusList {
  /** Status list token (§5.1). */
  readonly jwt: string
  /** Until the next one is published. */
  readonly maxAgeSeconds: number
}

export type StatusesService = ReturnType<typeof createStatuses>

export const createStatuses = (deps: StatusesDeps) => {
  const { database, sealing, signers, openRecent, clock, baseUrl } = deps
  const numbers = createStatusNumbers(database, sealing)

  /** The list's `lst` (§4.1): entry i is bit i mod 8 of byte ⌊i / 8⌋, the least significant bit first. */
  const compressed = async (list: number): Promise<string> => {
    const bits = new Uint8Array(STATUS_LIST_ENTRIES / 8)
    await eachRevoked(database, statusNumber({ list, index: 0 }), STATUS_LIST_ENTRIES, (index) => {
      bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7))
    })
    return deflateSync(bits, { level: BEST_COMPRESSION }).toString('base64url')
  }

  const publish = async (list: number): Promise<{ jwt: string; publishedAt: number }> => {
    const publishedAt = clock.now()
    if (list > (await numbers.newestList())) fail('not_found')
    const iat = Math.floor(publishedAt / MS_PER_SECOND)
    const { kid, sign } = await signers.current('status', 'ES256')
    const jwt = writeJws(
      { alg: 'ES256', kid, typ: STATUS_LIST_TYP },
      {
        iss: baseUrl,
        sub: statusListUri(baseUrl, list),
        iat,
        exp: iat + EXPIRES_AFTER_SECONDS,
        ttl: TTL_SECONDS,
        status_list: { bits: 1, lst: await compressed(list) },
      },
      sign,
    )
    return { jwt, publishedAt }
  }

  // Servers share what is published, so that no reader who asks them in turn sees an older list after a newer one.
  const published = openRecent({
    name: 'status-lists',
    ttlMs: PUBLISHED_EVERY_SECONDS * MS_PER_SECOND,
    maxEntries: MAX_LISTS_REMEMBERED,
    shared: true,
    load: (list) => publish(Number(list)),
  })

  return {
    /** A status that nobody has, for something that is about to be issued. One that is not used leaves a gap. */
    reserve: numbers.reserve,

    /** What a JWT says of its status. */
    referenceTo(status: number): StatusReference {
      const { list, index } = statusPlace(status)
      return { status_list: { idx: index, uri: statusListUri(baseUrl, list) } }
    },

    /** The status that a JWT of this service says it has. */
    referred: ({ status_list: { idx, uri } }: StatusReference): number =>
      statusNumber({ list: Number(uri.slice(uri.lastIndexOf('/') + 1)), index: idx }),

    /** Revokes a status for good, together with everything else that is decided. Again: no effect. */
    set(tx: Tx, status: number): void {
      if (tx.holder(REVOKED, String(status))) return
      tx.claim(REVOKED, String(status))
      tx.write(revokedStatuses.row({ status, revoked_at: tx.at }))
    },

    /** Whether the caller's organisation has revoked a status: what is decided in the same moment can't miss it. */
    isSetIn: (tx: Tx, status: number): boolean => tx.holder(REVOKED, String(status)) !== undefined,

    /** Whether a status is revoked, by the rows. */
    isSet: (status: number): Promise<boolean> => isRevoked(database, status),

    /** Those of these that are revoked, by the rows. */
    areSet: (statuses: readonly number[]): Promise<readonly number[]> => revokedAmong(database, statuses),

    /** A list as it is published now. @throws AppError not_found for one of which no status was given out */
    async list(list: number): Promise<PublishedStatusList> {
      const { jwt, publishedAt } = await published.get(String(list))
      const next = publishedAt + PUBLISHED_EVERY_SECONDS * MS_PER_SECOND
      const maxAgeSeconds = Math.max(0, Math.ceil((next - clock.now()) / MS_PER_SECOND))
      return { jwt, maxAgeSeconds }
    },
  }
}
