/** Rotations as `npx assay rotate-keys` makes them, of single purposes and without the time before new keys sign. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../src/clock.ts'
import { openSealing } from '../../src/keys/data-keys.ts'
import { draftKeys, type KeyChange, rotateKeys } from '../../src/keys/rotation.ts'
import type { Sealing } from '../../src/keys/sealing.ts'
import { KEY_MEMORY_MS } from '../../src/keys/succession.ts'
import type { Database } from '../../src/store/database.ts'
import type { TestApp } from './app.ts'

interface Service {
  readonly database: Pick<Database, 'knex'>
  readonly sealing: Sealing
  readonly clock: Clock
}

interface Rotating {
  readonly leaked?: readonly string[]
  /** Default: new keys sign at once. */
  readonly aheadMs?: number
}

/** What holds the keys of an app. */
const keysOf = async ({ services: { database, clock }, config }: TestApp): Promise<Service> => {
  const { sealing, close } = await openSealing(database, config.masterKey)
  close()
  return { database, sealing, clock }
}

/** Replaces the keys of a purpose. Servers notice within KEY_MEMORY_MS of their clock. */
export const rotate = async (
  service: Service | TestApp,
  purpose: Parameters<typeof draftKeys>[1],
  { leaked, aheadMs = 0 }: Rotating = {},
): Promise<readonly KeyChange[]> => {
  const { database, sealing, clock } = 'services' in service ? await keysOf(service) : service
  const drafts = draftKeys(sealing, purpose)
  return database.knex.transaction((trx) => rotateKeys(trx, drafts, { leaked, at: clock.now(), aheadMs }))
}

/** The same, until servers whose clock goes have noticed. */
export const rotateNoticed = async (...args: Parameters<typeof rotate>): Promise<readonly KeyChange[]> => {
  const changes = await rotate(...args)
  await pause(KEY_MEMORY_MS)
  return changes
}

/** Replaces the issuer's key, which then counts for so many ms, and not for as long as what it signed. */
export const rotateIssuer = async (app: TestApp, validForMs: number): Promise<void> => {
  await rotate(app, 'issuer')
  const { database, clock } = app.services
  await database
    .knex('issuer_keys')
    .whereNotNull('valid_until')
    .update({ valid_until: clock.now() + validForMs })
  await pause(KEY_MEMORY_MS)
}
