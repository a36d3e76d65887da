/** What is verified leaves no trace: not in the database, not in the log, not in what is signed. */
import { createHash, randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { expect } from 'chai'
import { loadConfig } from '../../../src/config/config.ts'
import type { VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { createLogger } from '../../../src/http/log.ts'
import { type RunningServer, startServer } from '../../../src/server/server.ts'
import { clientOf } from '../../support/client.ts'

const MARKER = `marker-${randomBytes(12).toString('hex')}`
const KEY = `admin-${randomBytes(16).toString('hex')}`
const RULES = [{ field: 'secret.name', op: 'startsWith', value: 'marker-' }]

/** The marker as text, in hexadecimal as PostgreSQL shows bytes, and in base64 at any offset. */
const FORMS: readonly string[] = [
  MARKER,
  Buffer.from(MARKER).toString('hex'),
  ...[0, 1, 2].map((offset) =>
    Buffer.from(MARKER.slice(offset === 0 ? 0 : 3 - offset))
      .toString('base64')
      .slice(0, 24),
  ),
]
const traces = (text: string): string[] => FORMS.filter((form) => text.includes(form))

/** Plain hashes of what was sent, by which anyone could try out what it may have been. */
const hashForms = (text: string): string[] => {
  const digest = createHash('sha256').update(text).digest()
  return [digest.toString('hex'), digest.toString('base64url'), digest.toString('base64')]
}

describe('data that is verified', () => {
  let server: RunningServer
  let logged = ''
  before(async () => {
    const stream = new Writable({
      write(chunk, _, done) {
        logged += chunk
        done()
      },
    })
    const config = loadConfig({ PORT: '0', DATA_DIR: 'memory', ADMIN_API_KEY: KEY, LOG_LEVEL: 'trace' })
    server = await startServer(config, { logger: createLogger('trace', stream) })
  })
  after(() => server.close())

  const sent: string[] = []
  const post = async (path: string, body: object): Promise<{ status: number; text: string }> => {
    const text = JSON.stringify(body)
    sent.push(text)
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') }
    const { status, bytes } = await clientOf(server.url).request('POST', path, {
      key: KEY,
      headers,
      body: text,
    })
    return { status, text: bytes.toString() }
  }

  const dump = async (): Promise<string> => {
    const { knex } = server.services.database
    const tables = await knex('information_schema.tables')
      .where({ table_schema: 'public' })
      .pluck('table_name')
    const rows = await Promise.all(
      tables.map(async (name) => (await knex.raw('SELECT t::text AS row FROM ?? t', [name])).rows),
    )
    return rows
      .flat()
      .map(({ row }) => row)
      .join('\n')
  }

  it('is in no answer, no table and no line of the log, whatever was made of it', async () => {
    const data = { secret: { name: MARKER } }
    const answers = [
      await post('/verify', { data }),
      await post('/verify', { data, options: { rules: RULES, nonce: 'n' } }),
      await post('/verify', { data, options: { rules: [{ field: 'secret.name', op: 'eq', value: 'x' }] } }),
      await post('/verify', { data, options: { rules: [{ field: 'secret.name', op: 'like' }] } }),
      await post('/verify/batch', { items: [data, { data, options: { ttl: 'x' } }] }),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 422, 200])
    const { jws } = JSON.parse(answers[1]?.text ?? '') as VerificationResult
    const decoded = jws.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    const stored = await dump()
    expect(stored).to.include(jws)
    expect(traces(stored)).to.deep.equal([])
    const hashes = [...sent, JSON.stringify(data)].flatMap(hashForms)
    expect(hashes.filter((hash) => stored.includes(hash) || logged.includes(hash))).to.deep.equal([])
    expect(logged).to.include('/verify')
    expect(traces(logged)).to.deep.equal([])
    expect(traces([...answers.map(({ text }) => text), ...decoded].join('\n'))).to.deep.equal([])
  })

  it('would be found by these searches', () => {
    for (const text of [
      MARKER,
      Buffer.from(`x${MARKER}`).toString('base64'),
      Buffer.from(MARKER).toString('hex'),
    ])
      expect(traces(text)).not.to.deep.equal([])
  })
})
