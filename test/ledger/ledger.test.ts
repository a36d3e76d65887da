import { expect } from 'chai'
import { AppError } from '../../src/errors.ts'
import { CLAIM_KINDS } from '../../src/ledger/claim-kinds.ts'
import type { Decide, Receipt, Tx } from '../../src/ledger/decision.ts'
import { integer, table, text } from '../../src/store/table.ts'
import {
  callerOf,
  claiming,
  expectWholeLog,
  ledgerOn,
  openTestLedger,
  type TestLedger,
  together,
} from '../support/ledger.ts'
import { rejection } from '../support/rejection.ts'

const KIND = CLAIM_KINDS.paymentNullifier
const notes = table('test_notes', { id: text().key(), entry_index: integer() })

describe('ledger', () => {
  let test: TestLedger
  const alice = callerOf('org_alice')
  const bob = callerOf('org_bob')
  before(async () => {
    test = await openTestLedger()
    await test.database.knex.raw('CREATE TABLE test_notes (id text PRIMARY KEY, entry_index bigint NOT NULL)')
  })
  after(async () => {
    await expectWholeLog(test.database)
    await test.close()
  })
  const noting = (id: string) =>
    claiming(id, { rows: ({ index }) => [notes.row({ id, entry_index: index })] })
  const entry = { type: 'payment', data: {} } as const
  const notesLike = (prefix: string): Promise<{ id: string; entry_index: number }[]> =>
    test.database.knex('test_notes').where('id', 'like', `${prefix}%`).orderBy('entry_index')

  it('commits entry and rows together and tells where the entry landed', async () => {
    const before = await test.ledger.head()
    const receipt = await test.ledger.append(alice, noting('together'))
    const after = await test.ledger.head()
    expect(receipt).to.include({ index: before.size, treeSize: after.size, root: after.root })
    expect(await notesLike('together')).to.deep.equal([{ id: 'together', entry_index: receipt.index }])
    const stored = await test.database.knex('ledger_entries').where({ idx: receipt.index }).first()
    expect(stored).to.include({
      id: receipt.entryId,
      organisation: 'org_alice',
      type: 'payment',
      at: receipt.at,
    })
    expect(Buffer.from(stored.leaf_hash).toString('hex')).to.equal(receipt.leafHash)
  })

  it('writes pseudonyms, never the ids of actor or subject', async () => {
    const { index } = await test.ledger.append(alice, claiming('pseudonymous'))
    const { index: other } = await test.ledger.append(bob, claiming('pseudonymous'))
    const [first, second] = await test.database
      .knex('ledger_entries')
      .whereIn('idx', [index, other])
      .orderBy('idx')
    expect(first.entry).not.to.match(/ter_1|key_1/)
    const [a, b] = [JSON.parse(first.entry), JSON.parse(second.entry)]
    expect(a.subject).to.match(/^[0-9a-f]{64}$/)
    expect(a.subject).not.to.equal(b.subject)
    expect(a.actor).not.to.equal(a.subject)
  })

  it('lets one of many callers win a claim, whether they share a batch or not', async () => {
    const rush = await Promise.allSettled(
      Array.from({ length: 20 }, () => test.ledger.append(alice, noting('rush'))),
    )
    const late = await rejection(test.ledger.append(alice, noting('rush')))
    expect(rush.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
    for (const result of rush) {
      if (result.status === 'rejected') expect(result.reason).to.include({ code: 'double_spend' })
    }
    expect(late).to.include({ code: 'double_spend' })
  })

  it('keeps the claims of organisations apart', async () => {
    await test.ledger.append(alice, claiming('shared'))
    await test.ledger.append(bob, claiming('shared'))
  })

  it('shows who holds a key, and since when, in the same batch and later', async () => {
    const asking: Decide<object> = (tx) => tx.holder(KIND, 'held') ?? claiming('held')(tx)
    const [winner, ...others] = await Promise.all(
      [asking, asking, asking].map((decide) => test.ledger.append(alice, decide)),
    )
    others.push(await test.ledger.append(alice, asking))
    for (const held of others)
      expect(held).to.deep.equal({ holder: { first: 'held' }, at: (winner as Receipt).at })
  })

  it('tells who holds each of several keys in their order, also of one that is asked for twice', async () => {
    const { at } = await test.ledger.append(alice, claiming('asked'))
    const claims = ['free', 'asked', 'asked'].map((key) => [KIND, key] as const)
    const held = { holder: { first: 'asked' }, at }
    expect(await test.ledger.findClaims('org_alice', claims)).to.deep.equal([undefined, held, held])
    expect(await test.ledger.findClaims('org_bob', claims)).to.deep.equal([undefined, undefined, undefined])
    expect(await test.ledger.findClaim('org_alice', KIND, 'asked')).to.deep.equal(held)
    expect(await test.ledger.findClaim('org_alice', CLAIM_KINDS.ticketSpent, 'asked')).to.equal(undefined)
    expect(await test.ledger.findClaims('org_alice', [])).to.deep.equal([])
  })

  it('reads keys and counters that only a branch names', async () => {
    const orInstead =
      (key: string): Decide<Receipt> =>
      (tx) => {
        if (!tx.holder(KIND, key)) return noting(key)(tx)
        if (tx.holder(CLAIM_KINDS.ticketSpent, key)) throw new AppError('conflict')
        if (tx.counter('conflicts') === 1) throw new AppError('rate_limited')
        tx.claim(CLAIM_KINDS.ticketSpent, key)
        tx.add('conflicts', 1)
        return noting(`${key} instead`)(tx)
      }
    await test.ledger.append(alice, orInstead('turn'))
    const { index } = await test.ledger.append(alice, orInstead('turn'))
    expect((await notesLike('turn instead'))[0]?.entry_index).to.equal(index)
    expect(await rejection(test.ledger.append(alice, orInstead('turn')))).to.include({ code: 'conflict' })
    await test.ledger.append(alice, orInstead('spin'))
    expect(await rejection(test.ledger.append(alice, orInstead('spin')))).to.include({ code: 'rate_limited' })
  })

  it('reads four times more, and gives up on a decision that names keys on and on, without its neighbours', async () => {
    const firstFree =
      (prefix: string): Decide<number> =>
      (tx) => {
        let n = 0
        while (tx.holder(KIND, `${prefix} ${n}`)) n++
        tx.claim(KIND, `${prefix} ${n}`)
        tx.append(entry)
        return n
      }
    for (let n = 0; n <= 4; n++) {
      expect(await test.ledger.append(alice, firstFree('chain'))).to.equal(n)
      await test.ledger.append(alice, claiming(`other chain ${n}`))
    }
    const outcomes = await Promise.allSettled([
      test.ledger.append(alice, noting('chain before')),
      test.ledger.append(alice, firstFree('chain')),
      test.ledger.append(alice, noting('chain after')),
    ])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect((outcomes[1] as PromiseRejectedResult).reason.message).to.match(/named other keys/)
  })

  it('never lets a counter pass its limit, however many add at once', async () => {
    const adding =
      (amount: number): Decide<number> =>
      (tx) => {
        if (tx.counter('free') + amount > 10) throw new AppError('rate_limited')
        tx.append(entry)
        return tx.add('free', amount)
      }
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => test.ledger.append(alice, adding(3))),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(3)
    expect(await test.ledger.append(alice, adding(1))).to.equal(10)
    expect(await rejection(test.ledger.append(alice, adding(1)))).to.include({ code: 'rate_limited' })
    await test.ledger.append(alice, adding(-2))
    await test.ledger.append(alice, adding(2))
    const [row] = await test.database.knex('ledger_counters').where({ counter: 'free' })
    expect(row.value).to.equal(10)
  })

  it('keeps nothing of what a decision wrote before it threw, and refuses sums that are not safe', async () => {
    const spoilt: Decide<never> = (tx) => {
      tx.claim(KIND, 'spoilt')
      tx.add('spoilt', 3)
      tx.append(entry)
      throw new AppError('conflict')
    }
    const huge: Decide<number> = (tx) => tx.add('spoilt', Number.MAX_SAFE_INTEGER) + tx.add('spoilt', 1)
    const counting: Decide<number> = (tx) => tx.counter('spoilt')
    const outcomes = await Promise.allSettled(
      [spoilt, huge, counting, claiming('spoilt')].map((decide) =>
        test.ledger.append<unknown>(alice, decide),
      ),
    )
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect((outcomes[2] as PromiseFulfilledResult<unknown>).value).to.equal(0)
    expect(await test.database.knex('ledger_counters').where({ counter: 'spoilt' })).to.deep.equal([])
  })

  it('lets nobody claim a key that is held, or go on when the decision is over', async () => {
    const blind: Decide<void> = (tx) => tx.claim(KIND, 'blind')
    await test.ledger.append(alice, blind)
    expect((await rejection(test.ledger.append(alice, blind))).message).to.match(/although it is held/)
    const kept: Tx[] = []
    const leaking: Decide<void> = (tx) => {
      kept.push(tx)
      tx.append(entry)
    }
    const lax = await ledgerOn(test.database, { checkDecisions: false })
    await lax.append(alice, leaking)
    await lax.close()
    expect(() => kept.at(-1)?.append(entry)).to.throw(/was over/)
  })

  it('answers a decision that reads and writes nothing without any commit', async () => {
    const { size } = await test.ledger.head()
    expect(await test.ledger.append(alice, () => 'nothing')).to.equal('nothing')
    expect((await test.ledger.head()).size).to.equal(size)
  })

  it('tells places in order, and the root that all of them share, also to what is written with it', async () => {
    const decide: Decide<{ root: string; treeSize: number; indexes: number[] }> = (tx) => {
      const indexes = [1, 2].map(() => tx.append(entry).index)
      return tx.withRoot((root, treeSize) => {
        tx.write(notes.row({ id: `root ${indexes[0]} ${root}`, entry_index: treeSize }))
        return { root, treeSize, indexes }
      })
    }
    const { size } = await test.ledger.head()
    const [first, second] = await Promise.all([decide, decide].map((one) => test.ledger.append(alice, one)))
    const after = await test.ledger.head()
    expect(first).to.deep.equal({ root: after.root, treeSize: after.size, indexes: [size, size + 1] })
    expect(second?.indexes).to.deep.equal([size + 2, size + 3])
    expect(await notesLike('root ')).to.have.length(2)
  })

  it('commits several decisions in order, or none of them', async () => {
    const all = (ids: string[]) => test.ledger.append(alice, together(ids.map(noting)))
    const indexes = (await all(['unit 1', 'unit 2', 'unit 3'])).map(({ index }) => index)
    expect(indexes).to.deep.equal([0, 1, 2].map((offset) => (indexes[0] ?? 0) + offset))
    expect(await rejection(all(['unit 4', 'unit 5', 'unit 1']))).to.include({ code: 'double_spend' })
    expect(await rejection(all(['unit 6', 'unit 6']))).to.include({ code: 'double_spend' })
    expect(await notesLike('unit')).to.have.length(3)
    await test.ledger.append(alice, noting('unit 4'))
  })

  it('takes any number of entries at once, and more than 512 without neighbours', async () => {
    const many =
      (count: number): Decide<Receipt> =>
      (tx) => {
        for (let n = 1; n < count; n++) tx.append(entry)
        const place = tx.append(entry)
        return tx.withRoot((root, treeSize) => ({ ...place, root, treeSize }))
      }
    const { size } = await test.ledger.head()
    const counts = [512, 1, 1300, 1]
    const receipts = await Promise.all(counts.map((count) => test.ledger.append(alice, many(count))))
    const ends = [512, 513, 1813, 1814].map((end) => size + end)
    expect(receipts.map(({ index }) => index + 1)).to.deep.equal(ends)
    expect(receipts.map(({ treeSize }) => treeSize)).to.deep.equal(ends)
  })

  it('catches a decision that is not pure', async () => {
    let runs = 0
    const firstOfAll = new Set([0])
    const impure: Record<string, Decide<unknown>> = {
      key: (tx) => tx.holder(KIND, `run ${runs++}`),
      entry: (tx) => tx.append({ ...entry, data: { run: runs++ } }),
      row: (tx) => tx.write(notes.row({ id: `run ${runs++}`, entry_index: 0 })),
      counter: (tx) => tx.add('impure', runs++),
      'more calls': (tx) => Array.from({ length: runs++ % 2 }, () => tx.append(entry)),
      answer: (tx) => [tx.append(entry).at, runs++],
      throw: (tx) => {
        tx.counter('impure')
        if (runs++ % 2 === 0) throw new Error('now and then')
      },
      finish: (tx) => {
        tx.append(entry)
        return tx.withRoot(() => runs++)
      },
      'its own clock': (tx) => [tx.append(entry).at, Date.now()],
      'its own clock, when all have decided': (tx) => {
        tx.append(entry)
        return tx.withRoot(() => Date.now())
      },
      // Only the very first run differs, and what that one throws is forgotten.
      once: (tx) => tx.append({ ...entry, data: { isFirst: firstOfAll.delete(0) } }),
    }
    const { size } = await test.ledger.head()
    for (const [what, decide] of Object.entries(impure))
      expect((await rejection(test.ledger.append(alice, decide))).message, what).to.match(
        /is not pure|named other keys/,
      )
    expect((await test.ledger.head()).size).to.equal(size)
  })

  it('lets nobody suffer from a neighbour that fails early, late, or in the database', async () => {
    const { size } = await test.ledger.head()
    const failing: Decide<unknown>[] = [
      (tx) => tx.append({ ...entry, data: { bad: Number.NaN } }),
      (tx) => tx.write(notes.row({ id: 'neighbour' } as never)),
      (tx) => tx.write(notes.row({ id: 'nul \0', entry_index: 1 })),
      () => {
        throw new AppError('conflict')
      },
      (tx) =>
        tx.withRoot(() => {
          throw new Error('finish')
        }),
    ]
    const results = await Promise.allSettled(
      failing.flatMap((fails, index) => [
        test.ledger.append<unknown>(alice, noting(`neighbour ${index}`)),
        test.ledger.append<unknown>(alice, (tx) => {
          noting(`neighbour bad ${index}`)(tx)
          return fails(tx)
        }),
      ]),
    )
    expect(results.map(({ status }) => status)).to.deep.equal(
      failing.flatMap(() => ['fulfilled', 'rejected']),
    )
    expect((await test.ledger.head()).size).to.equal(size + failing.length)
    // What failed holds no claim.
    for (const index of failing.keys()) await test.ledger.append(alice, noting(`neighbour bad ${index}`))
  })

  it('lets the next in line claim what a unit that failed late had claimed', async () => {
    const failing: Decide<unknown> = (tx) => {
      claiming('inherit')(tx)
      return tx.withRoot(() => {
        throw new Error('late')
      })
    }
    const [first, second] = await Promise.allSettled(
      [failing, claiming('inherit')].map((decide) => test.ledger.append<unknown>(alice, decide)),
    )
    expect([first?.status, second?.status]).to.deep.equal(['rejected', 'fulfilled'])
  })

  it('runs a change and its entry in one transaction, and nothing of it when it fails', async () => {
    const { size } = await test.ledger.head()
    const result = await test.ledger.transact(alice, async (trx) => {
      await trx('test_notes').insert({ id: 'change', entry_index: 0 })
      return { entry: { type: 'account', data: { change: 1 } }, result: 'changed' }
    })
    expect(result).to.equal('changed')
    expect((await test.ledger.head()).size).to.equal(size + 1)
    const failing = test.ledger.transact(alice, async (trx) => {
      await trx('test_notes').insert({ id: 'change failed', entry_index: 0 })
      throw new Error('on second thought')
    })
    expect((await rejection(failing)).message).to.equal('on second thought')
    const broken = test.ledger.transact(alice, async (trx) => trx.raw('SELECT 1 / 0'))
    expect(await rejection(broken)).to.include({ code: '22012' })
    expect(await notesLike('change')).to.have.length(1)
    expect((await test.ledger.head()).size).to.equal(size + 1)
  })

  it('keeps the order of arrival among changes, and among appends', async () => {
    const order: string[] = []
    const append = (name: string) =>
      test.ledger.append(alice, claiming(name)).then(() => order.push(`append ${name}`))
    const change = (name: string) =>
      test.ledger.transact(alice, async () => ({ result: order.push(`change ${name}`) }))
    await Promise.all([append('order 1'), change('1'), append('order 2'), change('2')])
    const of = (what: string): string[] => order.filter((one) => one.startsWith(what))
    expect(of('append')).to.deep.equal(['append order 1', 'append order 2'])
    expect(of('change')).to.deep.equal(['change 1', 'change 2'])
  })

  it('refuses new work once closed, after finishing what waits', async () => {
    const ledger = await ledgerOn(test.database)
    const waiting = ['close 1', 'close 2'].map((key) => ledger.append(alice, claiming(key)))
    const closing = ledger.close()
    expect(await rejection(ledger.append(alice, claiming('close 3')))).to.include({ code: 'unavailable' })
    await closing
    expect(await Promise.all(waiting)).to.have.length(2)
  })

  it('writes full tiles whose hashes another ledger began', async () => {
    const ledger = await ledgerOn(test.database)
    for (let batch = 0; batch < 8; batch++) {
      const target = batch % 2 === 0 ? ledger : test.ledger
      const items = Array.from({ length: 150 }, (_, index) => claiming(`tile ${batch} ${index}`))
      await target.append(alice, together(items))
    }
    await ledger.close()
    const tiles = await test.database.knex('ledger_tiles').count('* as n').first()
    expect(tiles?.n).to.be.at.least(4)
  })
})
