/** What every page of the documents has around it: the contents, and the first page that lists everything. @module */
import type { ComponentChildren } from 'preact'
import { addressOfPage, ERRORS_PAGE, EVENTS_PAGE, pageOfTag } from './addresses.ts'
import type { Description } from './description.ts'
import type { GuideGroup } from './guides.ts'
import { Line, Text } from './markup.tsx'
import { OperationList, operationsOf } from './reference.tsx'

/** What there is, in the order of the contents. */
export interface Everything {
  readonly groups: readonly GuideGroup[]
  readonly document: Description
}

interface Entry {
  readonly name: string
  readonly title: string
}

const Links = ({ entries, current }: { readonly entries: readonly Entry[]; readonly current: string }) => (
  <ul>
    {entries.map(({ name, title }) => (
      <li key={name}>
        <a href={addressOfPage(name)} aria-current={name === current ? 'page' : undefined}>
          {title}
        </a>
      </li>
    ))}
  </ul>
)

/** Pages of the reference in the order of the contents. */
export const referencePages = ({ tags }: Description): readonly Entry[] => [
  ...tags.map(({ name }) => ({ name: pageOfTag(name), title: name })),
  { name: EVENTS_PAGE, title: 'Webhook events' },
  { name: ERRORS_PAGE, title: 'Errors' },
]

const Contents = ({ groups, document, current }: Everything & { readonly current: string }) => (
  <nav id="contents" class="contents" aria-label="Contents">
    <p class="group-title">
      <a href="/docs" aria-current={current === '' ? 'page' : undefined}>
        All of it on one page
      </a>
    </p>
    {groups.map(({ title, guides }) => (
      <div key={title}>
        <p class="group-title">{title}</p>
        <Links entries={guides} current={current} />
      </div>
    ))}
    <p class="group-title">Reference</p>
    <Links entries={referencePages(document)} current={current} />
  </nav>
)

/** @param current name of the page; empty: the first one */
export const Frame = ({
  current,
  children,
  ...everything
}: Everything & { readonly current: string; readonly children: ComponentChildren }) => (
  <div class="docs">
    <search class="finder" aria-label="Search and contents">
      <div id="docs-search" />
      <a class="to-contents" href="#contents">
        Contents
      </a>
    </search>
    <main id="main" tabIndex={-1}>
      {children}
    </main>
    <Contents {...everything} current={current} />
  </div>
)

export const FirstPage = ({ groups, document }: Everything) => (
  <article>
    <h1>Documentation</h1>
    <p class="lead">
      Guides that say how things work, and a reference of all {document.operations.length} operations. It is
      that of this very server, and reads without JavaScript.
    </p>
    <h2 id="guides">Guides</h2>
    <div class="guides">
      {groups.map(({ title, guides }) => (
        <section key={title}>
          <h3>{title}</h3>
          <Links entries={guides} current="" />
        </section>
      ))}
    </div>
    <h2 id="calling">Calling the service</h2>
    <Text text={document.info.description} />
    <p>
      <a href="/v1/openapi.json">/v1/openapi.json</a> is the same for programs (OpenAPI 3.1, version{' '}
      {document.info.version}). <a href={addressOfPage(ERRORS_PAGE)}>Errors</a> lists every code,{' '}
      <a href={addressOfPage(EVENTS_PAGE)}>Webhook events</a> what the service sends.
    </p>
    <h2 id="reference">Reference</h2>
    {document.tags.map(({ name, description }) => (
      <section key={name} class="tag">
        <h3>
          <a href={addressOfPage(pageOfTag(name))}>{name}</a>
        </h3>
        <p>
          <Line text={description} />
        </p>
        <OperationList operations={operationsOf(document, name)} />
      </section>
    ))}
  </article>
)
