/** Every format of the SIEM export, read by somebody else's parser, a published schema, or a reading of its guide. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { parse as parseCsv } from 'csv-parse/sync'
import fc from 'fast-check'
import { EVENT_TYPES, type EventRow } from '../../../src/domain/event-log/rows.ts'
import { SIEM } from '../../../src/domain/exports/formats/siem.ts'
import type { SiemFormat } from '../../../src/domain/exports/schemas.ts'
import { COLUMNS, toWire } from '../../../src/domain/exports/wire.ts'
import { FACT_TYPES } from '../../../src/protocol/evidence/evidence-format.ts'
import { anyCharacter } from '../../support/any-character.ts'
import { parseCef, parseLeef } from '../../support/reference/siem.ts'

const vector = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../vectors', name), 'utf8'))

/** Texts that some format could mistake for part of itself. */
const nasty = fc.constantFrom(
  ...[
    '=1+1',
    '+1',
    '-1',
    '@x',
    '\tx',
    '\rx',
    'a|b',
    'a\\b',
    'a=b c=d',
    'a\nb=c',
    '"',
    ',',
    '\r\n',
    '',
    ' ',
    'é𝄞',
    '^',
  ],
)
const text = fc.oneof(nasty, fc.string({ unit: anyCharacter, maxLength: 20 }))
const hash = fc.stringMatching(/^[0-9a-f]{64}$/)
const status = fc.integer({ min: 200, max: 599 })
/** As the system writes the address of a peer. */
const plainIpV6 = fc.ipV6().map((address) => new URL(`http://[${address}]`).hostname.slice(1, -1))
const base = {
  at: fc.integer({ min: 0, max: Date.UTC(9998, 0, 1) }),
  organisation: fc.constant('org_01m7z5429v4v7pt067e0ne948k'),
}
const ledgerFields = {
  ...base,
  index: fc.nat(),
  leafHash: hash,
  digest: fc.option(hash),
  keyId: fc.option(text),
  circuitId: fc.option(text),
  proofId: fc.option(text),
}
const rows: fc.Arbitrary<EventRow> = fc.oneof(
  fc.record({ ...ledgerFields, type: fc.constantFrom(...FACT_TYPES) }),
  fc.record({ ...ledgerFields, type: fc.constant('merkle.leaf' as const), auditEvent: text, entry: text }),
  fc.record({
    ...base,
    type: fc.constant('webhook.delivery' as const),
    endpointId: text,
    deliveryId: text,
    event: text,
    outcome: fc.constantFrom('delivered' as const, 'dropped' as const),
    attempts: fc.integer({ min: 0, max: 3 }),
    lastStatus: fc.option(status),
    durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  }),
  fc.record({
    ...base,
    type: fc.constant('request' as const),
    requestId: text,
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OTHER'),
    route: text,
    status,
    durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    actor: fc.constantFrom('key', 'account', 'terminal'),
    actorId: text,
    keyId: fc.option(text),
    // That of a link has a zone; of a client that has gone there is none.
    ip: fc.oneof(fc.ipV4(), plainIpV6, fc.constantFrom('fe80::1%eth0', 'fe80::2%br-lan', '')),
  }),
)
const someRows = fc.array(rows, { maxLength: 5 })

/** Rows as a format writes them in two goes, without what comes before and after. */
const written = (format: SiemFormat, all: readonly EventRow[]): string => {
  const middle = Math.floor(all.length / 2)
  return (
    SIEM[format].rows(all.slice(0, middle), 0, { log: 0 }) +
    SIEM[format].rows(all.slice(middle), middle, { log: 0 })
  )
}
const linesOf = (format: SiemFormat, all: readonly EventRow[]): string[] =>
  written(format, all).split('\n').slice(0, -1)

const forAll = (check: (all: EventRow[]) => void) => fc.assert(fc.property(someRows, check), { numRuns: 300 })

/** What `null` and absent fields become where everything is text. */
const asText = (row: EventRow): Record<string, string> =>
  Object.fromEntries(
    Object.entries(toWire(row)).flatMap(([k, v]) => (v === null || v === undefined ? [] : [[k, String(v)]])),
  )

describe('formats of the SIEM export', () => {
  it('ndjson: a row is a line', () => {
    forAll((all) => {
      expect(linesOf('ndjson', all).map((line) => JSON.parse(line))).to.deep.equal(
        JSON.parse(JSON.stringify(all.map(toWire))),
      )
    })
  })

  it('json: one document, however many rows', () => {
    const window = { since: 0, until: 86_400_000 }
    const beginning = { organisation: 'org_1', log: 0, window, gaps: ['BEHIND'] as const }
    forAll((all) => {
      const { begin, end } = SIEM.json
      const document =
        begin(beginning) + written('json', all) + end(beginning, { rows: all.length, cut: false })
      expect(JSON.parse(document)).to.deep.equal({
        organisationId: 'org_1',
        since: '1970-01-01T00:00:00.000Z',
        until: '1970-01-02T00:00:00.000Z',
        rows: JSON.parse(JSON.stringify(all.map(toWire))),
        count: all.length,
        limitReached: false,
        complete: false,
        gaps: ['BEHIND'],
      })
    })
  })

  it('csv: all columns in order, and nothing that a spreadsheet takes for a formula', () => {
    const begun = SIEM.csv.begin({ organisation: 'org_1', log: 0, window: { since: 0, until: 1 }, gaps: [] })
    expect(begun).to.equal(`${COLUMNS.join(',')}\r\n`)
    forAll((all) => {
      const parsed: Record<string, string>[] = parseCsv(begun + written('csv', all), {
        columns: true,
        record_delimiter: '\r\n',
      })
      expect(parsed.length).to.equal(all.length)
      for (const [place, row] of parsed.entries()) {
        const original = asText(all[place] as EventRow)
        for (const column of COLUMNS) {
          const cell = row[column] ?? ''
          expect(cell).not.to.match(/^[=+\-@\t\r]/)
          const plain = original[column] ?? ''
          expect(cell).to.equal(/^[=+\-@\t\r＝＋－＠]/.test(plain) ? `'${plain}` : plain)
        }
      }
    })
  })

  it('cef: header and extension come back as they were', () => {
    forAll((all) => {
      for (const [place, line] of linesOf('cef', all).entries()) {
        const row = all[place] as EventRow
        const { header, fields } = parseCef(line)
        expect(header.slice(0, 5)).to.deep.equal(['CEF:0', 'Assay', 'Assay', '1.0.0', row.type])
        expect(Number(header[6])).to.be.within(0, 10)
        expect(fields).to.include({ rt: String(row.at), cs1: row.organisation, cs1Label: 'organisationId' })
        if (row.type === 'request') {
          expect(fields).to.include({
            request: row.route,
            requestMethod: row.method,
            externalId: row.requestId,
          })
          expect(fields.src ?? fields.c6a2).to.equal(row.ip.split('%')[0] || undefined)
        } else if (row.type === 'webhook.delivery')
          expect(fields).to.include({ cs6: row.event, act: row.outcome })
        else expect(fields).to.include({ cs2: row.leafHash, cs2Label: 'leafHash', cn1: String(row.index) })
        // Custom numbers are whole, and each custom field says what it is.
        for (const [key, value] of Object.entries(fields)) {
          if (/^cn\d$/.test(key)) expect(value).to.match(/^\d+$/)
          if (/^(cn|cs|c6a)\d$/.test(key)) expect(fields[`${key}Label`]).to.be.a('string')
        }
      }
    })
  })

  it('leef: every attribute stands alone, whatever its value holds', () => {
    forAll((all) => {
      for (const [place, line] of linesOf('leef', all).entries()) {
        const row = all[place] as EventRow
        const { header, fields } = parseLeef(line)
        expect(header).to.deep.equal(['LEEF:2.0', 'Assay', 'Assay', '1.0.0', row.type, 'x09'])
        expect(fields).to.include({ cat: row.type, devTime: String(row.at) })
        const { type: _, at: __, outcome: ___, ...own } = asText(row)
        for (const [key, value] of Object.entries(own))
          expect(fields[key]).to.equal(value.replaceAll(/[\t\r\n]+/g, ' '))
      }
    })
  })

  it('ecs: fields, types and category values of the schema, the rest under assay', () => {
    const { fields, categories, outcomes, kinds } = vector('ecs-9.4.0.json')
    const typeOf = (value: unknown): string => (Array.isArray(value) ? `${typeof value[0]}[]` : typeof value)
    const check = (value: unknown, path: string): void => {
      if (path === 'assay') return
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        for (const [name, inner] of Object.entries(value))
          check(inner, path === '' ? name : `${path}.${name}`)
      else expect([path, typeOf(value)]).to.deep.equal([path, fields[path]])
    }
    forAll((all) => {
      for (const [place, line] of linesOf('ecs', all).entries()) {
        const document = JSON.parse(line)
        check(document, '')
        const { event, assay } = document
        expect(categories[event.category[0]]).to.include(event.type[0])
        for (const ip of [document.source?.ip ?? [], document.related?.ip ?? []].flat())
          expect(isIP(ip) > 0 && !ip.includes('%'), ip).to.equal(true)
        expect(outcomes).to.include(event.outcome)
        expect(kinds).to.include(event.kind)
        expect(Date.parse(document['@timestamp'])).to.equal((all[place] as EventRow).at)
        const { type: _, at: __, organisationId: ___, ...own } = toWire(all[place] as EventRow)
        expect(assay).to.deep.equal(JSON.parse(JSON.stringify(own)))
      }
    })
  })

  it('ocsf: events of the published classes', () => {
    const { classes, $defs } = vector('ocsf-1.8.0.json')
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    const checks = Object.fromEntries(
      Object.values<{ properties: { class_uid: { const: number } } }>(classes).map((schema) => [
        schema.properties.class_uid.const,
        ajv.compile({ ...schema, $defs }),
      ]),
    )
    forAll((all) => {
      for (const [place, line] of linesOf('ocsf', all).entries()) {
        const event = JSON.parse(line)
        const validate = checks[event.class_uid]
        expect(validate?.(event), JSON.stringify([event, validate?.errors])).to.equal(true)
        expect(event.type_uid).to.equal(event.class_uid * 100 + event.activity_id)
        const { type, at, organisation } = all[place] as EventRow
        expect([event.metadata.event_code, event.time]).to.deep.equal([type, at])
        expect(event.metadata.tenant_uid).to.equal(organisation)
      }
    })
  })

  it('gives the two rows of an entry an id each, so that whoever keeps one event of an id keeps both', () => {
    const entry = {
      ...{ at: 1, organisation: 'org_1', index: 3, leafHash: 'c6'.repeat(32) },
      ...{ digest: null, keyId: 'key_1', circuitId: null, proofId: null },
    }
    const both: EventRow[] = [
      { ...entry, type: 'merkle.leaf', auditEvent: 'key.revoked', entry: '{}' },
      { ...entry, type: 'key.revoked' },
    ]
    const expected = [`${entry.leafHash}/leaf`, entry.leafHash]
    expect(linesOf('cef', both).map((line) => parseCef(line).fields.externalId)).to.deep.equal(expected)
    expect(linesOf('ecs', both).map((line) => JSON.parse(line).event.id)).to.deep.equal(expected)
    expect(linesOf('ocsf', both).map((line) => JSON.parse(line).metadata.uid)).to.deep.equal(expected)
  })

  it('tells of every type of row in every format', () => {
    const samples = fc.sample(rows, { numRuns: 400, seed: 7 })
    for (const type of EVENT_TYPES) {
      const row = samples.find((sample) => sample.type === type)
      expect(row, type).not.to.equal(undefined)
      for (const format of Object.keys(SIEM) as SiemFormat[])
        expect(written(format, [row as EventRow]).trim()).to.contain(format === 'csv' ? type : `${type}`)
    }
  })
})
