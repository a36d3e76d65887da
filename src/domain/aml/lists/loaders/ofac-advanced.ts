/**
 * OFAC's advanced XML: sets of reference values first, then places and documents, then the parties, which point to all of them
 * by number. What parties point to is kept while the file is read.
 * https://ofac.treasury.gov/sdn-list/sanctions-list-search-tool (Advanced Sanctions Data Standard)
 * @module
 */
import type { CheckType, DaySpan, ListEntry, ListName } from '../../entry.ts'
import { type ListFile, ListFileError } from '../files/list-file.ts'
import { attributeOf, below, listed, textOf, textsOf, type XmlElement, type XmlRecord } from '../files/xml.ts'
import { aroundSpan, spanBetween, spanOf } from './dates.ts'
import { finishDraft, isDocument, type Published } from './draft.ts'

/** Places, documents or reference values that can be pointed to. */
const MAX_REFERENCES = 1_000_000
/** Of `NamePartTypeValues`. */
const LAST_NAME = '1520'
/** What places call a country that they know by name only. */
const UNKNOWN_PART = '1'

const KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['Individual', 'person'],
  ['Entity', 'organisation'],
])
/** Where a file has no reference values, `PartySubTypeID` as OFAC has always numbered it. */
const SUBTYPE_KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['3', 'organisation'],
  ['4', 'person'],
])

/** Values by what they are of and by their number there. */
const createReferences = (file: ListFile) => {
  const known = new Map<string, string[]>()
  let count = 0
  return {
    add(set: string, id: string, ...values: readonly string[]): void {
      count += values.length
      if (count > MAX_REFERENCES)
        throw new ListFileError(file.name, undefined, `has more than ${MAX_REFERENCES} reference values`)
      const key = `${set} ${id}`
      const same = known.get(key)
      if (same) same.push(...values)
      else known.set(key, [...values])
    },
    all: (set: string, id: string): readonly string[] => known.get(`${set} ${id}`) ?? [],
  }
}

type KnownReferences = ReturnType<typeof createReferences>

/** `<Year>1962</Year><Month>11</Month><Day>23</Day>` */
const readDay = (element: XmlElement | undefined): DaySpan | undefined => {
  if (element === undefined) return undefined
  const [year, month, day] = ['Year', 'Month', 'Day'].map(
    (name) => Number(textOf(element, name)) || undefined,
  )
  return year === undefined ? undefined : spanOf(year, month, month && day)
}

const readPeriod = (period: XmlElement): DaySpan | undefined => {
  const [start, end] = [below(period, 'Start')[0], below(period, 'End')[0]]
  const first = start && (readDay(below(start, 'From')[0]) ?? readDay(below(start, 'To')[0]))
  const last = end && (readDay(below(end, 'To')[0]) ?? readDay(below(end, 'From')[0]))
  const span = spanBetween(first, last) ?? first
  return start && attributeOf(start, 'Approximate') === 'true' ? aroundSpan(span) : span
}

/** Last names stand last, as they are spoken. */
const readName = (documented: XmlElement, partTypes: ReadonlyMap<string, string>): string => {
  const parts = listed(documented, 'DocumentedNamePart', 'NamePartValue')
  const isLast = (part: XmlElement) => partTypes.get(attributeOf(part, 'NamePartGroupID')) === LAST_NAME
  return [...parts.filter((part) => !isLast(part)), ...parts.filter(isLast)].map(({ text }) => text).join(' ')
}

const readNames = (identity: XmlElement): ListName[] => {
  const groups = below(identity, 'NamePartGroups').flatMap((all) =>
    listed(all, 'MasterNamePartGroup', 'NamePartGroup'),
  )
  const partTypes = new Map(
    groups.map((group) => [attributeOf(group, 'ID'), attributeOf(group, 'NamePartTypeID')]),
  )
  const aliases = below(identity, 'Alias')
  const isPrimary = (alias: XmlElement) => attributeOf(alias, 'Primary') === 'true'
  return [...aliases.filter(isPrimary), ...aliases.filter((alias) => !isPrimary(alias))].flatMap((alias) =>
    below(alias, 'DocumentedName').map((documented) => ({
      text: readName(documented, partTypes),
      ...(attributeOf(alias, 'LowQuality') === 'true' && { weak: true as const }),
    })),
  )
}

const readCountries = (location: XmlElement, references: KnownReferences): string[] => {
  const pointed = (name: string, attribute: string, set: string): string[] =>
    below(location, name).flatMap((one) => references.all(set, attributeOf(one, attribute)))
  const named = below(location, 'LocationPart')
    .filter((part) => attributeOf(part, 'LocPartTypeID') === UNKNOWN_PART)
    .flatMap((part) => below(part, 'LocationPartValue').flatMap((value) => textsOf(value, 'Value')))
  return [
    ...pointed('LocationCountry', 'CountryID', 'Country'),
    ...pointed('LocationAreaCode', 'AreaCodeID', 'AreaCode'),
    ...named,
  ]
}

const readReferenceValues = (values: XmlElement, references: KnownReferences): void => {
  for (const value of values.children) {
    const id = attributeOf(value, 'ID')
    const text = attributeOf(value, 'ISO2') || value.text
    if (value.name === 'PartySubType') references.add(value.name, id, attributeOf(value, 'PartyTypeID'))
    else if (text !== '') references.add(value.name, id, text)
  }
}

const kindOf = (profile: XmlElement, references: KnownReferences): ListEntry['kind'] | undefined => {
  const subtype = attributeOf(profile, 'PartySubTypeID')
  const [party] = references.all('PartySubType', subtype)
  const [name] = party === undefined ? [] : references.all('PartyType', party)
  return name === undefined ? SUBTYPE_KINDS.get(subtype) : KINDS.get(name)
}

/** @returns undefined for ships, aircraft and places */
const readProfile = (
  { file, types, references }: { file: ListFile; types: readonly CheckType[]; references: KnownReferences },
  profile: XmlElement,
  line: number,
): ListEntry | undefined => {
  const kind = kindOf(profile, references)
  if (kind === undefined) return undefined
  const identities = below(profile, 'Identity')
  const features = (name: RegExp): XmlElement[] =>
    below(profile, 'Feature')
      .filter((one) =>
        references.all('FeatureType', attributeOf(one, 'FeatureTypeID')).some((text) => name.test(text)),
      )
      .flatMap((one) => below(one, 'FeatureVersion'))
  return finishDraft(file, line, {
    id: attributeOf(profile, 'ID'),
    kind,
    types,
    names: identities.flatMap(readNames),
    births: features(/^Birthdate$/).flatMap((version) => below(version, 'DatePeriod').map(readPeriod)),
    countries: features(/^(?:Nationality|Citizenship|Location)/)
      .flatMap((version) => below(version, 'VersionLocation'))
      .flatMap((place) => references.all('Location', attributeOf(place, 'LocationID'))),
    identifiers: identities.flatMap((identity) => references.all('Document', attributeOf(identity, 'ID'))),
  })
}

/** Reads the records of one file, in its order. */
export const createAdvancedReader = (file: ListFile, types: readonly CheckType[]) => {
  const references = createReferences(file)
  const issued: Record<string, number> = {}
  const readDocument = (element: XmlElement): void => {
    const [kind = ''] = references.all('IDRegDocType', attributeOf(element, 'IDRegDocTypeID'))
    const numbers = textsOf(element, 'IDRegistrationNo')
    if (isDocument(kind)) references.add('Document', attributeOf(element, 'IdentityID'), ...numbers)
  }
  return {
    /** @returns an entry where the record is one @throws ListFileError */
    read({ element, parent, line }: XmlRecord): ListEntry | undefined {
      if (parent === 'DateOfIssue') issued[element.name] = Number(element.text)
      else if (parent === 'ReferenceValueSets') readReferenceValues(element, references)
      else if (element.name === 'Location')
        references.add('Location', attributeOf(element, 'ID'), ...readCountries(element, references))
      else if (element.name === 'IDRegDocument') readDocument(element)
      else if (element.name === 'DistinctParty') {
        const [profile] = below(element, 'Profile')
        return profile && readProfile({ file, types, references }, profile, line)
      }
      return undefined
    },
    published(): Published {
      const { Year, Month = 1, Day = 1 } = issued
      return Year === undefined ? undefined : Date.UTC(Year, Month - 1, Day)
    },
  }
}
