/** When it is told that a key was revoked: once, when it stops to work, whichever way that comes. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { announceKeyEnds } from '../../../src/domain/accounts/key-ends.ts'
import type { KeyCreated, KeyRotated } from '../../../src/domain/accounts/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { terminalTill } from '../../support/domain/tills.ts'
import { eventually } from '../../support/eventually.ts'
import {
  answer,
  deliveryOf,
  newPath,
  register,
  requestsTo,
  settled,
  startWebhookApp,
  type WebhookApp,
} from '../../support/webhooks.ts'

const HOUR_SECONDS = 3600
const HOUR_MS = HOUR_SECONDS * 1000
const SERVERS = 4

interface StoredEntry {
  readonly type: string
  readonly actor: unknown
  readonly data: Record<string, unknown>
}

const entriesAbout = async ({ services }: TestApp, keyId: string): Promise<StoredEntry[]> => {
  const rows = await services.database.knex('ledger_entries').where({ key_id: keyId }).orderBy('idx')
  return rows.map(({ entry }: { entry: string }) => JSON.parse(entry))
}

describe('the end of an API key', () => {
  let passedMs = 0
  let context: WebhookApp
  let app: TestApp
  let owner: TestOrganisation
  let key: string
  before(async () => {
    context = await startWebhookApp({ clock: { now: () => Date.now() + passedMs } })
    app = context.app
  })
  after(() => context.close())
  beforeEach(async () => {
    owner = await app.organisation()
    key = owner.apiKey
  })

  const create = (body: object = {}) => ok<KeyCreated>(app, 'POST', '/console/api/keys', { key, body })
  const rotate = (keyId: string, overlapSeconds = HOUR_SECONDS, by = key) =>
    ok<KeyRotated>(app, 'POST', `/console/api/keys/${keyId}/rotate`, { key: by, body: { overlapSeconds } })
  const revoke = async (keyId: string) =>
    expect((await app.request('DELETE', `/console/api/keys/${keyId}`, { key })).status).to.equal(204)
  const works = async (text: string) =>
    (await app.request('GET', '/console/api/me', { key: text })).status === 200
  /** As every server does each second. */
  const announceEnds = () => Promise.all(Array.from({ length: SERVERS }, () => announceKeyEnds(app.services)))
  const passAnHour = async () => {
    passedMs += HOUR_MS
    await announceEnds()
  }
  const told = async (keyId: string) =>
    (await entriesAbout(app, keyId)).map(({ type, data }) => (type === 'account' ? data.event : type))

  it('is told when its overlap is over and not before, once, however many servers see that', async () => {
    const old = await create()
    const next = await rotate(old.keyId)
    await announceEnds()
    expect(await told(old.keyId)).to.deep.equal(['key.created', 'key.replaced'])
    expect(await works(old.apiKey)).to.equal(true)
    await passAnHour()
    expect(await works(old.apiKey)).to.equal(false)
    expect(await told(old.keyId)).to.deep.equal(['key.created', 'key.replaced', 'key.revoked'])
    const [, replaced, revoked] = await entriesAbout(app, old.keyId)
    const { keyId, replacedUntil: effectiveAt } = next
    const { askedBy, ...said } = replaced?.data ?? {}
    const known = { keyId: old.keyId, replacedBy: keyId, effectiveAt }
    expect(said).to.deep.equal({ event: 'key.replaced', ...known })
    const { revokedBy, ...data } = revoked?.data ?? {}
    expect(data).to.deep.equal(known)
    expect(revokedBy, 'the key that asked for it').to.match(/^key_/).and.not.equal(old.keyId)
    expect(askedBy).to.equal(revokedBy)
    await passAnHour()
    expect(await told(old.keyId)).to.have.lengthOf(3)
  })

  it('is told at once where it is revoked within its overlap, and not again when that is over', async () => {
    const old = await create()
    await rotate(old.keyId)
    await revoke(old.keyId)
    expect(await works(old.apiKey)).to.equal(false)
    const all = ['key.created', 'key.replaced', 'key.revoked']
    expect(await told(old.keyId)).to.deep.equal(all)
    await passAnHour()
    expect(await told(old.keyId)).to.deep.equal(all)
  })

  it('is told once where it is revoked as its overlap ends', async () => {
    const old = await create()
    await rotate(old.keyId)
    passedMs += HOUR_MS
    await Promise.all([announceEnds(), revoke(old.keyId), announceEnds()])
    const types = (await entriesAbout(app, old.keyId)).map(({ type }) => type)
    expect(types.filter((type) => type === 'key.revoked')).to.have.lengthOf(1)
  })

  it('is told at once where it is replaced without an overlap', async () => {
    const old = await create()
    await rotate(old.keyId, 0)
    expect(await told(old.keyId)).to.deep.equal(['key.created', 'key.revoked'])
    await passAnHour()
    expect(await told(old.keyId)).to.have.lengthOf(2)
  })

  it('that was told is told no more when the key is revoked, which the log records as an event of the account', async () => {
    const [ended, former] = [await create(), await create()]
    for (const { keyId } of [ended, former]) await rotate(keyId)
    // As an earlier version leaves it, which told the end as it replaced the key.
    await app.services.database.knex('key_ends').where({ key: former.keyId }).delete()
    await revoke(former.keyId)
    await passAnHour()
    await revoke(ended.keyId)
    for (const { keyId } of [ended, former]) {
      const entries = (await entriesAbout(app, keyId)).filter(({ data }) => data.event === 'key.revoked')
      expect(entries.map(({ type }) => type)).to.deep.equal(['account'])
      expect(entries[0]?.data.askedBy).to.match(/^key_/)
    }
    expect(await told(ended.keyId)).to.deep.equal([
      'key.created',
      'key.replaced',
      'key.revoked',
      'key.revoked',
    ])
  })

  it('is not told by whoever watches it where a server of an earlier version has revoked the key', async () => {
    const old = await create()
    await rotate(old.keyId)
    const { knex } = app.services.database
    await knex('api_keys')
      .where({ id: old.keyId })
      .update({ revoked_at: Date.now() + passedMs })
    await passAnHour()
    expect(await told(old.keyId)).to.deep.equal(['key.created', 'key.replaced'])
    expect(await knex('key_ends').where({ key: old.keyId })).to.deep.equal([])
  })

  it('of those of a terminal is told with the terminal’s, of each that was not told before', async () => {
    const { keyId, origin } = await terminalTill(app, owner)
    const next = await rotate(keyId)
    await passAnHour()
    const path = `/console/api/terminals/${origin}`
    expect((await app.request('DELETE', path, { key })).status).to.equal(204)
    const revoked = (await entriesAbout(app, next.keyId)).filter(({ type }) => type === 'key.revoked')
    expect(revoked.map(({ data }) => data.terminalId)).to.deep.equal([origin])
    expect((await told(keyId)).filter((event) => event === 'key.revoked')).to.have.lengthOf(1)
  })

  it('of those of a terminal that work on since an earlier version replaced them are in the log with the terminal’s', async () => {
    const { keyId, origin } = await terminalTill(app, owner)
    await rotate(keyId)
    // As an earlier version leaves it, which told the end as it replaced the key.
    await app.services.database.knex('key_ends').where({ key: keyId }).delete()
    expect((await app.request('DELETE', `/console/api/terminals/${origin}`, { key })).status).to.equal(204)
    const { type, data } = (await entriesAbout(app, keyId)).at(-1) ?? expect.fail('no entry')
    expect({ type, data: { ...data, askedBy: '' } }).to.deep.equal({
      type: 'account',
      data: { event: 'key.revoked', keyId, terminalId: origin, askedBy: '' },
    })
  })

  it('is told though more than are looked at at once can’t be', async () => {
    const { knex } = app.services.database
    const old = await create()
    await rotate(old.keyId)
    const row = await knex('api_keys').where({ id: old.keyId }).first()
    const broken = Array.from({ length: 120 }, (_, i) => `${old.keyId}-${i}`)
    await knex('api_keys').insert(
      broken.map((id) => ({
        ...row,
        id,
        digest: createHash('sha256').update(id).digest(),
        scopes: JSON.stringify(row.scopes),
      })),
    )
    // Of a time that no clock tells.
    await knex('key_ends').insert(
      broken.map((id) => ({ key: id, due_at: -9e15, replaced_by: old.keyId, asked_by: null })),
    )
    try {
      passedMs += HOUR_MS
      const isTold = async () => (await told(old.keyId)).includes('key.revoked')
      await eventually('the end of the key is told', isTold)
    } finally {
      await knex('key_ends').whereIn('key', broken).delete()
    }
  })

  it('reaches the endpoints of the key and of the one that replaced it when it has come', async () => {
    const old = await create({ label: 'old till' })
    const doer = await create({ scopes: ['keys', 'webhook', 'verify', 'export', 'audit', 'merchant'] })
    const narrow = await create({ label: 'narrow', scopes: ['webhook', 'verify'] })
    const paths = new Map<string, string>()
    for (const [name, { apiKey }] of Object.entries({ old, doer, narrow })) {
      const path = newPath()
      context.receiver.on(path, answer(204))
      await register(app, { key: apiKey }, { url: context.receiver.url + path, events: ['key.revoked'] })
      paths.set(name, path)
    }
    const toldTo = async (name: string) => {
      await settled(app)
      return requestsTo(context.receiver, paths.get(name) ?? '').map((request) => deliveryOf(request).data)
    }
    await rotate(narrow.keyId, HOUR_SECONDS, doer.apiKey)
    for (const name of paths.keys()) expect(await toldTo(name), name).to.deep.equal([])
    await passAnHour()
    const data = [{ key_id: narrow.keyId, label: 'narrow' }]
    expect(await toldTo('narrow')).to.deep.equal(data)
    expect(await toldTo('doer')).to.deep.equal(data)
    expect(await toldTo('old')).to.deep.equal([])
  })
})

describe('the end of an API key that comes while no server runs', () => {
  it('is told by the next to start', async function () {
    // The database of such a test goes with its first server.
    if (process.env.DATABASE_URL !== undefined) this.skip()
    const directory = mkdtempSync(join(tmpdir(), 'assay-key-ends-'))
    const env = { DATA_DIR: directory, MASTER_KEY: '7'.repeat(64), ADMIN_API_KEY: 'admin-of-key-ends-test' }
    let passedMs = 0
    const start = () => startTestApp({ env, clock: { now: () => Date.now() + passedMs } })
    try {
      const first = await start()
      const { apiKey } = await first.organisation()
      const path = '/console/api/keys'
      const { keyId } = await ok<KeyCreated>(first, 'POST', path, { key: apiKey, body: {} })
      const body = { overlapSeconds: HOUR_SECONDS }
      await ok(first, 'POST', `${path}/${keyId}/rotate`, { key: apiKey, body })
      await first.close()
      passedMs = HOUR_MS
      const next = await start()
      try {
        const revoked = async () =>
          (await entriesAbout(next, keyId)).filter(({ type }) => type === 'key.revoked')
        await eventually('the end of the key is told', async () => (await revoked()).length > 0)
        expect(await revoked()).to.have.lengthOf(1)
      } finally {
        await next.close()
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
