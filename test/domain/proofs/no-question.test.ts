/** A result without rules attests data, and answers no question: it says so, and opens nothing. */
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { PublicResult, VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { postV1Verify } from '../../support/domain/eligibility.ts'
import { createPod, movePod } from '../../support/domain/pods.ts'
import { ADULT, PERSON, postSimpleVerify, postSync, postVerifyProof } from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { DATA, hashOf, isSigned, postBatch, verified } from '../../support/verification.ts'

const ATTESTED = { success: true, decision: null, question: 'none', rulesHash: null }

describe('a result that answers no question', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let result: VerificationResult
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    result = await verified(app, owner.apiKey, { data: DATA })
  })

  const keySet = async () => {
    const { body } = await app.request<Parameters<typeof createLocalJWKSet>[0]>(
      'GET',
      '/.well-known/jwks.json',
    )
    return { keys: createLocalJWKSet(body), jwks: body.keys }
  }
  const claimsOf = async (jws: string) => (await jwtVerify(jws, (await keySet()).keys)).payload

  it('succeeds, decides nothing, and is signed as that', async () => {
    expect(result).to.include(ATTESTED)
    expect(await claimsOf(result.jws)).to.include({ question: 'none', decision: null })
    const { circuitId, digest, timestamp, verificationId, signature, kid } = result
    const signed = canonicalize({ circuitId, decision: null, digest, timestamp, verificationId })
    const { jwks } = await keySet()
    const key = await crypto.subtle.importKey(
      'jwk',
      jwks.find((one) => one.kid === kid) ?? {},
      'Ed25519',
      false,
      ['verify'],
    )
    const covered = Buffer.from(`verification/1\n${signed}`)
    expect(await crypto.subtle.verify('Ed25519', key, Buffer.from(signature, 'base64url'), covered)).to.equal(
      true,
    )
  })

  it('differs from one that does, which names its rules, tree or policy', async () => {
    const { rulesHash, jws, question } = await verified(app, owner.apiKey, {
      data: PERSON,
      options: { rules: [ADULT] },
    })
    expect([question, (await claimsOf(jws)).question]).to.deep.equal([rulesHash, rulesHash])
    const { body } = await postV1Verify(app, owner.apiKey, { circuit_id: 'yesno', identifier: 'c' })
    const { body: policy } = await app.request<{ hash: string }>('GET', '/console/api/policies/yesno', {
      key: owner.apiKey,
    })
    expect((await claimsOf(body.jws)).question).to.equal(policy.hash)
  })

  it('is so in a batch and in a pod without a policy as well', async () => {
    const { body } = await postBatch(app, owner.apiKey, [DATA, { data: DATA, options: { rules: [ADULT] } }])
    const [attested, decided] = body.results.filter(isSigned)
    expect(attested).to.include(ATTESTED)
    expect(decided).to.include({ decision: 'YES' }).and.not.to.include({ question: 'none' })
    const { podId } = await createPod(app, owner.apiKey)
    await movePod(app, podId, 'ACTIVE')
    const inPod = await app.request<VerificationResult>('POST', `/pod/${podId}/verify`, {
      key: owner.apiKey,
      body: DATA,
    })
    expect(inPod.body).to.include(ATTESTED)
  })

  it('says so to its owner and to whoever looks it up', async () => {
    for (const path of [`/verify/qr/${hashOf(result)}`, `/verify/${result.verificationId}`]) {
      const { body } = await app.request<PublicResult>('GET', path, { key: owner.apiKey })
      expect(body, path).to.include({ status: 'VALID', decision: null, question: 'none' })
    }
  })

  it('has a proof that is verified, accepted nowhere, and spends nothing', async () => {
    const { proofId, proof } = result
    const { body: checked } = await postSimpleVerify(app, owner.apiKey, { proofId, proof })
    expect(checked).to.deep.equal({ valid: true, verified: true, decision: null, reasonCodes: [] })
    const presented = { proof_id: proofId, proof }
    for (const _ of ['once', 'again']) {
      const { status, body } = await postVerifyProof(app, owner.apiKey, { ...presented, consume: true })
      expect(status).to.equal(200)
      expect(body).to.include({ verified: true, decision: null, consumed: false })
      expect(body.reason_codes).to.deep.equal(['NO_QUESTION'])
    }
    const { body: gate } = await ticketRoutesOf(app, owner.apiKey).handIn([presented])
    expect(gate).to.include({ accepted: 0, rejected: 1 })
    expect(gate.results[0]).to.deep.include({
      status: 'refused',
      decision: null,
      reason_codes: ['NO_QUESTION'],
    })
    expect((await postSync(app, owner.apiKey, [{ proofId, proof }])).body).to.include({ updated: 1 })
  })

  it('is no member of an aggregate', async () => {
    const { body } = await app.request<{ message: string }>('POST', '/api/circuits/proof-aggregation', {
      bearer: owner.apiKey,
      body: { proofIds: [result.proofId] },
    })
    expect(body).to.deep.include({ aggregation_valid: false, reasonCodes: ['STATEMENT_FALSE'] })
    expect(body.message).to.equal(`The proof ${result.proofId} answers no question.`)
  })
})
