/** What `payments/validate` and `transactions/sync` answer, case by case, through the real app and database. */
import { expect } from 'chai'
import { REFUSALS, type RefusalCode, type SyncAnswer } from '../../../src/protocol/sync.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { keyTill, type TestPayment, type Till, terminalTill } from '../../support/domain/tills.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Another base64url digit at one place: flips bits of one byte or two. */
const changed = (proofData: string, at: number): string =>
  proofData.slice(0, at) + (proofData[at] === 'A' ? 'B' : 'A') + proofData.slice(at + 1)

describe('payments', () => {
  let app: TestApp
  let key: Till
  let terminal: Till

  before(async () => {
    app = await sharedApp()
    const owner = await app.organisation()
    key = await keyTill(app, owner)
    terminal = await terminalTill(app, owner, { floorLimit: 100 })
  })

  const tills = () => [key, terminal]

  describe('a sound payment', () => {
    it('is valid, with assurance mac, for a key and for a terminal', async () => {
      for (const till of tills()) {
        const payment = till.payment()
        const { status, body } = await till.validate(payment)
        expect(status).to.equal(200)
        expect(body).to.deep.equal({
          valid: true,
          transactionId: payment.transactionId,
          doubleSpend: false,
          assurance: 'mac',
        })
      }
    })

    it('is synced, with assurance mac, for a key and for a terminal', async () => {
      for (const till of tills()) {
        const payment = till.payment()
        const { status, body } = await till.sync([payment])
        expect(status).to.equal(200)
        expect(body).to.deep.equal({
          synced: 1,
          failed: 0,
          errors: [],
          results: [{ index: 0, transactionId: payment.transactionId, status: 'synced', assurance: 'mac' }],
        })
      }
    })

    it('gets a transaction id when it brings none: a new one on validate, one made from the proof on sync', async () => {
      const { transactionId: _, ...nameless } = key.payment()
      expect((await key.validate(nameless)).body.transactionId).to.match(/^txn_[0-9a-z]{26}$/)
      const { transactionId: __, ...other } = key.payment()
      const first = (await key.sync([other])).body.results[0]
      const second = (await key.sync([other])).body.results[0]
      expect(first).to.include({ status: 'synced' })
      expect(second).to.deep.equal({ ...first, status: 'duplicate' })
    })

    it('may state its time as ISO 8601, Unix milliseconds or Unix seconds', async () => {
      const at = Math.floor(Date.now() / 1000) * 1000
      for (const timestamp of [
        at,
        at / 1000,
        new Date(at).toISOString(),
        new Date(at).toISOString().replace('Z', '+00:00'),
      ]) {
        const payment = { ...key.payment({ at }), timestamp }
        expect((await key.validate(payment)).body).to.include({ valid: true, assurance: 'mac' })
      }
    })

    it('is structural in the compact form, or without a timestamp to check the MAC with', async () => {
      const { timestamp: _, ...timeless } = key.payment()
      for (const payment of [timeless, key.payment({ form: 'compact' })])
        expect((await key.validate(payment)).body).to.include({ valid: true, assurance: 'structural' })
      expect((await key.sync([key.payment({ form: 'compact' })])).body.results[0]).to.include({
        status: 'synced',
        assurance: 'structural',
      })
    })

    it('is in pounds unless it says otherwise, and follows the decimals of its currency', async () => {
      const { currency: _, ...pounds } = key.payment()
      expect((await key.validate(pounds)).body).to.include({ valid: true, assurance: 'mac' })
      for (const wishes of [
        { amountMinor: 500, currency: 'JPY' },
        { amountMinor: 1234, currency: 'KWD' },
        { amountMinor: 30, currency: 'GBP' },
      ]) {
        expect((await key.validate(key.payment(wishes))).body).to.include({ valid: true, assurance: 'mac' })
      }
    })

    it('may carry null in optional fields, which then count as absent', async () => {
      const payment = { ...key.payment(), customerId: null, paymentMethod: null }
      expect((await key.validate(payment)).body).to.include({ valid: true })
      expect(
        (await key.sync([{ ...key.payment(), customerId: null, transactionId: null }])).body.synced,
      ).to.equal(1)
    })
  })

  it('accepts the published vector, under its key, for its merchant, at its time', async () => {
    const at = 1763683200000
    const env = { ADMIN_API_KEY: 'vk_test_0123456789abcdef' }
    const vectorApp = await startTestApp({ env, clock: { now: () => at + 1000 } })
    try {
      const { body: me } = await vectorApp.request<{ organisationId: string }>('GET', '/console/api/me', {
        key: env.ADMIN_API_KEY,
      })
      await vectorApp.services.database
        .knex('merchants')
        .insert({ id: 'mer_1', organisation: me.organisationId, name: 'vector', limits: {}, created_at: at })
      const body = { amount: 12.5, currency: 'GBP', timestamp: at, merchantId: 'mer_1' }
      const stored = '1-G_E31gJBF1PaGvvUgcSJ_MEMlHPqCGRu4ikzvPS0at8URtI0ywXXu3h6ONnh4AAQ'
      const compact = '1-G_E31gJBF1PaGvrfFEbSNMsF17t4ejjZ4e'
      const validate = async (proofData: string) =>
        (
          await vectorApp.request('POST', '/api/merchant/payments/validate', {
            bearer: env.ADMIN_API_KEY,
            body: { ...body, proofData },
          })
        ).body
      expect(await validate(stored)).to.include({ valid: true, doubleSpend: false, assurance: 'mac' })
      expect(await validate(compact)).to.include({ valid: false, doubleSpend: true, assurance: 'structural' })
    } finally {
      await vectorApp.close()
    }
  })

  describe('a refusal', () => {
    interface Case {
      name: string
      code: RefusalCode
      assurance: 'none' | 'structural' | 'mac'
      make(till: Till): object
    }
    /** Both routes answer these the same way: 200 with a reason, or an error of the item. */
    const cases: Case[] = [
      {
        name: 'text that is no proof',
        code: 'PROOF_MALFORMED',
        assurance: 'none',
        make: (till) => ({ ...till.payment(), proofData: 'nonsense' }),
      },
      {
        name: 'an empty proof',
        code: 'PROOF_MALFORMED',
        assurance: 'none',
        make: (till) => ({ ...till.payment(), proofData: '' }),
      },
      {
        name: 'a proof of 66 characters with spare bits set',
        code: 'PROOF_MALFORMED',
        assurance: 'none',
        make: (till) => {
          const payment = till.payment()
          return { ...payment, proofData: `${payment.proofData.slice(0, 65)}B` }
        },
      },
      {
        name: 'a proof with a character outside base64url',
        code: 'PROOF_MALFORMED',
        assurance: 'none',
        make: (till) => ({ ...till.payment(), proofData: `+${till.payment().proofData.slice(1)}` }),
      },
      {
        name: 'a changed nullifier',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => {
          const payment = till.payment()
          return { ...payment, proofData: changed(payment.proofData, 20) }
        },
      },
      {
        name: 'a changed MAC',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => {
          const payment = till.payment()
          return { ...payment, proofData: changed(payment.proofData, 50) }
        },
      },
      {
        name: 'a changed nonce',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => {
          const payment = till.payment()
          return { ...payment, proofData: changed(payment.proofData, 64) }
        },
      },
      {
        name: 'another amount',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => ({ ...till.payment(), amount: 12.51 }),
      },
      {
        name: 'another currency',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => ({ ...till.payment(), currency: 'EUR' }),
      },
      {
        name: 'another time',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => {
          const payment = till.payment()
          return { ...payment, timestamp: Number(payment.timestamp) - 1 }
        },
      },
      {
        name: 'a proof made with another key',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => till.payment({ key: 'ak_live_of_somebody_else' }),
      },
      {
        name: 'a proof made for another merchant',
        code: 'INVALID_MAC',
        assurance: 'structural',
        make: (till) => till.payment({ merchantId: 'mer_somewhere_else' }),
      },
      {
        name: 'a stamp more than five minutes ahead',
        code: 'CLOCK_SKEW',
        assurance: 'structural',
        make: (till) => till.payment({ at: Date.now() + 6 * MINUTE_MS }),
      },
      {
        name: 'a payment of more than thirty days ago',
        code: 'TOO_OLD',
        assurance: 'mac',
        make: (till) => till.payment({ at: Date.now() - 31 * DAY_MS }),
      },
    ]

    for (const { name, code, assurance, make } of cases) {
      it(`is ${code} on both routes for ${name}`, async () => {
        for (const till of tills()) {
          const asked = make(till) as TestPayment
          const validated = await till.validate(asked)
          expect(validated.status).to.equal(200)
          expect(validated.body).to.deep.equal({
            valid: false,
            transactionId: asked.transactionId,
            doubleSpend: false,
            assurance,
            reason: code,
          })
          const told = make(till) as TestPayment
          const synced = await till.sync([told])
          expect(synced.status).to.equal(200)
          expect(synced.body).to.deep.equal({
            synced: 0,
            failed: 1,
            errors: [
              {
                index: 0,
                transactionId: told.transactionId,
                code,
                message: REFUSALS[code],
                // Its time may come.
                retryable: code === 'CLOCK_SKEW',
              },
            ],
            results: [{ index: 0, transactionId: told.transactionId, status: 'rejected', assurance }],
          })
        }
      })
    }

    it('leaves the card token unspent', async () => {
      const cardToken = `tok_${crypto.randomUUID()}`
      const wrong = { ...key.payment({ cardToken }), amount: 99 }
      expect((await key.validate(wrong)).body.reason).to.equal('INVALID_MAC')
      expect((await key.validate(key.payment({ cardToken }))).body.valid).to.equal(true)
    })

    it('decides nothing: the same transaction id may be presented again, corrected', async () => {
      const payment = key.payment()
      expect((await key.validate({ ...payment, amount: 99 })).body.reason).to.equal('INVALID_MAC')
      expect((await key.validate(payment)).body.valid).to.equal(true)
    })
  })

  it('demands a checkable MAC where the policy says so', async () => {
    const strict = await terminalTill(app, await app.organisation(), { minAssurance: 'mac' })
    const compact = strict.payment({ form: 'compact' })
    expect((await strict.validate(compact)).body).to.include({
      valid: false,
      reason: 'ASSURANCE_TOO_LOW',
      assurance: 'structural',
    })
    expect((await strict.sync([strict.payment({ form: 'compact' })])).body.errors[0]?.code).to.equal(
      'ASSURANCE_TOO_LOW',
    )
    expect((await strict.validate(strict.payment())).body).to.include({ valid: true, assurance: 'mac' })
  })

  it('holds the limits of a terminal for what comes with its API key as well', async () => {
    const limits = { floorLimit: 10, minAssurance: 'mac', maxOfflineAgeMs: MINUTE_MS }
    const till = await terminalTill(app, await app.organisation(), limits)
    const transactions = [
      till.payment(),
      till.payment({ form: 'compact', amountMinor: 500 }),
      till.payment({ at: Date.now() - 2 * MINUTE_MS, amountMinor: 500 }),
      till.payment({ amountMinor: 500 }),
    ]
    const path = '/api/merchant/transactions/sync'
    const { body } = await app.request<SyncAnswer>('POST', path, { bearer: till.key, body: { transactions } })
    expect(body.errors.map(({ code }) => code)).to.deep.equal([
      'LIMIT_EXCEEDED',
      'ASSURANCE_TOO_LOW',
      'TOO_OLD',
    ])
    expect(body.synced).to.equal(1)
  })

  it('refuses what is older than the terminal may be offline', async () => {
    const till = await terminalTill(app, await app.organisation(), { maxOfflineAgeMs: MINUTE_MS })
    expect(
      (await till.sync([till.payment({ at: Date.now() - 2 * MINUTE_MS })])).body.errors[0]?.code,
    ).to.equal('TOO_OLD')
    expect((await till.sync([till.payment({ at: Date.now() - MINUTE_MS / 2 })])).body.synced).to.equal(1)
  })
})
