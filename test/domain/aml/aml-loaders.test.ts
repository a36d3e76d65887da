/** Watch lists in the forms of their publishers: what is read of them, and what a broken one is refused with. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { CheckType, ListEntry } from '../../../src/domain/aml/entry.ts'
import { type ListFile, ListFileError, textFile } from '../../../src/domain/aml/lists/files/list-file.ts'
import { type ListFormat, readSource } from '../../../src/domain/aml/lists/list-source.ts'
import { countryCode } from '../../../src/domain/aml/lists/loaders/countries.ts'
import { readIsoDate, readVagueDate, spanOf } from '../../../src/domain/aml/lists/loaders/dates.ts'

const VECTORS = join(import.meta.dirname, '../../vectors/aml')
const vector = (name: string): string => readFileSync(join(VECTORS, name), 'utf8')
const vectorFile = (name: string): ListFile => textFile(name, vector(name))

const read = async (
  format: ListFormat,
  files: readonly ListFile[],
  checkTypes?: readonly CheckType[],
): Promise<ListEntry[]> => {
  const entries: ListEntry[] = []
  for await (const entry of readSource({ listId: 'list', format, files, checkTypes })) entries.push(entry)
  return entries
}

/** What a list is refused with: file, line, words. */
const refusal = async (format: ListFormat, ...files: ListFile[]): Promise<string> => {
  try {
    await read(format, files)
  } catch (error) {
    if (error instanceof ListFileError) return error.message
    throw error
  }
  return 'accepted'
}

const namesOf = ({ names }: ListEntry): string[] =>
  names.map(({ text, weak }) => (weak ? `${text} (weak)` : text))

describe('loaders of watch lists', () => {
  it('join the three files of OFAC by number, with what the remarks say', async () => {
    const [first, second, third, ...more] = await read(
      'ofac',
      ['sdn.csv', 'alt.csv', 'add.csv'].map(vectorFile),
    )
    expect(more).to.deep.equal([])
    expect(namesOf(first as ListEntry)).to.deep.equal([
      'Boris Ivanovich TESTOVICH',
      'Borys TESTOVITCH',
      'Boka (weak)',
    ])
    expect(first).to.deep.include({
      id: '1001',
      kind: 'person',
      types: ['sanctions'],
      births: [
        { from: '1948-12-10', to: '1948-12-10' },
        { from: '1949-01-01', to: '1949-12-31' },
      ],
      countries: ['RU', 'KP'],
      identifiers: ['4501234567'],
    })
    expect(second).to.deep.include({
      id: '1002',
      kind: 'organisation',
      countries: ['AE'],
      identifiers: ['991234567'],
    })
    expect(third).to.deep.include({
      id: '1004',
      births: [{ from: '1956-01-01', to: '1958-12-31' }],
      countries: ['IQ'],
    })
    expect(namesOf(third as ListEntry)).to.deep.equal([
      'Abd al-Rahman "The Sample" AL-MITHAL',
      'ABDELRAHMAN AL MITHAAL',
    ])
  })

  it('take weak names of OFAC from the remarks, apostrophes and former names included', async () => {
    const remarks = `a.k.a. 'AL-NA'IMI'; f.k.a. 'OLD NAME'; n.k.a. 'NEW NAME'; Passport ${'No. '.repeat(10_000)}!`
    const line = `1,"DOE, John","individual",-0-,-0-,-0-,-0-,-0-,-0-,-0-,-0-,"${remarks}"\n`
    const [entry] = await read('ofac', [textFile('sdn.csv', line)])
    expect(namesOf(entry as ListEntry)).to.deep.equal([
      'John DOE',
      "AL-NA'IMI (weak)",
      'OLD NAME (weak)',
      'NEW NAME (weak)',
    ])
  })

  it('take numbers of documents and registers from the remarks of OFAC, whatever they are called, and no others', async () => {
    const remarks = [
      'Company Number 05527424 (United Kingdom)',
      'Unified Social Credit Code (USCC) 911101085923662400 (China)',
      'C.U.R.P. TEHD710101HSPLRV03 (Mexico)',
      "alt. Driver's License No. D-897 1234 (California)",
      'Passport A 123456 (Iran) expires 01 Jan 2010',
      'Tax ID No. 7706107510 issued 16 Jun 2002',
      'NIT # 811038291-3 (Colombia)',
      'SSN 156-92-9858 (United States)',
      'Registration Certificate Number (Dubai) 876543 (United Arab Emirates)',
      'Paraguayan tax identification number 80001234-5',
      'CNP (Personal Numerical Code) 1640101221144',
      'Phone Number 98-21-12345678',
      'POB Settlement No. 7654321, Nowhere',
      'Linked To: FACTORY No. 5432167',
      'Executive Order 13645',
      'Registration Number',
    ]
    const line = `1,"DOE, John","individual",-0-,-0-,-0-,-0-,-0-,-0-,-0-,-0-,"${remarks.join('; ')}."\n`
    const [entry] = await read('ofac', [textFile('sdn.csv', line)])
    expect(entry?.identifiers).to.deep.equal([
      '05527424',
      '911101085923662400',
      'TEHD710101HSPLRV03',
      'D8971234',
      'A123456',
      '7706107510',
      '8110382913',
      '156929858',
      '876543',
      '800012345',
      '1640101221144',
    ])
  })

  it('read people and entities of the United Nations', async () => {
    const [person, entity, ...more] = await read('un', [vectorFile('consolidated.xml')])
    expect(more).to.deep.equal([])
    expect(namesOf(person as ListEntry)).to.deep.equal([
      'HAMZA ABU AL-KHAYALI',
      'حمزة الخيالي',
      'Hamza Khayali',
      'Abu Layth (weak)',
    ])
    expect(person).to.deep.include({
      id: 'EXi.001',
      kind: 'person',
      types: ['sanctions'],
      births: [
        { from: '1970-02-03', to: '1970-02-03' },
        { from: '1965-01-01', to: '1968-12-31' },
      ],
      countries: ['SY', 'IR'],
      identifiers: ['SY0009988'],
    })
    expect(namesOf(entity as ListEntry)).to.deep.equal(['NOWHERE RELIEF FOUNDATION', 'NRF <Fund>'])
    expect(entity).to.deep.include({ id: 'EXe.002', kind: 'organisation', countries: ['KP'] })
  })

  it('take what a match is for from the topics of OpenSanctions, and leave out who is listed for nothing', async () => {
    const entries = await read('opensanctions', [vectorFile('entities.ftm.json')])
    expect(entries.map(({ id, types }) => [id, types])).to.deep.equal([
      ['NK-made-up-1', ['pep', 'adverse_media']],
      ['NK-made-up-4', ['sanctions', 'watchlist']],
    ])
    expect(entries[0]).to.deep.include({
      births: [{ from: '1977-05-01', to: '1977-05-31' }],
      countries: ['DE'],
      identifiers: ['L01X00T47'],
    })
    const asked = await read('opensanctions', [vectorFile('entities.ftm.json')], ['watchlist'])
    expect(asked.map(({ id, types }) => [id, types])).to.deep.equal([
      ['NK-made-up-1', ['watchlist']],
      ['NK-made-up-3', ['watchlist']],
      ['NK-made-up-4', ['watchlist']],
    ])
  })

  it('read the same entries however a stream is cut into pieces', async () => {
    for (const [format, name] of [
      ['un', 'consolidated.xml'],
      ['opensanctions', 'entities.ftm.json'],
    ] as const) {
      const bytes = Buffer.from(vector(name))
      const open = () => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
      expect(await read(format, [{ name, open }])).to.deep.equal(await read(format, [vectorFile(name)]))
    }
  })

  it('refuse a broken file with its name and line', async () => {
    const sdn = vector('sdn.csv')
    const three = (text: string) => [textFile('sdn.csv', text), vectorFile('alt.csv'), vectorFile('add.csv')]
    expect(await refusal('ofac', ...three(sdn.replace('1002,', '1002,"x",')))).to.equal(
      'sdn.csv, line 2: has 13 columns instead of 12',
    )
    expect(await refusal('ofac', ...three(sdn.replace('1003,', 'ent_num,')))).to.match(
      /^sdn\.csv, line 3: begins with/,
    )
    expect(await refusal('ofac', ...three(`${sdn.slice(0, 400)}`))).to.match(/^sdn\.csv, line \d+: /)
    const un = vector('consolidated.xml')
    expect(await refusal('un', textFile('un.xml', un.replace('</ENTITY>', '')))).to.match(
      /^un\.xml, line 30: /,
    )
    expect(await refusal('un', textFile('un.xml', un.slice(0, 900)))).to.match(/^un\.xml, line \d+: /)
    expect(await refusal('un', textFile('un.xml', '<OTHER/>'))).to.contain('is <OTHER>')
    const ftm = vector('entities.ftm.json')
    expect(await refusal('opensanctions', textFile('e.json', ftm.slice(0, -9)))).to.equal(
      'e.json, line 4: is not JSON',
    )
    expect(await refusal('opensanctions', textFile('e.json', `${ftm}[]\n`))).to.match(
      /^e\.json, line 5: is not an entity/,
    )
    const latin = { name: 'e.json', open: () => [Buffer.from(ftm), Buffer.from([0xff, 0x0a])] }
    expect(await refusal('opensanctions', latin)).to.equal('e.json, line 5: is not UTF-8 here or soon after')
  })

  it('know no entities, internal or external, and no document types', async () => {
    const un = vector('consolidated.xml')
    const withDoctype = un.replace('?>', '?>\n<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>')
    expect(await refusal('un', textFile('un.xml', withDoctype))).to.contain(
      'document type declarations are not accepted',
    )
    expect(await refusal('un', textFile('un.xml', un.replace('&amp;', '&x;')))).to.match(
      /^un\.xml, line \d+: /,
    )
    const deep = un.replace('<DATAID>', `${'<A>'.repeat(20)}`)
    expect(await refusal('un', textFile('un.xml', deep))).to.contain('deep')
  })

  it('refuse a set of files from which no list can be made', async () => {
    expect(await refusal('ofac', vectorFile('alt.csv'), vectorFile('add.csv')).catch(String)).to.contain(
      'needs one main file',
    )
    expect(await refusal('un', vectorFile('sdn.csv'), vectorFile('alt.csv')).catch(String)).to.contain(
      'exactly one file',
    )
  })

  it('know countries by the names that lists give them', () => {
    const codes = {
      'Korea, North': 'KP',
      "Democratic People's Republic of Korea": 'KP',
      'Iran (Islamic Republic of)': 'IR',
      Burma: 'MM',
      'Russian Federation': 'RU',
      'Congo, Democratic Republic of the': 'CD',
      'Congo, Republic of the': 'CG',
      'Bosnia and Herzegovina': 'BA',
      'Côte d’Ivoire': 'CI',
      'Syrian Arab Republic': 'SY',
      'Viet Nam': 'VN',
      Türkiye: 'TR',
      'United Kingdom of Great Britain and Northern Ireland': 'GB',
      'St. Lucia': 'LC',
      ru: 'RU',
    }
    const found = Object.fromEntries(Object.keys(codes).map((name) => [name, countryCode(name)]))
    expect(found).to.deep.equal(codes)
    expect(countryCode('Region: Crimea')).to.equal(undefined)
    expect(countryCode('European Union')).to.equal(undefined)
  })

  it('read dates as the days that they may mean', () => {
    expect(readVagueDate('Dec 1948')).to.deep.equal({ from: '1948-12-01', to: '1948-12-31' })
    expect(readVagueDate('29 Feb 2000')).to.deep.equal({ from: '2000-02-29', to: '2000-02-29' })
    expect(readVagueDate('1955 to 1960')).to.deep.equal({ from: '1955-01-01', to: '1960-12-31' })
    expect(readVagueDate('circa 1957')).to.deep.equal({ from: '1956-01-01', to: '1958-12-31' })
    for (const wrong of ['30 Feb 2000', 'Foo 2000', '1960 to 1955', '', 'unknown'])
      expect(readVagueDate(wrong), wrong).to.equal(undefined)
    expect(readIsoDate('1977')).to.deep.equal({ from: '1977-01-01', to: '1977-12-31' })
    expect(readIsoDate('1977-13')).to.equal(undefined)
    for (const [year, month, day] of [[1957.5], [1957, 1.5], [1957, 1, 1.5], [Number.NaN]] as const)
      expect(spanOf(year, month, day), `${year} ${month} ${day}`).to.equal(undefined)
    expect(readIsoDate('1977-02-28T00:00:00')).to.deep.equal({ from: '1977-02-28', to: '1977-02-28' })
  })
})
