/** Files of watch lists, in the forms of all publishers. @module */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ListFile, ListFileError, textFile } from '../../../../src/domain/aml/lists/files/list-file.ts'
import { detectFormat, nameList } from '../../../../src/domain/aml/lists/format-detection.ts'
import { type ListFormat, readSource } from '../../../../src/domain/aml/lists/list-source.ts'
import { readName } from '../../../../src/domain/aml/names/name-tokens.ts'
import { VECTORS } from '../../domain/watch-lists.ts'
import { ofText, type Parser } from '../parser.ts'

const vector = (name: string): string => readFileSync(join(VECTORS, name), 'utf8')
const FILES = ['sdn.csv', 'alt.csv', 'add.csv'].map((name) => textFile(name, vector(name)))
/** Whole published files take a parser a millisecond; of these the first records. */
const firstLines = (text: string, lines: number): string => text.split('\n').slice(0, lines).join('\n')
const EU = vector('published/eu.xml')
const [EU_HEAD = '', ...EU_ENTITIES] = EU.split(/(?=<sanctionEntity )/)
const SENZING = {
  DATA_SOURCE: 'LIST',
  RECORD_ID: '1',
  RECORD_TYPE: 'PERSON',
  NAMES: [{ NAME_TYPE: 'PRIMARY', NAME_FULL: 'Ann Example' }],
  DATES: [{ DATE_OF_BIRTH: '1958-02-01' }],
  RISKS: [{ TOPIC: 'role.pep' }],
  PASSPORT_NUMBER: 'AB123456',
  NATIONALITY: 'ir',
}

/** Which list a file holds is told by its own beginning as well. */
const readAll = async (format: ListFormat, files: readonly ListFile[]): Promise<void> => {
  for (const file of files) nameList(file.name, await detectFormat(file))
  for await (const entry of readSource({ listId: 'list', format, files }))
    for (const { text } of entry.names) readName(text, entry.kind === 'person')
}

const ofFormat = (format: ListFormat, name: string, ...seeds: readonly string[]): Parser => ({
  name: `watch lists: ${format}, ${name}`,
  seeds,
  refusesWith: [ListFileError],
  parse: (input) => readAll(format, [{ name, open: () => [input] }]),
})

const ofOfac = (place: number): Parser => {
  const name = FILES[place]?.name ?? ''
  return {
    name: `watch lists: ofac, ${name}`,
    seeds: [vector(name)],
    refusesWith: [ListFileError],
    parse: (input) => readAll('ofac', FILES.with(place, { name, open: () => [input] })),
  }
}

export const LISTS: readonly Parser[] = [
  ofOfac(0),
  ofOfac(1),
  ofOfac(2),
  ofFormat('ofac-xml', 'sdn.xml', vector('published/sdn.xml')),
  ofFormat('eu', 'eu.xml', `${EU_HEAD}${EU_ENTITIES[0]?.replace(/<\/export>\s*$/, '')}</export>`),
  ofFormat('un', 'un.xml', vector('consolidated.xml')),
  ofFormat('uk', 'uk.csv', firstLines(vector('published/UK-Sanctions-List.csv'), 4)),
  ofFormat('csl', 'csl.csv', firstLines(vector('published/csl.csv'), 5)),
  ofFormat('csl', 'csl.json', vector('published/csl.json')),
  ofFormat('opensanctions', 'entities.ftm.json', vector('entities.ftm.json')),
  ofFormat(
    'opensanctions-csv',
    'targets.simple.csv',
    'id,schema,name,aliases,birth_date,countries,addresses,identifiers,sanctions,phones,emails,program_ids,dataset,first_seen,last_seen,last_change\n"NK-1","Person","Petra Erfunden","Pe;""Von; E""","1977-05","de","","L01","sanction","","","","made up","","",""\n',
  ),
  ofFormat(
    'senzing',
    'senzing.json',
    `${JSON.stringify(SENZING)}\n${JSON.stringify({ ...SENZING, NAMES: undefined, NAME_LAST: 'E' })}\n`,
  ),
  ofText(
    'names to be screened',
    [
      'Dr. Abd al-Rahman "The Sample" McDonald',
      'Ünïted Söhne GmbH & Co. KG',
      'حمزة الخيالي',
      '김정은',
      'Ｊ．Ｒ．Ｒ． Tolkien XXI',
    ],
    (text) => {
      readName(text)
      readName(text, true)
    },
  ),
]
