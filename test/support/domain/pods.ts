/** Pods for tests. @module */
import type { PodCreated } from '../../../src/domain/pods/schemas.ts'
import { bindDomain as storeDomain } from '../../../src/domain/pods/store.ts'
import type { TestApp } from '../app.ts'
import { type Client, ok } from '../client.ts'

/** A pod of the organisation behind `key`. */
export const createPod = (client: Client, key: string, body: object = {}): Promise<PodCreated> =>
  ok<PodCreated>(client, 'POST', '/console/api/pods', {
    key,
    body: { name: 'Age check', ...body },
  })

/** Takes a pod to another status, as the operator. @returns the HTTP status */
export const movePod = async (app: TestApp, podId: string, status: string): Promise<number> => {
  const path = `/console/api/pods/${podId}`
  return (await app.request('PATCH', path, { key: app.adminKey, body: { status } })).status
}

const DAY_MS = 24 * 3_600_000

/** Binds a domain as if its records had been seen a moment ago. */
export const bindDomain = async ({ services }: TestApp, pod: string, domain: string): Promise<void> => {
  const bound_at = services.clock.now()
  const row = { domain, pod, bound_at, proven: true, check_at: bound_at + DAY_MS, absent_since: null }
  await storeDomain(services.database.knex, row)
}
