/** Proofs that are handed in by the batch: what keeps one from being accepted, and what it is told. */
import { expect } from 'chai'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { AGE_QUESTION, challengeRoutesOf, keeperOf, proveKyc } from '../../support/domain/presentations.ts'
import { ADULT_INPUTS, asPresented, asText, entriesOf, generated } from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { eventually } from '../../support/eventually.ts'
import { callerOf } from '../../support/ledger.ts'

describe('proofs in batches', function () {
  this.timeout(120_000)

  const proofOf = (app: TestApp, key: string, tokenId: string): Promise<ProofGenerated> =>
    generated(app, key, { circuit_id: 'token_validation', inputs: { tokenId } })

  it('that share a nullifier count once, in one batch as in two, and use their token up', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const [tokens, gate] = [tokenRoutesOf(app, apiKey), ticketRoutesOf(app, apiKey)]
    const { token, tokenId } = await tokens.issued({ singleUse: true })
    const [one, two] = [await proofOf(app, apiKey, tokenId), await proofOf(app, apiKey, tokenId)]
    expect(one.digest).not.to.equal(two.digest)
    const { body } = await gate.handIn([asPresented(one), asPresented(two)])
    expect(body.results.map(({ status, digest }) => [status, digest])).to.deep.equal([
      ['spent', one.digest],
      ['DOUBLE_SPEND', two.digest],
    ])
    const used = await tokens.validate({ token, consume: true })
    expect([used.status, used.body.reason]).to.deep.equal([409, 'TOKEN_USED'])
    // Alerts are raised beside the answer.
    const isTold = async () => {
      const { body: told } = await app.request<{ alerts: { type: string; subject: string }[] }>(
        'GET',
        '/api/security/alerts',
        { bearer: apiKey },
      )
      return told.alerts.some(({ type, subject }) => type === 'double_spend' && subject === two.digest)
    }
    await eventually('the alert of the second use', isTold)
  })

  it('are refused with the reason when their token was revoked, or their signals were altered', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const tokens = tokenRoutesOf(app, apiKey)
    const { tokenId } = await tokens.issued()
    const [made, other] = [await proofOf(app, apiKey, tokenId), await generated(app, apiKey)]
    await tokens.revoke(tokenId)
    const altered = { ...asPresented(other), public_signals: other.public_signals.map(() => '1') }
    const { body } = await ticketRoutesOf(app, apiKey).handIn([
      { proof_id: made.proof_id, proof: asText(made) },
      altered,
      asPresented(other),
    ])
    expect(body).to.include({ accepted: 1, rejected: 2 })
    expect(body.results.map(({ status }) => status)).to.deep.equal(['invalid', 'invalid', 'spent'])
    expect(body.results[0]?.reason_codes).to.include('CREDENTIAL_REVOKED')
    expect(body.results[1]).to.deep.include({ digest: null, reason_codes: ['PROOF_INVALID'] })
  })

  it('are spent only where they are of the context that they come with', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const { circuit_id, proof, public_signals, context, digest } = await generated(app, apiKey)
    const gate = ticketRoutesOf(app, apiKey)
    const handIn = async (of: object) => {
      const { body } = await gate.handIn([{ circuit_id, proof, public_signals, context: of }])
      return body.results[0]
    }
    expect(await handIn({ ...context, nonce: 'other' })).to.deep.include({
      digest,
      status: 'invalid',
      consumed: false,
      reason_codes: ['CONTEXT_MISMATCH'],
    })
    const statement = { ...context.statement, more: 'x'.repeat(9000) }
    expect((await handIn({ ...context, statement }))?.message).to.match(/^\/context must have at most 8192/)
    expect(await handIn(context)).to.deep.include({ digest, status: 'spent', consumed: true })
  })

  it('that were made elsewhere count by their context, once, and are on record then', async () => {
    const app = await sharedApp()
    const [issuer, asker] = [await app.organisation(), await app.organisation()]
    const challenges = challengeRoutesOf(app, asker.apiKey)
    const question = { ...AGE_QUESTION, issuers: [issuer.organisationId] }
    const { context, challenge_id, proof_id } = await challenges.asked(question)
    const made = await proveKyc(await keeperOf(app, issuer), context, Date.now())
    const gate = ticketRoutesOf(app, asker.apiKey)
    const { body } = await gate.handIn([{ ...made, context: undefined }, made, made])
    expect(body.results.map(({ status }) => status)).to.deep.equal(['unknown', 'spent', 'DOUBLE_SPEND'])
    expect(body.results[1]).to.include({ decision: 1, consumed: true })
    expect((await entriesOf(app, proof_id)).map(({ type }) => type)).to.deep.equal(['verify', 'spend'])
    expect((await challenges.find(challenge_id)).body).to.include({ state: 'verified', proof_id })
    const { circuit_id, proof, public_signals } = made
    const again = await gate.handIn([{ proof_id, circuit_id, proof, public_signals }])
    expect([again.status, again.body.error]).to.deep.equal([409, 'double_spend'])
  })

  it('get the first answer under its Idempotency-Key, also when they were checked after that was committed', async () => {
    const app = await sharedApp()
    const { apiKey, organisationId: organisation } = await app.organisation()
    const made = await generated(app, apiKey)
    const handIn = () => {
      const idempotency = { organisation, key: 'k'.repeat(64), requestHash: 'h', replayed: false }
      const caller = { ...callerOf(organisation, idempotency), scopes: new Set(['proof' as const]) }
      return app.services.tickets.handIn(caller, { proofs: [asPresented(made)] })
    }
    const first = await handIn()
    expect(first).to.include({ accepted: 1 })
    expect(await handIn()).to.deep.equal(first)
  })

  it('are expired from their second on, and spent before it', async () => {
    let now = Date.parse('2026-01-01T00:00:00.000Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const ask = { circuit_id: 'yesno', inputs: ADULT_INPUTS, context: { ttl: 600 } }
      const [first, second] = [await generated(own, apiKey, ask), await generated(own, apiKey, ask)]
      const gate = ticketRoutesOf(own, apiKey)
      now = Date.parse(second.expires_at ?? '') - 1
      expect((await gate.handIn([asPresented(first)])).body).to.include({ accepted: 1 })
      now += 1
      const { status, body } = await gate.handIn([asPresented(second)])
      expect(status).to.equal(200)
      expect(body.results).to.deep.equal([
        {
          index: 0,
          digest: second.digest,
          status: 'expired',
          decision: 1,
          consumed: false,
          reason_codes: ['EXPIRED'],
        },
      ])
    } finally {
      await own.close()
    }
  })
})
