/**
 * The consolidated list of the United Nations Security Council, one XML file. Read element by element; document type
 * declarations are refused, so that there are no entities besides those of XML itself.
 * https://main.un.org/securitycouncil/en/content/un-sc-consolidated-list
 * @module
 */
import { SaxesParser } from 'saxes'
import type { CheckType, DaySpan, ListEntry, ListName } from '../../entry.ts'
import { aroundYear, readIsoDate, spanBetween, spanOf } from './dates.ts'
import { finishDraft } from './draft.ts'
import { type ListFile, ListFileError, readText } from './list-file.ts'

const ROOT = 'CONSOLIDATED_LIST'
const MAX_DEPTH = 16
const MAX_ENTRY_CHARACTERS = 1024 * 1024
/** The file is handed to the parser in pieces no longer than this, so that whoever reads entries can pause between. */
const PIECE_CHARACTERS = 65_536

interface Element {
  readonly name: string
  readonly children: Element[]
  text: string
}

/** Elements below `INDIVIDUALS` and `ENTITIES`, as they end. */
const createReader = (file: string) => {
  const ready: { readonly element: Element; readonly line: number }[] = []
  const open: Element[] = []
  let characters = 0
  const refuse = (what: string): never => {
    throw new ListFileError(file, parser.line, what)
  }
  const parser = new SaxesParser()
  parser.on('error', ({ message }) => refuse(message.replace(/^\d+:\d+: /, '')))
  parser.on('doctype', () => refuse('document type declarations are not accepted'))
  parser.on('opentag', ({ name }) => {
    if (open.length === 0 && name !== ROOT) refuse(`is <${name}>, not <${ROOT}>`)
    if (open.length >= MAX_DEPTH) refuse(`elements are nested more than ${MAX_DEPTH} deep`)
    const element: Element = { name, children: [], text: '' }
    // The list itself keeps nothing.
    if (open.length > 2) open.at(-1)?.children.push(element)
    open.push(element)
  })
  const addText = (text: string): void => {
    const element = open.at(-1)
    if (element === undefined || open.length < 3) return
    characters += text.length
    if (characters > MAX_ENTRY_CHARACTERS) refuse(`an entry has more than ${MAX_ENTRY_CHARACTERS} characters`)
    element.text += text
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('closetag', () => {
    const element = open.pop()
    if (element === undefined || open.length !== 2) return
    characters = 0
    ready.push({ element, line: parser.line })
  })
  return {
    write: (text: string) => void parser.write(text),
    end: () => void parser.close(),
    /** What has ended since. */
    take: () => ready.splice(0),
  }
}

/** Texts of all children of this name. */
const texts = ({ children }: Element, name: string): string[] =>
  children
    .filter((child) => child.name === name)
    .map(({ text }) => text.trim())
    .filter((text) => text !== '')

const text = (element: Element, name: string): string => texts(element, name)[0] ?? ''

const below = ({ children }: Element, name: string): Element[] =>
  children.filter((child) => child.name === name)

const NAME_PARTS = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']
const LISTED_KINDS: Readonly<{ [name: string]: ListEntry['kind'] }> = {
  INDIVIDUAL: 'person',
  ENTITY: 'organisation',
}

const readBirth = (element: Element): DaySpan | undefined => {
  const year = (name: string): number => Number(text(element, name))
  const isVague = /APPROX/i.test(text(element, 'TYPE_OF_DATE'))
  if (text(element, 'FROM_YEAR') !== '')
    return spanBetween(spanOf(year('FROM_YEAR')), spanOf(year('TO_YEAR')))
  const date = text(element, 'DATE')
  if (date !== '') return isVague ? aroundYear(Number(date.slice(0, 4))) : readIsoDate(date)
  return isVague ? aroundYear(year('YEAR')) : spanOf(year('YEAR'))
}

const readAlias = (element: Element): ListName => ({
  text: text(element, 'ALIAS_NAME'),
  ...(/^low$/i.test(text(element, 'QUALITY')) && { weak: true as const }),
})

const toEntry = (element: Element, types: readonly CheckType[]): ListEntry | undefined => {
  const { name: tag } = element
  const main = NAME_PARTS.map((part) => text(element, part))
    .filter((part) => part !== '')
    .join(' ')
  const places = [...below(element, 'NATIONALITY'), ...below(element, 'NATIONALITY2')].flatMap((one) =>
    texts(one, 'VALUE'),
  )
  return finishDraft({
    id: text(element, 'REFERENCE_NUMBER') || text(element, 'DATAID'),
    kind: LISTED_KINDS[tag] ?? 'unknown',
    types,
    names: [
      { text: main },
      { text: text(element, 'NAME_ORIGINAL_SCRIPT') },
      ...below(element, `${tag}_ALIAS`).map(readAlias),
    ],
    births: below(element, 'INDIVIDUAL_DATE_OF_BIRTH').map(readBirth),
    countries: [...places, ...below(element, `${tag}_ADDRESS`).flatMap((one) => texts(one, 'COUNTRY'))],
    identifiers: below(element, 'INDIVIDUAL_DOCUMENT').flatMap((one) => texts(one, 'NUMBER')),
  })
}

const pieces = (whole: string): string[] => whole.match(new RegExp(`[^]{1,${PIECE_CHARACTERS}}`, 'g')) ?? []

/** Entries in the order of the file. @throws ListFileError */
export async function* readUn(file: ListFile, types: readonly CheckType[]): AsyncGenerator<ListEntry> {
  const reader = createReader(file.name)
  const take = function* (): Generator<ListEntry> {
    for (const { element, line } of reader.take()) {
      const entry = toEntry(element, types)
      if (entry === undefined || entry.id === '')
        throw new ListFileError(
          file.name,
          line,
          `the ${element.name} that ends here has no ${entry ? 'id' : 'name'}`,
        )
      yield entry
    }
  }
  for await (const whole of readText(file)) {
    for (const piece of pieces(whole)) {
      reader.write(piece)
      yield* take()
    }
  }
  reader.end()
  yield* take()
}
