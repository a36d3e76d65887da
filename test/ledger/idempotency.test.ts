import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Idempotency } from '../../src/caller.ts'
import { attempted } from '../../src/ledger/attempts.ts'
import { CLAIM_KINDS } from '../../src/ledger/claim-kinds.ts'
import type { Decide } from '../../src/ledger/decision.ts'
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

const DAY_MS = 24 * 60 * 60 * 1000
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
/** A request as the router describes it: a fresh object each time. */
const request = (key: string, body = 'body', organisation = 'org_1'): Idempotency => ({
  organisation,
  key: sha256(key),
  requestHash: sha256(body),
  replayed: false,
})

describe('Idempotency-Key in the ledger', () => {
  let test: TestLedger
  let now = 1_763_683_200_000
  before(async () => {
    test = await openTestLedger({ clock: { now: () => now } })
  })
  after(async () => {
    await expectWholeLog(test.database)
    await test.close()
  })
  let count = 0
  const send = (
    idempotency: Idempotency,
    decide: Decide<object | string> = claiming(`item ${++count}`),
    organisation = 'org_1',
  ) => test.ledger.append(callerOf(organisation, idempotency), decide)

  it('gives the same request its first answer, and commits nothing again', async () => {
    const first = request('same')
    const answer = await send(first, claiming('same'))
    const { size } = await test.ledger.head()
    const second = request('same')
    expect(await send(second, claiming('same'))).to.deep.equal(answer)
    expect([first.replayed, second.replayed]).to.deep.equal([false, true])
    expect((await test.ledger.head()).size).to.equal(size)
  })

  it('keeps no answer in the clear', async () => {
    await send(request('secret'), (tx) => {
      tx.append({ type: 'payment', data: {} })
      return { secret: 'once-shown' }
    })
    const rows = await test.database.knex('idempotent_answers').select('sealed_answer')
    expect(rows).to.not.deep.equal([])
    for (const { sealed_answer } of rows)
      expect(Buffer.from(sealed_answer).toString('latin1')).not.to.include('once-shown')
  })

  it('refuses the same key with another body', async () => {
    await send(request('body', 'one'))
    const other = request('body', 'two')
    expect(await rejection(send(other))).to.include({ code: 'idempotency_key_reused' })
    expect(other.replayed).to.equal(false)
  })

  it('refuses the same key while the first request runs here', async () => {
    const first = send(request('flight'))
    expect(await rejection(send(request('flight')))).to.include({ code: 'idempotency_in_flight' })
    await first
    expect(await send(request('flight'))).to.deep.equal(await first)
  })

  it('makes the same request on another server wait for the first answer', async () => {
    const other = await ledgerOn(test.database, { clock: { now: () => now } })
    const [one, two] = await Promise.all([
      test.ledger.append(callerOf('org_1', request('two servers')), claiming('two servers')),
      other.append(callerOf('org_1', request('two servers')), claiming('two servers')),
    ])
    expect(one).to.deep.equal(two)
    await other.close()
  })

  it('stores no failure: the request may be tried again', async () => {
    await send(request('blocking'), claiming('blocked'))
    expect(await rejection(send(request('retry'), claiming('blocked')))).to.include({ code: 'double_spend' })
    const retried = request('retry')
    await send(retried, claiming('free again'))
    expect(retried.replayed).to.equal(false)
  })

  it('stores no answer that changed nothing', async () => {
    const settled: Decide<string> = (tx) =>
      tx.holder(CLAIM_KINDS.paymentNullifier, 'blocked') ? 'first answer' : expect.fail()
    await send(request('settled'), settled)
    const again = request('settled')
    await send(again, settled)
    expect(again.replayed).to.equal(false)
  })

  it('forgets an answer after 24 hours', async () => {
    await send(request('old'))
    now += DAY_MS - 1
    const inTime = request('old')
    await send(inTime)
    expect(inTime.replayed).to.equal(true)
    now += 1
    const late = request('old', 'another body')
    await send(late)
    expect(late.replayed).to.equal(false)
    const again = request('old', 'another body')
    await send(again)
    expect(again.replayed).to.equal(true)
  })

  it('sweeps expired answers as fast as new ones come', async () => {
    const { knex } = test.database
    await knex.raw(
      `INSERT INTO idempotent_answers SELECT 'org_1', 'expired ' || n, '', '', ? FROM generate_series(1, 1100) AS n`,
      [now],
    )
    const ledger = await ledgerOn(test.database, { clock: { now: () => now } })
    for (const key of ['sweep 1', 'sweep 2', 'sweep 3'])
      await ledger.append(callerOf('org_1', request(key)), claiming(key))
    await ledger.close()
    expect(await knex('idempotent_answers').where('key', 'like', 'expired %')).to.have.length(0)
  })

  it('holds for whole units and for changes, also for changes without an entry', async () => {
    const unit = () =>
      test.ledger.append(callerOf('org_1', request('unit')), together([claiming('u1'), claiming('u2')]))
    expect(await unit()).to.deep.equal(await unit())
    let runs = 0
    const change = (body?: string) =>
      test.ledger.transact(callerOf('org_1', request('change', body)), async () => ({ result: ++runs }))
    expect([await change(), await change()]).to.deep.equal([1, 1])
    expect(await rejection(change('other'))).to.include({ code: 'idempotency_key_reused' })
    expect(runs).to.equal(1)
  })

  it('replays each step of a request that commits several', async () => {
    const both = async (idempotency: Idempotency) => {
      const caller = callerOf('org_1', idempotency)
      const first = await test.ledger.append(caller, claiming('step 1'))
      return [first.index, (await test.ledger.append(caller, claiming('step 2'))).index]
    }
    const [first, second] = await both(request('steps'))
    expect(second).to.equal((first ?? 0) + 1)
    expect(await both(request('steps'))).to.deep.equal([first, second])
  })

  it('replays the attempt that wrote, and the steps around it', async () => {
    const three = async (idempotency: Idempotency, name: string, lost: number) => {
      const caller = callerOf('org_1', idempotency)
      let attempts = 0
      const first = await test.ledger.append(caller, claiming(`${name} 1`))
      const second = await attempted(caller, 3, (asker) => {
        const isLost = attempts++ < lost
        return test.ledger.append(asker, (tx) => {
          if (tx.holder(CLAIM_KINDS.paymentNullifier, `${name} 2`)) return 'held'
          if (isLost) return undefined
          tx.claim(CLAIM_KINDS.paymentNullifier, `${name} 2`)
          return tx.append({ type: 'payment', data: {} }).entryId
        })
      })
      return [first.index, second, (await test.ledger.append(caller, claiming(`${name} 3`))).index]
    }
    for (const [lost, lostAgain] of [
      [0, 2],
      [2, 0],
      [1, 1],
    ] as const) {
      const name = `attempts ${lost}`
      const answer = await three(request(name), name, lost)
      const { size } = await test.ledger.head()
      const again = request(name)
      expect(await three(again, name, lostAgain)).to.deep.equal(answer)
      expect(again.replayed).to.equal(true)
      expect((await test.ledger.head()).size).to.equal(size)
    }
    expect(await attempted(callerOf('org_1', request('lost')), 3, async () => undefined)).to.equal(undefined)
  })

  it('tells the stored answer beforehand, or that there is none', async () => {
    const asked = request('beforehand')
    expect(await test.ledger.findAnswer(asked)).to.equal(undefined)
    const answer = await send(asked, claiming('beforehand'))
    const { size } = await test.ledger.head()
    expect(await test.ledger.findAnswer(request('beforehand'))).to.deep.equal({ answer })
    const other = test.ledger.findAnswer(request('beforehand', 'other body'))
    expect(await rejection(other)).to.include({ code: 'idempotency_key_reused' })
    expect(await test.ledger.findAnswer(request('beforehand', 'body', 'org_2'))).to.equal(undefined)
    expect((await test.ledger.head()).size).to.equal(size)
    now += DAY_MS
    expect(await test.ledger.findAnswer(request('beforehand'))).to.equal(undefined)
  })

  it('keeps the answer with whoever asked, though another organisation acts', async () => {
    const asked = () => request('on behalf', 'body', 'org_2')
    const answer = await send(asked(), claiming('on behalf'), 'org_1')
    expect(await test.ledger.findAnswer(asked())).to.deep.equal({ answer })
    expect(await send(asked(), claiming('on behalf'), 'org_1')).to.deep.equal(answer)
  })

  it('keeps the keys of organisations apart', async () => {
    await send(request('apart'), claiming('apart'), 'org_1')
    const other = request('apart', 'other body', 'org_2')
    await send(other, claiming('apart'), 'org_2')
    expect(other.replayed).to.equal(false)
  })
})
