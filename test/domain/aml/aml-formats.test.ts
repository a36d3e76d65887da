/** The formats in which lists are published, those of five read from an extract of a real file; and what is refused, by name. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { CheckType, ListEntry } from '../../../src/domain/aml/entry.ts'
import { type ListFile, ListFileError, textFile } from '../../../src/domain/aml/lists/files/list-file.ts'
import { detectFormat, nameList } from '../../../src/domain/aml/lists/format-detection.ts'
import { type ListFormat, readSource } from '../../../src/domain/aml/lists/list-source.ts'
import { readSlashedDate } from '../../../src/domain/aml/lists/loaders/dates.ts'

const PUBLISHED = join(import.meta.dirname, '../../vectors/aml/published')
const extract = (name: string): string => readFileSync(join(PUBLISHED, name), 'utf8')

interface Read {
  readonly entries: ListEntry[]
  readonly published: string | undefined
}

const readAll = async (
  format: ListFormat,
  file: ListFile,
  checkTypes?: readonly CheckType[],
): Promise<Read> => {
  const reader = readSource({ listId: 'list', format, files: [file], checkTypes })
  const entries: ListEntry[] = []
  for (let step = await reader.next(); ; step = await reader.next()) {
    if (step.done)
      return { entries, published: step.value === undefined ? undefined : new Date(step.value).toISOString() }
    entries.push(step.value)
  }
}

const read = (format: ListFormat, name: string, types?: readonly CheckType[]): Promise<Read> =>
  readAll(format, textFile(name, extract(name)), types)

const refusal = async (format: ListFormat, file: ListFile): Promise<string> => {
  try {
    await readAll(format, file)
  } catch (error) {
    if (error instanceof ListFileError) return error.message
    throw error
  }
  return 'accepted'
}

const namesOf = ({ names }: ListEntry): string[] =>
  names.map(({ text, weak }) => (weak ? `${text} (weak)` : text))

/** Every extract with its format. */
const EXTRACTS: readonly (readonly [name: string, format: ListFormat])[] = [
  ['sdn.xml', 'ofac-xml'],
  ['csl.csv', 'csl'],
  ['csl.json', 'csl'],
  ['eu.xml', 'eu'],
  ['UK-Sanctions-List.csv', 'uk'],
]

/** For those whose extract names no topics. */
const TYPES: readonly CheckType[] = ['watchlist']

describe('formats of watch lists', () => {
  it('read sdn.xml of OFAC', async () => {
    const { entries, published } = await read('ofac-xml', 'sdn.xml')
    expect(published).to.equal('2014-05-30T00:00:00.000Z')
    expect(entries.map(({ id, kind, countries }) => [id, kind, ...countries])).to.deep.equal([
      ['10', 'organisation', 'PA'],
      ['15', 'person', 'PA'],
      ['36', 'organisation', 'CU'],
    ])
    expect(entries.map(namesOf)).to.deep.equal([
      ['ABASTECEDORA NAVAL Y INDUSTRIAL, S.A.', 'ANAINSA'],
      ['Nury de Jesus ABDELNUR'],
      ['AEROCARIBBEAN AIRLINES', 'AERO-CARIBBEAN'],
    ])
  })

  it('read of sdn.xml what the extract has none of: weak names, dates, documents, nationalities, no ships', async () => {
    const xml = `<sdnList><sdnEntry><uid>1</uid><firstName>Ann</firstName><lastName>EXAMPLE</lastName>
      <sdnType>Individual</sdnType><akaList><aka><category>weak</category><lastName>ANNIE</lastName></aka></akaList>
      <idList><id><idType>Passport</idType><idNumber>AB 123456</idNumber></id>
      <id><idType>Website</idType><idNumber>www.example.com</idNumber></id></idList>
      <dateOfBirthList><dateOfBirthItem><dateOfBirth>circa 1957</dateOfBirth></dateOfBirthItem></dateOfBirthList>
      <nationalityList><nationality><country>Iran</country></nationality></nationalityList></sdnEntry>
      <sdnEntry><uid>2</uid><lastName>A SHIP</lastName><sdnType>Vessel</sdnType></sdnEntry></sdnList>`
    const { entries } = await readAll('ofac-xml', textFile('sdn.xml', xml))
    expect(entries).to.have.length(1)
    expect(namesOf(entries[0] as ListEntry)).to.deep.equal(['Ann EXAMPLE', 'ANNIE (weak)'])
    expect(entries[0]).to.deep.include({
      births: [{ from: '1956-01-01', to: '1958-12-31' }],
      countries: ['IR'],
      identifiers: ['AB123456'],
    })
  })

  it('read the advanced XML of OFAC, whose parties point to places, documents and kinds of name by number', async () => {
    const name = (parts: readonly (readonly [group: string, text: string])[], attributes: string) =>
      `<Alias FixedRef="7001" AliasTypeID="1403" ${attributes}><DocumentedName ID="1" FixedRef="7001">${parts
        .map(
          ([group, text]) =>
            `<DocumentedNamePart><NamePartValue NamePartGroupID="${group}" ScriptID="215">${text}</NamePartValue></DocumentedNamePart>`,
        )
        .join('')}</DocumentedName></Alias>`
    const day = (year: number) => `<Year>${year}</Year><Month>3</Month><Day>9</Day>`
    const feature = (type: number, version: string) =>
      `<Feature ID="9" FeatureTypeID="${type}"><FeatureVersion ID="8" ReliabilityID="1">${version}</FeatureVersion></Feature>`
    const xml = `<?xml version="1.0" encoding="utf-8"?>
      <Sanctions xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ADVANCED_XML">
      <DateOfIssue CalendarTypeID="1"><Year>2026</Year><Month>5</Month><Day>21</Day></DateOfIssue>
      <ReferenceValueSets>
        <AreaCodeValues><AreaCode ID="11705" CountryID="11082" Description="Egypt">Egypt</AreaCode></AreaCodeValues>
        <CountryValues><Country ID="11082" ISO2="EG">Egypt</Country></CountryValues>
        <FeatureTypeValues><FeatureType ID="8" FeatureTypeGroupID="1">Birthdate</FeatureType>
          <FeatureType ID="10" FeatureTypeGroupID="1">Nationality Country</FeatureType>
          <FeatureType ID="344" FeatureTypeGroupID="1">Digital Currency Address - XBT</FeatureType></FeatureTypeValues>
        <IDRegDocTypeValues><IDRegDocType ID="1571">Passport</IDRegDocType><IDRegDocType ID="1600">Website</IDRegDocType></IDRegDocTypeValues>
        <PartySubTypeValues><PartySubType ID="1" PartyTypeID="3">Vessel</PartySubType>
          <PartySubType ID="3" PartyTypeID="2">Unknown</PartySubType><PartySubType ID="4" PartyTypeID="1">Unknown</PartySubType></PartySubTypeValues>
        <PartyTypeValues><PartyType ID="1">Individual</PartyType><PartyType ID="2">Entity</PartyType><PartyType ID="3">Transport</PartyType></PartyTypeValues>
      </ReferenceValueSets>
      <Locations><Location ID="25"><LocationCountry CountryID="11082" CountryRelevanceID="1"/></Location>
        <Location ID="26"><LocationAreaCode AreaCodeID="11705"/></Location></Locations>
      <IDRegDocuments><IDRegDocument ID="1" IDRegDocTypeID="1571" IdentityID="5001"><IDRegistrationNo>X 0042</IDRegistrationNo></IDRegDocument>
        <IDRegDocument ID="2" IDRegDocTypeID="1600" IdentityID="5001"><IDRegistrationNo>www.example.com</IDRegistrationNo></IDRegDocument></IDRegDocuments>
      <DistinctParties>
        <DistinctParty FixedRef="7001"><Profile ID="7001" PartySubTypeID="4"><Identity ID="5001" FixedRef="7001" Primary="true">
          ${name([['2', 'TESTPERSON']], 'Primary="false" LowQuality="true"')}
          ${name(
            [
              ['1', 'SAMPLE'],
              ['2', 'Omar'],
            ],
            'Primary="true" LowQuality="false"',
          )}
          <NamePartGroups><MasterNamePartGroup><NamePartGroup ID="1" NamePartTypeID="1520"/></MasterNamePartGroup>
            <MasterNamePartGroup><NamePartGroup ID="2" NamePartTypeID="1521"/></MasterNamePartGroup></NamePartGroups></Identity>
          ${feature(8, `<DatePeriod><Start Approximate="false"><From>${day(1962)}</From><To>${day(1962)}</To></Start><End Approximate="false"><From>${day(1963)}</From><To>${day(1963)}</To></End></DatePeriod>`)}
          ${feature(10, '<VersionLocation LocationID="25"/>')}
          ${feature(344, '<VersionDetail DetailTypeID="1432">made-up</VersionDetail>')}</Profile></DistinctParty>
        <DistinctParty FixedRef="7002"><Profile ID="7002" PartySubTypeID="1"><Identity ID="5002" FixedRef="7002">
          ${name([['9', 'A SHIP']], 'Primary="true" LowQuality="false"')}</Identity></Profile></DistinctParty>
      </DistinctParties></Sanctions>`
    const file = textFile('sdn_advanced.xml', xml)
    const { entries, published } = await readAll('ofac-xml', file)
    expect(published).to.equal('2026-05-21T00:00:00.000Z')
    expect(entries).to.have.length(1)
    expect(namesOf(entries[0] as ListEntry)).to.deep.equal(['Omar SAMPLE', 'TESTPERSON (weak)'])
    expect(entries[0]).to.deep.include({
      id: '7001',
      kind: 'person',
      births: [{ from: '1962-03-09', to: '1963-03-09' }],
      countries: ['EG'],
      identifiers: ['X0042'],
    })
    const cutOff = await refusal('ofac-xml', textFile('sdn_advanced.xml', xml.slice(0, -40)))
    expect(cutOff).to.match(/sdn_advanced\.xml/)
  })

  it('read the Consolidated Screening List as CSV, whose sources say what a match is for', async () => {
    const { entries } = await read('csl', 'csl.csv')
    expect(entries.map(({ kind, types, names }) => [names[0]?.text, kind, ...types])).to.deep.equal([
      ['ADRIAN MANUEL HERNANDEZ', 'unknown', 'watchlist'],
      ['183rd Guard Air Defense Missile Regiment', 'unknown', 'sanctions'],
      ['200G PSA HOLDINGS LLC', 'organisation', 'sanctions'],
      ['2904977 CANADA, INC.', 'organisation', 'sanctions'],
      ['3K Aviation Consulting and Logistics', 'unknown', 'watchlist'],
      ['90 EKSPERIMENTALNY ZAVOD OAO', 'organisation', 'watchlist'],
      ['Naser ABDUL JAWAD', 'person', 'watchlist'],
    ])
    const [dpl, , sdn, canada, , , person] = entries
    expect(dpl?.id).to.match(/^DPL-[0-9a-f]{32}$/)
    expect(sdn).to.deep.include({ id: '20264', countries: ['US'], identifiers: ['800890696'] })
    expect(canada?.names.map(({ text }) => text)).to.include('HAVANTUR CANADA INC.')
    expect(person?.births).to.deep.equal([{ from: '1965-01-01', to: '1965-12-31' }])
    expect(namesOf(person as ListEntry)).to.deep.equal([
      'Naser ABDUL JAWAD',
      'Nasir Abdullah Odeh ABDEL JAWAD',
    ])
  })

  it('read the Consolidated Screening List as JSON', async () => {
    const { entries } = await read('csl', 'csl.json')
    expect(entries.map(({ id, types, countries }) => [id, ...types, ...countries])).to.deep.equal([
      ['906', 'sanctions', 'GB', 'CU'],
      ['b6e959b59898e975daaae8fae3a8da1ec522f9f888cafc0e6401a16d', 'watchlist', 'AF'],
      ['2446250b', 'sanctions', 'TH'],
    ])
    expect(entries[0]?.identifiers).to.deep.equal(['01074897', 'HAVIGB2L'])
    expect(entries[2] && namesOf(entries[2])).to.deep.equal(['SPC Supachoke', 'Super Trade'])
  })

  it('read the list of the European Union', async () => {
    const { entries, published } = await read('eu', 'eu.xml')
    expect(published).to.equal('2018-12-21T13:39:54.511Z')
    expect(entries.map(({ id, kind, names }) => [id, kind, names.length])).to.deep.equal([
      ['EU.36.64', 'person', 1],
      ['EU.3523.13', 'organisation', 5],
      ['13', 'person', 2],
    ])
    expect(entries[0]).to.deep.include({
      births: [{ from: '1924-02-21', to: '1924-02-21' }],
      countries: [],
      identifiers: ['AD001095'],
    })
    expect(entries[1]?.names.map(({ text }) => text)).to.include('Фронт на великите ислямски източни воини')
    expect(entries[2]).to.deep.include({ countries: ['IQ'] })
  })

  it('read of the list of the European Union weak names and dates that are not exact', async () => {
    const xml = `<e:export xmlns:e="x"><e:sanctionEntity logicalId="1"><e:subjectType code="person"/>
      <e:nameAlias wholeName="Ann Example"/><e:nameAlias wholeName="" firstName="A" lastName="Ex" strong="false"/>
      <e:nameAlias wholeName="Annie"><e:remark>Low quality alias</e:remark></e:nameAlias>
      <e:birthdate birthdate="" year="1960"/><e:birthdate circa="true" year="1970"/>
      <e:birthdate yearRangeFrom="1950" yearRangeTo="1955"/><e:birthdate year="1961" monthOfYear="3"/>
      </e:sanctionEntity></e:export>`
    const { entries } = await readAll('eu', textFile('eu.xml', xml))
    expect(entries[0] && namesOf(entries[0])).to.deep.equal(['Ann Example', 'A Ex (weak)', 'Annie (weak)'])
    expect(entries[0]?.births.map(({ from, to }) => `${from}/${to}`)).to.deep.equal([
      '1960-01-01/1960-12-31',
      '1969-01-01/1971-12-31',
      '1950-01-01/1955-12-31',
      '1961-03-01/1961-03-31',
    ])
  })

  it('read the UK Sanctions List, an entry from all of its lines, without ships', async () => {
    const { entries, published } = await read('uk', 'UK-Sanctions-List.csv')
    expect(published).to.equal('2026-06-24T00:00:00.000Z')
    expect(entries.map(({ id, kind }) => [id, kind])).to.deep.equal([['AFG0001', 'organisation']])
    expect(entries[0] && namesOf(entries[0])).to.deep.equal([
      'HAJI KHAIRULLAH HAJI SATTAR MONEY EXCHANGE',
      'حاجی خيرالله و حاجی ستار صرافی',
    ])
    const columns =
      'Unique ID,Name 6,Name 1,Name type,Alias strength,Designation Type,D.O.B,Nationality(/ies),Passport number'
    const lines = [
      'X1,EXAMPLE,ANNIE,Alias,Low quality a.k.a,Individual,dd/mm/1958,Afghanistan,',
      'Y1,OTHER,ONE,Primary Name,,Individual,,,',
      'X1,EXAMPLE,ANN,Primary Name,,Individual,01/02/1958,Iran,AB123456',
    ]
    const own = await readAll('uk', textFile('uk.csv', [columns, ...lines].join('\n')))
    expect(own.published).to.equal(undefined)
    expect(own.entries.map(({ id }) => id)).to.deep.equal(['X1', 'Y1'])
    expect(own.entries[0] && namesOf(own.entries[0])).to.deep.equal(['ANN EXAMPLE', 'ANNIE EXAMPLE (weak)'])
    expect(own.entries[0]).to.deep.include({
      births: [
        { from: '1958-01-01', to: '1958-12-31' },
        { from: '1958-02-01', to: '1958-02-01' },
      ],
      countries: ['AF', 'IR'],
      identifiers: ['AB123456'],
    })
    expect(readSlashedDate('mm/dd/1958')).to.equal(undefined)
    expect(readSlashedDate('dd/02/1958')).to.deep.equal({ from: '1958-02-01', to: '1958-02-28' })
  })

  it('read the simplified CSV of OpenSanctions', async () => {
    const pep =
      '"id","schema","name","aliases","birth_date","countries","identifiers","sanctions"\n"1","Person","A B","","","","",""\n'
    expect((await readAll('opensanctions-csv', textFile('p.csv', pep))).entries).to.deep.equal([])
    expect((await readAll('opensanctions-csv', textFile('p.csv', pep), ['pep'])).entries).to.have.length(1)
  })

  it('read the nested JSON of OpenSanctions: documents are its own', async () => {
    const passport = { id: 'p', schema: 'Passport', properties: { number: ['AB 123456'], country: ['ir'] } }
    const nested = { name: ['Ann Example'], topics: ['sanction'], passportEntity: [passport] }
    const own = JSON.stringify({ id: '1', schema: 'Person', properties: nested })
    expect((await readAll('opensanctions', textFile('n.json', own))).entries[0]?.identifiers).to.deep.equal([
      'AB123456',
    ])
  })

  it('read records of Senzing, with names in parts', async () => {
    const person = {
      DATA_SOURCE: 'X',
      RECORD_ID: '7',
      FEATURES: [
        { RECORD_TYPE: 'PERSON' },
        { NAME_TYPE: 'ALIAS', NAME_FULL: 'Annie' },
        { NAME_TYPE: 'PRIMARY', NAME_LAST: 'Example', NAME_FIRST: 'Ann' },
        { DATE_OF_BIRTH: '1958-02-01' },
        { NATIONALITY: 'ir' },
      ],
      IDENTIFIERS: [{ PASSPORT_NUMBER: 'AB 123456' }, { OTHER_ID_TYPE: 'X', OTHER_ID_NUMBER: '7' }],
      RISKS: [{ TOPIC: 'role.pep' }],
    }
    const flat = { RECORD_ID: 8, RECORD_TYPE: 'VESSEL', NAME_ORG: 'A Ship', RISKS: [{ TOPIC: 'sanction' }] }
    const own = await readAll(
      'senzing',
      textFile('s.json', `${JSON.stringify(person)}\n${JSON.stringify(flat)}\n`),
    )
    expect(own.entries.map(namesOf)).to.deep.equal([['Ann Example', 'Annie']])
    expect(own.entries[0]).to.deep.include({
      kind: 'person',
      types: ['pep'],
      births: [{ from: '1958-02-01', to: '1958-02-01' }],
      countries: ['IR'],
      identifiers: ['AB123456'],
    })
  })

  it('read the same entries however a stream is cut into pieces', async () => {
    for (const [name, format] of EXTRACTS) {
      const bytes = Buffer.from(extract(name))
      const whole = await read(format, name, TYPES)
      expect(whole.entries, name).not.to.deep.equal([])
      const single = { name, open: () => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)) }
      expect(await readAll(format, single, TYPES), name).to.deep.equal(whole)
    }
  })

  it('are recognised by how a file begins, and lists by the names under which they are published', async () => {
    for (const [name, format] of EXTRACTS) {
      expect(await detectFormat(textFile(name, extract(name))), name).to.equal(format)
      const marked = textFile(name, `\u{feff}${extract(name)}`)
      expect(await detectFormat(marked), `${name} with a byte order mark`).to.equal(format)
    }
    expect(await detectFormat(textFile('a.xml', '<html><body>Not found</body></html>'))).to.equal(undefined)
    expect(await detectFormat(textFile('a.xml', ''))).to.equal(undefined)
    expect(await detectFormat(textFile('a.csv', 'a,b,c\n'))).to.equal(undefined)
    expect(nameList('sdn_advanced.xml', 'ofac-xml').listId).to.equal('ofac-sdn')
    expect(nameList('cons_advanced.xml', 'ofac-xml')).to.deep.equal({
      listId: 'ofac-consolidated',
      checkTypes: ['watchlist'],
    })
    expect(nameList('consolidated.xml', 'un').listId).to.equal('un-consolidated')
    expect(nameList('20260731-FULL-1_1(xsd).xml', 'eu').listId).to.equal('eu-consolidated')
    expect(nameList('UK-Sanctions-List.csv', 'uk').listId).to.equal('uk-sanctions')
    expect(nameList('consolidated.json', 'csl').listId).to.equal('us-csl')
    expect(nameList('Our list.csv', 'uk').listId).to.equal('our-list')
  })
})

describe('broken watch lists', () => {
  it('are refused with their name when they are cut off', async () => {
    for (const [name, format] of EXTRACTS) {
      const text = extract(name)
      const cut = textFile(name, text.slice(0, Math.floor(text.length * 0.9)))
      expect(await refusal(format, cut), name).to.match(new RegExp(`^${name}(?:, line \\d+)?: `))
    }
  })

  it('are refused with their name when they hold something else, or nothing of the form', async () => {
    for (const [name, format] of EXTRACTS) {
      if (name.endsWith('.json') && format !== 'csl') continue
      expect(await refusal(format, textFile(name, '')), name).to.match(new RegExp(`^${name}`))
    }
    for (const [name, format] of EXTRACTS) {
      const page = await refusal(format, textFile(name, '<html><body>Service unavailable</body></html>'))
      expect(page, name).to.match(new RegExp(`^${name}`))
    }
  })

  it('are refused where they are not UTF-8', async () => {
    for (const [name, format] of EXTRACTS) {
      const utf16 = Buffer.from(`\u{feff}${extract(name)}`, 'utf16le')
      expect(await refusal(format, { name, open: () => [utf16] }), name).to.contain('is not UTF-8')
    }
    const latin = extract('eu.xml').replace('UTF-8', 'ISO-8859-1')
    expect(await refusal('eu', textFile('eu.xml', latin))).to.equal(
      'eu.xml, line 1: is declared as ISO-8859-1; only UTF-8 is read',
    )
  })

  it('are refused with entities of their own, external or expanding, whatever the format', async () => {
    const external = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    const lol = Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('')
    const laughs = `<!DOCTYPE x [<!ENTITY l0 "lol">${lol}]>`
    for (const [name, format] of EXTRACTS.filter(([file]) => file.endsWith('.xml'))) {
      for (const doctype of [external, laughs]) {
        const text = extract(name).replace(/<(?=sdnList|Sanctions|export)/, `${doctype}<`)
        expect(text).to.contain(doctype)
        expect(await refusal(format, textFile(name, text))).to.contain(
          'document type declarations are not accepted',
        )
      }
      const undeclared = extract(name).replace(/<\/(sdnList|Sanctions|export)>/, '<a>&e;</a></$1>')
      expect(await refusal(format, textFile(name, undeclared))).to.match(new RegExp(`^${name}, line \\d+: `))
    }
  })

  /** A file of any length that is never held in memory. */
  const endless = (name: string, head: string, piece: string, pieces: number): ListFile => ({
    name,
    async *open() {
      yield Buffer.from(head)
      for (let i = 0; i < pieces; i++) yield Buffer.from(piece)
    },
  })

  it('are refused where one part has no end, long before the file has', async () => {
    const filler = 'x'.repeat(65_536)
    const MANY = 1_000_000
    const head = '<export><sanctionEntity logicalId="1"><nameAlias wholeName="'
    for (const [file, format] of [
      [endless('eu.xml', head, filler, MANY), 'eu'],
      [endless('eu.xml', '<export><sanctionEntity><remark>', filler, MANY), 'eu'],
      [endless('eu.xml', '<export><!--', filler, MANY), 'eu'],
      [endless('eu.xml', '<export><sanctionEntity>', '<a/>'.repeat(10_000), MANY), 'eu'],
      [endless('eu.xml', '<export><sanctionEntity>', '<a>'.repeat(10_000), MANY), 'eu'],
      [endless('uk.csv', 'Unique ID,Name 6,Name type,Designation Type\n"', filler, MANY), 'uk'],
      [endless('csl.json', '{"results":[{"source":"', filler, MANY), 'csl'],
      [endless('csl.json', '{"results":[{"a":[', '1,'.repeat(30_000), MANY), 'csl'],
      [endless('s.json', '{"RECORD_ID":"', filler, MANY), 'senzing'],
      [endless('s.json', '', '['.repeat(65_536), MANY), 'senzing'],
    ] as const) {
      expect(await refusal(format, file)).to.match(/^(?:eu\.xml|uk\.csv|csl\.json|s\.json)/)
    }
  })

  it('never break anything but their own reading, whatever bytes they have', async () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 })
    const cases = fc.tuple(fc.constantFrom(...EXTRACTS), fc.nat(2000), pieces)
    await fc.assert(
      fc.asyncProperty(cases, async ([[name, format], at, inserted]) => {
        const text = Buffer.from(extract(name))
        const bytes = Buffer.concat([text.subarray(0, at), ...inserted, text.subarray(at)])
        // Anything but a ListFileError fails here.
        await refusal(format, { name, open: () => [bytes] })
      }),
      { numRuns: 200 },
    )
  })
})
