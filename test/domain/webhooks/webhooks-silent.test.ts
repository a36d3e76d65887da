/** Deliveries to those that answer, beside many that never do. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { createDispatcher } from '../../../src/domain/webhooks/dispatcher.ts'
import { deliveries } from '../../../src/domain/webhooks/store-deliveries.ts'
import type { Database } from '../../../src/store/database.ts'
import { createRowWriter } from '../../../src/store/write-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { openTestDatabase } from '../../support/servers/database.ts'

const SILENT_ENDPOINTS = 500
const SILENT_ROWS = 10
const ANSWERED_ROWS = 50
/** In the place of 8 s. */
const TIMEOUT_MS = 200

describe('webhook receivers that never answer', () => {
  let database: Database
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())

  const queue = async (endpoint: string, count: number): Promise<void> => {
    const writer = createRowWriter()
    for (let n = 0; n < count; n++) {
      const told = { id: `${endpoint} ${n}`, endpoint, event: 'proof.verified' as const }
      writer.add(deliveries.row({ ...told, entry_index: n, body: '{}', due_at: 1 + n }))
    }
    const { text, values, name } = writer.query('SELECT 1', [])
    await database.query(text, values, name)
  }

  it('keep nobody else waiting, however many they are and whatever is due to them', async () => {
    const silent = Array.from({ length: SILENT_ENDPOINTS }, (_, i) => `whk_${i}`)
    for (const endpoint of silent) await queue(endpoint, SILENT_ROWS)
    const asked = new Set<string>()
    let answered = 0
    let timedOut = 0
    const dispatcher = createDispatcher({
      database,
      logger: { warn: () => undefined },
      // They come again as soon as they may.
      pausesMs: [0],
      random: () => 0.5,
      findEndpoint: async (id) => ({
        id,
        organisation: 'org_1',
        active: true,
        announces_from: 0,
        private_egress: false,
        url: 'https://receiver.example/',
        secret: 'whsec_0',
      }),
      async attempt({ endpoint }, _, signal) {
        if (endpoint === 'whk_alive') {
          answered += 1
          return { outcome: 'delivered', at: 1, status: 204 }
        }
        asked.add(endpoint)
        await pause(TIMEOUT_MS, undefined, { signal }).catch(() => undefined)
        timedOut += 1
        return { outcome: signal.aborted ? 'cancelled' : 'timeout', at: 1 }
      },
      attempted: () => undefined,
      ended: () => undefined,
      turned: () => undefined,
    })
    try {
      await eventually('each was tried', () => asked.size === SILENT_ENDPOINTS, { patienceMs: 30_000 })
      await queue('whk_alive', ANSWERED_ROWS)
      dispatcher.wake(new Set(['whk_alive']))
      const before = timedOut
      await eventually('all others are told', () => answered === ANSWERED_ROWS, { patienceMs: 30_000 })
      // A look or two takes as long as a few attempts.
      expect(timedOut - before).to.be.below(SILENT_ENDPOINTS)
    } finally {
      await dispatcher.close()
    }
  }).timeout(90_000)
})
