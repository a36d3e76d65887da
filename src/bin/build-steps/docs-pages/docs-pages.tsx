/**
 * The documents as pages: the guides, from Markdown, and the reference, from the document that the service describes
 * itself with. Made at build, so that a server answers with what is there.
 * @module
 */
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Place } from '../../../web/docs/finding.ts'
import { addressOfPage, ERRORS_PAGE, EVENTS_PAGE, pageOfTag } from './addresses.ts'
import { type Everything, FirstPage, Frame } from './contents.tsx'
import { readDescription } from './description.ts'
import { readGuides } from './guides.ts'
import { type FindPage, renderGuide } from './markdown.ts'
import { Article } from './markup.tsx'
import { placesOf } from './places.ts'
import { ErrorsPage, EventsPage, TagPage } from './reference.tsx'

/** Stands for the address of the server, which knows it when it starts. */
const BASE_URL = '{{BASE_URL}}'

export interface DocsPage {
  /** Below /docs/; empty: /docs itself. */
  readonly name: string
  readonly title: string
  /** What stands between header and footer, as HTML. */
  readonly main: string
}

export interface Docs {
  readonly pages: readonly DocsPage[]
  /** What the search looks in. */
  readonly index: readonly Place[]
}

/** @throws Error when the documents hold what can't be shown */
export const makeDocs = (): Docs => {
  const groups = readGuides()
  const document = readDescription(BASE_URL)
  const everything: Everything = { groups, document }
  const guides = groups.flatMap((group) => group.guides)
  const findPage: FindPage = (file) => {
    const guide = guides.find((one) => one.file === file)
    return guide && { url: addressOfPage(guide.name), title: guide.title }
  }
  const rendered = guides.map((guide) => ({ ...guide, ...renderGuide(guide.text, guide.file, findPage) }))
  const page = (name: string, title: string, content: VNode): DocsPage => ({
    name,
    title,
    main: renderToString(
      <Frame {...everything} current={name}>
        {content}
      </Frame>,
    ),
  })
  const pages = [
    page('', 'Documentation', <FirstPage {...everything} />),
    ...rendered.map(({ name, title, html }) => page(name, title, <Article html={html} />)),
    ...document.tags.map(({ name }) =>
      page(pageOfTag(name), name, <TagPage tag={name} document={document} baseUrl={BASE_URL} />),
    ),
    page(ERRORS_PAGE, 'Errors', <ErrorsPage document={document} />),
    page(EVENTS_PAGE, 'Webhook events', <EventsPage document={document} />),
  ]
  return { pages, index: placesOf(document, rendered) }
}
