/** The audit and the published log, through the real app. */
import { createHash, createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type {
  AuditPage,
  ConsistencyProof,
  InclusionProof,
  Pseudonymised,
} from '../../../src/domain/audit/schemas.ts'
import type { EntryType } from '../../../src/ledger/decision.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { leafHash, rootOf } from '../../support/reference/merkle.ts'
import { verifyConsistency, verifyInclusion } from '../../support/reference/merkle-proofs.ts'
import { readCheckpoint } from '../../support/sigstore.ts'

const DAY_MS = 24 * 3_600_000
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Writes entries in the name of an organisation, as its domains do. */
const write = (
  { services }: TestApp,
  organisation: string,
  subjects: readonly (string | undefined)[],
  type: EntryType = 'verify',
) =>
  services.ledger.append(systemCaller(organisation, 'test'), (tx) => {
    const places = subjects.map((subject) =>
      tx.append({
        type,
        data: { n: 1 },
        ...(subject !== undefined && { subject: ['person', subject] as const }),
      }),
    )
    return tx.withRoot((root, treeSize) => places.map((place) => ({ ...place, root, treeSize })))
  })

describe('audit', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })

  const get = async <T>(path: string, key = owner.apiKey): Promise<T> => {
    const { status, body } = await app.request<T>('GET', path, { key })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const refusal = async (path: string, key = owner.apiKey): Promise<[number, string]> => {
    const { status, body } = await app.request<{ error: string }>('GET', path, { key })
    return [status, body.error]
  }

  it('lists an organisation\u2019s own entries, whose hashes can be recomputed, under a checkpoint that covers them', async () => {
    const receipts = await write(app, owner.organisationId, ['a', 'b', 'c'])
    const page = await get<AuditPage>('/api/audit?type=verify')
    expect(page.entries.map(({ index }) => index)).to.deep.equal(receipts.map(({ index }) => index).reverse())
    for (const { entry, leafHash: leaf, organisationId, index } of page.entries) {
      expect(organisationId).to.equal(owner.organisationId)
      expect(leafHash(Buffer.from(entry ?? '')).toString('hex')).to.equal(leaf)
      expect(index).to.be.below(page.treeSize)
      expect(entry).not.to.match(/"[abc]"/)
    }
    const { keys } = await get<{ keys: { alg: string; x?: string; kid: string }[] }>('/.well-known/jwks.json')
    const origin = new URL(app.url).host
    const accepted = keys
      .filter(({ alg }) => alg === 'EdDSA')
      .flatMap((jwk) => {
        const material = Buffer.concat([
          Buffer.from(`${origin}\n`),
          Buffer.of(1),
          Buffer.from(jwk.x ?? '', 'base64url'),
        ])
        const id = createHash('sha256').update(material).digest().subarray(0, 4)
        try {
          return [
            readCheckpoint(page.checkpoint, {
              id,
              origin,
              publicKey: createPublicKey({ key: jwk, format: 'jwk' }),
            }),
          ]
        } catch {
          return []
        }
      })
    expect(accepted).to.have.length(1)
    expect(accepted[0]?.logSize).to.equal(BigInt(page.treeSize))
    expect(accepted[0]?.logHash.toString('hex')).to.equal(page.root)
  })

  it('proves that an entry stands under the checkpoint, and that the log was only appended to', async () => {
    const [receipt] = await write(app, owner.organisationId, ['a'])
    const first = await get<AuditPage>('/api/audit')
    await write(app, owner.organisationId, Array(40).fill('b'))
    const second = await get<AuditPage>('/api/audit?limit=1')
    for (const { treeSize, root } of [first, second]) {
      const path = `/api/audit/inclusion?index=${receipt?.index}&treeSize=${treeSize}`
      const proof = await get<InclusionProof>(path)
      expect(proof).to.include({ index: receipt?.index, treeSize, root, leafHash: receipt?.leafHash })
      const hashes = proof.hashes.map(bytes)
      const accepted = verifyInclusion(proof.index, treeSize, bytes(proof.leafHash), hashes, bytes(root))
      expect(accepted).to.equal(true)
    }
    const { treeSize: from } = first
    const { treeSize: to } = second
    const proof = await get<ConsistencyProof>(`/api/audit/consistency?from=${from}&to=${to}`)
    expect(proof).to.include({ from, to })
    const roots = [bytes(first.root), bytes(second.root)] as const
    expect(verifyConsistency(from, to, ...roots, proof.hashes.map(bytes))).to.equal(true)
    const whole = await get<ConsistencyProof>('/api/audit/consistency?from=0')
    expect(whole.hashes).to.deep.equal([])
    expect(whole.to).to.be.at.least(to)
  })

  it('shows nothing of other organisations, but an operator their entries without the text', async () => {
    const [receipt] = await write(app, owner.organisationId, ['a'])
    const stranger = await app.organisation()
    const theirs = await get<AuditPage>('/api/audit?limit=1000', stranger.apiKey)
    expect(
      theirs.entries.filter(({ organisationId }) => organisationId !== stranger.organisationId),
    ).to.deep.equal([])
    const path = `/api/audit/inclusion?index=${receipt?.index}`
    expect(await refusal(path, stranger.apiKey)).to.deep.equal([404, 'not_found'])
    const all = await get<AuditPage>('/api/audit?type=verify&limit=1', app.adminKey)
    expect(all.entries.map(({ index, entry }) => ({ index, entry }))).to.deep.equal([
      { index: receipt?.index, entry: null },
    ])
    expect((await get<InclusionProof>(path, app.adminKey)).leafHash).to.equal(receipt?.leafHash)
  })

  it('comes in pages that meet, also while the log grows', async () => {
    const receipts = await write(app, owner.organisationId, Array(11).fill('a'))
    const seen: number[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: AuditPage = await get(`/api/audit?type=verify&limit=4${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.entries.map(({ index }) => index))
      cursor = page.nextCursor
      await write(app, owner.organisationId, ['later'])
    }
    expect(seen).to.deep.equal(receipts.map(({ index }) => index).reverse())
  })

  it('refuses proofs about trees that never were, entries that are not there and pages that are too long', async () => {
    const [receipt] = await write(app, owner.organisationId, ['a'])
    const index = receipt?.index ?? 0
    const size = (await app.services.ledger.head()).size
    for (const [path, status, error] of [
      [`/api/audit/inclusion?index=${index}&treeSize=${index}`, 400, 'invalid_query'],
      [`/api/audit/inclusion?index=${index}&treeSize=${size + 1000}`, 400, 'invalid_query'],
      [`/api/audit/inclusion?index=${size + 1000}`, 404, 'not_found'],
      ['/api/audit/inclusion?index=-1', 400, 'invalid_query'],
      ['/api/audit/inclusion', 400, 'invalid_query'],
      [`/api/audit/consistency?from=0&to=${size + 1000}`, 400, 'invalid_query'],
      ['/api/audit/consistency?from=5&to=4', 400, 'invalid_query'],
      ['/api/audit?limit=1001', 400, 'invalid_query'],
      ['/api/audit?type=anything', 400, 'invalid_query'],
      ['/api/audit?cursor=x', 400, 'invalid_query'],
    ] as const) {
      expect(await refusal(path), path).to.deep.equal([status, error])
    }
  })

  it('needs scope audit', async () => {
    const key = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { scopes: ['verify'] },
    })
    for (const path of ['/api/audit', '/api/audit/pseudonymised', '/api/audit/consistency?from=0']) {
      expect(await refusal(path, key.body.apiKey)).to.deep.equal([403, 'insufficient_scope'])
    }
  })

  it('publishes tiles from which anybody can compute the signed root, and no entry', async () => {
    await write(app, owner.organisationId, Array(300).fill('a'))
    const note = String((await app.request('GET', '/checkpoint')).body)
    const [, size = '', root] = note.split('\n')
    const fetchTile = (path: string) => app.request('GET', `/tile/${path}`)
    const hashes: Buffer[] = []
    for (let tile = 0; hashes.length < Number(size); tile++) {
      const width = Math.min(256, Number(size) - hashes.length)
      const name = `0/${String(tile).padStart(3, '0')}`
      const answer = await fetchTile(width === 256 ? name : `${name}.p/${width}`)
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('content-type')).to.equal('application/octet-stream')
      expect(answer.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
      const { bytes } = answer
      expect(bytes).to.have.length(width * 32)
      for (let at = 0; at < bytes.length; at += 32) hashes.push(bytes.subarray(at, at + 32))
    }
    expect(rootOf(hashes).toString('base64')).to.equal(root)
    const above = await fetchTile('1/000.p/1')
    expect(above.bytes.equals(rootOf(hashes.slice(0, 256)))).to.equal(true)
    for (const path of [
      '0/x001/000',
      '0/900.p/1',
      '7/000',
      '0/0',
      '0/x000/000',
      '0/000.p/256',
      '0/000.p/0',
      '00/000',
      '64/000',
      'entries/000',
      '0/000/x',
      '0/',
    ]) {
      expect((await fetchTile(path)).status, path).to.equal(404)
    }
  })

  it('lets pages of any origin read checkpoint, keys and tiles', async () => {
    await write(app, owner.organisationId, ['a'])
    for (const path of ['/checkpoint', '/checkpoint/keys', '/tile/0/000.p/1']) {
      const answer = await app.request('GET', path, { headers: { origin: 'https://auditor.example' } })
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('access-control-allow-origin'), path).to.equal('*')
    }
    const { body } = await app.request<string>('GET', '/checkpoint/keys')
    expect(body.trim().split('\n')).to.have.length(2)
  })
})

describe('audit of a log that was tampered with', () => {
  it('answers 503, signs nothing and raises an alert', async () => {
    const app = await startTestApp()
    try {
      const { organisationId, apiKey } = await app.organisation()
      await write(app, organisationId, ['a', 'b'])
      expect((await app.request('GET', '/checkpoint')).status).to.equal(200)
      const { knex } = app.services.database
      await knex('ledger_entries')
        .where({ idx: 0 })
        .update({ leaf_hash: Buffer.alloc(32) })
      for (const [path, key] of [
        ['/checkpoint', undefined],
        ['/api/audit', apiKey],
      ] as const) {
        const { status, body } = await app.request<{ error: string }>('GET', path, { key })
        expect([status, body.error]).to.deep.equal([503, 'log_inconsistent'])
      }
      await app.services.security.close()
      const alerts = await app.request<{ alerts: { type: string; severity: string }[] }>(
        'GET',
        '/api/security/alerts?severity=critical',
        { key: app.adminKey },
      )
      expect(alerts.body.alerts.map(({ type }) => type)).to.deep.equal(['tree_inconsistency'])
      const metrics = await app.request<string>('GET', '/metrics')
      expect(metrics.body).to.match(/^ledger_inconsistency_total [1-9]/m)
    } finally {
      await app.close()
    }
  })
})

describe('audit by time', () => {
  let app: TestApp
  let owner: TestOrganisation
  const start = Date.parse('2026-03-02T00:00:00.000Z')
  let now = start
  const people = (count: number, from = 0): string[] =>
    Array.from({ length: count }, (_, i) => `person ${from + i}`)
  const at = (day: number, hour = 12): void => {
    now = start + day * DAY_MS + hour * 3_600_000
  }
  const iso = (day: number): string => new Date(start + day * DAY_MS).toISOString()

  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    owner = await app.organisation()
    // Day 1: two types with enough subjects. Day 2: one without, which is merged. Day 3: too few altogether.
    at(1, 9)
    await write(app, owner.organisationId, [...people(6), ...people(6)])
    await write(app, owner.organisationId, people(5), 'attest')
    at(1, 17)
    await write(app, owner.organisationId, people(7, 3))
    at(2)
    await write(app, owner.organisationId, people(9))
    await write(app, owner.organisationId, people(2), 'attest')
    await write(app, owner.organisationId, people(3, 2), 'payment')
    await write(app, owner.organisationId, [undefined, undefined])
    at(3)
    await write(app, owner.organisationId, people(4))
    at(10)
  })
  after(() => app.close())

  const counts = async (query: string): Promise<Pseudonymised> => {
    const { status, body } = await app.request<Pseudonymised>('GET', `/api/audit/pseudonymised${query}`, {
      key: owner.apiKey,
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  it('lists what lies in a window, its beginning included and its end not', async () => {
    const list = async (query: string) =>
      (await app.request<AuditPage>('GET', `/api/audit?type=verify&${query}`, { key: owner.apiKey })).body
        .entries
    expect(await list(`since=${iso(1)}&until=${iso(2)}`)).to.have.length(12 + 7)
    expect(await list(`since=${iso(2)}&until=${iso(4)}`)).to.have.length(9 + 2 + 4)
    const noon = new Date(start + 2 * DAY_MS + DAY_MS / 2).toISOString()
    expect(await list(`since=${iso(2)}&until=${noon}`)).to.have.length(0)
    expect(await list(`since=${noon}&until=${iso(3)}`)).to.have.length(11)
    expect(await list(`since=${iso(5)}`)).to.have.length(0)
  })

  it('counts groups of at least k subjects; merges, leaves out and rounds the rest', async () => {
    const answer = await counts(`?k=5&since=${iso(1)}&until=${iso(4)}`)
    expect(answer).to.deep.include({ k: 5, window: { since: iso(1), until: iso(4) }, suppressed: 1 })
    expect(answer.pseudonymEpoch).to.equal(Math.floor(now / (90 * DAY_MS)))
    const day = { span: 'day', merged: false }
    expect(answer.rows).to.deep.equal([
      { ...day, bucket: iso(1), type: 'attest', entries: 5, subjects: 5 },
      { ...day, bucket: iso(1), type: 'verify', entries: 19, subjects: 10 },
      { ...day, bucket: iso(2), type: 'verify', entries: 9, subjects: 5 },
      { ...day, bucket: iso(2), type: null, merged: true, entries: 5, subjects: 5 },
    ])
  })

  it('divides types by hour when asked, and whole days not at all', async () => {
    const query = `k=5&since=${iso(1)}&until=${iso(2)}`
    const hours = (await counts(`?${query}&fields=type,hour`)).rows
    expect(
      hours.map(({ bucket, span, type, entries }) => [bucket.slice(11, 13), span, type, entries]),
    ).to.deep.equal([
      ['09', 'hour', 'attest', 5],
      ['09', 'hour', 'verify', 12],
      ['17', 'hour', 'verify', 7],
    ])
    expect((await counts(`?${query}&fields=`)).rows).to.deep.equal([
      { bucket: iso(1), span: 'day', type: null, merged: false, entries: 24, subjects: 10 },
    ])
  })

  it('widens every window to whole days, so that two windows never differ by less', async () => {
    const whole = await counts(`?since=${iso(1)}&until=${iso(2)}`)
    const from = new Date(start + DAY_MS + 8 * 3_600_000).toISOString()
    const to = new Date(start + DAY_MS + 10 * 3_600_000).toISOString()
    expect(await counts(`?since=${from}&until=${to}`)).to.deep.equal(whole)
  })

  it('counts subjects and not entries of a day that is not over, so that nobody sees one more come in', async () => {
    const own = await app.organisation()
    const ask = async () =>
      (await app.request<Pseudonymised>('GET', '/api/audit/pseudonymised', { key: own.apiKey })).body.rows
    await write(app, own.organisationId, people(6))
    const before = await ask()
    expect(before.map(({ entries, subjects }) => ({ entries, subjects }))).to.deep.equal([
      { entries: null, subjects: 5 },
    ])
    await write(app, own.organisationId, people(2, 6))
    expect(await ask()).to.deep.equal(before)
  })

  it('refuses a k outside 5 to 1,000, and windows that are too long or end before they begin', async () => {
    for (const query of [
      'k=4',
      'k=0',
      'k=-5',
      'k=1001',
      `since=${iso(3)}&until=${iso(1)}`,
      'since=2020-01-01T00:00:00Z',
    ]) {
      const path = `/api/audit/pseudonymised?${query}`
      const { status, body } = await app.request<{ error: string }>('GET', path, { key: owner.apiKey })
      expect([status, body.error], query).to.deep.equal([422, 'validation_failed'])
    }
    const malformed = await app.request('GET', '/api/audit/pseudonymised?k=many', { key: owner.apiKey })
    expect(malformed.status).to.equal(400)
  })
})
