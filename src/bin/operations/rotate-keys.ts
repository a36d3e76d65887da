/**
 * `assay rotate-keys`: replaces the service's own keys, and ends those that leaked. On PostgreSQL while servers run; the embedded
 * database belongs to its server, which is stopped for it.
 * @module
 */
import { systemCaller } from '../../caller.ts'
import { iso, systemClock } from '../../clock.ts'
import { loadConfig } from '../../config/config.ts'
import { DEFAULT_ORGANISATION } from '../../domain/accounts/defaults.ts'
import { openSealing } from '../../keys/data-keys.ts'
import { createPseudonyms } from '../../keys/pseudonyms.ts'
import { draftAllKeys, type KeyChange, rotateKeys as rotate } from '../../keys/rotation.ts'
import { readHome, settleHome } from '../../ledger/checkpoints/home.ts'
import { createLedger } from '../../ledger/ledger.ts'
import { KEYS_MAX_AGE_SECONDS } from '../../protocol/key-sets.ts'
import { type Database, openDatabase } from '../../store/database.ts'

interface Flags {
  /** Ids of keys. */
  readonly leaked?: readonly string[]
}

const BECAME: Readonly<Record<KeyChange['change'], (at: string) => string>> = {
  new: (at) => `is published, and signs from ${at}`,
  replaced: (at) => `signs until ${at}, and stays published`,
  ended: (at) => `leaked, ended ${at}`,
}

const lineOf = ({ change, purpose, alg, kid, madeAt, at }: KeyChange): string =>
  [
    change.padEnd('replaced'.length),
    purpose.padEnd('credentials'.length),
    alg.padEnd('EdDSA-Poseidon'.length),
    kid,
    change === 'new' ? BECAME[change](iso(at)) : `of ${iso(madeAt)}, ${BECAME[change](iso(at))}`,
  ].join('  ')

/** The change and the entry that says so are one commit. */
const commit = async (
  database: Database,
  masterKey: Uint8Array,
  leaked: readonly string[],
): Promise<readonly KeyChange[]> => {
  const clock = systemClock
  const { sealing, close } = await openSealing(database, masterKey)
  const drafts = draftAllKeys(sealing)
  const pseudonyms = createPseudonyms({ database, sealing, clock })
  const ledger = await createLedger({ database, sealing, pseudonyms, clock })
  try {
    return await ledger.transact(systemCaller(DEFAULT_ORGANISATION, 'rotate-keys'), async (trx) => {
      const changes = await rotate(trx, drafts, { leaked, at: clock.now() })
      const keys = changes.map(({ change, purpose, alg, kid, at }) => ({ change, purpose, alg, kid, at }))
      return { entry: { type: 'account', data: { event: 'keys.rotated', keys } }, result: changes }
    })
  } finally {
    await ledger.close()
    close()
  }
}

export const rotateKeys = async ({ leaked = [] }: Flags): Promise<void> => {
  const { databaseUrl, dataDir, masterKey } = loadConfig(process.env, { makesKey: false })
  const database = await openDatabase({ databaseUrl, dataDir, migrate: false })
  try {
    if ((await readHome(database)) === undefined)
      throw new Error('This database has no keys yet, since no server has started on it.')
    // An entry is written, which a copy of the log may not have by itself.
    await settleHome(database)
    for (const change of await commit(database, masterKey, leaked)) console.log(lineOf(change))
    console.log(
      `Servers that run know within a second; whoever keeps the published keys, within ${KEYS_MAX_AGE_SECONDS} s. The log's keys stay as they are.`,
    )
  } finally {
    await database.close()
  }
}
