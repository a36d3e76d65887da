/**
 * The consolidated list of the United Nations Security Council, one XML file.
 * https://main.un.org/securitycouncil/en/content/un-sc-consolidated-list
 * @module
 */
import type { CheckType, DaySpan, ListEntry, ListName } from '../../entry.ts'
import type { ListFile } from '../files/list-file.ts'
import { attributeOf, below, readXml, textOf, textsOf, type XmlElement } from '../files/xml.ts'
import { aroundYear, readInstant, readIsoDate, spanBetween, spanOf } from './dates.ts'
import { type Draft, type Entries, finishDraft, type Published } from './draft.ts'

const NAME_PARTS = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']
const LISTED_KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['INDIVIDUAL', 'person'],
  ['ENTITY', 'organisation'],
])

const readBirth = (element: XmlElement): DaySpan | undefined => {
  const year = (name: string): number => Number(textOf(element, name))
  const isVague = /APPROX/i.test(textOf(element, 'TYPE_OF_DATE'))
  if (textOf(element, 'FROM_YEAR') !== '')
    return spanBetween(spanOf(year('FROM_YEAR')), spanOf(year('TO_YEAR')))
  const date = textOf(element, 'DATE')
  if (date !== '') return isVague ? aroundYear(Number(date.slice(0, 4))) : readIsoDate(date)
  return isVague ? aroundYear(year('YEAR')) : spanOf(year('YEAR'))
}

const readAlias = (element: XmlElement): ListName => ({
  text: textOf(element, 'ALIAS_NAME'),
  ...(/^low$/i.test(textOf(element, 'QUALITY')) && { weak: true as const }),
})

const toDraft = (element: XmlElement, types: readonly CheckType[]): Draft => {
  const { name: tag } = element
  const main = NAME_PARTS.map((part) => textOf(element, part))
    .filter((part) => part !== '')
    .join(' ')
  const places = [...below(element, 'NATIONALITY'), ...below(element, 'NATIONALITY2')].flatMap((one) =>
    textsOf(one, 'VALUE'),
  )
  return {
    id: textOf(element, 'REFERENCE_NUMBER') || textOf(element, 'DATAID'),
    kind: LISTED_KINDS.get(tag) ?? 'unknown',
    types,
    names: [
      { text: main },
      { text: textOf(element, 'NAME_ORIGINAL_SCRIPT') },
      ...below(element, `${tag}_ALIAS`).map(readAlias),
    ],
    births: below(element, 'INDIVIDUAL_DATE_OF_BIRTH').map(readBirth),
    countries: [...places, ...below(element, `${tag}_ADDRESS`).flatMap((one) => textsOf(one, 'COUNTRY'))],
    identifiers: below(element, 'INDIVIDUAL_DOCUMENT').flatMap((one) => textsOf(one, 'NUMBER')),
  }
}

/** Entries in the order of the file. @throws ListFileError */
export async function* readUn(file: ListFile, types: readonly CheckType[]): Entries {
  let published: Published
  for await (const { element, parent, line } of readXml(file, { CONSOLIDATED_LIST: 2 })) {
    if (parent === '') published = readInstant(attributeOf(element, 'dateGenerated'))
    else yield finishDraft(file, line, toDraft(element, types))
  }
  return published
}
