/** Pods for tests. @module */
import type { PodCreated } from '../../../src/domain/pods/schemas.ts'
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
