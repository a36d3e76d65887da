/**
 * The lists of the US Office of Foreign Assets Control as XML, in both of their forms: sdn.xml and consolidated.xml, whose root
 * is `<sdnList>`, and the advanced ones (sdn_advanced.xml, cons_advanced.xml), whose root is `<Sanctions>`.
 * https://ofac.treasury.gov/sanctions-list-service
 * @module
 */
import type { CheckType, ListEntry, ListName } from '../../entry.ts'
import type { ListFile } from '../files/list-file.ts'
import { listed, readXml, textOf, textsOf, type XmlElement } from '../files/xml.ts'
import { readVagueDate } from './dates.ts'
import { type Draft, type Entries, finishDraft, isDocument, type Published } from './draft.ts'
import { createAdvancedReader } from './ofac-advanced.ts'

const KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['Individual', 'person'],
  ['Entity', 'organisation'],
])

/** Ships and aircraft are nobody who could be a user. */
const LEFT_OUT = new Set(['Vessel', 'Aircraft'])

const nameOf = (element: XmlElement): string =>
  [...textsOf(element, 'firstName'), ...textsOf(element, 'lastName')].join(' ')

const readAlias = (element: XmlElement): ListName => ({
  text: nameOf(element),
  ...(textOf(element, 'category') === 'weak' && { weak: true as const }),
})

const toDraft = (element: XmlElement, types: readonly CheckType[]): Draft => {
  const texts = (list: string, item: string, text: string): string[] =>
    listed(element, list, item).flatMap((one) => textsOf(one, text))
  return {
    id: textOf(element, 'uid'),
    kind: KINDS.get(textOf(element, 'sdnType')) ?? 'unknown',
    types,
    names: [{ text: nameOf(element) }, ...listed(element, 'akaList', 'aka').map(readAlias)],
    births: texts('dateOfBirthList', 'dateOfBirthItem', 'dateOfBirth').map(readVagueDate),
    countries: [
      ...texts('nationalityList', 'nationality', 'country'),
      ...texts('citizenshipList', 'citizenship', 'country'),
      ...texts('addressList', 'address', 'country'),
    ],
    identifiers: listed(element, 'idList', 'id')
      .filter((id) => isDocument(textOf(id, 'idType')))
      .flatMap((id) => textsOf(id, 'idNumber')),
  }
}

/** `09/23/2026`, at midnight UTC. */
const readPublished = (text: string): Published => {
  const [, month, day, year] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text) ?? []
  return year === undefined ? undefined : Date.UTC(Number(year), Number(month) - 1, Number(day))
}

/** Entries in the order of the file. @throws ListFileError */
export async function* readOfacXml(file: ListFile, types: readonly CheckType[]): Entries {
  const advanced = createAdvancedReader(file, types)
  let published: Published
  let isAdvanced = false
  for await (const record of readXml(file, { sdnList: 1, Sanctions: 2 })) {
    const { element, parent, line } = record
    if (parent === '') isAdvanced = element.name === 'Sanctions'
    else if (isAdvanced) {
      const entry = advanced.read(record)
      if (entry !== undefined) yield entry
    } else if (element.name === 'publshInformation')
      published = readPublished(textOf(element, 'Publish_Date'))
    else if (element.name === 'sdnEntry' && !LEFT_OUT.has(textOf(element, 'sdnType')))
      yield finishDraft(file, line, toDraft(element, types))
  }
  return isAdvanced ? advanced.published() : published
}
