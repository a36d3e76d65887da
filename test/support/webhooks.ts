/** Webhooks for tests: TLS receivers, endpoints, and what makes events. @module */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Webhook, WebhookCreated } from '../../src/domain/webhooks/schemas.ts'
import type { WebhookDelivery } from '../../src/protocol/webhook/webhook.ts'
import type { TestApp } from './app.ts'
import { startTestApp, type TestAppOverrides } from './app.ts'
import { ok } from './client.ts'
import { signIn, signUp } from './domain/accounts.ts'
import { type Certificates, createCertificates } from './servers/certificates.ts'
import {
  type SeenRequest,
  startTargetServer,
  type TargetScript,
  type TargetServer,
} from './servers/target-server.ts'

const GIVE_UP_MS = 20_000
const POLL_MS = 5

/** Between attempts, so that tests needn't wait; the second is longer, as it must be. */
export const PAUSES_MS = [40, 200] as const

export interface WebhookApp {
  readonly app: TestApp
  readonly certificates: Certificates
  /** A receiver with a certificate that the service trusts. */
  readonly receiver: TargetServer
  close(): Promise<void>
}

/** An app whose webhooks may go to this machine, and a receiver there. */
export const startWebhookApp = async ({
  extraCa = '',
  ...overrides
}: TestAppOverrides & { readonly extraCa?: string } = {}): Promise<WebhookApp> => {
  const certificates = createCertificates({ names: ['127.0.0.1', 'localhost'] })
  const folder = mkdtempSync(join(tmpdir(), 'assay-webhooks-'))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, certificates.ca + extraCa)
  const app = await startTestApp({
    ...overrides,
    env: {
      EGRESS_CA_FILE: caFile,
      EGRESS_OPEN_PROXY: 'on',
      WEBHOOK_PAUSES_MS: PAUSES_MS.join(','),
      ...overrides.env,
    },
  })
  const receiver = await startTargetServer({ certificates })
  return {
    app,
    certificates,
    receiver,
    async close() {
      await app.close()
      await receiver.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export const answer =
  (status: number): TargetScript =>
  (_, response) => {
    response.writeHead(status).end()
  }

/** A path of the receiver's own for one test. */
export const newPath = (): string => `/${randomUUID()}`

/** Registers an endpoint. @throws Error unless it is made */
export const register = async (
  app: TestApp,
  credential: { readonly key?: string; readonly headers?: Readonly<Record<string, string>> },
  input: { readonly url: string; readonly events: readonly string[] },
): Promise<WebhookCreated> => {
  const body = { label: 'Receiver', ...input }
  return ok<WebhookCreated>(app, 'POST', '/api/webhooks', { ...credential, body })
}

/** An endpoint as the list shows it. */
export const findWebhook = async (app: TestApp, key: string, id: string): Promise<Webhook> => {
  const { body } = await app.request<{ webhooks: Webhook[] }>('GET', '/api/webhooks', { key })
  const found = body.webhooks.find((webhook) => webhook.id === id)
  if (found === undefined) throw new Error(`no endpoint ${id}`)
  return found
}

export const requestsTo = ({ requests }: TargetServer, path: string): SeenRequest[] =>
  requests.filter((request) => request.path === path)

export const deliveryOf = ({ body }: SeenRequest): WebhookDelivery => JSON.parse(body.toString())

/** Waits until something holds. @throws Error with `what` after `giveUpMs`, 20 s unless it says so */
export const until = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  giveUpMs = GIVE_UP_MS,
): Promise<void> => {
  const giveUpAt = performance.now() + giveUpMs
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`never: ${what}`)
    await pause(POLL_MS)
  }
}

/** The first requests to a path. */
export const arrivals = async (
  receiver: TargetServer,
  path: string,
  count: number,
): Promise<SeenRequest[]> => {
  await until(`${count} deliveries to ${path}`, () => requestsTo(receiver, path).length >= count)
  return requestsTo(receiver, path)
}

/** Waits until no delivery waits for an attempt or its outcome, and every entry so far was announced. */
export const settled = async ({ services }: TestApp): Promise<void> => {
  const { size } = await services.ledger.head()
  await until('all entries announced', async () => {
    const row = await services.database.knex('ledger_followers').where({ name: 'webhooks' }).first('cursor')
    return row?.cursor >= size
  })
  await until('all deliveries ended', async () => {
    const row = await services.database.knex('webhook_deliveries').first('id')
    return row === undefined
  })
}

/** Signs up and in. @returns headers of the session, and a key of the same organisation */
export const openSession = async (app: TestApp) => {
  const { headers } = await signIn(app, await signUp(app))
  const body = { label: 'shop key' }
  return {
    headers,
    newKey: () => ok<{ apiKey: string; keyId: string }>(app, 'POST', '/console/api/keys', { headers, body }),
  }
}

/** One verification. @returns its digest */
export const verify = (app: TestApp, key: string): Promise<{ verificationId: string }> =>
  ok<{ verificationId: string }>(app, 'POST', '/verify', {
    key,
    body: { data: { order: randomUUID() } },
  })
