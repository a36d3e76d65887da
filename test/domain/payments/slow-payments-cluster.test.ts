/**
 * Two server processes on one PostgreSQL, and 32 terminals that upload overlapping batches to both at once, over
 * and over: every nullifier is spent exactly once, and every terminal keeps getting the same answer.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import type { SyncAnswer } from '../../../src/protocol/sync.ts'
import type { Client } from '../../support/client.ts'
import { keyTill, type Owner, type Till, terminalTill } from '../../support/domain/tills.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const TERMINALS = 32
const CARDS = 400
const BATCH = 50
const ROUNDS = 4

/** A uniform pick of `count` from `items`, in random order. */
const sample = <T>(items: readonly T[], count: number): T[] =>
  items
    .map((item) => ({ item, order: randomBytes(6).readUIntBE(0, 6) }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ item }) => item)

describe('payments on two servers', () => {
  let cluster: Cluster

  before(async function () {
    const { DATABASE_URL } = process.env
    if (DATABASE_URL === undefined) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2)
  })

  after(async () => {
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  /** The same tills behind both servers: made by one, known to the other through the database. */
  const openTills = async (owner: Owner): Promise<Till[]> => {
    const { clients } = cluster
    const either = (i: number): Client => {
      let turn = i
      return {
        get request() {
          return (clients[turn++ % clients.length] as Client).request
        },
      }
    }
    const tills: Till[] = []
    for (let i = 0; i < TERMINALS; i++) tills.push(await terminalTill(either(i), owner))
    return tills
  }

  it('spends every nullifier exactly once, however terminals overlap', async () => {
    const shop = cluster.clients[0] as Client
    const made = await shop.request('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'cluster' },
    })
    expect(made.status).to.equal(201)
    const owner = made.body as Owner
    const tills = await openTills(owner)
    const cards = Array.from({ length: CARDS }, () => `tok_${randomUUID()}`)
    const queues = tills.map((till) =>
      sample(cards, BATCH).map((cardToken) => ({ cardToken, body: till.payment({ cardToken }) })),
    )

    /** card → terminals that were told that their payment is booked */
    const winners = new Map<string, Set<number>>()
    const firstAnswers = new Map<string, string>()
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await Promise.all(
        tills.map(async (till, i) => {
          const queue = sample(queues[i] ?? [], BATCH)
          const { status, body } = await till.sync(queue.map(({ body }) => body))
          expect(status, JSON.stringify(body)).to.equal(200)
          return { i, queue, results: (body as SyncAnswer).results }
        }),
      )
      for (const { i, queue, results } of answers) {
        results.forEach(({ status, transactionId }, at) => {
          const card = queue[at]?.cardToken ?? ''
          expect(['synced', 'duplicate', 'conflict']).to.include(status)
          const booked = status !== 'conflict'
          if (booked) winners.set(card, (winners.get(card) ?? new Set()).add(i))
          const word = booked ? 'booked' : 'conflict'
          expect(firstAnswers.get(transactionId) ?? word).to.equal(word)
          expect(status === 'synced').to.equal(booked && !firstAnswers.has(transactionId))
          firstAnswers.set(transactionId, word)
        })
      }
    }

    const presented = new Set(queues.flatMap((queue) => queue.map(({ cardToken }) => cardToken)))
    expect(winners.size).to.equal(presented.size)
    expect([...winners.values()].every((tillsOfCard) => tillsOfCard.size === 1)).to.equal(true)

    const client = new pg.Client({ connectionString: cluster.databaseUrl })
    await client.connect()
    const { rows } = await client.query<{ status: string; payments: string; nullifiers: string }>(
      `SELECT status, count(*) payments, count(DISTINCT substring(proof for 12)) nullifiers FROM payments GROUP BY status`,
    )
    await client.end()
    const accepted = rows.find(({ status }) => status === 'accepted')
    const conflicts = rows.find(({ status }) => status === 'conflict')
    expect(Number(accepted?.payments)).to.equal(presented.size)
    expect(Number(accepted?.nullifiers)).to.equal(presented.size)
    expect(Number(conflicts?.payments)).to.equal(TERMINALS * BATCH - presented.size)
    expect(rows).to.have.lengthOf(2)
  })

  it('lets one of 64 concurrent validates through, whichever server they reach', async () => {
    const { clients } = cluster
    const made = await (clients[0] as Client).request('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'race' },
    })
    const owner = made.body as Owner
    const tills = await Promise.all(clients.map((shop) => keyTill(shop, owner)))
    for (let round = 0; round < ROUNDS; round++) {
      const cardToken = `tok_${randomUUID()}`
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, i) => {
          const till = tills[i % tills.length] as Till
          return till.validate(till.payment({ cardToken }))
        }),
      )
      expect(answers.filter(({ body }) => body.valid)).to.have.lengthOf(1)
      expect(answers.filter(({ body }) => body.doubleSpend)).to.have.lengthOf(63)
    }
  })
})
