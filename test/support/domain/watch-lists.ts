/** Watch lists, their files, and the requests about them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/clock.ts'
import type { Snapshot } from '../../../src/domain/aml/lists/snapshots.ts'
import type { AmlResult } from '../../../src/domain/aml/schemas.ts'
import type { ChangeLists, WatchLists } from '../../../src/domain/aml/schemas-lists.ts'
import type { TestApp } from '../app.ts'
import type { TestLedger } from '../ledger.ts'

export const VECTORS = join(import.meta.dirname, '../../vectors/aml')
export const EU = readFileSync(join(VECTORS, 'published/eu.xml'), 'utf8')
/** One list. */
export const OFAC = ['sdn.csv', 'alt.csv', 'add.csv']

/** A refusal. */
export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly details?: readonly { readonly path: string; readonly code: string; readonly message: string }[]
}

/** A list of OpenSanctions with one person a name. */
export const ftm = (...names: string[]): string =>
  names
    .map((name, i) =>
      JSON.stringify({ id: `p-${i}`, schema: 'Person', properties: { name: [name], topics: ['sanction'] } }),
    )
    .join('\n')

/** Adds or replaces a list, by the console. */
export const upload = (listId: string, content: string, more: Partial<ChangeLists> = {}): ChangeLists => ({
  action: 'upload',
  listId,
  format: 'opensanctions',
  files: [{ name: `${listId}.ftm.json`, content }],
  ...more,
})

/** The console's own routes. */
export const listsOf = (app: TestApp) => ({
  get: async () => (await app.request<WatchLists>('GET', '/console/api/lists', { key: app.adminKey })).body,
  change: <T = WatchLists>(body: ChangeLists | object, key = app.adminKey) =>
    app.request<T>('POST', '/console/api/lists', { key, body }),
})

/** Somebody by name, for one type. */
export const screen = async (app: TestApp, name: string, checkType = 'sanctions') => {
  const { body } = await app.request<AmlResult[]>('POST', '/api/aml/check', {
    key: app.adminKey,
    body: { userId: 'u', name, checkTypes: [checkType] },
  })
  return body[0]
}

/** A server that hears nothing of the others. */
export const onBare = ({ database, ledger }: Pick<TestLedger, 'database' | 'ledger'>) => ({
  database,
  ledger,
  bus: { publish: async () => undefined, subscribe: () => () => undefined },
  clock: systemClock,
  logger: { info: () => undefined, warn: () => undefined },
  organisation: 'org_00000000000000000000000000',
})

/** Whether somebody is found for sanctions, by name. */
export const outcomeOf = async ({ screening }: Snapshot, name: string) =>
  (await screening.screen({ name, identifiers: [] }))?.('sanctions').result
