/** Hybrid tokens and the proofs of them: what was issued is proved, what doesn't count is not, what is revoked is revoked. */
import { expect } from 'chai'
import { hybridTokenNullifier, quantumSafeToken } from '../../../src/circuits/mappers/quantum_safe_token.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { asking, expectProven, expectUnproven, movedClock } from '../../support/circuits/circuit-questions.ts'
import { hybridRoutesOf, signaturesOf, signingAgent } from '../../support/domain/hybrid-tokens.ts'
import { callerOf } from '../../support/ledger.ts'
import { rejection } from '../../support/rejection.ts'

const FIELD = 'quantum_safe_valid'
const CIRCUIT = 'quantum_safe_token'

interface Checked {
  valid: boolean
  verified: boolean
  decision: number
  reason_codes: string[]
}

describe('proofs of hybrid tokens', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  let hybrid: ReturnType<typeof hybridRoutesOf>
  let ask: (body: object) => ReturnType<ReturnType<typeof asking>>
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
    hybrid = hybridRoutesOf(app, owner.apiKey)
    ask = (body) => asking(app, 'quantum-safe-token')(owner.apiKey, body)
  })
  after(() => app.close())

  it('show that the token counts, under its own policy and what is demanded on top', async () => {
    const token = await hybrid.issued({ verification_policy: 'pq_only' })
    for (const [required_policy, bits] of [
      [undefined, 2n],
      ['classical_only', 3n],
      ['hybrid_required', 3n],
    ] as const) {
      const body = await expectProven(app, await ask({ token, required_policy }), FIELD)
      expect(quantumSafeToken.read(body.publicInputs ?? []).requiredBits).to.equal(bits)
    }
  })

  it('have the nullifier of the token, which its terms make', async () => {
    const token = await hybrid.issued()
    const caller = callerOf(owner.organisationId)
    const found = await app.services.hybridTokens.forCircuit(caller, { token })
    if ('refused' in found) return expect.fail('refused')
    const body = await expectProven(app, await ask({ token }), FIELD)
    const { nullifier } = quantumSafeToken.read(body.publicInputs ?? [])
    expect(nullifier).to.equal(hybridTokenNullifier(found.terms))
  })

  it('show a NO of a token that has expired or says NO', async () => {
    const no = await hybrid.issued({ claims: { decision: 0 } })
    await expectProven(app, await ask({ token: no }), FIELD, false)
    const short = await hybrid.issued({ exp: Math.floor(clock.now() / 1000) + 60 })
    clock.offsetMs = 61_000
    await expectProven(app, await ask({ token: short }), FIELD, false)
  })

  it('need the post-quantum signature itself, also of tokens whose policy does without it', async () => {
    const token = await hybrid.issued({ verification_policy: 'classical_only' })
    const { publicInputs } = await expectProven(app, await ask({ token }), FIELD)
    expect(quantumSafeToken.read(publicInputs ?? []).requiredBits).to.equal(3n)
    const agent = await signingAgent(app, owner)
    const draft = await hybrid.prepare({
      subject: 'x',
      alg_pq: 'Dilithium2',
      verification_policy: 'classical_only',
      kid_classical: agent.classical.kid,
    })
    const { sig_classical } = signaturesOf(agent, draft.body)
    const { body: halfSigned } = await hybrid.generate({ ...draft.body, sig_classical })
    const altered = `${token.sig_pq.slice(0, -6)}AAAAAA`
    for (const [asked, reason] of [
      [{ token: { ...token, sig_pq: '' } }, 'PQ_SIGNATURE_MISSING'],
      [{ token: { ...token, sig_pq: altered } }, 'PQ_SIGNATURE_INVALID'],
      [{ token: { ...token, sig_pq: altered }, required_policy: 'classical_only' }, 'PQ_SIGNATURE_INVALID'],
      [{ token: halfSigned, accept_signers: [agent.agentId] }, 'PQ_SIGNATURE_MISSING'],
      [{ token: halfSigned }, 'SIGNER_NOT_ACCEPTED'],
    ] as const) {
      const answer = await ask(asked)
      expectUnproven(answer, FIELD)
      expect(answer.body.message).to.contain(reason)
    }
  })

  it('are not made of anything but the token as it was issued', async () => {
    const token = await hybrid.issued()
    for (const [presented, reason] of [
      [{ ...token, sig_pq: `${token.sig_pq.slice(0, -6)}AAAAAA` }, 'PQ_SIGNATURE_INVALID'],
      [{ ...token, verification_policy: 'classical_only' }, 'TOKEN_UNKNOWN'],
      [{ ...token, claims: { decision: 1, n: 1 } }, 'TOKEN_UNKNOWN'],
      [{}, 'TOKEN_MALFORMED'],
    ] as const) {
      const { status, body } = await ask({ token: presented })
      expectUnproven({ status, body }, FIELD)
      expect(body.message).to.contain(reason)
    }
    const stranger = await app.organisation()
    const theirs = await asking(app, 'quantum-safe-token')(stranger.apiKey, { token })
    expectUnproven(theirs, FIELD)
    expect(theirs.body.message).to.contain('TOKEN_UNKNOWN')
    for (const body of [{}, { token, inputs: {} }, { token: 'x' }, { token, required_policy: 'any' }])
      expect((await ask(body)).status, JSON.stringify(body).slice(0, 40)).to.equal(422)
  })

  it('are not verified any more once the token is revoked, nor made', async () => {
    const token = await hybrid.issued()
    const made = await expectProven(app, await ask({ token }), FIELD)
    const check = async () =>
      (
        await app.request<Checked>('POST', '/v1/proofs/verify', {
          key: owner.apiKey,
          body: {
            proof_id: made.proofId,
            circuit_id: CIRCUIT,
            proof: made.proof,
            public_signals: made.publicInputs,
          },
        })
      ).body
    expect(await check()).to.include({ valid: true, verified: true, decision: 1 })
    const caller = callerOf(owner.organisationId)
    await app.services.hybridTokens.revoke(caller, { tokenId: token.token_id })
    expect(await check()).to.include({ valid: true, verified: false })
    const { status, body } = await ask({ token })
    expectUnproven({ status, body }, FIELD)
    expect(body.message).to.contain('TOKEN_REVOKED')
  })

  it('are not made of a token that is revoked meanwhile', async () => {
    const token = await hybrid.issued()
    const caller = callerOf(owner.organisationId)
    const prepared = await app.services.proofs.prepare(caller, CIRCUIT, { token })
    await app.services.hybridTokens.revoke(caller, { tokenId: token.token_id })
    const ask = { circuitId: CIRCUIT, prepared, category: 'proof' } as const
    const overtaken = app.services.proofs.generate(caller, ask, (made) => made)
    expect(await rejection(overtaken)).to.include({ code: 'not_provable', reason: 'STATEMENT_FALSE' })
  })

  it('are made by /v1/verify from the token in context.inputs', async () => {
    const token = await hybrid.issued()
    const verify = (inputs?: object) =>
      app.request<{ decision: number; verdict: string; circuit_id: string; error: string }>(
        'POST',
        '/v1/verify',
        {
          key: owner.apiKey,
          body: {
            circuit_id: CIRCUIT,
            identifier: 'member-7',
            context: { amount: 10, currency: 'GBP', inputs },
          },
        },
      )
    const { status, body } = await verify({ token, required_policy: 'hybrid_required' })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ decision: 1, verdict: 'YES', circuit_id: CIRCUIT })
    const without = await verify()
    expect([without.status, without.body.error]).to.deep.equal([422, 'inputs_insufficient'])
  })
})
