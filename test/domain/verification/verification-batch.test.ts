/** POST /verify/batch through the real app. */
import { expect } from 'chai'
import { type Caller, type Idempotency, systemCaller } from '../../../src/caller.ts'
import { proofRow } from '../../../src/domain/proofs/recording.ts'
import { revokedDigestClaim } from '../../../src/domain/proofs/spending/spend-keys.ts'
import { VerifyRequest } from '../../../src/domain/verification/schemas.ts'
import { createVerification } from '../../../src/domain/verification/service.ts'
import { fail } from '../../../src/errors.ts'
import { bodyCheck } from '../../../src/http/input/validation.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { rejection } from '../../support/rejection.ts'
import { DATA, isSigned, postBatch } from '../../support/verification.ts'

const adult = { field: 'age', op: 'gte', value: 18 }

describe('verification in batches', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })
  const batch = async (...items: unknown[]) => {
    const { status, body } = await postBatch(app, owner.apiKey, items)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  it('keeps the order of its items, whatever comes of them', async () => {
    const { success, count, results } = await batch(
      { data: { age: 20 }, options: { rules: [adult] } },
      { data: {} },
      { data: { age: 10 }, options: { rules: [adult] } },
      7,
      { data: { age: 30 }, options: { rules: [{ field: 'age', op: 'gt', value: 1 }], ttl: 60 } },
    )
    expect([success, count]).to.deep.equal([true, 5])
    expect(results.map((result) => (isSigned(result) ? result.decision : result.error))).to.deep.equal([
      'YES',
      'validation_failed',
      'NO',
      'validation_failed',
      'YES',
    ])
    const signed = results.filter(isSigned)
    const places = signed.map(({ merkleIndex }) => merkleIndex)
    expect(places).to.deep.equal([...places].sort((a, b) => a - b))
    expect(new Set(signed.map(({ digest }) => digest)).size).to.equal(3)
  })

  it('signs, and makes no zero-knowledge proof', async () => {
    const { results } = await batch(DATA)
    const [result] = results
    expect(result).to.include.all.keys('jws', 'signature', 'digest', 'salt', 'qrUrl', 'circuitId')
    expect(result).not.to.have.any.keys('proof', 'proofId')
  })

  it('takes an item without a data object for the data itself', async () => {
    const wrappedWrong = { data: { a: 1 }, options: { ttl: -1 } }
    const { results } = await batch({ data: 5 }, wrappedWrong, { options: {} })
    expect(results.map(isSigned)).to.deep.equal([true, false, true])
  })

  it('refuses an item with anything but options beside its data object, and judges the others', async () => {
    const { results } = await batch({ data: { age: 12 }, rules: [adult] }, { data: { age: 40 } })
    expect(results.map(isSigned)).to.deep.equal([false, true])
    expect(results[0]).to.deep.include({ success: false, error: 'unknown_member' })
    expect(results[0]).to.have.nested.property('details[0].path', '/rules')
    expect(results[0]).to.have.nested.property('details[0].message').that.includes('belongs in `options`')
  })

  it('says where an item is wrong, in words of the item', async () => {
    const { results } = await batch({ data: { a: 1 }, options: { rules: [{ ...adult, op: 'like' }] } }, {})
    expect(results[0]).to.deep.include({ success: false, verificationId: null, error: 'validation_failed' })
    expect(results.map((result) => !isSigned(result) && result.details?.[0]?.path)).to.deep.equal([
      '/options/rules/0/op',
      '',
    ])
  })

  it('takes 100 items, and neither 0 nor 101', async () => {
    const items = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))
    const { results } = await batch(...items(100))
    expect(results.every(isSigned)).to.equal(true)
    const tooMany = await postBatch(app, owner.apiKey, items(101))
    expect([tooMany.status, tooMany.body.error]).to.deep.equal([422, 'batch_too_large'])
    expect((await postBatch(app, owner.apiKey, [])).status).to.equal(422)
  })

  it('repeats every signed item to the same Idempotency-Key, and writes none twice', async () => {
    const items = [{ a: 1 }, 'wrong', { a: 2 }, { a: 3 }]
    const headers = { 'idempotency-key': 'batch-1' }
    const first = await postBatch(app, owner.apiKey, items, headers)
    const { size } = await app.services.ledger.head()
    const again = await postBatch(app, owner.apiKey, items, headers)
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect((await app.services.ledger.head()).size).to.equal(size)
  })

  it('makes nothing of another body with the same Idempotency-Key, however long', async () => {
    const headers = { 'idempotency-key': 'batch-2' }
    await postBatch(app, owner.apiKey, [{ a: 1 }], headers)
    const { size } = await app.services.ledger.head()
    const { status, body } = await postBatch(app, owner.apiKey, [{ a: 1 }, { a: 2 }, { a: 3 }], headers)
    expect([status, body.error]).to.deep.equal([422, 'idempotency_key_reused'])
    expect((await app.services.ledger.head()).size).to.equal(size)
  })

  describe('while the database falls away and comes back', () => {
    /** Verification over the real ledger, out of reach for the items with these numbers. */
    const verificationWithout = (lost: readonly number[]) => {
      const { ledger } = app.services
      let asked = 0
      const append: typeof ledger.append = async (caller, item) =>
        lost.includes(asked++) ? fail('unavailable') : ledger.append(caller, item)
      return createVerification({
        proofRow,
        revokedDigestClaim,
        ...app.services,
        ledger: { append },
        baseUrl: app.config.baseUrl,
        hasWitnesses: false,
        engine: { name: 'test', version: '1' },
        checkRequest: bodyCheck(VerifyRequest),
      })
    }
    const caller = (idempotency?: Idempotency): Caller => ({
      ...systemCaller(owner.organisationId, 'test'),
      idempotency,
    })
    const items = [{ a: 1 }, { a: 2 }, 'wrong', { a: 3 }]
    const requestOf = (key: string): Idempotency => ({
      organisation: owner.organisationId,
      key,
      requestHash: '00',
      replayed: false,
    })

    it('gives the results that are committed, and says of which items it does not know', async () => {
      const { results } = await verificationWithout([1]).batch(caller(), { items })
      expect(results.map((result) => (isSigned(result) ? 'signed' : result.error))).to.deep.equal([
        'signed',
        'unavailable',
        'validation_failed',
        'signed',
      ])
    })

    it('is refused as a whole when nothing is committed', async () => {
      const lost = verificationWithout([0, 1, 2]).batch(caller(), { items })
      expect(await rejection(lost)).to.include({ code: 'unavailable' })
    })

    it('is refused as a whole under an Idempotency-Key, which brings what is committed later', async () => {
      const request = () => caller(requestOf('batch-under-key'))
      const lost = verificationWithout([1]).batch(request(), { items })
      expect(await rejection(lost)).to.include({ code: 'unavailable' })
      const { size } = await app.services.ledger.head()
      const { results } = await verificationWithout([]).batch(request(), { items })
      expect(results.map(isSigned)).to.deep.equal([true, true, false, true])
      expect((await app.services.ledger.head()).size).to.equal(size + 1)
    })
  })

  it('shares few commits among its items', async () => {
    const { results } = await batch(...Array.from({ length: 50 }, (_, n) => ({ n })))
    const roots = new Set(results.filter(isSigned).map(({ merkleRoot }) => merkleRoot))
    expect(roots.size).to.be.at.most(2)
  })
})
