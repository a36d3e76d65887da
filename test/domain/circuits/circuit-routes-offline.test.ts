/** Payments under `offline_validation`: proved by the service, by their terminal, and what is no proof. */
import { expect } from 'chai'
import {
  type OfflineValidationValues,
  offlineValidation,
} from '../../../src/circuits/mappers/offline_validation.ts'
import {
  cardNullifierElement,
  terminalCommitment,
  terminalSecretElement,
} from '../../../src/circuits/mappers/terminal-secret.ts'
import { createProofMaker, type Proved } from '../../../src/circuits/proving/groth16.ts'
import { compactOf, parseProof } from '../../../src/protocol/payment-proof.ts'
import { encodeZk1, proofDigest } from '../../../src/protocol/zk1.ts'
import { contextElement } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  type Answered,
  asking,
  countEntries,
  expectUnproven,
  holds,
} from '../../support/circuits/circuit-questions.ts'
import { artifacts } from '../../support/circuits/circuits.ts'
import { ok } from '../../support/client.ts'
import { postV1Verify } from '../../support/domain/eligibility.ts'
import { type TestPayment, type Till, terminalTill } from '../../support/domain/tills.ts'
import { randomElement } from '../../support/elements.ts'
import { onEmbedded } from '../../support/servers/database.ts'
import { setSubscription } from '../../support/verification.ts'

const nullifierOf = (payment: TestPayment): bigint => {
  const proof = parseProof(payment.proofData)
  if (!proof.ok || proof.nullifier === undefined) throw new Error('not a stored proof')
  return cardNullifierElement(proof.nullifier)
}

/** As the route takes it. */
const presented = ({ proofData, amount, currency, timestamp }: TestPayment) => ({
  proofData,
  amount,
  currency,
  timestamp,
})

describe('POST /api/circuits/offline-validation', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let till: Till
  let payment: TestPayment
  let ask: ReturnType<typeof asking>
  let makeProof: Awaited<ReturnType<typeof createProofMaker>>

  const accepted = async (by: Till = till): Promise<TestPayment> => {
    const made = by.payment({ at: Date.now() - 500 })
    const { body } = await by.sync([made])
    expect(body.synced).to.equal(1)
    return made
  }

  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    till = await terminalTill(app, owner, { floorLimit: 49.99 })
    payment = await accepted()
    ask = asking(app, 'offline-validation')
    makeProof = await createProofMaker(artifacts.offline_validation)
  })

  const isFalse = (answer: Parameters<typeof expectUnproven>[0], reasonCodes: readonly string[]) =>
    expectUnproven(answer, 'offline_valid', reasonCodes)

  describe('of a payment as it was presented', () => {
    let answer: Answered
    before(async () => {
      const { status, body } = await ask(owner.apiKey, presented(payment))
      expect(status, JSON.stringify(body)).to.equal(200)
      answer = body
    })

    it('is a proof of the bounds within which it was accepted, under a secret of the service', async () => {
      expect(answer).to.deep.include({
        success: true,
        offline_valid: true,
        circuit_id: 'offline_validation',
        reasonCodes: [],
      })
      expect(await holds(app, answer)).to.equal(true)
      const signals = offlineValidation.read(answer.publicInputs ?? [])
      const own = app.services.terminals.ownProvingSecret(owner.organisationId, till.origin)
      const time = BigInt(Math.floor(Number(payment.timestamp) / 1000))
      expect(signals.cardNullifier).to.equal(nullifierOf(payment))
      expect(signals.limit).to.equal(4999n)
      expect(signals.from < time && time <= signals.to).to.equal(true)
      expect(signals.to - signals.from).to.equal(BigInt(30 * 24 * 3600 + 300))
      expect(signals.terminalCommitment).to.equal(terminalCommitment(own))
      expect(answer.digest).to.equal(proofDigest('offline_validation', answer.publicInputs ?? []))
    })

    it('is known to the proof routes, and verified', async () => {
      const { proofId, proof, publicInputs } = answer
      const { body } = await app.request('POST', '/api/proof/verify', {
        key: owner.apiKey,
        body: { proofId, proof, publicInputs },
      })
      expect(body).to.deep.include({ valid: true, verified: true, decision: 1 })
    })

    it('is the same record for the compact form of it, also under an Idempotency-Key', async () => {
      const proof = parseProof(payment.proofData)
      if (!proof.ok) throw new Error('malformed')
      const body = { ...presented(payment), proofData: compactOf(proof) }
      const headers = { 'idempotency-key': 'offline-1' }
      const first = await ask(owner.apiKey, body, headers)
      const { verifiedAt: _, ...told } = answer
      expect(first.body).to.deep.include(told)
      expect((await ask(owner.apiKey, body, headers)).body).to.deep.include(told)
    })

    it('is false, unproven and unrecorded where anything else is said of it', async () => {
      const before = await countEntries(app, owner.organisationId, 'verify')
      const { timestamp, amount } = payment
      for (const change of [
        { amount: amount + 0.01 },
        { currency: 'EUR' },
        { timestamp: Number(timestamp) + 1 },
        { proofData: till.payment().proofData },
        { proofData: 'nonsense' },
      ])
        isFalse(await ask(owner.apiKey, { ...presented(payment), ...change }), ['STATEMENT_FALSE'])
      isFalse(await ask((await app.organisation()).apiKey, presented(payment)), ['STATEMENT_FALSE'])
      expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before)
    })

    it('is refused for what was only presented in the compact form', async () => {
      const made = till.payment({ form: 'compact' })
      await till.validate(made)
      const { status, body } = await ask(owner.apiKey, presented(made))
      expect([status, body.error]).to.deep.equal([422, 'not_provable'])
    })

    it('has the floor limit of the terminal where its API key presented the payment', async () => {
      const made = till.payment({ at: Date.now() - 500 })
      const path = '/api/merchant/transactions/sync'
      await ok(app, 'POST', path, { bearer: till.key, body: { transactions: [made] } })
      const { body } = await ask(owner.apiKey, presented(made))
      expect(offlineValidation.read(body.publicInputs ?? []).limit).to.equal(4999n)
    })

    it('has no floor limit where the payment was asked for beforehand', async () => {
      const made = till.payment({ amountMinor: 7500 })
      expect((await till.validate(made)).body.valid).to.equal(true)
      const { body } = await ask(owner.apiKey, presented(made))
      expect(offlineValidation.read(body.publicInputs ?? []).limit).to.equal(BigInt(Number.MAX_SAFE_INTEGER))
    })
  })

  describe('made by the terminal', () => {
    const context = (organisation: string, { transactionId }: TestPayment, merchantId: string) => ({
      aud: app.url,
      org: organisation,
      circuit: 'offline_validation',
      statement: { currency: 'GBP', merchantId },
      nonce: transactionId,
    })
    const valuesOf = (made: TestPayment, by: Till): OfflineValidationValues => {
      const time = BigInt(Math.floor(Number(made.timestamp) / 1000))
      return {
        cardNullifier: nullifierOf(made),
        amount: 1250n,
        time,
        salt: randomElement(),
        terminalSecret: terminalSecretElement(by.terminalSecret ?? ''),
        limit: 5000n,
        from: time - 60n,
        to: time + 60n,
        ctx: contextElement(context(owner.organisationId, made, by.merchantId)),
      }
    }
    const prove = (
      made: TestPayment,
      by: Till,
      changes: Partial<OfflineValidationValues> = {},
    ): Promise<Proved> => makeProof(offlineValidation.witnessInput({ ...valuesOf(made, by), ...changes }))
    const send = ({ proof, publicSignals }: Proved, changes: object = {}) =>
      ask(owner.apiKey, { proof, publicInputs: publicSignals, ...changes })

    let good: Proved
    before(async () => {
      good = await prove(payment, till)
    })

    it('is held to what is expected of it, by the time of the payment, and not recorded where it differs', async () => {
      const at = Date.now() - 3_600_000
      const made = till.payment({ at })
      expect((await till.sync([made])).body.synced).to.equal(1)
      const own = await prove(made, till)
      const before = await countEntries(app, owner.organisationId, 'verify')
      const right = { nonce: made.transactionId, issuers: [owner.organisationId], max_age_seconds: 4000 }
      for (const [name, value] of Object.entries({
        nonce: 'x',
        issuers: ['org_other'],
        max_age_seconds: 3000,
      }))
        isFalse(await send(own, { expect: { ...right, [name]: value } }), [
          `EXPECTATION_${name.toUpperCase()}`,
        ])
      expect((await send(own, { expect: { status: 'active' } })).status).to.equal(422)
      expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before)
      const { body } = await send(own, { expect: right })
      expect(body).to.deep.include({ offline_valid: true, reasonCodes: [] })
    })

    it('counts when it is of the payment that is held, and is recorded once', async () => {
      const own = await prove(await accepted(), till)
      const before = await countEntries(app, owner.organisationId, 'verify')
      const { status, body } = await send(own)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.deep.include({ offline_valid: true, reasonCodes: [], publicInputs: own.publicSignals })
      expect(await holds(app, body)).to.equal(true)
      const again = await send(own)
      expect(again.body.proofId).to.equal(body.proofId)
      const proof = encodeZk1(own.proof, own.publicSignals)
      for (const text of [await ask(owner.apiKey, { proof }), await send(own, { proof })])
        expect(text.body).to.deep.include({ proofId: body.proofId, proof: body.proof })
      expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before + 1)
      const known = await app.request('POST', '/api/proof/verify', {
        key: owner.apiKey,
        body: { proofId: body.proofId, proof: body.proof, publicInputs: body.publicInputs },
      })
      expect(known.body).to.deep.include({ valid: true, verified: true })
    })

    it('does not count under a secret that is not the terminal’s', async () => {
      const other = await terminalTill(app, owner)
      const secret = terminalSecretElement(other.terminalSecret ?? '')
      isFalse(await send(await prove(payment, till, { terminalSecret: secret })), ['TERMINAL_UNKNOWN'])
    })

    it('does not count before its payment is here, nor for another card', async () => {
      const late = till.payment({ at: Date.now() - 500 })
      const proved = await prove(late, till)
      isFalse(await send(proved), ['PAYMENT_UNKNOWN'])
      await till.sync([late])
      expect((await send(proved)).body.offline_valid).to.equal(true)
    })

    onEmbedded.it(
      'does not count where amount or time of the held payment are not within its bounds',
      async () => {
        isFalse(await send(await prove(payment, till, { amount: 100n, limit: 1249n })), [
          'PAYMENT_OUT_OF_BOUNDS',
        ])
        const { time } = valuesOf(payment, till)
        isFalse(await send(await prove(payment, till, { time: time + 9n, from: time + 1n })), [
          'PAYMENT_OUT_OF_BOUNDS',
        ])
      },
    )

    onEmbedded.it(
      'does not count for another audience, organisation, merchant, currency or transaction',
      async () => {
        const right = context(owner.organisationId, payment, till.merchantId)
        const { statement } = right
        for (const wrong of [
          { ...right, aud: 'https://other.example' },
          { ...right, org: 'org_other' },
          { ...right, statement: { ...statement, merchantId: 'mer_other' } },
          { ...right, statement: { ...statement, currency: 'EUR' } },
          { ...right, nonce: 'txn_other' },
        ])
          isFalse(await send(await prove(payment, till, { ctx: contextElement(wrong) })), [
            'CONTEXT_MISMATCH',
          ])
      },
    )

    onEmbedded.it(
      'is refused with a reason, and no error, where it is no proof of these signals',
      async () => {
        const { publicSignals, proof } = good
        const [first = '', ...rest] = publicSignals
        const swapped = { ...proof, pi_a: proof.pi_c }
        isFalse(await send(good, { publicInputs: ['5', ...rest] }), ['PROOF_INVALID'])
        isFalse(await send(good, { proof: swapped }), ['PROOF_INVALID'])
        isFalse(await send(good, { publicInputs: [...publicSignals, '0'] }), ['SIGNAL_COUNT'])
        isFalse(await send(good, { publicInputs: [`0${first}`, ...rest] }), ['SIGNAL_NOT_CANONICAL'])
        isFalse(await send(good, { publicInputs: undefined }), ['SIGNAL_COUNT'])
        isFalse(await send(good, { proof: {} }), ['PROOF_MALFORMED'])
        isFalse(await send(good, { proof: 7 }), ['PROOF_MALFORMED'])
        isFalse(await send(good, { proof: 'zk1.AAAA' }), ['PROOF_MALFORMED'])
        isFalse(await send(good, { proof: 'zk1.AAAA', publicInputs: undefined }), ['PROOF_MALFORMED'])
        const text = encodeZk1(proof, publicSignals)
        isFalse(await send(good, { proof: text, publicInputs: ['5', ...rest] }), ['SIGNALS_MISMATCH'])
      },
    )

    it('no longer counts when its terminal is revoked', async () => {
      const lost = await terminalTill(app, owner)
      const made = await accepted(lost)
      const proved = await prove(made, lost)
      expect((await send(proved)).body.offline_valid).to.equal(true)
      await app.request('DELETE', `/console/api/terminals/${lost.origin}`, { key: owner.apiKey })
      isFalse(await send(proved), ['TERMINAL_UNKNOWN'])
    })

    describe('of one payment, however often and by whomever it is proved', () => {
      const recordsOf = async (digests: readonly (string | null)[]) =>
        (
          await app.services.database
            .knex('proofs')
            .where({ organisation: owner.organisationId })
            .whereIn('digest', [...digests])
            .select('id')
        ).length
      const generate = (made: TestPayment, more: object = {}, key = owner.apiKey) =>
        app.request<Record<string, unknown>>('POST', '/v1/proofs/generate', {
          key,
          body: { circuit_id: 'offline_validation', inputs: presented(made), ...more },
        })
      it('is one record: other proofs of its terminal, and proofs of the service, get the id of the first', async () => {
        const made = await accepted()
        const [one, two] = [await prove(made, till), await prove(made, till)]
        const { body: first } = await send(one)
        expect(first.publicInputs).to.deep.equal(one.publicSignals)
        for (const again of [
          (await send(two)).body,
          (await ask(owner.apiKey, presented(made))).body,
          (await ask(owner.apiKey, presented(made))).body,
        ]) {
          const { proofId, digest, proof, publicInputs, offline_valid } = first
          expect(again).to.deep.include({ proofId, digest, proof, publicInputs, offline_valid })
        }
        const generated = await generate(made)
        expect([generated.status, generated.body.proof_id]).to.deep.equal([200, first.proofId])
        const { proofs } = (
          await app.request<{ proofs: object[] }>('POST', '/api/proof/sync', {
            key: owner.apiKey,
            body: {
              proofs: [{ circuitId: 'offline_validation', proof: encodeZk1(two.proof, two.publicSignals) }],
            },
          })
        ).body
        expect(proofs[0]).to.deep.include({ proofId: first.proofId, status: 'updated' })
        const digests = [one, two].map((made) => proofDigest('offline_validation', made.publicSignals))
        expect(await recordsOf(digests)).to.equal(1)
      })

      it('is one record also where twelve are asked for at once', async () => {
        const made = await accepted()
        const answers = await Promise.all(
          Array.from({ length: 12 }, () => ask(owner.apiKey, presented(made))),
        )
        expect(answers.every(({ body }) => body.offline_valid)).to.equal(true)
        expect(new Set(answers.map(({ body }) => body.proofId)).size).to.equal(1)
        expect(await recordsOf(answers.map(({ body }) => String(body.digest)))).to.equal(1)
      })

      it('is told again without a charge, also by who has no free proof left', async () => {
        const shop = await app.organisation()
        const own = await terminalTill(app, shop)
        const [made, other] = [await accepted(own), await accepted(own)]
        const { body: first } = await ask(shop.apiKey, presented(made))
        await setSubscription(app, shop.organisationId, 'inactive')
        const again = await ask(shop.apiKey, presented(made))
        expect([again.status, again.body.proofId]).to.deep.equal([200, first.proofId])
        const generated = await generate(made, {}, shop.apiKey)
        expect([generated.status, generated.body.proof_id]).to.deep.equal([200, first.proofId])
        const context = { amount: 1, currency: 'GBP', inputs: presented(made) }
        const verified = await postV1Verify(app, shop.apiKey, {
          circuit_id: 'offline_validation',
          identifier: 'c',
          context,
        })
        expect([verified.status, verified.body.error]).to.deep.equal([409, 'conflict'])
        expect((await ask(shop.apiKey, presented(other))).status).to.equal(402)
      })

      it('is a conflict that names the record where another should bind more, and no longer true once it is spent', async () => {
        const made = await accepted()
        const { body: first } = await generate(made, { context: { nonce: 'n-1' } })
        expect(first.context).to.deep.include({ nonce: 'n-1' })
        const other = await generate(made, { context: { nonce: 'n-2' } })
        expect([other.status, other.body.proof_id]).to.deep.equal([409, first.proof_id])
        const { proof_id, proof, public_signals } = first
        const body = { proof_id, proof, public_signals, consume: true }
        const spent = await app.request('POST', '/v1/proofs/verify', { key: owner.apiKey, body })
        expect(spent.body).to.include({ verified: true })
        isFalse(await ask(owner.apiKey, presented(made)), ['DOUBLE_SPEND'])
      })
    })

    it('may be made by the service from the terminal’s signals', async () => {
      const { ctx, ...signals } = valuesOf(payment, till)
      const inputs = Object.fromEntries(Object.entries(signals).map(([name, value]) => [name, String(value)]))
      const { body } = await ask(owner.apiKey, { inputs })
      expect(body, JSON.stringify(body)).to.deep.include({ offline_valid: true, reasonCodes: [] })
      const other = terminalSecretElement('other')
      for (const change of [
        { amount: '1249' },
        { time: String(signals.time - 1n) },
        { limit: '1249' },
        { terminalSecret: String(other) },
        { cardNullifier: String(randomElement()) },
      ])
        isFalse(await ask(owner.apiKey, { inputs: { ...inputs, ...change } }), ['STATEMENT_FALSE'])
      const { status } = await ask(owner.apiKey, { inputs: { ...inputs, limit: String(1n << 64n) } })
      expect(status).to.equal(422)
    })
  })

  it('is asked in exactly one complete form', async () => {
    const refused = async (body: object, path: string) => {
      const answer = await ask(owner.apiKey, body)
      expect(answer.status).to.equal(422)
      expect(answer.body.details?.[0]?.path).to.equal(path)
    }
    await refused({}, '')
    await refused({ proof: {}, ...presented(payment) }, '')
    await refused({ proofData: payment.proofData }, '/amount')
    await refused({ ...presented(payment), amount: '12.50' }, '/amount')
    await refused({ inputs: { amount: '1' } }, '/inputs/cardNullifier')
    expect((await ask(owner.apiKey, { ...presented(payment), amount: 12.505 })).body.error).to.equal(
      'amount_precision',
    )
  })

  it('is not open to tills: neither to their tokens nor to their keys', async () => {
    const body = presented(payment)
    expect(
      (await app.request('POST', '/api/circuits/offline-validation', { bearer: till.bearer, body })).status,
    ).to.equal(403)
    expect((await ask(till.key, body)).status).to.equal(403)
  })
})
