/** The export routes over HTTP: who may ask, what comes, one at a time, and no stream without a reader. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type { RequestRow } from '../../../src/domain/event-log/rows.ts'
import { createExports } from '../../../src/domain/exports/service.ts'
import { ONE_LOG } from '../../../src/ledger/logs.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'
import {
  exported,
  exportedRows,
  linesOf,
  makeKey,
  revokeKey,
  verifySomething,
} from '../../support/domain/exports.ts'

interface ErrorBody {
  error: string
  details?: { path: string; code: string }[]
}

describe('exports', function () {
  this.timeout(60_000)
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  const open = async (path: string, { apiKey }: TestOrganisation): Promise<IncomingMessage> => {
    const request = get(`${app.url}${path}`, { headers: { 'x-api-key': apiKey }, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }

  /** Rows until there are megabytes of them: more than the buffers of a connection hold. */
  const fill = (organisation: string, rows: number): void => {
    const row: RequestRow = {
      type: 'request',
      at: Date.now(),
      organisation,
      requestId: 'r'.repeat(200),
      method: 'GET',
      route: '/things',
      status: 200,
      durationMs: 1,
      actor: 'key',
      actorId: 'key_1',
      keyId: null,
      ip: '192.0.2.1',
    }
    for (let i = 0; i < rows; i++) app.services.eventLog.record(row)
  }

  it('tells at once of what has just been done, each entry once', async () => {
    const owner = await app.organisation()
    const keyId = await revokeKey(app, owner)
    await verifySomething(app, owner)
    const rows = await exportedRows(app, owner)
    const entries = rows.filter(({ type }) => type !== 'request')
    const told = entries.map(({ type, auditEvent = null }) => [type, auditEvent])
    expect(told.slice(-5)).to.deep.equal([
      ['merkle.leaf', 'account'],
      ['merkle.leaf', 'key.revoked'],
      ['key.revoked', null],
      ['merkle.leaf', 'verify'],
      ['verify', null],
    ])
    expect(entries.at(-3)).to.include({ keyId, organisationId: owner.organisationId })
    expect(entries.at(-1)).to.include({ circuitId: 'simple_yesno' })
    expect(entries.at(-1)?.digest).to.match(/^[0-9a-f]{64}$/)
    const leaves = entries.filter(({ type }) => type === 'merkle.leaf').map(({ index }) => index)
    expect(new Set(leaves).size).to.equal(leaves.length)
  })

  it('tells of requests by route, without bodies, queries and the values of paths', async () => {
    const owner = await app.organisation()
    const keyId = await makeKey(app, owner)
    await app.request('GET', '/health?secret=tomato')
    await app.request('DELETE', `/console/api/keys/${keyId}`, { key: owner.apiKey })
    await app.request('POST', '/verify', { key: owner.apiKey, body: { data: { secret: 'tomato' } } })
    await app.request('GET', '/api/audit', { key: `${owner.apiKey}x` })
    const { text } = await exported(app, owner, 'siem')
    expect(text).not.to.contain('tomato').and.not.to.contain(owner.apiKey)
    const requests = linesOf(text).filter(({ type }) => type === 'request')
    expect(requests.map(({ method, route, status }) => `${method} ${route} ${status}`)).to.deep.equal([
      'POST /console/api/keys 201',
      'DELETE /console/api/keys/{keyId} 204',
      'POST /verify 200',
    ])
    expect(requests[0]).to.include({ organisationId: owner.organisationId, actor: 'key' })
    expect(requests[0]?.ip).to.match(/^10\./)
    expect(requests[0]?.requestId).to.match(/^req_/)
  })

  it('never shows the rows of another organisation, in any format', async () => {
    const [one, other] = [await app.organisation(), await app.organisation()]
    await Promise.all([revokeKey(app, one), revokeKey(app, other), revokeKey(app, one)])
    for (const format of ['ndjson', 'json', 'csv', 'cef', 'leef', 'ecs', 'ocsf']) {
      const { text } = await exported(app, one, 'siem', { format })
      expect(text).to.contain(one.organisationId).and.not.to.contain(other.organisationId)
    }
    for (const format of ['ndjson', 'json']) {
      const { text } = await exported(app, one, 'evidence', { format })
      expect(text).to.contain(one.organisationId).and.not.to.contain(other.organisationId)
    }
    // Not even to the operator, whose own organisation it is.
    const { text } = await exported(app, { apiKey: app.adminKey }, 'siem')
    expect(text).not.to.contain(one.organisationId)
  })

  it('answers a file with the type and name of its format', async () => {
    const owner = await app.organisation()
    const window = { since: '2026-01-31T08:00:00.000Z', until: '2026-02-01' }
    for (const [kind, format, type, name] of [
      ['siem', 'ndjson', 'application/x-ndjson', 'events-20260131T080000Z-20260201T000000Z.ndjson'],
      ['siem', 'json', 'application/json; charset=utf-8', 'events-20260131T080000Z-20260201T000000Z.json'],
      [
        'siem',
        'csv',
        'text/csv; charset=utf-8; header=present',
        'events-20260131T080000Z-20260201T000000Z.csv',
      ],
      ['siem', 'cef', 'text/plain; charset=utf-8', 'events-20260131T080000Z-20260201T000000Z.cef'],
      ['siem', 'ecs', 'application/x-ndjson', 'events-20260131T080000Z-20260201T000000Z.ecs.ndjson'],
      ['evidence', 'ndjson', 'application/x-ndjson', 'evidence-20260131T080000Z-20260201T000000Z.ndjson'],
      ['evidence', 'zip', 'application/zip', 'evidence-20260131T080000Z-20260201T000000Z.zip'],
    ] as const) {
      const { status, headers } = await exported(app, owner, kind, { ...window, format })
      expect([status, headers.get('content-type')]).to.deep.equal([200, type])
      expect(headers.get('content-disposition')).to.equal(`attachment; filename="assay-${name}"`)
      expect(headers.get('cache-control')).to.equal('no-store')
    }
  })

  it('ends at its limit and says so', async () => {
    const owner = await app.organisation()
    await revokeKey(app, owner)
    const all = (await exportedRows(app, owner)).length
    expect(await exportedRows(app, owner, { limit: '2' })).to.have.length(2)
    const documentOf = async (limit: number) => {
      const { text } = await exported(app, owner, 'siem', { format: 'json', limit: String(limit) })
      const { count, limitReached, complete } = JSON.parse(text)
      return [count, limitReached, complete]
    }
    expect(await documentOf(all)).to.deep.equal([all, true, false])
    expect(await documentOf(1_000)).to.deep.equal([all + 3, false, true])
  })

  it('says so where the window is not over, and takes a clock that is a little ahead for right', async () => {
    const owner = await app.organisation()
    const told = async (aheadMs: number) => {
      const until = new Date(app.services.clock.now() + aheadMs).toISOString()
      const evidence = await exported(app, owner, 'evidence', { until, format: 'json' })
      const siem = await exported(app, owner, 'siem', { until, format: 'json' })
      const { header, manifest } = JSON.parse(evidence.text)
      return [{ ...header, ...manifest }, JSON.parse(siem.text)].map(({ complete, gaps, until: end }) => [
        complete,
        gaps,
        Date.parse(end) <= app.services.clock.now(),
      ])
    }
    expect(await told(30_000)).to.deep.equal(Array(2).fill([true, [], true]))
    expect(await told(120_000)).to.deep.equal(Array(2).fill([false, ['NOT_OVER'], false]))
  })

  it('hands out what lies in the window: its first moment, not its last', async () => {
    const owner = await app.organisation()
    await revokeKey(app, owner)
    const rows = await exportedRows(app, owner)
    const times = [...new Set(rows.map(({ at }) => String(at)))].sort()
    const [first = '', last = ''] = [times[0], times.at(-1)]
    const inside = await exportedRows(app, owner, { since: first, until: last })
    expect(inside).to.deep.equal(rows.filter(({ at }) => String(at) < last))
    expect(inside.map(({ at }) => at)).to.include(first)
    const after = await exportedRows(app, owner, { since: String(Date.parse(first) + 1), until: last })
    expect(after.map(({ at }) => at)).not.to.include(first)
    expect(await exportedRows(app, owner, { since: first, until: first })).to.deep.equal([])
  })

  it('refuses wrong questions with 422 and the parameter’s name', async () => {
    const owner = await app.organisation()
    for (const [query, path] of [
      ['since=yesterday', 'query/since'],
      ['until=2026-02-30', 'query/until'],
      ['limit=0', 'query/limit'],
      ['limit=1000001', 'query/limit'],
      ...['ten', '-1', '1.5', '', '9'.repeat(30)].map((limit) => [`limit=${limit}`, 'query/limit'] as const),
      ...['pdf', '', 'JSON', 'toString'].map((format) => [`format=${format}`, 'query/format'] as const),
      ['since=2026-01-02&until=2026-01-01', 'query/since'],
    ] as const) {
      for (const kind of ['siem', 'evidence']) {
        const answer = await app.request<ErrorBody>('GET', `/api/export/${kind}?${query}`, {
          key: owner.apiKey,
        })
        expect([answer.status, answer.body.error]).to.deep.equal([422, 'validation_failed'])
        expect(answer.body.details?.[0]?.path).to.equal(path)
      }
    }
    expect((await exported(app, owner, 'evidence', { format: 'cef' })).status).to.equal(422)
    expect((await exported(app, owner, 'siem', { format: 'zip' })).status).to.equal(422)
  })

  it('takes a key with scope export, or a session without any key, and nobody else', async () => {
    const owner = await app.organisation()
    const body = { label: 'no exports', scopes: ['verify'] }
    const made = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body,
    })
    const refused = await app.request<ErrorBody>('GET', '/api/export/siem', { key: made.body.apiKey })
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect((await app.request('GET', '/api/export/siem')).status).to.equal(401)
    const { cookie } = await signIn(app, await signUp(app))
    for (const kind of ['siem', 'evidence']) {
      const answer = await app.request<string>('GET', `/api/export/${kind}?since=2026-01-01`, {
        headers: { cookie },
      })
      expect(answer.status).to.equal(200)
      expect(answer.body).to.contain('"account"')
    }
  })

  it('runs one export of an organisation at a time, whatever becomes of it', async () => {
    const [owner, other] = [await app.organisation(), await app.organisation()]
    fill(owner.organisationId, 10_000)
    const running = await open('/api/export/siem', owner)
    running.pause()
    for (const kind of ['siem', 'evidence'] as const) {
      const second = await exported(app, owner, kind)
      expect([second.status, JSON.parse(second.text).error]).to.deep.equal([429, 'rate_limited'])
      expect(second.headers.get('retry-after')).to.equal('1')
    }
    expect((await exported(app, other, 'siem')).status).to.equal(200)
    /** Asks until it is answered: the end of a request is seen by the client before or after the server sees it. */
    const succeeds = async (kind: 'siem' | 'evidence', query: Record<string, string>) => {
      for (let status = 429; status === 429; await pause(20))
        status = (await exported(app, owner, kind, query)).status
    }
    running.destroy()
    await succeeds('siem', { limit: '1' })
    // Wrong questions and questions for the headers alone leave nothing running.
    expect((await exported(app, owner, 'siem', { limit: '0' })).status).to.equal(422)
    expect((await app.request('HEAD', '/api/export/siem', { key: owner.apiKey })).status).to.equal(200)
    await succeeds('evidence', { format: 'zip', limit: '10' })
    await succeeds('siem', { limit: '10' })
  })

  it('reads no further than its client, and stops when that goes away', async () => {
    const owner = await app.organisation()
    const bystander = await app.organisation()
    for (let round = 0; round < 3; round++) {
      fill(owner.organisationId, 15_000)
      // Whatever an export reads, it has what waits written first.
      await exported(app, bystander, 'siem')
    }
    const handedOut = async (): Promise<number> => {
      const families = await app.services.metrics.json()
      const { values = [] } = families.find(({ name }) => name === 'export_bytes_total') ?? {}
      return values.reduce((sum, { value }) => sum + value, 0)
    }
    const before = await handedOut()
    const running = await open('/api/export/evidence', owner)
    running.pause()
    let [last, taken] = [-1, before]
    for (; last !== taken || taken === before; [last, taken] = [taken, await handedOut()]) await pause(200)
    // The log holds about 20 MB of rows for it; connections hold a few.
    expect(taken - before).to.be.within(1, 12_000_000)
    running.destroy()
    await pause(200)
    expect((await handedOut()) - taken).to.be.lessThan(200_000)
  })

  it('ends an export that has lasted too long, and the organisation may ask again', async () => {
    const { organisationId } = await app.organisation()
    fill(organisationId, 10_000)
    const notAsked = () => Promise.reject(new Error('an export for a SIEM proves nothing'))
    const { eventLog, metrics, clock, signers } = app.services
    const exports = createExports({
      ...{ eventLog, metrics, clock, signers, baseUrl: app.url, eventLogBytes: 2 ** 20 },
      logs: ONE_LOG,
      signedLogs: { at: () => expect.fail('an export for a SIEM proves nothing'), covering: notAsked },
      logger: { warn: () => undefined },
      maxExportMs: 50,
    })
    const caller = systemCaller(organisationId, 'auditor')
    const { body } = await exports.siem(caller, {})
    const closed = new Promise((resolve) => body.once('close', resolve))
    const [error] = (await once(body, 'error')) as [Error]
    expect(error.message).to.equal('The export takes too long.')
    await closed
    const { body: next } = await exports.siem(caller, {})
    next.destroy()
  })

  it('counts the bytes that it hands out', async () => {
    const owner = await app.organisation()
    const read = async () => (await app.request<string>('GET', '/metrics')).body
    const count = (text: string): number =>
      Number(/^export_bytes_total\{kind="siem",format="leef"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    const before = count(await read())
    const { text } = await exported(app, owner, 'siem', { format: 'leef' })
    expect(count(await read()) - before).to.equal(Buffer.byteLength(text))
  })
})
