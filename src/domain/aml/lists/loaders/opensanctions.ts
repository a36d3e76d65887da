/**
 * Lists in the form of OpenSanctions: an entity of the FollowTheMoney model a line, as JSON (`entities.ftm.json`).
 * https://www.opensanctions.org/docs/entities/ and https://followthemoney.tech
 * @module
 */
import { isObject } from '../../../../protocol/json-object.ts'
import type { CheckType, ListEntry, ListName } from '../../entry.ts'
import { readIsoDate } from './dates.ts'
import { finishDraft } from './draft.ts'
import { type ListFile, ListFileError, readLines } from './list-file.ts'

/** Schemata of those who can be users; addresses, ships, passports and the like are left out. */
const KINDS: Readonly<{ [schema: string]: ListEntry['kind'] }> = {
  Person: 'person',
  Company: 'organisation',
  Organization: 'organisation',
  PublicBody: 'organisation',
  LegalEntity: 'unknown',
}

/** Topics (https://www.opensanctions.org/docs/topics/) by what they begin with, and what a match with them is for. */
const TOPICS: readonly (readonly [topic: string, type: CheckType])[] = [
  ['sanction', 'sanctions'],
  ['role.pep', 'pep'],
  ['role.rca', 'pep'],
  ['role.pol', 'pep'],
  ['wanted', 'watchlist'],
  ['poi', 'watchlist'],
  ['debarment', 'watchlist'],
  ['export', 'watchlist'],
  ['reg', 'watchlist'],
  ['corp.disqual', 'watchlist'],
  ['crime', 'adverse_media'],
]

const isTopic = (value: string, topic: string): boolean => value === topic || value.startsWith(`${topic}.`)

const typesOf = (topics: readonly string[]): CheckType[] => [
  ...new Set(
    TOPICS.filter(([topic]) => topics.some((value) => isTopic(value, topic))).map(([, type]) => type),
  ),
]

const NAMES = ['name', 'alias', 'previousName'] as const
const COUNTRIES = ['nationality', 'citizenship', 'country', 'jurisdiction'] as const
const IDENTIFIERS = [
  'passportNumber',
  'idNumber',
  'registrationNumber',
  'taxNumber',
  'innCode',
  'ogrnCode',
  'leiCode',
  'socialSecurityNumber',
] as const

interface Entity {
  readonly id: string
  readonly schema: string
  readonly caption?: unknown
  readonly properties: Readonly<Record<string, unknown>>
}

const isEntity = (value: unknown): value is Entity =>
  isObject(value) &&
  typeof value.id === 'string' &&
  value.id !== '' &&
  typeof value.schema === 'string' &&
  isObject(value.properties)

const parseEntity = (file: string, line: number, text: string): Entity => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ListFileError(file, line, 'is not JSON', cause)
  }
  if (!isEntity(value)) throw new ListFileError(file, line, 'is not an entity with id, schema and properties')
  return value
}

const valuesOf = ({ properties }: Entity, names: readonly string[]): string[] =>
  names.flatMap((name) => {
    const values = Object.hasOwn(properties, name) ? properties[name] : []
    return Array.isArray(values) ? values.filter((value): value is string => typeof value === 'string') : []
  })

const namesOf = (entity: Entity): ListName[] => [
  ...(typeof entity.caption === 'string' ? [{ text: entity.caption }] : []),
  ...valuesOf(entity, NAMES).map((text) => ({ text })),
  ...valuesOf(entity, ['weakAlias']).map((text) => ({ text, weak: true as const })),
]

/**
 * Entries in the order of the file. Entities that are nobody or are listed for nothing are left out.
 * @param types what each entry is a match for; absent: what its topics say
 * @throws ListFileError
 */
export async function* readOpenSanctions(
  file: ListFile,
  types: readonly CheckType[] | undefined,
): AsyncGenerator<ListEntry> {
  for await (const { text, line } of readLines(file)) {
    const entity = parseEntity(file.name, line, text)
    const kind = Object.hasOwn(KINDS, entity.schema) ? KINDS[entity.schema] : undefined
    const listedFor = types ?? typesOf(valuesOf(entity, ['topics']))
    if (kind === undefined || listedFor.length === 0) continue
    const entry = finishDraft({
      id: entity.id,
      kind,
      types: listedFor,
      names: namesOf(entity),
      births: valuesOf(entity, ['birthDate']).map(readIsoDate),
      countries: valuesOf(entity, COUNTRIES),
      identifiers: valuesOf(entity, IDENTIFIERS),
    })
    if (entry === undefined) throw new ListFileError(file.name, line, 'has no name')
    yield entry
  }
}
