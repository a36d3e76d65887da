/** What terminals are known by inside proofs. */
import { expect } from 'chai'
import {
  cardNullifierElement,
  terminalCommitment,
  terminalSecretElement,
} from '../../../src/circuits/mappers/terminal-secret.ts'
import type { TerminalCreated } from '../../../src/domain/terminals/schemas.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'

const commitmentOf = ({ terminalSecret }: TerminalCreated): bigint =>
  terminalCommitment(terminalSecretElement(terminalSecret))

describe('the proving commitment of a terminal', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })

  const create = async (body: object = {}) => {
    const answer = await app.request<TerminalCreated>('POST', '/console/api/terminals', {
      key: owner.apiKey,
      body: { label: 'till', ...body },
    })
    expect(answer.status).to.equal(201)
    return answer.body
  }
  const stored = async ({ terminalId }: TerminalCreated): Promise<string | null> =>
    (await app.services.database.knex('terminals').where({ id: terminalId }).first()).proving_commitment
  const authenticate = (terminal: TerminalCreated, terminalSecret = terminal.terminalSecret) =>
    app.request('POST', '/api/merchant/terminals/authenticate', {
      bearer: terminal.apiKey,
      body: { terminalId: terminal.terminalId, terminalSecret },
    })
  const isRegistered = (origin: string, commitment: bigint, merchant = owner.merchantId) =>
    app.services.terminals.isRegistered(owner.organisationId, { merchant, origin }, commitment)

  it('is made of the secret when the terminal is', async () => {
    const terminal = await create()
    expect(await stored(terminal)).to.equal(commitmentOf(terminal).toString())
  })

  it('of an older terminal is kept when it authenticates, with the right secret only, and then never changes', async () => {
    const terminal = await create()
    const { knex } = app.services.database
    await knex('terminals').where({ id: terminal.terminalId }).update({ proving_commitment: null })
    expect((await authenticate(terminal, 'wrong')).status).to.equal(401)
    expect(await stored(terminal)).to.equal(null)
    expect((await authenticate(terminal)).status).to.equal(200)
    expect(await stored(terminal)).to.equal(commitmentOf(terminal).toString())
    await knex('terminals').where({ id: terminal.terminalId }).update({ proving_commitment: '5' })
    await authenticate(terminal)
    expect(await stored(terminal)).to.equal('5')
  })

  it('speaks for the payments of this terminal only, and no longer once it is revoked', async () => {
    const terminal = await create()
    const other = await create()
    expect(await isRegistered(terminal.terminalId, commitmentOf(terminal))).to.equal(true)
    expect(await isRegistered(terminal.terminalId, commitmentOf(other))).to.equal(false)
    expect(await isRegistered(terminal.terminalId, commitmentOf(terminal) + 1n)).to.equal(false)
    await app.request('DELETE', `/console/api/terminals/${terminal.terminalId}`, { key: owner.apiKey })
    expect(await isRegistered(terminal.terminalId, commitmentOf(terminal))).to.equal(false)
  })

  it('speaks for what a key presented of the same merchant, and for no other organisation', async () => {
    const terminal = await create()
    expect(await isRegistered('key_1', commitmentOf(terminal))).to.equal(true)
    expect(await isRegistered('key_1', commitmentOf(terminal), 'mer_other')).to.equal(false)
    owner = await app.organisation()
    expect(await isRegistered('key_1', commitmentOf(terminal))).to.equal(false)
  })

  it('of the service itself differs for each origin and organisation', async () => {
    const { terminals } = app.services
    const own = terminalCommitment(terminals.ownProvingSecret(owner.organisationId, 'ter_1'))
    expect(await isRegistered('ter_1', own)).to.equal(true)
    expect(await isRegistered('ter_2', own)).to.equal(false)
    expect(await terminals.isRegistered('org_2', { merchant: 'm', origin: 'ter_1' }, own)).to.equal(false)
  })

  it('and the card are elements of fixed values', () => {
    // First 31 bytes of SHA-256("terminal-proving/1secret").
    expect(terminalSecretElement('secret').toString(16)).to.equal(
      '57cf83f8cb48b9e0174ab4666132bc385f8d8840b60e046792a1850e9a57b1',
    )
    expect(cardNullifierElement(new Uint8Array(32).fill(1))).to.equal(BigInt(`0x${'01'.repeat(31)}`))
    expect(() => cardNullifierElement(new Uint8Array(12))).to.throw(RangeError)
  })
})
