/** Pods for tests, and requests that come to a host of their own. @module */
import { request as httpRequest } from 'node:http'
import type { PodCreated } from '../../../src/domain/pods/schemas.ts'
import type { TestApp } from '../app.ts'

/** A pod of the organisation behind `key`. */
export const createPod = async (app: TestApp, key: string, body: object = {}): Promise<PodCreated> => {
  const answer = await app.request<PodCreated>('POST', '/console/api/pods', {
    key,
    body: { name: 'Age check', ...body },
  })
  if (answer.status !== 201) throw new Error(`no pod: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Takes a pod to another status, as the operator. @returns the HTTP status */
export const movePod = async (app: TestApp, podId: string, status: string): Promise<number> => {
  const path = `/console/api/pods/${podId}`
  return (await app.request('PATCH', path, { key: app.adminKey, body: { status } })).status
}

export interface HostAnswer {
  readonly status: number
  // The tests say what they expect of it.
  readonly body: Record<string, unknown>
}

/** A request with a Host header, which fetch doesn't let anyone set. */
export const requestOfHost = (
  url: string,
  host: string,
  method: string,
  path: string,
  options: { readonly body?: object; readonly headers?: Record<string, string> } = {},
): Promise<HostAnswer> =>
  new Promise((resolve, reject) => {
    const body = options.body && JSON.stringify(options.body)
    const headers = { host, ...(body && { 'content-type': 'application/json' }), ...options.headers }
    const sent = httpRequest(`${url}${path}`, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (text += chunk))
      response.once('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
    })
    sent.once('error', reject).end(body)
  })
