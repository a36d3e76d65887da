/** POST /v1/verify through the real app: the organisation's policy decides, the circuit that was asked for proves. */
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { compactVerify, createRemoteJWKSet } from 'jose'
import type { Caller } from '../../../src/caller.ts'
import { simpleYesno } from '../../../src/circuits/mappers/simple_yesno.ts'
import { yesno } from '../../../src/circuits/mappers/yesno.ts'
import { createPolicyVerification } from '../../../src/domain/verification/policy-verification.ts'
import { policyVerificationRoutes } from '../../../src/domain/verification/routes-v1.ts'
import type { PolicyVerification } from '../../../src/domain/verification/schemas-v1.ts'
import { fail } from '../../../src/errors.ts'
import { contextElement, encodeValue, type ProofContext } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  checkProof,
  commitmentOf,
  entryTypes,
  postV1Verify,
  putPolicy,
} from '../../support/domain/eligibility.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { callerOf } from '../../support/ledger.ts'
import { precede } from '../../support/precede.ts'
import { freeOrganisation } from '../../support/verification.ts'

const PAYMENT = { identifier: 'customer-1007', context: { amount: 49.99, currency: 'GBP' } }
const SMALL = [{ effect: 'permit', rules: [{ field: 'context.amount', op: 'lte', value: 100 }] }]

const payloadOf = (jws: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())

describe('POST /v1/verify', () => {
  let app: TestApp
  let owner: TestOrganisation
  let first: PolicyVerification
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    first = await verified({ circuit_id: 'yesno', ...PAYMENT, ttl: 3600, nonce: 'n-1' })
  })

  const verified = async (body: object, key = owner.apiKey): Promise<PolicyVerification> => {
    const answer = await postV1Verify(app, key, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const refused = async (body: object, key = owner.apiKey) => {
    const { status, body: error } = await postV1Verify(app, key, body)
    return { status, error: error.error, path: error.details?.[0]?.path }
  }

  it('decides by the default policy until there is another', () => {
    expect(first).to.include({ decision: 1, verdict: 'YES', circuit_id: 'yesno', policy_version: 0 })
    expect(first.reason_codes).to.deep.equal(['DEFAULT_POLICY', 'RULE_PERMITS'])
    expect(first.verification_id).to.match(/^ver_[0-9a-z]{26}$/)
    expect(Date.parse(first.expires_at ?? '') - Date.parse(first.issued_at)).to.be.within(
      3_599_000,
      3_600_000,
    )
  })

  it('says NO outside of the default policy, and why', async () => {
    const cases: [identifier: string, context: object | undefined, reason: string][] = [
      ['', PAYMENT.context, 'NO_RULE_PERMITS'],
      ['c', { amount: 0, currency: 'GBP' }, 'NO_RULE_PERMITS'],
      ['c', { amount: 10_000.01, currency: 'GBP' }, 'NO_RULE_PERMITS'],
      ['c', { amount: 10, currency: 'GBX' }, 'NO_RULE_PERMITS'],
      ['c', { currency: 'GBP' }, 'MISSING_DATA'],
      ['c', undefined, 'NO_RULE_PERMITS'],
    ]
    for (const [identifier, context, reason] of cases) {
      const answer = await verified({ circuit_id: 'simple_yesno', identifier, context })
      expect(answer, JSON.stringify(context)).to.include({ decision: 0, verdict: 'NO' })
      expect(answer.reason_codes).to.deep.equal(['DEFAULT_POLICY', reason])
      expect(simpleYesno.read(answer.public_signals).decision).to.equal(0n)
    }
  })

  it('stores the proof, so that it is verified later, and the result, so that it is found', async () => {
    expect(await checkProof(app, owner.apiKey, first)).to.deep.include({
      valid: true,
      verified: true,
      decision: 1,
      digest: first.digest,
    })
    const path = `/verify/${first.verification_id}`
    const { body } = await app.request<object>('GET', path, { key: owner.apiKey })
    expect(body).to.include({ status: 'VALID', decision: 'YES', proofId: first.proof_id, jws: first.jws })
  })

  it('signs what it decided by which policy, over facts that only the caller can open', async () => {
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await compactVerify(first.jws, keys)
    expect(protectedHeader).to.include({ alg: 'EdDSA', typ: 'vr+jws' })
    const claims = JSON.parse(Buffer.from(payload).toString())
    expect(claims).to.deep.include({
      jti: first.verification_id,
      decision: 'YES',
      circuit_id: 'yesno',
      digest: first.digest,
      policy: 'yesno',
      policy_version: 0,
      reason_codes: first.reason_codes,
      leaf_hash: first.merkle_leaf_hash,
    })
    const facts = { ...PAYMENT, currency_known: true }
    expect(claims.data_commitment).to.equal(commitmentOf(first.salt, facts))
    expect(first.jws).not.to.contain(Buffer.from('customer').toString('base64url').slice(0, 8))
  })

  it('leaves one entry for making the proof and for the verification, which names nobody', async () => {
    const { apiKey, organisationId } = await app.organisation()
    const before = await entryTypes(app, organisationId)
    const answer = await verified({ circuit_id: 'simple_yesno', ...PAYMENT }, apiKey)
    expect((await entryTypes(app, organisationId)).slice(before.length)).to.deep.equal(['verify'])
    const rows = await app.services.database
      .knex('ledger_entries')
      .where({ digest: answer.digest })
      .select('entry', 'proof_id', 'circuit_id')
    expect(rows).to.have.length(1)
    for (const row of rows) {
      expect(row).to.include({ proof_id: answer.proof_id, circuit_id: 'simple_yesno' })
      expect(row.entry).not.to.contain('customer')
    }
  })

  it('under yesno proves the one comparison that a policy consists of over the fact itself', async () => {
    const { apiKey } = await app.organisation()
    await putPolicy(app, apiKey, 'yesno', SMALL)
    const answer = await verified({ circuit_id: 'yesno', ...PAYMENT }, apiKey)
    expect(answer).to.include({ decision: 1, policy_version: 1 })
    expect(answer.reason_codes).to.deep.equal(['RULE_PERMITS'])
    expect(yesno.read(answer.public_signals).operand).to.equal(encodeValue(100))
    const no = await verified({ circuit_id: 'yesno', identifier: 'c', context: { amount: 101 } }, apiKey)
    expect([no.decision, yesno.read(no.public_signals).decision]).to.deep.equal([0, 0n])
  })

  it('under yesno proves the committed decision of any other policy', () => {
    expect(yesno.read(first.public_signals)).to.deep.include({ operand: encodeValue(true), decision: 1n })
  })

  for (const circuit_id of ['eligibility', 'composite']) {
    it(`under ${circuit_id} evaluates the default policy again inside the circuit`, async () => {
      const yes = await verified({ circuit_id, ...PAYMENT })
      expect(yes).to.include({ circuit_id, decision: 1 })
      const missing = await verified({ circuit_id, identifier: 'c', context: { currency: 'GBP' } })
      expect(missing).to.include({ circuit_id, decision: 0 })
      expect(missing.reason_codes).to.include('MISSING_DATA')
      for (const answer of [yes, missing]) {
        const { verified: holds, decision } = await checkProof(app, owner.apiKey, answer)
        expect([holds, decision]).to.deep.equal([true, answer.decision])
      }
    })
  }

  it("never answers with another circuit's proof: what the asked one can't hold is refused", async () => {
    const { apiKey, organisationId } = await app.organisation()
    const text = [{ effect: 'permit', rules: [{ field: 'identifier', op: 'startsWith', value: 'c' }] }]
    const either = [
      ...SMALL,
      ...text.map((rule) => ({ ...rule, rules: [{ field: 'identifier', op: 'eq', value: 'c' }] })),
    ]
    await putPolicy(app, apiKey, 'eligibility', either)
    await putPolicy(app, apiKey, 'composite', text)
    const before = await entryTypes(app, organisationId)
    for (const circuit_id of ['eligibility', 'composite'])
      expect(await refused({ circuit_id, ...PAYMENT }, apiKey)).to.deep.include({
        status: 422,
        error: 'not_provable',
      })
    expect(await entryTypes(app, organisationId)).to.deep.equal(before)
  })

  it('has other circuits prove their own statement, and then YES takes both', async () => {
    const { body } = await app.request<{ entries: { index: number }[] }>('GET', '/api/audit', {
      key: owner.apiKey,
    })
    const inputs = { index: body.entries[0]?.index }
    const ask = (amount: number) =>
      verified({
        circuit_id: 'audit_proof',
        identifier: 'c',
        context: { amount, currency: 'GBP', inputs },
      })
    const yes = await ask(5)
    expect(yes).to.include({ circuit_id: 'audit_proof', decision: 1 })
    const facts = { identifier: 'c', context: { amount: 5, currency: 'GBP' }, currency_known: true }
    expect(payloadOf(yes.jws).data_commitment).to.equal(commitmentOf(yes.salt, facts))
    const no = await ask(0)
    expect([no.decision, payloadOf(no.jws).decision]).to.deep.equal([0, 'NO'])
    expect(await checkProof(app, owner.apiKey, yes)).to.include({ verified: true, decision: 1 })
    const { policy_version, policy_verdict } = no.context.statement
    expect([policy_version, policy_verdict]).to.deep.equal([0, 'NO'])
    const { valid, verified: holds, reason_codes } = await checkProof(app, owner.apiKey, no)
    expect({ valid, holds, reason_codes }).to.deep.equal({
      valid: true,
      holds: false,
      reason_codes: ['POLICY_NO'],
    })
    const { body: aggregate } = await app.request<object>('POST', '/api/circuits/proof-aggregation', {
      bearer: owner.apiKey,
      body: { proofIds: [yes.proof_id, no.proof_id] },
    })
    expect(aggregate).to.deep.include({ aggregation_valid: false, reasonCodes: ['STATEMENT_FALSE'] })
  })

  it('says NO where the policy permits what the circuit proves untrue', async () => {
    const issued = await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
      key: owner.apiKey,
      body: { subject: 'customer-1007', audience: 'checkout' },
    })
    const ask = (audience: string) =>
      verified({
        circuit_id: 'token_validation',
        ...PAYMENT,
        ttl: 60,
        context: { ...PAYMENT.context, inputs: { tokenId: issued.body.tokenId, audience } },
      })
    const yes = await ask('checkout')
    expect([yes.decision, yes.reason_codes]).to.deep.equal([1, ['DEFAULT_POLICY', 'RULE_PERMITS']])
    const no = await ask('elsewhere')
    expect([no.decision, payloadOf(no.jws).decision]).to.deep.equal([0, 'NO'])
    expect(no.reason_codes).to.deep.equal(['DEFAULT_POLICY', 'RULE_PERMITS', 'STATEMENT_FALSE'])
  })

  for (const moment of ['make', 'checkMade'] as const)
    it(`says NO of what was revoked after ${moment}, while it was proved or before it was committed`, async () => {
      const { apiKey } = owner
      const issued = await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
        key: apiKey,
        body: { subject: 'customer-1007' },
      })
      const { tokenId } = issued.body
      const { proofs, tokens, policies, verification } = app.services
      const revokeAt = async (now: typeof moment, caller: Caller): Promise<void> => {
        if (now === moment) await tokens.revoke(caller, { tokenId })
      }
      const late = createPolicyVerification({
        verification,
        policies,
        baseUrl: app.url,
        proofs: {
          ...proofs,
          async make(caller, ask) {
            const made = await proofs.make(caller, ask)
            await revokeAt('make', caller)
            return made
          },
          async checkMade(caller, made) {
            const checked = await proofs.checkMade(caller, made)
            await revokeAt('checkMade', caller)
            return checked
          },
        },
      })
      const caller = callerOf(owner.organisationId)
      const context = { ...PAYMENT.context, inputs: { tokenId } }
      const no = await late.verify(caller, { circuit_id: 'token_validation', identifier: 'c', context })
      expect([no.decision, no.verdict, payloadOf(no.jws).decision]).to.deep.equal([0, 'NO', 'NO'])
      expect(no.reason_codes).to.deep.equal(['DEFAULT_POLICY', 'RULE_PERMITS', 'CREDENTIAL_REVOKED'])
      expect(payloadOf(no.jws).reason_codes).to.deep.equal(no.reason_codes)
      const [row] = await app.services.database.knex('verifications').where({ id: no.verification_id })
      expect(row.decision).to.equal('NO')
    })

  it('shows what the proof binds: whether it is over the facts or over the decision that was made here', async () => {
    const { context, public_signals, jws } = first
    expect(context.statement).to.include({ commits: 'decision' })
    expect(context.statement.data_commitment).to.equal(payloadOf(jws).data_commitment)
    expect(String(contextElement(context as ProofContext))).to.equal(String(yesno.read(public_signals).ctx))
    const whole = await verified({ circuit_id: 'eligibility', ...PAYMENT })
    expect(whole.context.statement).to.include({ commits: 'facts' })
  })

  it('refuses a circuit that needs inputs and has none, and one that does not exist', async () => {
    expect(await refused({ circuit_id: 'audit_proof', ...PAYMENT })).to.deep.equal({
      status: 422,
      error: 'inputs_insufficient',
      path: '/context/inputs',
    })
    const context = { ...PAYMENT.context, inputs: { index: 'first' } }
    expect(await refused({ circuit_id: 'audit_proof', identifier: 'c', context })).to.deep.equal({
      status: 422,
      error: 'inputs_insufficient',
      path: '/context/inputs/index',
    })
    const absent = { ...PAYMENT.context, inputs: { index: 999_999_999 } }
    expect(await refused({ circuit_id: 'audit_proof', identifier: 'c', context: absent })).to.deep.equal({
      status: 422,
      error: 'inputs_insufficient',
      path: '/context/inputs',
    })
    expect(await refused({ circuit_id: 'nothing', ...PAYMENT })).to.deep.include({
      status: 404,
      error: 'not_found',
    })
  })

  it('refuses rules of the caller for a circuit that proves the policy, which would go unasked', async () => {
    const inputs = { data: { age: 12 }, rules: [{ field: 'age', op: 'gte', value: 18 }] }
    for (const circuit_id of ['simple_yesno', 'yesno', 'eligibility', 'composite'])
      expect(
        await refused({ circuit_id, identifier: 'c', context: { ...PAYMENT.context, inputs } }),
        circuit_id,
      ).to.deep.equal({ status: 422, error: 'validation_failed', path: '/context/inputs' })
  })

  it('refuses to ask the policy about one person and the circuit about another', async () => {
    const shown = { minAge: 18, nationality: 'GB' }
    for (const [circuit_id, inputs] of [
      ['kyc', { userId: 'carol', ...shown }],
      ['consent_verification', { subjectId: 'carol', purpose: 'newsletter' }],
    ] as const)
      expect(
        await refused({ circuit_id, identifier: 'bob', context: { ...PAYMENT.context, inputs } }),
      ).to.deep.equal({
        status: 422,
        error: 'validation_failed',
        path: `/context/inputs/${Object.keys(inputs)[0]}`,
      })
  })

  it('refuses what it could only misread', async () => {
    const cases: [body: object, path: string][] = [
      [{ identifier: 'c' }, '/circuit_id'],
      [{ circuit_id: 'yesno' }, '/identifier'],
      [{ circuit_id: 'yesno', identifier: 'c', context: { amount: '5' } }, '/context/amount'],
      [{ circuit_id: 'yesno', identifier: 'c', ttl: 0 }, '/ttl'],
    ]
    for (const [body, path] of cases)
      expect(await refused(body)).to.deep.equal({ status: 422, error: 'validation_failed', path })
  })

  it('repeats its answer to the same Idempotency-Key, after the policy has changed', async () => {
    const { apiKey } = await app.organisation()
    const headers = { 'idempotency-key': 'once' }
    const body = { circuit_id: 'simple_yesno', ...PAYMENT }
    const answer = await postV1Verify(app, apiKey, body, headers)
    await putPolicy(app, apiKey, 'simple_yesno', [])
    const again = await postV1Verify(app, apiKey, body, headers)
    expect(again.body).to.deep.equal(answer.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect((await verified(body, apiKey)).decision).to.equal(0)
  })

  it('is refused where the policy was replaced while the proof was made, and costs nothing', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app, ['verify', 'keys'])
    const body = { circuit_id: 'yesno', ...PAYMENT }
    const ask = () => postV1Verify(app, apiKey, body, { 'idempotency-key': 'once' })
    precede(app.services.prover, 'prove', () => putPolicy(app, apiKey, 'yesno', []))
    const late = await ask()
    expect([late.status, late.body.error]).to.deep.equal([409, 'conflict'])
    expect(late.body.message).to.include('replaced while the proof')
    expect(late.headers.get('x-free-remaining')).to.equal(null)
    expect(await entryTypes(app, organisationId)).not.to.include('verify')
    const again = await ask()
    expect([again.status, again.body.decision, again.body.policy_version]).to.deep.equal([200, 0, 1])
    expect(again.headers.get('x-free-remaining')).to.equal('99')
  })

  it('costs one free result, and is refused when none is left', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app)
    const body = { circuit_id: 'simple_yesno', ...PAYMENT }
    const answer = await postV1Verify(app, apiKey, body)
    expect([answer.status, answer.headers.get('x-free-remaining')]).to.deep.equal([200, '99'])
    await app.services.database
      .knex('ledger_counters')
      .where({ organisation: organisationId })
      .update({ value: 100 })
    expect(await refused(body, apiKey)).to.deep.include({ status: 402, error: 'free_allocation_used' })
  })

  it('declares the refusal of proofs that can not be verified for the moment, which it takes to answer', async () => {
    const { verifier } = app.services
    const { verify } = verifier
    const { tokenId } = await tokenRoutesOf(app, owner.apiKey).issued()
    Object.assign(verifier, { verify: async () => fail('proof_service_unavailable', { retryAfter: 1 }) })
    try {
      const context = { ...PAYMENT.context, inputs: { tokenId } }
      const body = { circuit_id: 'token_validation', identifier: 'ada', context }
      expect(await refused(body)).to.deep.include({ status: 503, error: 'proof_service_unavailable' })
    } finally {
      Object.assign(verifier, { verify })
    }
    const [route] = policyVerificationRoutes
    expect(route?.errors).to.include('proof_service_unavailable')
  })

  it('never signs the facts', () => {
    const { jws } = first
    expect(canonicalize(payloadOf(jws))).not.to.match(/customer|49\.99/)
  })
})
