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

const CREDENTIALS_BY_STATUS = 'credentials are known by their status'
const BY_LOG = 'each log has a row, found by its number'
/** Lines of a kept schema that the schema of today does not have, with the reason. */
const GONE: Readonly<Record<string, string>> = {
  "index CREATE INDEX chat_messages_words ON public.chat_messages USING gin (to_tsvector('simple'::regconfig, text))":
    'the index of the search holds more',
  "index CREATE INDEX payments_to_attend ON public.payments USING btree (organisation, status, id) WHERE (status <> 'accepted'::text)":
    'all payments are listed, by the time at which they were received',
  'index CREATE INDEX ledger_entries_digest ON public.ledger_entries USING btree (organisation, digest, idx) WHERE (digest IS NOT NULL)':
    'digests are found by a hash of them',
  'index CREATE INDEX ledger_entries_organisation ON public.ledger_entries USING btree (organisation, idx)':
    'an organisation’s entries are found type by type',
  'column security_alerts.status text collate C not null':
    'what follows from decisions has a column of its own; this one has a default, which old servers write as well',
  ...Object.fromEntries(
    [
      'column kyc_credentials.digest text collate C not null',
      'column kyc_credentials.element text collate C not null',
      'column kyc_credentials.entry_index bigint not null',
      'column kyc_credentials.generation integer not null',
      'column kyc_credentials.organisation text collate C not null',
      'column kyc_credentials.subject text collate C not null',
      'constraint kyc_credentials kyc_credentials_pkey PRIMARY KEY (digest)',
      'index CREATE UNIQUE INDEX kyc_credentials_pkey ON public.kyc_credentials USING btree (digest)',
    ].map((line) => [line, CREDENTIALS_BY_STATUS]),
  ),
  ...Object.fromEntries(
    [
      'constraint ledger_checkpoint ledger_checkpoint_pkey PRIMARY KEY (name)',
      'constraint ledger_head ledger_head_pkey PRIMARY KEY (name)',
      'index CREATE UNIQUE INDEX ledger_checkpoint_pkey ON public.ledger_checkpoint USING btree (name)',
      'index CREATE UNIQUE INDEX ledger_head_pkey ON public.ledger_head USING btree (name)',
    ].map((line) => [line, BY_LOG]),
  ),
}

const FROM_A_MINUTE_BEFORE = 'keys that sign at once count for clocks that are behind as well'
/** Answers that a later version gives differently on purpose: `question, place` → reason. */
const CHANGED: Readonly<Record<string, string>> = {
  'the example of getIssuerKeys, /keys/0/validFrom': FROM_A_MINUTE_BEFORE,
  'what is published, /keys/0/validFrom': FROM_A_MINUTE_BEFORE,
}

/** Lines of differences that are on purpose, many at once. */
const CHANGED_LINES: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /^(the example of personCredential|what is known of .*\/credential), \/(signals\/(secret|r8x|r8y|s)|statement\/credential): /,
    'what was issued for version 1 of the circuit is signed anew, for its bearer',
  ],
  [
    /^a proof of (kyc|token_validation|consent_verification) is verified, \/((valid|verified): false instead of true|(decision|digest): null instead of .+|context\/[\w/]+: undefined instead of .+)$/,
    'proofs of version 1 of these circuits are refused',
  ],
  [
    /^payments that are rejected, \/payments\/[12]\//,
    'payments are listed by the time at which they were received, which clocks that were set back put before their ids',
  ],
  [/^alerts of double spends, \/alerts\/\d+\//, 'a webhook endpoint that fails raises an alert'],
  [/is on the same lists, .*\/explanations\/\d+\/attribute: /, 'a name is explained by several reasons'],
]

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
      this.timeout(900_000)
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
        const isOnPurpose = (line: string) => {
          const [place = ''] = line.split(': ', 1)
          return place in CHANGED || CHANGED_LINES.some(([pattern]) => pattern.test(line))
        }
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
