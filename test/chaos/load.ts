/** Everything that clients do at once, in one organisation with a webhook, and what they were told. */
import { setTimeout as pause } from 'node:timers/promises'
import { openDatabase } from '../../src/store/database.ts'
import { clientOf, ok } from '../support/client.ts'
import { signIn, signUp } from '../support/domain/accounts.ts'
import type { Area, Context, Shop } from './area.ts'
import { charges } from './areas/charges.ts'
import { chat } from './areas/chat.ts'
import { consents } from './areas/consents.ts'
import { exports } from './areas/exports.ts'
import { keys } from './areas/keys.ts'
import { log } from './areas/log.ts'
import { payments } from './areas/payments.ts'
import { proofs } from './areas/proofs.ts'
import { tokens } from './areas/tokens.ts'
import { type Registered, webhooks } from './areas/webhooks.ts'
import { type Asking, createAsking } from './asking.ts'
import { seeded } from './random.ts'
import type { World } from './world.ts'

const SCOPES = ['verify', 'proof', 'token', 'consent', 'merchant', 'keys', 'export', 'audit', 'webhook']
/** What was asked when the load ended must be answered so soon after. */
const LAST_ANSWERS_MS = 30_000

export interface Load {
  /** Whose requests they are, for whoever asks whether the service works. */
  readonly shop: Shop
  /** Ends the load: what is under way comes to its end, and what follows from it. */
  settle(): Promise<void>
  /** Compares the database with what was acknowledged. @param where of the database */
  check(where: Parameters<typeof openDatabase>[0], isEnd: boolean): Promise<void>
}

/** Before anything fails, and so by one server itself. */
const makeShop = async ({ seats, adminKey, receiver }: World): Promise<[Shop, Registered]> => {
  const client = clientOf(seats[0]?.url ?? '')
  const account = await signUp(client)
  const { organisationId, merchantId } = account
  const { headers } = await signIn(client, account)
  await ok(client, 'PATCH', `/console/api/organisations/${organisationId}`, {
    key: adminKey,
    body: { subscription: 'active' },
  })
  const { apiKey } = await ok<{ apiKey: string }>(client, 'POST', '/console/api/keys', {
    headers,
    body: { label: 'load', scopes: SCOPES },
  })
  const { id, secret } = await ok<{ id: string; secret: string }>(client, 'POST', '/api/webhooks', {
    headers,
    body: { label: 'Receiver', url: receiver.url, events: ['merkle.leaf_appended'] },
  })
  receiver.secret = secret
  return [
    { organisationId, merchantId, apiKey },
    { id, headers },
  ]
}

export const startLoad = async (world: World, seed: number): Promise<Load> => {
  const { model, entrance, seats, receiver } = world
  const [shop, endpoint] = await makeShop(world)
  const askings: Asking[] = []
  const asking = (url: string, name: string): Asking => {
    const made = createAsking(() => url, model, seeded(seed, `pauses of ${name}`))
    askings.push(made)
    return made
  }
  const contextOf = (name: string): Context => ({
    model,
    random: seeded(seed, `${world.name} ${name}`),
    shop,
    ask: asking(entrance.url, name).ask,
    askAt: (url) => asking(url, `${name} at ${url}`).ask,
    url: () => entrance.url,
    servers: () => seats.map(({ url }) => url),
  })
  const makers = { payments, tokens, consents, proofs, charges, keys, chat, exports, log }
  const areas: Area[] = Object.entries(makers).map(([name, make]) => make(contextOf(name)))
  areas.push(webhooks(contextOf('webhooks'), receiver, endpoint))

  let isOver = false
  const drive = async (area: Area): Promise<void> => {
    while (!isOver) {
      await area.step().catch((error: unknown) => {
        model.broken('answered in the end', `${area.name}: ${error instanceof Error ? error.message : error}`)
      })
      await pause(area.pauseMs)
    }
  }
  const driving = Promise.all(
    areas.flatMap((area) => Array.from({ length: area.clients }, () => drive(area))),
  )

  return {
    shop,
    async settle() {
      isOver = true
      for (const { giveUpAfter } of askings) giveUpAfter(LAST_ANSWERS_MS)
      await driving
      for (const { giveUpAfter } of askings) giveUpAfter(Number.POSITIVE_INFINITY)
      for (const area of areas) await area.settle?.()
      for (const area of areas) await area.close?.()
    },
    async check(where, isEnd) {
      const database = await openDatabase({ ...where, migrate: 'any' })
      try {
        for (const area of areas) await area.check?.(database, isEnd)
      } finally {
        await database.close()
      }
    },
  }
}
