/** What pages are made of: rendered Markdown, code, tables. @module */
import type { ComponentChildren } from 'preact'
import { renderLine, renderText } from './markdown.ts'

interface Html {
  readonly html: string
}

/** Our own documents are all that is shown so. */
const inside = (html: string) => ({ dangerouslySetInnerHTML: { __html: html } })

export const Article = ({ html }: Html) => <article {...inside(html)} />

/** A description in paragraphs. */
export const Text = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : <div class="text" {...inside(renderText(text))} />

/** A description in one line. */
export const Line = ({ text }: { readonly text: string }) => <span {...inside(renderLine(text))} />

/** Code that scrolls on its own. */
export const Code = ({ text }: { readonly text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: so that a keyboard scrolls it
  <pre tabIndex={0}>
    <code>{text}</code>
  </pre>
)

/** A table that scrolls on its own. */
export const Table = ({
  heads,
  children,
}: {
  readonly heads: readonly string[]
  readonly children: ComponentChildren
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: so that a keyboard scrolls it
  <div class="scroll" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

/** The link of a heading to itself. */
export const Anchor = ({ id, of }: { readonly id: string; readonly of: string }) => (
  <a class="anchor" href={`#${id}`} aria-label={`Link to “${of}”`}>
    #
  </a>
)
