/** Machine-readable zones of travel documents, dates and countries. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { dayNumber, isDay, latestBirthDate, yearsBetween } from '../../../src/domain/kyc/calendar-date.ts'
import { countryOf } from '../../../src/domain/kyc/countries.ts'
import { contradictionsOf, isNameOf, readZone } from '../../../src/domain/kyc/machine-readable-zone.ts'
import { checkDigit, passportZone } from '../../support/reference/machine-readable-zone.ts'

interface Vector {
  format: string
  lines: string[]
  documentNumber: string
}
const { zones } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../vectors/icao-9303.json'), 'utf8'),
) as { zones: Vector[] }

describe('machine-readable zones', () => {
  for (const { format, lines, documentNumber } of zones) {
    it(`are read as ICAO 9303 publishes its specimen of ${format}, whose state does not exist`, () => {
      for (const text of [lines.join('\n'), lines.join(''), lines.join('\r\n').toLowerCase()]) {
        const zone = readZone(text)
        expect(zone).to.deep.include({
          wrongCheckDigits: [],
          country: undefined,
          documentNumber,
          birthDate: '740812',
          expiresAt: '120415',
          familyName: 'ERIKSSON',
          givenName: 'ANNA MARIA',
        })
        expect(zone?.wrongFields).to.deep.equal(['Issuing state', 'Nationality'])
      }
    })
  }

  it('are none of ICAO 9303 with other characters, lengths or national formats', () => {
    const [specimen] = zones
    const text = specimen?.lines.join('') ?? ''
    for (const other of ['', '<', text.slice(1), `${text}<`, text.replace('<', '*'), text.replace('A', 'Ä')])
      expect(readZone(other)).to.equal(undefined)
    const swiss = ['AAA001D<<', 'FACHE305142128097<<800126<<<<<', 'MUSTER<<HANS<<<<<<<<<<<<<<<<<<']
    expect(readZone(swiss.join('\n'))).to.equal(undefined)
  })

  const letters = (min: number, max: number) =>
    fc.string({ unit: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), minLength: min, maxLength: max })
  const day = fc
    .tuple(fc.integer({ min: 0, max: 99 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }))
    .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(''))
  const fields = fc.record({
    country: fc.constantFrom('SWE', 'GBR', 'D', 'JPN'),
    familyName: letters(1, 20),
    givenName: letters(1, 15),
    number: fc.string({ unit: fc.constantFrom(...'0123456789ABCXYZ'), minLength: 6, maxLength: 9 }),
    birthDate: day,
    expiresAt: day,
    personalNumber: fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 0, maxLength: 14 }),
  })

  it('hold what was written into them, and one changed digit is noticed, as a slow reference says', () => {
    fc.assert(
      fc.property(fields, fc.nat(), fc.constantFrom(...'0123456789'), (given, at, digit) => {
        const lines = passportZone(given)
        const zone = readZone(lines.join('\n'))
        expect(zone?.wrongCheckDigits).to.deep.equal([])
        expect(zone?.wrongFields).to.deep.equal([])
        expect(zone).to.include({ documentNumber: given.number, birthDate: given.birthDate })
        expect(zone?.country).to.equal(countryOf(given.country))
        const [first = '', second = ''] = lines
        // Country and sex have no check digit.
        const checked = [...Array(10).keys(), ...Array.from({ length: 7 }, (_, i) => 13 + i)]
        const place = checked[at % checked.length] ?? 0
        const changed = second.slice(0, place) + digit + second.slice(place + 1)
        const field = place < 10 ? [0, 9] : [13, 19]
        const stillFits = checkDigit(changed.slice(field[0], field[1])) === Number(changed[field[1] ?? 0])
        const wrong = readZone([first, changed].join('\n'))?.wrongCheckDigits ?? []
        if (!stillFits) expect(wrong).not.to.deep.equal([])
        if (changed === second) expect(wrong).to.deep.equal([])
      }),
    )
  })

  it('contradict what was typed otherwise, and nothing that was not typed', () => {
    const zone = readZone(
      passportZone({
        country: 'D',
        familyName: 'MUELLER',
        givenName: 'JOERG',
        number: 'C01X00T47',
        birthDate: '640812',
        expiresAt: '270228',
      }).join('\n'),
    )
    if (zone === undefined) throw new Error('no zone')
    const same = {
      dateOfBirth: '1964-08-12',
      document: { number: 'c01x 00t47', country: 'DEU', expiresAt: '2027-02-28' },
    }
    expect(contradictionsOf(same, zone)).to.deep.equal([])
    expect(contradictionsOf({}, zone)).to.deep.equal([])
    expect(contradictionsOf({ dateOfBirth: '1964-08-13' }, zone)).to.deep.equal(['dateOfBirth'])
    const other = { number: 'C01X00T48', country: 'AT', expiresAt: '2026-02-28' }
    expect(contradictionsOf({ document: other }, zone)).to.deep.equal([
      'document.number',
      'document.country',
      'document.expiresAt',
    ])
  })

  it('have names in Latin capitals, cut off where they are long', () => {
    const cases: readonly (readonly [zoned: string, typed: string, expected: boolean, mayBeCut?: boolean])[] =
      [
        ['MUELLER', 'Müller', true],
        ['MULLER', 'Müller', true],
        ['MILLER', 'Müller', false],
        ['STROMBERG', 'Strömberg', true],
        ['GROSS', 'Groß', true],
        ['O CONNOR', "O'Connor", true],
        ['SORENSEN', 'Sørensen', true],
        ['SOERENSEN', 'Sørensen', true],
        ['PAPANDROPOULOUS JONATH', 'Papandropoulous Jonathon', true, true],
        ['PAPANDROPOULOUS JONATH', 'Papandropoulous Jonathon', false],
        ['LI', 'Lindqvist', false],
        ['', 'Anna', false, true],
        ['WANG', '王', true],
      ]
    for (const [zoned, typed, expected, mayBeCut = false] of cases)
      expect(isNameOf(zoned, typed, mayBeCut), `${zoned} ${typed}`).to.equal(expected)
  })
})

describe('days and countries', () => {
  it('are those of the calendar, and whoever was born on 29 February is older on 1 March', () => {
    expect(['2024-02-29', '2023-02-29', '2023-13-01', '2023-00-10', '0000-01-01'].map(isDay)).to.deep.equal([
      true,
      false,
      false,
      false,
      true,
    ])
    expect(yearsBetween(dayNumber('2004-02-29'), dayNumber('2022-02-28'))).to.equal(17)
    expect(yearsBetween(dayNumber('2004-02-29'), dayNumber('2022-03-01'))).to.equal(18)
    expect(latestBirthDate(18, Date.parse('2022-02-28T23:59:59Z'))).to.equal(20_040_228)
  })

  it('agree on who is old enough, however that is asked', () => {
    const days = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(days, days, fc.nat({ max: 120 }), (born, now, age) => {
        const birth = dayNumber(born.toISOString().slice(0, 10))
        const today = dayNumber(now.toISOString().slice(0, 10))
        expect(birth <= latestBirthDate(age, now.getTime())).to.equal(yearsBetween(birth, today) >= age)
      }),
    )
  })

  it('are known by two letters, three, or those of a passport', () => {
    expect(
      ['gb', 'GBR', 'D', 'DEU', 'GBN', 'UTO', 'EU', 'XX', 'XXA', 'constructor'].map(countryOf),
    ).to.deep.equal(['GB', 'GB', 'DE', 'DE', 'GB', undefined, undefined, undefined, undefined, undefined])
  })
})
