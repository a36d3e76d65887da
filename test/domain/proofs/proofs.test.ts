/** Proofs that the service makes: what comes back, what is recorded, what it costs, and what can't be had. */
import { expect } from 'chai'
import { CIRCUITS } from '../../../src/circuits/catalogue.ts'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import type { Prepared } from '../../../src/domain/proofs/statement.ts'
import { AppError } from '../../../src/errors.ts'
import { proofDigest } from '../../../src/protocol/zk1.ts'
import { contextElement } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  ADULT,
  ADULT_INPUTS,
  BRITISH,
  entriesOf,
  generated,
  PERSON,
  postGenerate,
  postSimpleGenerate,
  postSimpleVerify,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { rejection } from '../../support/rejection.ts'
import { freeOrganisation } from '../../support/verification.ts'

const TREE = { op: 'OR', children: [ADULT, { op: 'NOT', child: BRITISH }] }

describe('making proofs', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let made: ProofGenerated
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    const context = { nonce: 'n-1', ttl: 600, purpose: 'entry' }
    made = await generated(app, owner.apiKey, {
      circuit_id: 'yesno',
      inputs: ADULT_INPUTS,
      context,
      subject: 'user-1',
    })
  })

  it('the digest names the public signals, and ctx is the hash of the context that was told', () => {
    const { digest, public_signals, context } = made
    expect(digest).to.equal(proofDigest('yesno', public_signals))
    expect(public_signals.at(-1)).to.equal(String(contextElement(context)))
    const { aud, org, circuit, nonce, exp, statement } = context
    expect({ aud, org, circuit, nonce }).to.deep.equal({
      aud: app.url,
      org: owner.organisationId,
      circuit: 'yesno',
      nonce: 'n-1',
    })
    expect(exp).to.equal(Math.floor(Date.parse(made.created_at) / 1000) + 600)
    expect(Date.parse(made.expires_at ?? '')).to.equal(Number(exp) * 1000)
    expect(statement).to.include({ op: 'gte', purpose: 'entry' })
    expect(statement)
      .to.have.property('subject')
      .that.matches(/^[0-9a-f]{64}$/)
  })

  it('is verified by both routes afterwards', async () => {
    const { proof_id, proof, public_signals, digest, context } = made
    const v1 = await postVerifyProof(app, owner.apiKey, {
      proof_id,
      circuit_id: 'yesno',
      proof,
      public_signals,
    })
    expect(v1.status).to.equal(200)
    // It is told what was verified: a true answer to another question proves nothing of this one.
    const { decision } = made
    expect(v1.body).to.deep.equal({
      valid: true,
      verified: true,
      decision,
      digest,
      context,
      reason_codes: [],
    })
    const simple = await postSimpleVerify(app, owner.apiKey, {
      proofId: proof_id,
      proof,
      publicInputs: public_signals,
    })
    expect(simple.body).to.deep.equal({ valid: true, verified: true, decision: 1, reasonCodes: [] })
  })

  it('leaves an entry when it is made and one each time it is verified, with what followers need', async () => {
    const { proof_id, circuit_id, digest } = await generated(app, owner.apiKey)
    const other = await generated(app, owner.apiKey)
    expect(other.digest).not.to.equal(digest)
    const { merkle_index, merkle_leaf_hash } = other
    const row = await app.services.database.knex('ledger_entries').where({ idx: merkle_index }).first()
    expect(Buffer.from(row.leaf_hash).toString('hex')).to.equal(merkle_leaf_hash)
    expect(JSON.parse(row.entry)).to.include({
      commitment: BigInt(other.public_signals[2] ?? '')
        .toString(16)
        .padStart(64, '0'),
    })
    expect(await entriesOf(app, proof_id)).to.deep.equal([
      { type: 'prove', digest, circuit_id, key_id: row.key_id, data: { decision: 'YES' } },
    ])
    expect(row.key_id).to.match(/^key_/)
  })

  it('neither data nor the id of whom it is about is kept anywhere', async () => {
    const body = {
      userId: 'who-7c1e',
      data: { name: 'Zebra-91' },
      rules: [{ field: 'name', op: 'ne', value: 'x' }],
    }
    const { body: answer } = await postSimpleGenerate(app, owner.apiKey, body)
    const { knex } = app.services.database
    const kept = JSON.stringify([
      await knex('proofs').where({ id: answer.proofId }),
      await knex('ledger_entries').where({ proof_id: answer.proofId }),
    ])
    expect(kept).to.include(answer.proofId)
    expect(kept).not.to.include('who-7c1e')
    expect(kept).not.to.include('Zebra-91')
  })

  it('the same user has one hash in one organisation, and another in the next', async () => {
    const stranger = await app.organisation()
    const hashFor = async (key: string, userId: string) => {
      const { body } = await postSimpleGenerate(app, key, { userId, data: PERSON, rules: [ADULT] })
      const row = await app.services.database.knex('proofs').where({ id: body.proofId }).first()
      return row.context.statement.subject
    }
    const [first, again, other, elsewhere] = [
      await hashFor(owner.apiKey, 'user-1'),
      await hashFor(owner.apiKey, 'user-1'),
      await hashFor(owner.apiKey, 'user-2'),
      await hashFor(stranger.apiKey, 'user-1'),
    ]
    expect(again).to.equal(first)
    expect(new Set([first, other, elsewhere]).size).to.equal(3)
  })

  for (const [name, rules, circuit, data, decision] of [
    ['one comparison', [ADULT], 'yesno', PERSON, 1],
    ['rules joined by AND', [ADULT, BRITISH], 'eligibility', PERSON, 1],
    ['rules of which one fails', [ADULT, BRITISH], 'eligibility', { ...PERSON, country: 'FR' }, 0],
    ['a tree', { logic: TREE }, 'composite', PERSON, 1],
    ['a text search', [{ field: 'name', op: 'contains', value: 'd' }], 'simple_yesno', PERSON, 1],
  ] as const) {
    it(`${name}: POST /api/proof/generate proves it with ${circuit}`, async () => {
      const { status, body } = await postSimpleGenerate(app, owner.apiKey, { userId: 'u', rules, data })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.include({ circuitId: circuit, decision })
      const { proofId, proof, publicInputs } = body
      const checked = await postSimpleVerify(app, owner.apiKey, { proofId, proof, publicInputs })
      expect(checked.body).to.deep.equal({ valid: true, verified: true, decision, reasonCodes: [] })
    })
  }

  it('what is missing from the data is a NO with its reason', async () => {
    const inputs = { data: { name: 'Ada' }, rules: [ADULT] }
    const made = await generated(app, owner.apiKey, { circuit_id: 'simple_yesno', inputs })
    expect(made).to.include({ decision: 0, reason: 'missing_data' })
  })

  for (const [what, path, body, status, error, pointer] of [
    ['an unknown circuit', '/v1/proofs/generate', { circuit_id: 'nil', inputs: {} }, 404, 'not_found'],
    [
      'no inputs',
      '/v1/proofs/generate',
      { circuit_id: 'yesno', inputs: {} },
      422,
      'inputs_insufficient',
      '/inputs/data',
    ],
    [
      'no rules',
      '/v1/proofs/generate',
      { circuit_id: 'yesno', inputs: { data: PERSON } },
      422,
      'validation_failed',
      '/inputs/rules',
    ],
    [
      'rules of no known kind',
      '/v1/proofs/generate',
      { circuit_id: 'yesno', inputs: { data: PERSON, rules: [{ field: 'age', op: 'is', value: 1 }] } },
      422,
      'validation_failed',
      '/inputs/rules/0/op',
    ],
    [
      'a circuit that the rules do not fit',
      '/v1/proofs/generate',
      { circuit_id: 'yesno', inputs: { data: PERSON, rules: [ADULT, BRITISH] } },
      422,
      'validation_failed',
      '/circuit_id',
    ],
    [
      'a value that the circuit can not hold',
      '/v1/proofs/generate',
      { circuit_id: 'yesno', inputs: { data: { age: 0.1234567 }, rules: [ADULT] } },
      422,
      'not_provable',
    ],
    [
      'a context that nothing would bind',
      '/v1/proofs/generate',
      { circuit_id: 'yesno', inputs: ADULT_INPUTS, context: { order: 7 } },
      422,
      'unknown_member',
      '/context/order',
    ],
    [
      'a circuit without rules',
      '/api/proof/generate',
      { userId: 'u', data: PERSON, rules: [ADULT], circuitId: 'kyc' },
      422,
      'validation_failed',
      '/circuitId',
    ],
    [
      'an empty list of rules',
      '/api/proof/generate',
      { userId: 'u', data: PERSON, rules: [] },
      422,
      'validation_failed',
      '/rules',
    ],
    [
      'a broken tree',
      '/api/proof/generate',
      { userId: 'u', data: PERSON, rules: { logic: { op: 'AND' } } },
      422,
      'validation_failed',
      '/rules/logic/children',
    ],
    ['no user', '/api/proof/generate', { data: PERSON, rules: [ADULT] }, 422, 'validation_failed', '/userId'],
    [
      'no data',
      '/api/proof/generate',
      { userId: 'u', data: {}, rules: [ADULT] },
      422,
      'validation_failed',
      '/data',
    ],
  ] as const) {
    it(`${what} is refused at ${path} with ${error}`, async () => {
      const answer = await app.request<{ error: string; details?: { path: string }[] }>('POST', path, {
        key: owner.apiKey,
        body,
      })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(status)
      expect(answer.body.error).to.equal(error)
      expect(answer.body.details?.[0]?.path).to.equal(pointer)
    })
  }

  it('every circuit of the catalogue can be asked for', () => {
    expect(app.services.proofs.circuitIds()).to.have.members(CIRCUITS.map(({ id }) => id))
  })

  it('what is not so and can only be proved where it is, is told as that', async () => {
    const key = owner.apiKey
    const body = { subject: 'user-1', ttl: 600 }
    const { body: token } = await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
      key,
      body,
    })
    const { tokenId } = token
    await app.request('POST', '/api/tokens/revoke', { key, body: { tokenId } })
    const refused = await postGenerate(app, key, { circuit_id: 'token_validation', inputs: { tokenId } })
    expect(refused.status).to.equal(422)
    expect(refused.body).to.include({ error: 'not_provable', reason: 'STATEMENT_FALSE' })
  })

  it('inputs without a witness are refused, whoever notices: the mapper or the circuit', async () => {
    const { proofs } = app.services
    const caller = {
      organisation: owner.organisationId,
      credential: { kind: 'system', id: 'test' },
      scopes: new Set<never>(),
      requestId: 'test',
    } as const
    const attempt = async (signals: Prepared['signals']) => {
      const prepared: Prepared = { statement: {}, signals }
      const error = await rejection(
        proofs.make(caller, { circuitId: 'simple_yesno', prepared, category: 'proof' }),
      )
      expect(error).to.be.instanceOf(AppError)
      return (error as AppError).code
    }
    const mapper = await attempt(() => {
      throw new RangeError('no')
    })
    const tooLarge = String(2n ** 200n)
    const circuit = await attempt(() => ({
      publicSignals: ['1', '1', '1', '1'],
      witness: { value: tooLarge, salt: '1', threshold: '1', ctx: '1', commitment: '1' },
    }))
    expect([mapper, circuit]).to.deep.equal(['inputs_insufficient', 'inputs_insufficient'])
  })

  it('an Idempotency-Key gives the first proof again, and makes no other', async () => {
    const headers = { 'idempotency-key': 'proof-1' }
    const body = { circuit_id: 'yesno', inputs: ADULT_INPUTS }
    const first = await postGenerate(app, owner.apiKey, body, headers)
    const again = await postGenerate(app, owner.apiKey, body, headers)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect(again.body).to.deep.equal(first.body)
    const other = await postGenerate(app, owner.apiKey, { ...body, subject: 'x' }, headers)
    expect(other.body.error).to.equal('idempotency_key_reused')
  })

  it('uses up free proofs, says how many are left, and stops before proving when there are none', async () => {
    const { organisationId, apiKey } = await freeOrganisation(app, ['proof'])
    const first = await postGenerate(app, apiKey)
    expect(first.status, JSON.stringify(first.body)).to.equal(200)
    expect(first.headers.get('x-free-remaining')).to.equal('99')
    await app.services.database
      .knex('ledger_counters')
      .where({ organisation: organisationId })
      .update({ value: 100 })
    const refused = await postGenerate(app, apiKey)
    expect(refused.status).to.equal(402)
    expect(refused.body.error).to.equal('free_allocation_used')
    const { body } = await app.request<{ byCategory: object }>('GET', '/api/usage', { key: apiKey })
    expect(body.byCategory).to.deep.equal({ proof: 1 })
  })
})

describe('rules that are wrong', () => {
  it('are told by the place where they are, in a list as in a tree', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const wrong = { field: 'age', op: 'gtee', value: 18 }
    for (const [rules, path] of [
      [[wrong], '/rules/0/op'],
      [{ logic: wrong }, '/rules/logic/op'],
    ] as const) {
      const answer = await postSimpleGenerate(app, apiKey, { userId: 'u', data: { age: 1 }, rules })
      expect(answer.status).to.equal(422)
      expect(answer.body).to.have.nested.property('details[0].path', path)
    }
  })
})
