/**
 * XML of a watch list, element by element. Document type declarations are refused, so that there are no entities besides those
 * of XML itself (no XXE, nothing that expands), and no part that is held in memory is longer than a limit.
 * @module
 */
import { SaxesParser } from 'saxes'
import { type ListFile, ListFileError, readText } from './list-file.ts'

const MAX_DEPTH = 16
/** Of one element that is kept whole, with all that is in it, or of one part that the parser has to see whole. */
const MAX_ELEMENT_CHARACTERS = 1024 * 1024
/** What an element without text costs, in the same measure. */
const CHARACTERS_OF_ELEMENT = 50
const UTF_8 = /^(?:utf-?8|us-ascii)$/i

/** Names are without their prefix. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  /** Its own, not that of its children; trimmed. */
  readonly text: string
}

export interface XmlRecord {
  readonly element: XmlElement
  /** Name of the element that it stands in; empty for the root, which comes first and has attributes only. */
  readonly parent: string
  /** On which it ends. */
  readonly line: number
}

/** By the name of the root: how deep the elements lie that are kept whole. 1: children of the root. */
export type RecordDepths = Readonly<Record<string, number>>

interface OpenElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: XmlElement[]
  text: string
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

const localNames = (attributes: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [localName(name), value]))

const createReader = (file: string, depths: RecordDepths) => {
  const ready: XmlRecord[] = []
  const open: OpenElement[] = []
  let recordDepth = 1
  /** Of the record that is open. */
  let characters = 0
  /** Since the parser last told of anything. */
  let silent = 0
  const refuse = (what: string): never => {
    throw new ListFileError(file, parser.line, what)
  }
  const count = (more: number): void => {
    characters += more
    if (characters > MAX_ELEMENT_CHARACTERS)
      refuse(`an element has more than ${MAX_ELEMENT_CHARACTERS} characters`)
  }
  const parser = new SaxesParser()
  parser.on('error', ({ message }) => refuse(message.replace(/^\d+:\d+: /, '')))
  parser.on('doctype', () => refuse('document type declarations are not accepted'))
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !UTF_8.test(encoding))
      refuse(`is declared as ${encoding.slice(0, 20)}; only UTF-8 is read`)
  })
  const openRoot = (name: string): void => {
    const depth = Object.hasOwn(depths, name) ? depths[name] : undefined
    if (depth === undefined) refuse(`is <${name.slice(0, 40)}>, not <${Object.keys(depths).join('> or <')}>`)
    else recordDepth = depth
  }
  parser.on('opentag', (tag) => {
    silent = 0
    const [name, attributes] = [localName(tag.name), localNames(tag.attributes)]
    if (open.length === 0) {
      openRoot(name)
      ready.push({ element: { name, attributes, children: [], text: '' }, parent: '', line: parser.line })
    }
    if (open.length >= MAX_DEPTH) refuse(`elements are nested more than ${MAX_DEPTH} deep`)
    const values = Object.values(attributes).reduce((sum, value) => sum + value.length, 0)
    if (open.length >= recordDepth) count(CHARACTERS_OF_ELEMENT + values)
    open.push({ name, attributes, children: [], text: '' })
  })
  const addText = (text: string): void => {
    silent = 0
    const element = open.at(-1)
    if (element === undefined || open.length <= recordDepth) return
    count(text.length)
    element.text += text
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('comment', () => {
    silent = 0
  })
  parser.on('closetag', () => {
    silent = 0
    const element = open.pop()
    if (element === undefined || open.length < recordDepth) return
    const ended: XmlElement = { ...element, text: element.text.trim() }
    const parent = open.at(-1)
    if (open.length > recordDepth) parent?.children.push(ended)
    else {
      characters = 0
      ready.push({ element: ended, parent: parent?.name ?? '', line: parser.line })
    }
  })
  return {
    write(text: string): void {
      silent += text.length
      if (silent > MAX_ELEMENT_CHARACTERS)
        refuse(`has a part of more than ${MAX_ELEMENT_CHARACTERS} characters`)
      parser.write(text)
    },
    end: () => void parser.close(),
    /** What has ended since. */
    take: () => ready.splice(0),
  }
}

/**
 * The root without its content, then the elements at the depth that goes with its name, in the order of the file.
 * @throws ListFileError for what is not well-formed, cut off, nested too deep, too long, or has another root
 */
export async function* readXml(file: ListFile, depths: RecordDepths): AsyncGenerator<XmlRecord> {
  const reader = createReader(file.name, depths)
  for await (const piece of readText(file)) {
    reader.write(piece)
    yield* reader.take()
  }
  reader.end()
  yield* reader.take()
}

/** Children of this name. */
export const below = ({ children }: XmlElement, name: string): XmlElement[] =>
  children.filter((child) => child.name === name)

/** Children of this name, of all children of the other: `<list><item/></list>`. */
export const listed = (element: XmlElement, list: string, item: string): XmlElement[] =>
  below(element, list).flatMap((one) => below(one, item))

/** Texts of the children of this name, without empty ones. */
export const textsOf = (element: XmlElement, name: string): string[] =>
  below(element, name).flatMap(({ text }) => (text === '' ? [] : [text]))

/** The first of them, or an empty text. */
export const textOf = (element: XmlElement, name: string): string => textsOf(element, name)[0] ?? ''

export const attributeOf = ({ attributes }: XmlElement, name: string): string =>
  Object.hasOwn(attributes, name) ? (attributes[name] ?? '').trim() : ''
