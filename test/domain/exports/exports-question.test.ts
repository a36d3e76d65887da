/** What an export is asked for: half-open windows from times in four forms, limits, formats. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type ExportQuery, readQuestion } from '../../../src/domain/exports/question.ts'
import { AppError } from '../../../src/errors.ts'

const NOW = Date.parse('2026-03-01T12:00:00.500Z')
const DAY_MS = 86_400_000
type Query = ExportQuery<'ndjson' | 'json'>
const read = (query: Query) => readQuestion(query, 'ndjson', NOW)
const sinceOf = (since: string) => read({ since, until: '9998-12-31' }).window.since

/** @returns the refused parameter and why */
const refusal = (query: Query): string => {
  try {
    read(query)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect([error.code, error.status]).to.deep.equal(['validation_failed', 422])
    const [detail] = error.details ?? []
    return `${detail?.path} ${detail?.code}`
  }
  throw new Error(`${JSON.stringify(query)} was taken`)
}

const moments = fc.integer({ min: 0, max: Date.UTC(9998, 11, 31) })

describe('what an export is asked for', () => {
  it('takes the same moment in each of four forms for the same', () => {
    const at = Date.parse('2026-01-31T00:00:00Z')
    const forms = ['2026-01-31T00:00:00Z', '2026-01-31', String(at / 1000), String(at)]
    for (const form of forms) expect(sinceOf(form)).to.equal(at)
    for (const form of [
      '2026-01-31t00:00:00.000000z',
      '2026-01-31T01:30:00+01:30',
      '2026-01-30T19:00:00-05:00',
    ])
      expect(sinceOf(form)).to.equal(at)
  })

  it('reads every moment of its range as it was written', () => {
    fc.assert(
      fc.property(moments, fc.integer({ min: -23 * 60, max: 23 * 60 }), (at, offset) => {
        const sign = offset < 0 ? '-' : '+'
        const two = (number: number) => String(number).padStart(2, '0')
        const zone = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
        const local = at + offset * 60_000
        fc.pre(local >= 0 && local < Date.UTC(9999, 0, 1))
        expect(sinceOf(new Date(local).toISOString().replace('Z', zone))).to.equal(at)
        expect(sinceOf(new Date(at).toISOString())).to.equal(at)
        const seconds = Math.floor(at / 1000)
        if (seconds < 1e11) expect(sinceOf(String(seconds))).to.equal(seconds * 1000)
        if (at >= 1e11) expect(sinceOf(String(at))).to.equal(at)
      }),
      {
        examples: [
          [0, 0],
          [1e11, 0],
          [Date.UTC(2028, 1, 29), 60],
          [Date.UTC(9998, 11, 31), -60],
        ],
      },
    )
  })

  it('ends now and begins a day before its end, unless it is told', () => {
    expect(read({}).window).to.deep.equal({ since: NOW - DAY_MS, until: NOW })
    const until = Date.parse('2026-01-31T08:00:00Z')
    expect(read({ until: '2026-01-31T08:00:00Z' }).window).to.deep.equal({ since: until - DAY_MS, until })
    expect(read({ until: '5' }).window).to.deep.equal({ since: 0, until: 5_000 })
    expect(read({ since: '2026-02-01', until: '2026-02-01' }).window.since).to.equal(Date.UTC(2026, 1, 1))
  })

  it('refuses what is no time, naming the parameter', () => {
    const wrong = [
      ...['', 'now', '2026-02', '2026-02-30', '2026-13-01', '2026-01-01T24:00:00Z', '2026-01-01T00:00:60Z'],
      ...[
        '2026-01-01T00:00:00',
        '2026-01-01 00:00:00Z',
        '1.5',
        '-1',
        '+1',
        '1e3',
        '0x10',
        '2026-01-01T00:00Z',
      ],
      ...['2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00 01:00', '1'.repeat(16), '2026-01-01Z'],
    ]
    for (const text of wrong) {
      expect(refusal({ since: text }), text).to.equal('query/since format')
      expect(refusal({ until: text }), text).to.equal('query/until format')
    }
    expect(refusal({ since: '1969-12-31' })).to.equal('query/since out_of_range')
    expect(refusal({ until: '9999-01-01' })).to.equal('query/until out_of_range')
    expect(refusal({ since: '2026-02-02', until: '2026-02-01' })).to.equal('query/since out_of_range')
    expect(refusal({ since: '2026-03-02' })).to.equal('query/since out_of_range')
  })

  it('tells whoever forgot to encode a plus sign', () => {
    expect(() => read({ since: '2026-01-01T00:00:00 01:00' }))
      .to.throw(AppError)
      .that.satisfies(({ details }: AppError) => details?.[0]?.message.includes('%2B'))
  })

  it('takes the usual format where none is named, and all rows without a limit', () => {
    expect(read({})).to.deep.include({ format: 'ndjson', limit: undefined })
    expect(read({ format: 'json', limit: 7 })).to.deep.include({ format: 'json', limit: 7 })
  })
})
