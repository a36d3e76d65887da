/** Inputs that are wrong: an error on validate, a refused item in a batch. */
import { expect } from 'chai'
import type { RefusalCode } from '../../../src/protocol/sync.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { keyTill, type Till, terminalTill } from '../../support/domain/tills.ts'
import { heldMemory } from '../../support/fuzz/held-memory.ts'

describe('payment inputs', () => {
  let app: TestApp
  let key: Till
  let terminal: Till

  before(async () => {
    app = await sharedApp()
    const owner = await app.organisation()
    key = await keyTill(app, owner)
    terminal = await terminalTill(app, owner, { floorLimit: 100 })
  })

  describe('on validate', () => {
    const cases: [name: string, error: string, path: string, change: object][] = [
      ['more decimals than the currency has', 'amount_precision', '/amount', { amount: 1.005 }],
      ['decimals in yen', 'amount_precision', '/amount', { amount: 1.5, currency: 'JPY' }],
      ['an amount of nought', 'validation_failed', '/amount', { amount: 0 }],
      ['a negative amount', 'validation_failed', '/amount', { amount: -1 }],
      ['an amount beyond exact numbers', 'validation_failed', '/amount', { amount: 1e300 }],
      ['an amount that is text', 'validation_failed', '/amount', { amount: '1' }],
      ['an unknown currency', 'currency_invalid', '/currency', { currency: 'XXZ' }],
      ['a currency in lower case', 'currency_invalid', '/currency', { currency: 'gbp' }],
      ['a card number as proof', 'pan_not_allowed', '/proofData', { proofData: '4242 4242 4242 4242' }],
      ['a missing proof', 'validation_failed', '/proofData', { proofData: undefined }],
      ['a time without a zone', 'validation_failed', '/timestamp', { timestamp: '2026-01-01T00:00:00' }],
      ['a negative time', 'validation_failed', '/timestamp', { timestamp: -1 }],
      ['a time after 9998', 'validation_failed', '/timestamp', { timestamp: 253_370_764_800_000 }],
      ['a time that no Date holds', 'validation_failed', '/timestamp', { timestamp: 9e15 }],
      ['a transaction id with a space', 'validation_failed', '/transactionId', { transactionId: 'a b' }],
      ['an overlong id', 'validation_failed', '/transactionId', { transactionId: 'x'.repeat(129) }],
      ['an unknown payment method', 'validation_failed', '/paymentMethod', { paymentMethod: 'cash' }],
    ]
    for (const [name, error, path, change] of cases) {
      it(`are 422 ${error} for ${name}`, async () => {
        const answer = await key.validate({ ...key.payment(), ...change })
        expect(answer.status).to.equal(422)
        expect(answer.body.error).to.equal(error)
        expect(answer.body.details?.[0]?.path).to.equal(path)
      })
    }

    it('are 404 for a merchant of somebody else, and 403 for a terminal that names another', async () => {
      const stranger = await app.organisation()
      const merchantId = stranger.merchantId
      expect((await key.validate({ ...key.payment(), merchantId })).status).to.equal(404)
      expect((await terminal.validate({ ...terminal.payment(), merchantId })).status).to.equal(403)
    })
  })

  describe('a batch', () => {
    it('of nothing is answered with noughts', async () => {
      expect((await key.sync([])).body).to.deep.equal({ synced: 0, failed: 0, errors: [], results: [] })
    })

    it('of more than 50 is refused whole, with nothing done', async () => {
      const payments = Array.from({ length: 51 }, () => key.payment())
      const answer = await key.sync(payments)
      expect([answer.status, answer.body.error]).to.deep.equal([422, 'batch_too_large'])
      expect(
        (await key.sync(payments.slice(0, 50))).body.results.every(({ status }) => status === 'synced'),
      ).to.equal(true)
    })

    it('refuses what is malformed item by item and books the rest', async () => {
      const good = [key.payment(), key.payment()]
      const bad: [unknown, RefusalCode][] = [
        [null, 'PROOF_MALFORMED'],
        [42, 'PROOF_MALFORMED'],
        [[], 'PROOF_MALFORMED'],
        [{}, 'PROOF_MALFORMED'],
        [{ ...key.payment(), proofData: 7 }, 'PROOF_MALFORMED'],
        [{ ...key.payment(), proofData: '4242424242424242' }, 'PROOF_MALFORMED'],
        [{ ...key.payment(), transactionId: 'a b' }, 'TRANSACTION_ID_INVALID'],
        [{ ...key.payment(), transactionId: 7 }, 'TRANSACTION_ID_INVALID'],
        [{ ...key.payment(), merchantId: 'mer_unknown' }, 'MERCHANT_INVALID'],
        [{ ...key.payment(), merchantId: {} }, 'MERCHANT_INVALID'],
        [{ ...key.payment(), currency: 'XXZ' }, 'CURRENCY_INVALID'],
        [{ ...key.payment(), currency: 1 }, 'CURRENCY_INVALID'],
        [{ ...key.payment(), amount: 0 }, 'AMOUNT_INVALID'],
        [{ ...key.payment(), amount: 1.005 }, 'AMOUNT_INVALID'],
        [{ ...key.payment(), amount: '1' }, 'AMOUNT_INVALID'],
        [{ ...key.payment(), amount: 1e300 }, 'AMOUNT_INVALID'],
        [{ ...key.payment(), timestamp: undefined }, 'TIMESTAMP_INVALID'],
        [{ ...key.payment(), timestamp: 'yesterday' }, 'TIMESTAMP_INVALID'],
        [{ ...key.payment(), timestamp: {} }, 'TIMESTAMP_INVALID'],
        [{ ...key.payment(), timestamp: 9e15 }, 'TIMESTAMP_INVALID'],
      ]
      const { status, body } = await key.sync([good[0], ...bad.map(([item]) => item), good[1]])
      expect(status).to.equal(200)
      expect(body.results.map(({ index }) => index)).to.deep.equal([...Array(bad.length + 2).keys()])
      expect(body.results.map((result) => result.status)).to.deep.equal([
        'synced',
        ...bad.map(() => 'rejected'),
        'synced',
      ])
      expect(body.errors.map(({ code }) => code)).to.deep.equal(bad.map(([, code]) => code))
      expect([body.synced, body.failed]).to.deep.equal([2, bad.length])
    })

    it('may name a merchant by a text of any length, of which nothing is remembered', async () => {
      const megabyte = 1_000_000
      const upload = async (number: number) => {
        const merchantId = `mer_${number}`.padEnd(megabyte, 'x')
        const { body } = await key.sync([{ ...key.payment(), merchantId }])
        expect(body.errors.map(({ code }) => code)).to.deep.equal(['MERCHANT_INVALID'])
      }
      await upload(0)
      const before = await heldMemory()
      for (let number = 1; number <= 24; number++) await upload(number)
      const after = await heldMemory()
      expect(after.heap - before.heap).to.be.below(8 * megabyte)
    })

    it('is bound by the floor limit, which validate is not: who validates has asked', async () => {
      const dear = () => terminal.payment({ amountMinor: 10_001 })
      expect((await terminal.sync([dear()])).body.errors[0]?.code).to.equal('LIMIT_EXCEEDED')
      expect((await terminal.sync([terminal.payment({ amountMinor: 10_000 })])).body.synced).to.equal(1)
      expect((await terminal.validate(dear())).body.valid).to.equal(true)
    })
  })
})
