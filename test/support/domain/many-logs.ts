/** A service with several logs, and an organisation in each of them. */
import type { AuditPage } from '../../../src/domain/audit/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../app.ts'
import { ok } from '../client.ts'

export interface ManyLogs {
  readonly app: TestApp
  /** The organisation of a log, which has committed nothing. */
  readonly of: (log: number) => TestOrganisation
}

/** Close the app. @param count of logs */
export const startManyLogs = async (count: number): Promise<ManyLogs> => {
  const app = await startTestApp({ env: { LOG_SHARDS: String(count) } })
  const owners = new Map<number, TestOrganisation>()
  while (owners.size < count) {
    const owner = await app.organisation()
    const { log = 0 } = await ok<AuditPage>(app, 'GET', '/api/audit', { key: owner.apiKey })
    if (!owners.has(log)) owners.set(log, owner)
  }
  return {
    app,
    of(log) {
      const owner = owners.get(log)
      if (owner === undefined) throw new Error(`There is no log ${log}.`)
      return owner
    },
  }
}
