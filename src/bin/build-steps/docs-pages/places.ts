/** What the search finds: operations, error codes, events, guides and their headings. @module */
import { ERRORS } from '../../../errors.ts'
import type { Place } from '../../../web/docs/finding.ts'
import {
  addressOfError,
  addressOfOperation,
  addressOfPage,
  EVENTS_PAGE,
  pageOfTag,
  slug,
} from './addresses.ts'
import type { Description } from './description.ts'
import type { Guide } from './guides.ts'
import type { Heading } from './markdown.ts'

const MAX_NOTE_CHARACTERS = 110

export interface WithHeadings extends Guide {
  readonly headings: readonly Heading[]
}

const shortened = (text: string): string => {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  return plain.length <= MAX_NOTE_CHARACTERS
    ? plain
    : `${plain.slice(0, plain.lastIndexOf(' ', MAX_NOTE_CHARACTERS))}…`
}

export const placesOf = (document: Description, guides: readonly WithHeadings[]): readonly Place[] => {
  const operations = document.operations.map((operation) => ({
    url: addressOfOperation(operation),
    title: operation.summary,
    kind: operation.tags[0],
    note: `${operation.method} ${operation.path}`,
    name: operation.operationId,
  }))
  const tags = document.tags.map(({ name, description }) => ({
    url: addressOfPage(pageOfTag(name)),
    title: name,
    kind: 'Reference',
    note: description,
    name: '',
  }))
  const errors = Object.entries(ERRORS).map(([code, [status, meaning]]) => ({
    url: addressOfError(code),
    title: code,
    kind: `Error ${status}`,
    note: meaning,
    name: '',
  }))
  const events = Object.entries(document.webhooks).map(([event, { summary }]) => ({
    url: `${addressOfPage(EVENTS_PAGE)}#${slug(event)}`,
    title: event,
    kind: 'Webhook event',
    note: summary,
    name: '',
  }))
  const headings = guides.flatMap(({ name, title, headings: all }) =>
    all.map(({ level, id, text, below }) => ({
      url: level === 1 ? addressOfPage(name) : `${addressOfPage(name)}#${id}`,
      title: level === 1 ? title : text,
      kind: level === 1 ? 'Guide' : title,
      note: shortened(below),
      name: '',
    })),
  )
  return [...operations, ...tags, ...errors, ...events, ...headings]
}
