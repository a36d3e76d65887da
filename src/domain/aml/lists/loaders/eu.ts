/**
 * The consolidated list of persons, groups and entities subject to financial sanctions of the European Union: XML, version 1.1
 * of its schema (and 1.0, which lacks some attributes). What it says is in attributes.
 * https://data.europa.eu/data/datasets/consolidated-list-of-persons-groups-and-entities-subject-to-eu-financial-sanctions
 * @module
 */
import type { CheckType, DaySpan, ListEntry, ListName } from '../../entry.ts'
import type { ListFile } from '../files/list-file.ts'
import { attributeOf, below, readXml, textsOf, type XmlElement } from '../files/xml.ts'
import { aroundSpan, readInstant, readIsoDate, spanBetween, spanOf } from './dates.ts'
import { type Draft, type Entries, finishDraft, type Published } from './draft.ts'

const KINDS: Readonly<{ [code: string]: ListEntry['kind'] }> = {
  person: 'person',
  P: 'person',
  enterprise: 'organisation',
  E: 'organisation',
}

const readName = (element: XmlElement): ListName => {
  const parts = ['firstName', 'middleName', 'lastName'].map((part) => attributeOf(element, part))
  const isWeak =
    attributeOf(element, 'strong') === 'false' ||
    textsOf(element, 'remark').some((remark) => /^low quality/i.test(remark))
  return {
    text: attributeOf(element, 'wholeName') || parts.filter((part) => part !== '').join(' '),
    ...(isWeak && { weak: true as const }),
  }
}

const readBirth = (element: XmlElement): DaySpan | undefined => {
  const number = (name: string): number | undefined => Number(attributeOf(element, name)) || undefined
  const year = number('year')
  const [from, to] = [number('yearRangeFrom'), number('yearRangeTo')]
  const range = from && to ? spanBetween(spanOf(from), spanOf(to)) : undefined
  const month = number('monthOfYear')
  const span =
    readIsoDate(attributeOf(element, 'birthdate')) ??
    (year === undefined ? range : spanOf(year, month, month && number('dayOfMonth')))
  return attributeOf(element, 'circa') === 'true' ? aroundSpan(span) : span
}

const toDraft = (element: XmlElement, types: readonly CheckType[]): Draft => {
  const all = (name: string, attribute: string): string[] =>
    below(element, name).map((one) => attributeOf(one, attribute))
  const [subject] = below(element, 'subjectType')
  const code = subject && (attributeOf(subject, 'code') || attributeOf(subject, 'classificationCode'))
  return {
    id: attributeOf(element, 'euReferenceNumber') || attributeOf(element, 'logicalId'),
    kind: (code !== undefined && Object.hasOwn(KINDS, code) && KINDS[code]) || 'unknown',
    types,
    names: below(element, 'nameAlias').map(readName),
    births: below(element, 'birthdate').map(readBirth),
    countries: [...all('citizenship', 'countryIso2Code'), ...all('address', 'countryIso2Code')],
    identifiers: [...all('identification', 'number'), ...all('identification', 'latinNumber')],
  }
}

/** Entries in the order of the file. @throws ListFileError */
export async function* readEu(file: ListFile, types: readonly CheckType[]): Entries {
  let published: Published
  for await (const { element, parent, line } of readXml(file, { export: 1 })) {
    if (parent === '') published = readInstant(attributeOf(element, 'generationDate'))
    else if (element.name === 'sanctionEntity') yield finishDraft(file, line, toDraft(element, types))
  }
  return published
}
