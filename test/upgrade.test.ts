/**
 * What an earlier version left behind, opened by the code of today: nothing is lost, and every proof, receipt, token and
 * payment in it is answered as before. On the embedded database the kept data directories, on PostgreSQL the kept dumps.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import type { TestApp } from './support/app.ts'
import { leafHash, rootOf } from './support/reference/merkle.ts'
import { verifyConsistency } from './support/reference/merkle-proofs.ts'
import { DATABASE_URL, openTestDatabase } from './support/servers/database.ts'
import { ask, differences } from './support/upgrade/checks.ts'
import {
  type Expectations,
  fixturesOf,
  type Kind,
  openFixture,
  readExpectations,
  readKeptSchema,
  type SetClock,
} from './support/upgrade/fixture.ts'
import { countRows, readSchema } from './support/upgrade/schema.ts'

const KIND: Kind = DATABASE_URL === undefined ? 'embedded' : 'postgres'

/** Tables whose rows go by themselves: attempts at receivers that are no longer there, and what has expired. */
const PASSING: ReadonlySet<string> = new Set(['webhook_deliveries', 'credential_attempts'])

/** Lines of a kept schema that the schema of today does not have, with the reason. */
const GONE: Readonly<Record<string, string>> = {}

/** Answers that a later version gives differently on purpose: `question, place` → reason. */
const CHANGED: Readonly<Record<string, string>> = {}

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

const freshSchema = async (): Promise<string[]> => {
  const database = await openTestDatabase()
  try {
    return await readSchema(database)
  } finally {
    await database.close()
  }
}

describe('the fixtures of earlier versions', () => {
  let fresh: string[]
  before(async () => {
    fresh = await freshSchema()
  })

  it('are there', () => {
    expect(fixturesOf(KIND)).to.not.deep.equal([])
  })

  it('have no line of their schemas that is gone without a reason', () => {
    const kept = new Set(fixturesOf(KIND).flatMap(readKeptSchema))
    expect([...kept].filter((line) => !fresh.includes(line))).to.have.members(Object.keys(GONE))
  })

  for (const name of fixturesOf(KIND))
    describe(name, function () {
      this.timeout(120_000)
      const directory = mkdtempSync(join(tmpdir(), 'assay-upgrade-'))
      const clock: SetClock = { ms: 0, now: () => clock.ms }
      let kept: Expectations
      let app: TestApp
      before(async () => {
        kept = readExpectations(name, KIND)
        clock.ms = kept.checks[0]?.at ?? expect.fail('nothing was recorded')
        app = await openFixture(name, kept, { dataDir: directory, databaseUrl: DATABASE_URL, clock })
      })
      after(async () => {
        await app?.close()
        rmSync(directory, { recursive: true, force: true })
      })

      it('has the schema of a new database', async () => {
        const opened = await readSchema(app.services.database)
        expect(opened.filter((line) => !fresh.includes(line))).to.deep.equal([])
        expect(fresh.filter((line) => !opened.includes(line))).to.deep.equal([])
      })

      it('has lost no rows', async () => {
        const rows = await countRows(app.services.database)
        const lost = Object.entries(kept.rows).filter(
          ([table, count]) => table in rows && !PASSING.has(table) && Number(rows[table]) < count,
        )
        expect(lost).to.deep.equal([])
      })

      it('has entries that hash to the root that was recorded', async () => {
        const { size, root } = kept.head
        const entries: string[] = await app.services.database
          .knex('ledger_entries')
          .where('idx', '<', size)
          .orderBy('idx')
          .pluck('entry')
        expect(entries).to.have.lengthOf(size)
        expect(rootOf(entries.map((entry) => leafHash(Buffer.from(entry)))).toString('hex')).to.equal(root)
      })

      it('has signatures that hold under the keys that are published', async () => {
        const { body } = await app.request<JSONWebKeySet>('GET', '/.well-known/jwks.json')
        const keys = createLocalJWKSet(body)
        expect(Object.keys(kept.signed)).to.not.deep.equal([])
        for (const jws of Object.values(kept.signed)) await compactVerify(jws, keys)
      })

      it('answers every recorded question as before', async () => {
        const changed: string[] = []
        for (const check of kept.checks) {
          clock.ms = check.at
          const answer = await ask(app, kept.credentials, check)
          changed.push(...differences(check, answer))
        }
        const isOnPurpose = (line: string) => (line.split(': ', 1)[0] ?? '') in CHANGED
        expect(changed.filter((line) => !isOnPurpose(line)).join('\n')).to.equal('')
      })

      it('goes on from the tree head that was recorded', async () => {
        const owner = await app.organisation()
        const { size, root } = await app.services.ledger.head()
        expect(size).to.be.above(kept.head.size)
        const { body } = await app.request<{ hashes: string[] }>(
          'GET',
          `/api/audit/consistency?from=${kept.head.size}&to=${size}`,
          { key: owner.apiKey },
        )
        const path = body.hashes.map(bytes)
        expect(verifyConsistency(kept.head.size, size, bytes(kept.head.root), bytes(root), path)).to.equal(
          true,
        )
        const { body: checkpoint } = await app.request<string>('GET', '/checkpoint')
        expect(checkpoint.split('\n').slice(1, 3)).to.deep.equal([
          String(size),
          bytes(root).toString('base64'),
        ])
      })
    })
})
