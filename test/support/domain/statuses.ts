/** Statuses on a database of one's own, as each server has them, and their lists as others read them. */
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { createStatuses, type StatusesService } from '../../../src/domain/status/service.ts'
import { createSealing } from '../../../src/keys/sealing.ts'
import { createSigners } from '../../../src/keys/signers.ts'
import type { Database } from '../../../src/store/database.ts'
import { createRecent } from '../../../src/store/recent.ts'
import type { Client } from '../client.ts'

const MASTER_KEY = new Uint8Array(32).fill(7)

/** Like those of another server, which shares nothing but the database and the master key. */
export const statusesOn = async (
  database: Database,
  clock: Clock = systemClock,
): Promise<StatusesService> => {
  const sealing = createSealing(MASTER_KEY)
  return createStatuses({
    database,
    sealing,
    signers: await createSigners({ database, sealing, clock }),
    openRecent: ({ ttlMs, maxEntries, load }) => createRecent({ ttlMs, maxEntries, clock, load }),
    clock,
    baseUrl: 'https://assay.example',
  })
}

/** The indexes that are set, by another implementation. */
export const setIn = (jwt: string): number[] => {
  const list = getListFromStatusListJWT(jwt)
  return list.statusList.flatMap((value, index) => (value === 0 ? [] : [index]))
}

interface Reference {
  readonly idx: number
  readonly uri: string
}

/** Whether a token is revoked, as a stranger finds out who has only the token: by libraries, and over HTTP. */
export const isRevokedOutside = async (
  app: Client & { readonly url: string },
  { status }: { readonly status?: unknown },
  currentDate: Date,
): Promise<boolean> => {
  const { idx, uri } = (status as { status_list: Reference }).status_list
  const { body } = await app.request<string>('GET', uri.replace(app.url, ''))
  const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
  await jwtVerify(body, keys, { typ: 'statuslist+jwt', subject: uri, algorithms: ['ES256'], currentDate })
  return getListFromStatusListJWT(body).getStatus(idx) === 1
}
