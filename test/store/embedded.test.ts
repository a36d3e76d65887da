/** What the embedded database leaves of the thread that it works on. What it keeps on disk is tested in slow-embedded.test.ts. */
import { expect } from 'chai'
import type { Database } from '../../src/store/database.ts'
import { openPglite } from '../../src/store/embedded/pglite.ts'

describe('the embedded database', () => {
  let database: Database
  before(async () => {
    database = await openPglite('memory')
  })
  after(() => database.close())

  it('lets the event loop have its turns, however much is sent to it at once', async () => {
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const text = 'SELECT count(*)::int AS count FROM generate_series(1, 10000)'
    try {
      const answers = await Promise.all(
        Array.from({ length: 60 }, () => database.query<{ count: number }>(text, [])),
      )
      for (const { rows } of answers) expect(rows).to.deep.equal([{ count: 10_000 }])
    } finally {
      isOver = true
    }
    // They take far more than 15 ms, of which a turn has five. Sent to PGlite alone, they take one or two turns.
    expect(turns).to.be.at.least(4)
  })

  it('keeps to the order in which it was asked, and a transaction to itself', async () => {
    await database.query('CREATE TEMPORARY TABLE numbers (number int)', [])
    const session = await database.session()
    const others = Array.from({ length: 20 }, (_, i) =>
      database.query('INSERT INTO numbers VALUES ($1)', [i + 1]),
    )
    try {
      await session.query('BEGIN', [])
      await session.query('SELECT count(*) FROM generate_series(1, 300000)', [])
      await session.query('INSERT INTO numbers VALUES (0)', [])
      const { rows } = await session.query<{ number: number }>('SELECT number FROM numbers', [])
      expect(rows).to.deep.equal([{ number: 0 }])
      await session.query('COMMIT', [])
    } finally {
      session.release()
    }
    await Promise.all(others)
    const { rows } = await database.query<{ number: number }>('SELECT number FROM numbers', [])
    expect(rows.map(({ number }) => number)).to.deep.equal(Array.from({ length: 21 }, (_, i) => i))
  })

  it('tells of messages to it', async () => {
    let messages = 0
    database.onMessage?.(() => {
      messages += 1
    })
    for (let i = 1; i <= 3; i++) {
      const before = messages
      await database.query('SELECT 1', [])
      expect(messages, `query ${i}`).to.be.greaterThan(before)
    }
  })
})
