/** The console's lists over LIST_ROWS rows each, on PostgreSQL: the first page comes at once, of all and of what has an index. */
import { performance } from 'node:perf_hooks'
import { expect } from 'chai'
import type { KeyCreated } from '../../src/domain/accounts/schemas.ts'
import type { TerminalCreated } from '../../src/domain/terminals/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { ok } from '../support/client.ts'
import { consentRoutesOf } from '../support/domain/consents.ts'
import { hybridRoutesOf } from '../support/domain/hybrid-tokens.ts'
import { ANNA, kycRoutesOf } from '../support/domain/kyc.ts'
import { screeningRoutesOf } from '../support/domain/screening.ts'
import { ticketRoutesOf } from '../support/domain/tickets.ts'
import { tokenRoutesOf } from '../support/domain/tokens.ts'
import { onPostgres } from '../support/servers/database.ts'

const ROWS = Number(process.env.LIST_ROWS ?? 1_000_000)
/** No statement may take long. */
const STEP_ROWS = 20_000
const MAX_MS = 50
/** A first page and one more, of what is sealed and can't be copied. */
const REAL_ROWS = 51
const PAGE_ROWS = 50
/** The most that are found of one person. */
const FINDINGS_OF_ONE = 10
const ROUNDS = 21
const PAST = Date.UTC(2026, 2, 2)

onPostgres.describe(`the console’s lists over ${ROWS.toLocaleString('en')} rows each`, function () {
  this.timeout(1_800_000)
  let app: TestApp
  let owner: TestOrganisation

  before(async () => {
    app = await startTestApp({ env: { RATE_LIMITS: 'off' }, checkResponses: false })
    owner = await app.organisation()
  })
  after(() => app?.close())

  /** Copies older rows straight into a table. @param sql ends with the source of `i` */
  const fill = async (table: string, sql: string): Promise<void> => {
    const { knex } = app.services.database
    const bindings = { ...owner, organisation: owner.organisationId, at: PAST }
    for (let from = 1; from <= ROWS; from += STEP_ROWS) {
      const series = `generate_series(${from}, ${from + STEP_ROWS - 1}) AS i`
      await knex.raw(sql.replace('SERIES', series), bindings)
    }
    await knex.raw(`ANALYZE ${table}`)
  }
  const each = async (make: (place: number) => Promise<unknown>): Promise<void> => {
    for (let place = 0; place < REAL_ROWS; place++) await make(place)
  }
  const id = (prefix: string, from: string): string =>
    `'${prefix}_' || lpad(i::text, 20, '0') || substr(${from}, 25)`

  /** The shortest of many, asked until one is in time: what else the machine does only makes answers slower. */
  const shortest = async (path: string, key: string): Promise<number> => {
    let ms = Number.POSITIVE_INFINITY
    for (let round = 0; round < ROUNDS && ms >= MAX_MS; round++) {
      const start = performance.now()
      const page = await ok<Record<string, unknown>>(app, 'GET', path, { key })
      ms = Math.min(ms, performance.now() - start)
      const rows = Object.values(page).find(Array.isArray)
      expect(rows, path).to.have.length(PAGE_ROWS)
    }
    return ms
  }
  const expectFastWith = async (key: string, paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      const ms = await shortest(`/console/api/${path}`, key)
      process.stdout.write(`      ${path}: ${ms.toFixed(1)} ms\n`)
      expect(ms, path).to.be.below(MAX_MS)
    }
  }
  const expectFast = (...paths: readonly string[]) => expectFastWith(owner.apiKey, paths)
  const expectFastForOperators = (...paths: readonly string[]) => expectFastWith(app.adminKey, paths)

  it('results', async () => {
    await fill(
      'verifications',
      `INSERT INTO verifications (id, organisation, entry_index, leaf_hash, decision, digest, circuit_id, jws, jws_hash, issued_at)
        SELECT ${id('ver', ':organisation')}, :organisation, 0, decode(repeat('00', 32), 'hex'),
          CASE WHEN i % 2 = 0 THEN 'NO' ELSE 'YES' END, 'digest-' || i, CASE WHEN i % 100 = 0 THEN 'yesno' ELSE 'eligibility' END,
          'jws', sha256((:organisation || i)::bytea), :at::bigint + i / 40 FROM SERIES`,
    )
    await expectFast('results', 'results?circuitId=yesno')
  })

  it('proofs', async () => {
    await fill(
      'proofs',
      `INSERT INTO proofs (id, organisation, entry_index, circuit_id, digest, proof, public_signals, created_at)
        SELECT ${id('prf', ':organisation')}, :organisation, 0,
          CASE WHEN i % 100 = 0 THEN 'yesno' ELSE 'eligibility' END, 'digest-' || i, 'zk1.', '[]', :at::bigint + i / 40 FROM SERIES`,
    )
    await expectFast('proofs', 'proofs?circuitId=yesno', 'proofs?from=2026-03-02&to=2026-03-02')
  })

  it('payments', async () => {
    await fill(
      'payments',
      `INSERT INTO payments (id, organisation, entry_index, status, channel, transaction_id, merchant, origin,
          amount_minor, currency, assurance, received_at)
        SELECT ${id('pay', ':merchantId')}, :organisation, 0, CASE WHEN i % 100 = 0 THEN 'rejected' ELSE 'accepted' END,
          'sync', 'txn_' || i, :merchantId, 'ter_', 1250, 'GBP', 'mac', :at::bigint + i FROM SERIES`,
    )
    await expectFast('payments', 'payments?status=rejected')
  })

  it('tokens', async () => {
    const tokens = tokenRoutesOf(app, owner.apiKey)
    const { tokenId } = await tokens.issued({ subject: 'ada' })
    await fill(
      'tokens',
      `INSERT INTO tokens (id, organisation, entry_index, type, single_use, jws_hash, sealed, issued_at, expires_at, subject)
        SELECT ${id('tok', 'id')}, organisation, 0, type, single_use, jws_hash, sealed, issued_at - i, expires_at,
          CASE WHEN i % 100 = 0 THEN subject END FROM tokens, SERIES WHERE id = '${tokenId}'`,
    )
    await each(() => tokens.issued({ subject: 'ada' }))
    await expectFast('tokens', 'tokens?subject=ada')
  })

  it('hybrid tokens', async () => {
    const tokens = hybridRoutesOf(app, owner.apiKey)
    const { token_id: tokenId } = await tokens.issued({ subject: 'ada' })
    await fill(
      'hybrid_tokens',
      `INSERT INTO hybrid_tokens (organisation, id, entry_index, digest, policy_bits, sealed, issued_at, expires_at, subject)
        SELECT organisation, ${id('hyt', 'id')}, 0, digest, policy_bits, sealed, issued_at - i, expires_at,
          CASE WHEN i % 100 = 0 THEN subject END FROM hybrid_tokens, SERIES WHERE id = '${tokenId}'`,
    )
    await each(() => tokens.issued({ subject: 'ada' }))
    await expectFast('tokens?type=hybrid', 'tokens?type=hybrid&subject=ada')
  })

  it('tickets', async () => {
    const tickets = ticketRoutesOf(app, owner.apiKey)
    const { ticket_id: ticketId } = await tickets.issued({ subject: 'ada' })
    await fill(
      'tickets',
      `INSERT INTO tickets (id, organisation, entry_index, digest, single_use, sealed, issued_at, expires_at, subject)
        SELECT ${id('tkt', 'id')}, organisation, 0, sha256((id || i)::bytea), single_use, sealed, issued_at - i, expires_at,
          CASE WHEN i % 100 = 0 THEN subject END FROM tickets, SERIES WHERE id = '${ticketId}'`,
    )
    await each(() => tickets.issued({ subject: 'ada' }))
    await expectFast('tickets', 'tickets?subject=ada')
  })

  it('consents of one subject', async () => {
    const consents = consentRoutesOf(app, owner.apiKey)
    const { consentId } = await consents.logged()
    await fill(
      'consents',
      `INSERT INTO consents (id, organisation, entry_index, subject, controller_hash, answer, receipt_hash, sealed, recorded_at)
        SELECT ${id('cns', 'id')}, organisation, -i, CASE WHEN i % 100 = 0 THEN subject ELSE 'other' END,
          controller_hash, answer, receipt_hash, sealed, recorded_at FROM consents, SERIES WHERE id = '${consentId}'`,
    )
    await each(() => consents.logged())
    await expectFast('consents?subject=ada')
  })

  it('people', async () => {
    const kyc = kycRoutesOf(app, owner.apiKey)
    const { document: _, ...incomplete } = ANNA
    await kyc.verify({ userId: 'person', data: incomplete })
    await fill(
      'kyc_subjects',
      `INSERT INTO kyc_subjects (organisation, subject, generation, sealed_key, latest_entry, review_entry)
        SELECT organisation, lpad(i::text, 64, '0'), generation, sealed_key, -i, CASE WHEN i % 50 = 0 THEN -i END
          FROM kyc_subjects, SERIES WHERE organisation = :organisation AND latest_entry >= 0`,
    )
    await each((place) => kyc.verify({ userId: `person-${place}`, data: incomplete }))
    await expectFast('people', 'people?status=review')
  })

  it('findings', async () => {
    const screening = screeningRoutesOf(app, owner.apiKey)
    const [name, birthDate] = ['Ivan Petrovich Nachgetragen', '1961-04-12']
    await screening.upload(
      Array.from({ length: FINDINGS_OF_ONE }, (_, i) => ({ id: `p-${i}`, name, birthDate })),
    )
    const found = await screening.subscribed({ userId: 'found', name, dateOfBirth: birthDate })
    await fill(
      'aml_findings',
      `INSERT INTO aml_findings (id, organisation, subject, generation, entry_index, sealed, found_at, void_at, void_reason)
        SELECT ${id('fnd', 'id')}, organisation, subject, generation, entry_index, sealed, found_at,
          CASE WHEN i % 100 > 0 THEN found_at END, CASE WHEN i % 100 > 0 THEN 'entry_removed' END
          FROM aml_findings, SERIES WHERE id = '${found.findings[0]?.findingId}'`,
    )
    for (let person = 0; person * FINDINGS_OF_ONE < REAL_ROWS; person++)
      await screening.subscribed({ userId: `found-${person}`, name, dateOfBirth: birthDate })
    await expectFast('findings', 'findings?status=open')
  })

  it('alerts', async () => {
    await fill(
      'security_alerts',
      `INSERT INTO security_alerts (id, organisation, type, severity, subject, day, count, first_seen, last_seen,
          decision, decided_count, decided_at, decided_by)
        SELECT ${id('alr', ':organisation')}, :organisation, 'rate_limit', 'low', 'key_' || i, 20000, 1, :at::bigint, :at::bigint,
          CASE WHEN i % 100 = 0 THEN 'acknowledged' END, CASE WHEN i % 100 = 0 THEN 1 END,
          CASE WHEN i % 100 = 0 THEN :at::bigint END, CASE WHEN i % 100 = 0 THEN 'key_' || i END FROM SERIES`,
    )
    const paths = ['alerts', 'alerts?status=acknowledged']
    await expectFast(...paths)
    await expectFastForOperators(...paths.map((path) => `all-${path}`))
  })

  it('API keys', async () => {
    const { keyId } = await ok<KeyCreated>(app, 'POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'copied', scopes: ['verify'] },
    })
    await fill(
      'api_keys',
      `INSERT INTO api_keys (id, organisation, digest, sealed_midstate, hint, label, scopes, created_at, revoked_at)
        SELECT ${id('key', 'id')}, organisation, sha256(digest || int4send(i)), sealed_midstate, hint, label, scopes, created_at,
          CASE WHEN i % 100 > 0 THEN created_at END FROM api_keys, SERIES WHERE id = '${keyId}'`,
    )
    await expectFast('keys?limit=50', 'keys?limit=50&status=active', 'keys?limit=50&status=revoked')
  })

  it('terminals', async () => {
    const { terminalId } = await ok<TerminalCreated>(app, 'POST', '/console/api/terminals', {
      key: owner.apiKey,
      body: { label: 'copied' },
    })
    await fill(
      'terminals',
      `INSERT INTO terminals (id, organisation, merchant, label, secret_hash, limits, created_at, revoked_at)
        SELECT ${id('ter', 'id')}, organisation, merchant, label, secret_hash, limits, created_at,
          CASE WHEN i % 100 > 0 THEN created_at END FROM terminals, SERIES WHERE id = '${terminalId}'`,
    )
    await expectFast(
      'terminals?limit=50',
      'terminals?limit=50&status=active',
      'terminals?limit=50&status=revoked',
    )
  })

  it('organisations', async () => {
    await fill(
      'organisations',
      `INSERT INTO organisations (id, name, subscription, default_merchant, created_at)
        SELECT ${id('org', ':organisation')}, 'Pier ' || i, CASE WHEN i % 100 = 0 THEN 'inactive' ELSE 'active' END, :merchantId, :at::bigint
          FROM SERIES`,
    )
    await expectFastForOperators(
      'organisations',
      'organisations?subscription=inactive',
      'organisations?name=pier+1',
      'organisations?name=pier+1&subscription=inactive',
    )
  })
})
