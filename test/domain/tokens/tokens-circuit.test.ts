/** Tokens and the proofs of them: a single use is one use, and what is revoked is revoked, whichever way it is shown. */
import { expect } from 'chai'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { entriesOf } from '../../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { callerOf } from '../../support/ledger.ts'
import { rejection } from '../../support/rejection.ts'

interface Made {
  proof_id: string
  circuit_id: string
  proof: object
  public_signals: string[]
}
interface Checked {
  valid?: boolean
  verified?: boolean
  reason_codes?: string[]
  reason?: string
}

describe('proofs of tokens', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let tokens: ReturnType<typeof tokenRoutesOf>
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    tokens = tokenRoutesOf(app, owner.apiKey)
  })
  const prove = async (tokenId: string): Promise<Made> => {
    const body = { circuit_id: 'token_validation', inputs: { tokenId } }
    const made = await app.request<Made>('POST', '/v1/proofs/generate', { key: owner.apiKey, body })
    expect(made.status, JSON.stringify(made.body)).to.be.below(300)
    return made.body
  }
  const verify = ({ proof_id, circuit_id, proof, public_signals }: Made, consume: boolean) =>
    app.request<Checked>('POST', '/v1/proofs/verify', {
      key: owner.apiKey,
      body: { proof_id, circuit_id, proof, public_signals, consume },
    })

  it('are spent with a single-use token that is used up, and use it up when they are spent', async () => {
    const [shown, proven] = [
      await tokens.issued({ singleUse: true }),
      await tokens.issued({ singleUse: true }),
    ]
    const [ofShown, ofProven] = [await prove(shown.tokenId), await prove(proven.tokenId)]
    expect((await tokens.validate({ token: shown.token, consume: true })).body.consumed).to.equal(true)
    const late = await verify(ofShown, true)
    expect([late.status, late.body.reason]).to.deep.equal([409, 'DOUBLE_SPEND'])

    const spent = await verify(ofProven, true)
    expect([spent.status, spent.body.verified]).to.deep.equal([200, true])
    expect((await tokens.status(proven.tokenId)).body.status).to.equal('used')
    expect((await tokens.validate({ token: proven.token })).body.reasonCodes).to.deep.equal(['TOKEN_USED'])
    const again = await tokens.validate({ token: proven.token, consume: true })
    expect([again.status, again.body.reason]).to.deep.equal([409, 'TOKEN_USED'])
  })

  it('are not attested once their token is used up', async () => {
    const { tokenId, token } = await tokens.issued({ singleUse: true })
    const made = await prove(tokenId)
    await tokens.validate({ token, consume: true })
    const { verified, reasonCodes } = await app.services.proofs.verifyStored(
      callerOf(owner.organisationId),
      made.proof_id,
    )
    expect([verified, reasonCodes]).to.deep.equal([false, ['DOUBLE_SPEND']])
  })

  it('are neither verified nor spent by whoever checked them just before the token was revoked', async () => {
    const { tokenId, credential } = await tokens.issued()
    const made = await prove(tokenId)
    await tokens.revoke(tokenId)
    // What a check sees that began earlier.
    const { knex } = app.services.database
    await knex('revoked_statuses')
      .where({ status: Number(credential?.fields.status) })
      .del()
    for (const consume of [false, true]) {
      const { status, body } = await verify(made, consume)
      expect([status, body.valid, body.verified]).to.deep.equal([200, true, false])
      expect(body.reason_codes).to.deep.equal(['CREDENTIAL_REVOKED'])
    }
    const types = (await entriesOf(app, made.proof_id)).map(({ type }) => type)
    expect(types).to.deep.equal(['prove'])
  })

  it('are not made of a revoked token, neither by the signals of its credential nor where it is revoked meanwhile', async () => {
    const { tokenId, credential = expect.fail() } = await tokens.issued()
    const { audience: tokenAudience, holder: _, ...fields } = credential.fields
    const inputs = { ...fields, tokenAudience, ...credential.signature, secret: credential.secret }
    const generate = () =>
      app.request<Made & { error?: string; reason?: string }>('POST', '/v1/proofs/generate', {
        key: owner.apiKey,
        body: { circuit_id: 'token_validation', inputs },
      })
    expect(await generate()).to.include({ status: 200 })
    const proofs = () =>
      app.services.database.knex('proofs').where({ organisation: owner.organisationId }).select('id')
    const before = await proofs()
    await tokens.revoke(tokenId)
    const { status, body } = await generate()
    expect([status, body.error, body.reason]).to.deep.equal([422, 'not_provable', 'STATEMENT_FALSE'])
    const other = await tokens.issued()
    const { proofs: service } = app.services
    const caller = callerOf(owner.organisationId)
    const prepared = await service.prepare(caller, 'token_validation', { tokenId: other.tokenId })
    await tokens.revoke(other.tokenId)
    const ask = { circuitId: 'token_validation', prepared, category: 'proof' } as const
    const overtaken = service.generate(caller, ask, (made) => made)
    expect(await rejection(overtaken)).to.include({ code: 'not_provable', reason: 'STATEMENT_FALSE' })
    expect(await proofs()).to.deep.equal(before)
  })

  it('are not verified any more once the token is revoked', async () => {
    const { tokenId } = await tokens.issued()
    const made = await prove(tokenId)
    expect((await verify(made, false)).body).to.deep.include({ valid: true, verified: true })
    await tokens.revoke(tokenId)
    const { body } = await verify(made, false)
    expect(body).to.deep.include({ valid: true, verified: false })
    expect(body.reason_codes?.join()).to.contain('REVOKED')
  })
})
