import { expect } from 'chai'
import { AppError } from '../../src/errors.ts'
import type { Item, Receipt } from '../../src/ledger/item.ts'
import { integer, table, text } from '../../src/store/table.ts'
import {
  callerOf,
  expectWholeLog,
  itemOf,
  ledgerOn,
  openTestLedger,
  type TestLedger,
} from '../support/ledger.ts'
import { rejection } from '../support/rejection.ts'

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
  const noteOf = (id: string, more: Partial<Item<Receipt>> = {}) =>
    itemOf(id, { rows: ({ index }) => [notes.row({ id, entry_index: index })], ...more })
  const notesLike = (prefix: string): Promise<{ id: string; entry_index: number }[]> =>
    test.database.knex('test_notes').where('id', 'like', `${prefix}%`).orderBy('entry_index')

  it('commits entry and rows together and tells where the entry landed', async () => {
    const before = await test.ledger.head()
    const receipt = await test.ledger.append(alice, noteOf('together'))
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
    const { index } = await test.ledger.append(alice, itemOf('pseudonymous'))
    const { index: other } = await test.ledger.append(bob, itemOf('pseudonymous'))
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
      Array.from({ length: 20 }, () => test.ledger.append(alice, noteOf('rush'))),
    )
    const late = await rejection(test.ledger.append(alice, noteOf('rush')))
    expect(rush.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
    for (const result of rush) {
      if (result.status === 'rejected') expect(result.reason).to.include({ code: 'double_spend' })
    }
    expect(late).to.include({ code: 'double_spend' })
  })

  it('keeps the claims of organisations apart', async () => {
    await test.ledger.append(alice, itemOf('shared'))
    await test.ledger.append(bob, itemOf('shared'))
  })

  it('shows the holder of a lost claim, and its time, in the same batch and later', async () => {
    const asking = itemOf('held', {
      lost: ({ holder, at, claim }) => ({ settled: { holder, at, kind: claim.kind } as never }),
    })
    const [winner, ...losers] = await Promise.all(
      [asking, asking, asking].map((item) => test.ledger.append(alice, item)),
    )
    losers.push(await test.ledger.append(alice, asking))
    for (const loser of losers) {
      expect(loser).to.deep.equal({ holder: { first: 'held' }, at: winner?.at, kind: 'nullifier' })
    }
  })

  it('commits what a loser turns into, with claims and counters that nobody had read', async () => {
    const insteadOf = (key: string) =>
      noteOf(key, {
        lost: () =>
          noteOf(`${key} instead`, {
            claims: [{ kind: 'conflict', key, code: 'conflict' }],
            takes: [{ counter: 'conflicts', amount: 1, limit: 1, code: 'rate_limited' }],
          }),
      })
    await test.ledger.append(alice, insteadOf('turn'))
    const { index } = await test.ledger.append(alice, insteadOf('turn'))
    expect((await notesLike('turn instead'))[0]?.entry_index).to.equal(index)
    expect(await rejection(test.ledger.append(alice, insteadOf('turn')))).to.include({ code: 'conflict' })
    await test.ledger.append(alice, insteadOf('spin'))
    expect(await rejection(test.ledger.append(alice, insteadOf('spin')))).to.include({ code: 'rate_limited' })
  })

  it('gives up on an item that turns into another loser for ever', async () => {
    await test.ledger.append(alice, itemOf('endless'))
    const endless = (): Item<Receipt> => itemOf('endless', { lost: endless })
    expect((await rejection(test.ledger.append(alice, endless()))).message).to.match(/over and over/)
  })

  it('never lets a counter pass its limit, however many take at once', async () => {
    const taking = (amount: number) =>
      itemOf('', { claims: [], takes: [{ counter: 'free', amount, limit: 10, code: 'rate_limited' }] })
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => test.ledger.append(alice, taking(3))),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(3)
    await test.ledger.append(alice, taking(1))
    expect(await rejection(test.ledger.append(alice, taking(1)))).to.include({ code: 'rate_limited' })
    await test.ledger.append(alice, taking(-2))
    await test.ledger.append(alice, taking(2))
  })

  it('commits what an item turns into when a take does not fit, and tells where counters stand', async () => {
    const asking = (amount: number): Item<Receipt> => {
      const take = { counter: 'purse', amount, limit: 10, code: 'rate_limited' } as const
      return noteOf(`asked ${amount}`, {
        claims: [{ kind: 'purse', key: `${amount}`, code: 'conflict' }],
        takes: [{ ...take, counter: 'other' }, take],
        result: (receipt, taken) => ({ ...receipt, taken }) as never,
        exceeded: ({ counter }, value) =>
          noteOf(`refused ${amount}`, {
            claims: [],
            result: (receipt) => ({ ...receipt, counter, value }) as never,
          }),
      })
    }
    const answers = await Promise.all([7, 4, 3, 1].map((amount) => test.ledger.append(alice, asking(amount))))
    expect(answers.map((answer) => ({ ...answer }))).to.containSubset([
      { taken: [7, 7] },
      { counter: 'other', value: 7 },
      { taken: [10, 10] },
      { counter: 'other', value: 10 },
    ])
    expect(await notesLike('refused')).to.have.length(2)
    // What was refused holds neither its claim nor a part of what it took.
    await test.ledger.append(
      alice,
      noteOf('free', { claims: [{ kind: 'purse', key: '4', code: 'conflict' }] }),
    )
    const late = asking(5)
    expect(await rejection(test.ledger.append(alice, { ...late, exceeded: undefined }))).to.include({
      code: 'rate_limited',
    })
  })

  it('takes from the next counter what the first one has not left, in one batch', async () => {
    const spare = { counter: 'second', amount: 1, limit: 2, code: 'rate_limited' } as const
    const first = { ...spare, counter: 'first', limit: 3, otherwise: spare }
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => test.ledger.append(alice, itemOf('', { claims: [], takes: [first] }))),
    )
    expect(results.map(({ status }) => status === 'fulfilled')).to.deep.equal([
      ...Array(5).fill(true),
      ...Array(3).fill(false),
    ])
    const values = await test.database
      .knex('ledger_counters')
      .whereIn('counter', ['first', 'second'])
      .orderBy('counter')
      .pluck('value')
    expect(values.map(Number)).to.deep.equal([3, 2])
  })

  it('commits several items in order, or none of them', async () => {
    const fine = ['unit 1', 'unit 2', 'unit 3'].map((id) => noteOf(id))
    const indexes = await test.ledger.appendAll(alice, fine, (receipts) => receipts.map(({ index }) => index))
    expect(indexes).to.deep.equal([0, 1, 2].map((offset) => (indexes[0] ?? 0) + offset))
    const spoilt = ['unit 4', 'unit 5', 'unit 1'].map((id) => noteOf(id))
    expect(await rejection(test.ledger.appendAll(alice, spoilt, (r) => r))).to.include({
      code: 'double_spend',
    })
    expect(await notesLike('unit')).to.have.length(3)
    await test.ledger.append(alice, noteOf('unit 4'))
  })

  it('lets nobody suffer from a neighbour that fails early, late, or in the database', async () => {
    const { size } = await test.ledger.head()
    const failing: Partial<Item<Receipt>>[] = [
      { entry: { type: 'payment', data: { bad: Number.NaN } } },
      { rows: () => [notes.row({ id: 'neighbour' } as never)] },
      { rows: () => [notes.row({ id: 'nul \0', entry_index: 1 })] },
      {
        rows: () => {
          throw new AppError('conflict')
        },
      },
      {
        result: () => {
          throw new Error('result')
        },
      },
    ]
    const results = await Promise.allSettled(
      failing.flatMap((more, index) => [
        test.ledger.append(alice, noteOf(`neighbour ${index}`)),
        test.ledger.append(alice, noteOf(`neighbour bad ${index}`, more)),
      ]),
    )
    expect(results.map(({ status }) => status)).to.deep.equal(
      failing.flatMap(() => ['fulfilled', 'rejected']),
    )
    expect((await test.ledger.head()).size).to.equal(size + failing.length)
    // What failed holds no claim.
    for (const index of failing.keys()) await test.ledger.append(alice, noteOf(`neighbour bad ${index}`))
  })

  it('lets the next in line win what a unit that failed late had claimed', async () => {
    const failing = itemOf('inherit', {
      result: () => {
        throw new Error('late')
      },
    })
    const [first, second] = await Promise.allSettled(
      [failing, itemOf('inherit')].map((i) => test.ledger.append(alice, i)),
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

  it('keeps the order of arrival between changes and appends', async () => {
    const order: string[] = []
    await Promise.all([
      test.ledger.append(alice, itemOf('order 1')).then(() => order.push('append 1')),
      test.ledger.transact(alice, async () => ({ result: order.push('change') })),
      test.ledger.append(alice, itemOf('order 2')).then(() => order.push('append 2')),
    ])
    expect(order).to.deep.equal(['append 1', 'change', 'append 2'])
  })

  it('refuses new work once closed, after finishing what waits', async () => {
    const ledger = await ledgerOn(test.database)
    const waiting = ['close 1', 'close 2'].map((key) => ledger.append(alice, itemOf(key)))
    const closing = ledger.close()
    expect(await rejection(ledger.append(alice, itemOf('close 3')))).to.include({ code: 'unavailable' })
    await closing
    expect(await Promise.all(waiting)).to.have.length(2)
  })

  it('writes full tiles whose hashes another ledger began', async () => {
    const ledger = await ledgerOn(test.database)
    for (let batch = 0; batch < 8; batch++) {
      const target = batch % 2 === 0 ? ledger : test.ledger
      const items = Array.from({ length: 150 }, (_, index) => itemOf(`tile ${batch} ${index}`))
      await target.appendAll(alice, items, () => null)
    }
    await ledger.close()
    const tiles = await test.database.knex('ledger_tiles').count('* as n').first()
    expect(tiles?.n).to.be.at.least(4)
  })
})
