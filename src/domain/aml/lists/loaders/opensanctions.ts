/**
 * Lists in the form of OpenSanctions: an entity of the FollowTheMoney model a line, as JSON (`entities.ftm.json`), or with what
 * belongs to it inside it (`targets.nested.json`). https://www.opensanctions.org/docs/entities/ and https://followthemoney.tech
 * @module
 */
import { isObject } from '../../../../protocol/json-object.ts'
import type { CheckType, ListEntry, ListName } from '../../entry.ts'
import { readJsonLines } from '../files/json.ts'
import { type ListFile, ListFileError } from '../files/list-file.ts'
import { readInstant, readIsoDate } from './dates.ts'
import { type Entries, finishDraft } from './draft.ts'

/** Schemata of those who can be users; addresses, ships, passports and the like are left out. */
export const SCHEMA_KINDS: Readonly<{ [schema: string]: ListEntry['kind'] }> = {
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

/** @param topics of OpenSanctions @returns what somebody with them is a match for */
export const typesOf = (topics: readonly string[]): CheckType[] => [
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
  readonly last_seen?: unknown
  readonly properties: Readonly<Record<string, unknown>>
}

const isEntity = (value: unknown): value is Entity =>
  isObject(value) &&
  typeof value.id === 'string' &&
  typeof value.schema === 'string' &&
  isObject(value.properties)

const valuesOf = ({ properties }: Entity, names: readonly string[]): string[] =>
  names.flatMap((name) => {
    const values = Object.hasOwn(properties, name) ? properties[name] : []
    return Array.isArray(values) ? values.filter((value): value is string => typeof value === 'string') : []
  })

/** Where the numbers of documents stand that have an entity of their own. */
const DOCUMENTS = new Set(['Identification', 'Passport'])

/** What the entities inside an entity say of it, in properties of this name. */
const nestedValues = ({ properties }: Entity, schemata: ReadonlySet<string>, name: string): string[] =>
  Object.values(properties).flatMap((values) =>
    (Array.isArray(values) ? values : []).flatMap((value: unknown) =>
      isEntity(value) && schemata.has(value.schema) ? valuesOf(value, [name]) : [],
    ),
  )

const namesOf = (entity: Entity): ListName[] => [
  ...(typeof entity.caption === 'string' ? [{ text: entity.caption }] : []),
  ...valuesOf(entity, NAMES).map((text) => ({ text })),
  ...valuesOf(entity, ['weakAlias']).map((text) => ({ text, weak: true as const })),
]

const ADDRESSES = new Set(['Address'])

/**
 * Entries in the order of the file. Entities that are nobody or are listed for nothing are left out.
 * @param types what each entry is a match for; absent: what its topics say
 * @throws ListFileError
 */
export async function* readOpenSanctions(file: ListFile, types: readonly CheckType[] | undefined): Entries {
  let lastSeen = ''
  for await (const { value: entity, line } of readJsonLines(file)) {
    if (!isEntity(entity))
      throw new ListFileError(file.name, line, 'is not an entity with id, schema and properties')
    if (typeof entity.last_seen === 'string' && entity.last_seen > lastSeen) lastSeen = entity.last_seen
    const kind = Object.hasOwn(SCHEMA_KINDS, entity.schema) ? SCHEMA_KINDS[entity.schema] : undefined
    const listedFor = types ?? typesOf(valuesOf(entity, ['topics']))
    if (kind === undefined || listedFor.length === 0) continue
    yield finishDraft(file, line, {
      id: entity.id,
      kind,
      types: listedFor,
      names: namesOf(entity),
      births: valuesOf(entity, ['birthDate']).map(readIsoDate),
      countries: [...valuesOf(entity, COUNTRIES), ...nestedValues(entity, ADDRESSES, 'country')],
      identifiers: [...valuesOf(entity, IDENTIFIERS), ...nestedValues(entity, DOCUMENTS, 'number')],
    })
  }
  return readInstant(lastSeen)
}
