/** Answers of a service with several logs that come back whole: what is of another log is refused, 0 is the same as absent. */
import { expect } from 'chai'
import type { AuditPage } from '../../src/domain/audit/schemas.ts'
import type { ZkpProof, ZkpVerified } from '../../src/domain/audit/schemas-zkp.ts'
import type { TestApp, TestOrganisation } from '../support/app.ts'
import { ok } from '../support/client.ts'
import { proveEntry, writeEntry } from '../support/domain/audit-proofs.ts'
import { consentRoutesOf } from '../support/domain/consents.ts'
import { postV1Verify } from '../support/domain/eligibility.ts'
import { startManyLogs } from '../support/domain/many-logs.ts'
import { generated } from '../support/domain/proof-api.ts'
import { verified } from '../support/verification.ts'

interface Refusal {
  readonly error?: string
  readonly details?: readonly { readonly path: string }[]
}

const LOGS = 3

describe('an answer of one of several logs that comes back', function () {
  this.timeout(180_000)
  let app: TestApp
  let of: (log: number) => TestOrganisation
  before(async () => {
    ;({ app, of } = await startManyLogs(LOGS))
    for (const log of [0, 1, 2]) for (let n = 0; n < 3; n++) await writeEntry(app, of(log).apiKey)
  })
  after(() => app.close())

  const REFUSED = [422, 'read_only', '/log']
  /** Sent with each number of a log, of which one is the caller's: the others are refused, 0 being what absent is. */
  const expectHeld = async (log: number, path: string, answer: object): Promise<void> => {
    const { apiKey: key } = of(log)
    for (const sent of [0, 1, 2]) {
      const body = { ...answer, log: sent }
      const { status, body: told } = await app.request<Refusal>('POST', path, { key, body })
      const found = status === 200 ? 200 : [status, told.error, told.details?.[0]?.path]
      expect(found, `${path}: ${sent} of ${log}`).to.deep.equal(sent === log ? 200 : REFUSED)
    }
    const { status } = await app.request('POST', path, { key, body: answer })
    expect(status, path).to.equal(200)
  }

  it('as an entry is proved only where it is of the caller’s log', async () => {
    for (const log of [0, 1]) {
      const { entries } = await ok<AuditPage>(app, 'GET', '/api/audit?limit=1', { key: of(log).apiKey })
      const { index } = entries[0] ?? expect.fail('no entry')
      for (const path of ['/api/audit/zkp-proof', '/api/circuits/audit-proof'])
        for (const answer of [entries[0] ?? {}, { index }]) {
          const { apiKey: key } = of(log)
          expect((await app.request('POST', path, { key, body: answer })).status).to.equal(200)
          for (const sent of [0, 1, 2].filter((one) => one !== log)) {
            const { status, body } = await app.request<Refusal>('POST', path, {
              key,
              body: { ...answer, log: sent },
            })
            expect([status, body.error, body.details?.[0]?.path], `${path} ${sent}`).to.deep.equal(REFUSED)
          }
        }
    }
    const { entries } = await ok<AuditPage>(app, 'GET', '/api/audit?limit=1', { key: of(0).apiKey })
    await ok(app, 'POST', '/api/audit/zkp-proof', { key: of(0).apiKey, body: { ...entries[0], log: 0 } })
  })

  it('as a proof, a consent or a result is held against its log', async () => {
    for (const log of [0, 2]) {
      const { apiKey: key } = of(log)
      await expectHeld(log, '/v1/proofs/verify', await generated(app, key))
      const consents = consentRoutesOf(app, key)
      await expectHeld(log, '/api/consent/verify', await consents.logged())
      await expectHeld(log, '/api/consent/revoke', await consents.logged())
      const { log: _, ...result } = await verified(app, key)
      await expectHeld(log, '/verify/revoke', result)
      const context = { amount: 10, currency: 'GBP' }
      const asked = { circuit_id: 'simple_yesno', identifier: 'ada', context }
      const decided = await postV1Verify(app, key, asked)
      await expectHeld(log, '/verify/revoke', decided.body)
    }
  })

  it('as the place of a root in log 0 may name it', async () => {
    const { apiKey: key } = of(0)
    const made: ZkpProof = await proveEntry(app, key, { index: await writeEntry(app, key) })
    expect(made.inclusion).to.not.have.property('log')
    const ask = (log: number) =>
      app.request<ZkpVerified & Refusal>('POST', '/api/audit/zkp-verify', {
        key,
        body: { ...made, inclusion: { ...made.inclusion, log } },
      })
    expect((await ask(0)).body).to.include({ integrity_verified: true })
    const { status, body } = await ask(1)
    expect([status, body.error, body.details?.[0]?.path]).to.deep.equal([422, 'read_only', '/inclusion'])
  })
})
