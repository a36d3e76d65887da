/**
 * Records in the form of Senzing, as JSON lines: with attributes on their root, in lists of any name (`NAMES`, `IDENTIFIERS`) or
 * in `FEATURES`. https://senzing.com/docs/entity_specification/
 * @module
 */
import { isObject } from '../../../../protocol/json-object.ts'
import type { CheckType, ListEntry } from '../../entry.ts'
import { readJsonLines } from '../files/json.ts'
import { type ListFile, ListFileError } from '../files/list-file.ts'
import { readAnyDate } from './dates.ts'
import { type Entries, finishDraft } from './draft.ts'
import { typesOf } from './opensanctions.ts'

const KINDS: Readonly<{ [type: string]: ListEntry['kind'] }> = {
  PERSON: 'person',
  ORGANIZATION: 'organisation',
  COMPANY: 'organisation',
}
/** Nobody who could be a user. */
const LEFT_OUT = new Set(['VESSEL', 'AIRCRAFT', 'VEHICLE'])

const WHOLE_NAMES = new Set(['NAME_FULL', 'NAME_ORG'])
const NAME_PARTS = ['FIRST', 'MIDDLE', 'LAST', 'SUFFIX'].map((part) => new Set([`NAME_${part}`]))
const BIRTHS = new Set(['DATE_OF_BIRTH'])
const COUNTRIES = new Set([
  'NATIONALITY',
  'CITIZENSHIP',
  'COUNTRY_OF_ASSOCIATION',
  'REGISTRATION_COUNTRY',
  'ADDR_COUNTRY',
  'PASSPORT_COUNTRY',
  'NATIONAL_ID_COUNTRY',
])
const IDENTIFIERS = new Set(
  [
    'PASSPORT',
    'NATIONAL_ID',
    'TAX_ID',
    'SSN',
    'LEI',
    'DUNS',
    'DRIVERS_LICENSE',
    'OTHER_ID',
    'ACCOUNT',
    'NPI',
  ].map((kind) => `${kind}_NUMBER`),
)
const TOPICS = new Set(['TOPIC'])
const TYPE = new Set(['RECORD_TYPE'])

type Attributes = Readonly<Record<string, unknown>>

/** The root of a record, and what its lists hold. */
const groupsOf = (record: Attributes): Attributes[] => [
  record,
  ...Object.values(record).flatMap((values) => (Array.isArray(values) ? values.filter(isObject) : [])),
]

/** Attributes may begin with what they are used for, such as `PRIMARY_NAME_FULL`. */
const isOneOf = (names: ReadonlySet<string>, key: string): boolean =>
  names.has(key) || names.has(key.slice(key.indexOf('_') + 1))

const valuesOf = (group: Attributes, names: ReadonlySet<string>): string[] =>
  Object.entries(group).flatMap(([key, value]) =>
    isOneOf(names, key) && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : [],
  )

/** A name in parts is one name of its group, in the order in which it is spoken. */
const namesOf = (group: Attributes): string[] => {
  const parts = NAME_PARTS.flatMap((part) => valuesOf(group, part))
  return [...valuesOf(group, WHOLE_NAMES), ...(parts.length > 0 ? [parts.join(' ')] : [])]
}

const isPrimary = (group: Attributes): boolean => group.NAME_TYPE === 'PRIMARY'

/**
 * Entries in the order of the file. Records that are nobody or are listed for nothing are left out.
 * @param types what each entry is a match for; absent: what its `RISKS` say, which are topics of OpenSanctions
 * @throws ListFileError
 */
export async function* readSenzing(file: ListFile, types: readonly CheckType[] | undefined): Entries {
  for await (const { value: record, line } of readJsonLines(file)) {
    const id = isObject(record) ? record.RECORD_ID : undefined
    if (!isObject(record) || (typeof id !== 'string' && typeof id !== 'number'))
      throw new ListFileError(file.name, line, 'is not a record with a RECORD_ID')
    const groups = groupsOf(record)
    const all = (names: ReadonlySet<string>): string[] => groups.flatMap((group) => valuesOf(group, names))
    const [type = ''] = all(TYPE)
    const listedFor = types ?? typesOf(all(TOPICS))
    if (listedFor.length === 0 || LEFT_OUT.has(type)) continue
    const named = [...groups.filter(isPrimary), ...groups.filter((group) => !isPrimary(group))]
    yield finishDraft(file, line, {
      id: String(id),
      kind: (Object.hasOwn(KINDS, type) && KINDS[type]) || 'unknown',
      types: listedFor,
      names: named.flatMap(namesOf).map((text) => ({ text })),
      births: all(BIRTHS).map(readAnyDate),
      countries: all(COUNTRIES),
      // OpenSanctions repeats the record's own id among the numbers.
      identifiers: all(IDENTIFIERS).filter((number) => number !== String(id)),
    })
  }
  return undefined
}
