/** Whom entries are about, and what counting them by subject may cost. */
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type { AuditPage, Pseudonymised } from '../../../src/domain/audit/schemas.ts'
import { createAudit } from '../../../src/domain/audit/service.ts'
import { countBySubject } from '../../../src/domain/audit/store.ts'
import { AppError } from '../../../src/errors.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { terminalTill } from '../../support/domain/tills.ts'

const DAY_MS = 86_400_000
const today = (): number => Math.floor(Date.now() / DAY_MS)
const COUNTS = '/api/audit/pseudonymised?k=5&fields=type'

describe('subjects of entries', () => {
  let app: TestApp
  let owner: TestOrganisation
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  const subjects = async (type: string): Promise<string[]> => {
    const path = `/api/audit?type=${type}&limit=1000`
    const { body } = await app.request<AuditPage>('GET', path, { key: owner.apiKey })
    return body.entries.map(({ entry }) => JSON.parse(entry ?? '').subject)
  }
  const verifyBy = async (key: string): Promise<string> => {
    const { status, body } = await app.request<{ verificationId: string }>('POST', '/verify', {
      key,
      body: { data: { person: 'alice' }, options: {} },
    })
    expect(status).to.equal(200)
    return body.verificationId
  }
  const counted = async (): Promise<Pseudonymised['rows']> =>
    (await app.request<Pseudonymised>('GET', COUNTS, { key: owner.apiKey })).body.rows
  const newKey = async (): Promise<string> => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'Alice Example', scopes: ['verify'] },
    })
    return body.apiKey
  }

  it('are one for five verifications of one key, which k-anonymous counts don\u2019t show', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(await verifyBy(owner.apiKey))
    await app.request('POST', `/verify/${ids[0]}/revoke`, { key: owner.apiKey })
    const found = new Set([...(await subjects('verify')), ...(await subjects('revoke'))])
    expect(found.size).to.equal(1)
    expect([...found][0]).to.match(/^[0-9a-f]{64}$/)
    expect(await counted()).to.deep.equal([])
  })

  it('are five for verifications of five keys', async () => {
    const keys: string[] = []
    for (let n = 0; n < 5; n++) keys.push(await newKey())
    // Those of one day are counted together: where another day begins meanwhile, all do it again.
    for (let day = -1; day !== today(); ) {
      day = today()
      for (const key of keys) await verifyBy(key)
    }
    expect(new Set(await subjects('verify')).size).to.equal(5)
    expect((await counted()).length).to.be.above(0)
  })

  it('are the terminal for all its payments, accepted late or not', async () => {
    const till = await terminalTill(app, owner)
    const payments = Array.from({ length: 5 }, () => till.payment())
    await till.sync([till.payment()])
    await app.request('DELETE', `/console/api/keys/${till.keyId}`, { key: owner.apiKey })
    await till.sync(payments)
    const { body } = await app.request<{ payments: { paymentId: string }[] }>(
      'GET',
      '/console/api/payments?status=late',
      {
        key: owner.apiKey,
      },
    )
    expect(body.payments).to.have.length(5)
    for (const { paymentId } of body.payments) {
      const path = `/console/api/payments/${paymentId}/accept`
      expect((await app.request('POST', path, { key: owner.apiKey })).status).to.equal(200)
    }
    const found = await subjects('payment')
    expect(found).to.have.length(11)
    expect(new Set(found).size).to.equal(1)
  })

  it('stand beside the entry as its text says them', async () => {
    await verifyBy(owner.apiKey)
    const rows: { subject: string | null; entry: string }[] = await app.services.database
      .knex('ledger_entries')
      .orderBy('idx', 'desc')
      .limit(1_000)
    for (const { subject, entry } of rows) expect(subject).to.equal(JSON.parse(entry).subject)
  })

  it('never come with a key\u2019s label, which may be a name', async () => {
    await newKey()
    const entries = await app.services.database.knex('ledger_entries').pluck('entry')
    expect(entries.filter((entry: string) => entry.includes('Alice Example'))).to.deep.equal([])
  })

  it('are counted for one question of an organisation at a time', async () => {
    const { services } = app
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const audit = createAudit({
      ...services,
      signedLogs: { at: () => expect.fail('no checkpoint is asked for') },
      // The first question waits here for as long as the test wants.
      pseudonyms: { epoch: () => gate.then(() => ({ number: 230, of: () => '' })) },
    })
    const caller = systemCaller(owner.organisationId, 'test')
    const first = audit.pseudonymised(caller, {})
    const second = await audit.pseudonymised(caller, {}).catch((error: unknown) => error)
    expect(second).to.be.instanceOf(AppError).that.includes({ code: 'rate_limited' })
    const other = audit.pseudonymised(systemCaller('org_other', 'test'), {})
    open()
    expect((await Promise.all([first, other])).map(({ k }) => k)).to.deep.equal([5, 5])
    expect((await audit.pseudonymised(caller, {})).k).to.equal(5)
  })

  it('are counted up to a number of entries, those without a subject included', async () => {
    for (let n = 0; n < 3; n++) await verifyBy(owner.apiKey)
    const window = { organisation: owner.organisationId }
    const { database } = app.services
    const total = (await database.knex('ledger_entries').where(window)).length
    const ask = (maxEntries: number) =>
      countBySubject(database, { window: { log: 0, ...window }, byHour: true, maxEntries })
    expect(await ask(total - 1)).to.equal(undefined)
    const cells = await ask(total)
    expect(cells?.filter(({ type }) => type === 'verify').map(({ entries }) => entries)).to.deep.equal([3])
  })

  it('are counted in chunks without gap or repetition', async () => {
    const { database, ledger } = app.services
    for (let done = 0; done < 5_120; done += 512)
      await ledger.append(systemCaller(owner.organisationId, 'test'), (tx) => {
        for (let n = done; n < done + 512; n++)
          tx.append({ type: 'attest', subject: ['person', String(n % 7)], data: {} })
      })
    const window = { organisation: owner.organisationId }
    const cells =
      (await countBySubject(database, {
        window: { log: 0, ...window },
        byHour: false,
        maxEntries: 10_000,
      })) ?? []
    const bySubject = new Map<string, number>()
    for (const { type, subject, entries } of cells)
      if (type === 'attest') bySubject.set(subject, (bySubject.get(subject) ?? 0) + entries)
    expect([...bySubject.values()].sort()).to.deep.equal([731, 731, 731, 731, 732, 732, 732])
  })

  it('are asked for in years that every database knows', async () => {
    const key = owner.apiKey
    for (const at of ['1969-12-31T23:59:59Z', '9999-01-01T00:00:00Z', '0000-01-01T00:00:00Z']) {
      for (const query of [
        `/api/audit/pseudonymised?since=${at}`,
        `/api/audit/pseudonymised?until=${at}`,
        `/api/audit?since=${at}`,
        `/api/audit?until=${at}`,
      ]) {
        const { status, body } = await app.request<{ error: string }>('GET', query, { key })
        expect([status, body.error], query).to.deep.equal([422, 'validation_failed'])
      }
    }
    const last = '/api/audit/pseudonymised?since=9998-12-31T00:00:00Z&until=9998-12-31T23:59:59Z'
    expect((await app.request('GET', last, { key })).status).to.equal(200)
  })
})
