/**
 * Markdown as the HTML of a page: headings that can be linked, links that lead to pages, code and tables that scroll on
 * their own.
 * @module
 */
import { posix } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'

export interface Heading {
  readonly level: number
  readonly id: string
  readonly text: string
  /** What stands below it, up to the next heading. */
  readonly below: string
}

export interface RenderedGuide {
  readonly html: string
  readonly headings: readonly Heading[]
}

/** Where a file of the repository is a page: its address and title; undefined where it is none. */
export type FindPage = (file: string) => { readonly url: string; readonly title: string } | undefined

/** Stands for the address of a picture of docs/pictures, until the build has made it. */
export const placeOfPicture = (name: string): string => `picture:${name}`

const EXTERNAL = /^https?:\/\//
const COMMENT = /^\s*<!--[\s\S]*?-->\s*$/

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** @returns an anchor of each heading, as GitHub makes them, so that links between the files hold here and there */
export const createAnchors = (): ((text: string) => string) => {
  const used = new Map<string, number>()
  return (text) => {
    const plain = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const times = used.get(plain) ?? 0
    used.set(plain, times + 1)
    return times === 0 ? plain : `${plain}-${times}`
  }
}

/** The link that a heading is reached by. */
export const permalink = (id: string, text: string): string =>
  ` <a class="anchor" href="#${escapeText(id)}" aria-label="Link to “${escapeText(text)}”">#</a>`

const markdown = new MarkdownIt({ html: true })
Object.assign(markdown.renderer.rules, {
  // Focusable, so that a keyboard scrolls them as well.
  table_open: () => '<div class="scroll" tabindex="0"><table>\n',
  table_close: () => '</table></div>\n',
  fence: (tokens: Token[], index: number) =>
    `<pre tabindex="0"><code>${escapeText(tokens[index]?.content ?? '')}</code></pre>\n`,
  code_block: (tokens: Token[], index: number) =>
    `<pre tabindex="0"><code>${escapeText(tokens[index]?.content ?? '')}</code></pre>\n`,
  // Comments tell a test how to run what follows. Nothing else may be markup.
  html_block: (tokens: Token[], index: number) => withoutComment(tokens[index]?.content ?? ''),
  html_inline: (tokens: Token[], index: number) => withoutComment(tokens[index]?.content ?? ''),
})

const withoutComment = (text: string): string => {
  if (!COMMENT.test(text)) throw new Error(`guides may hold no markup but comments: ${text}`)
  return ''
}

const plainOf = (tokens: readonly Token[]): string =>
  tokens
    .map(({ type, content }) =>
      type === 'text' || type === 'code_inline' ? content : type === 'softbreak' ? ' ' : '',
    )
    .join('')

/** A token of text, or of code. */
const wordsOf = (like: Token, type: 'text' | 'code_inline', content: string): Token =>
  Object.assign(Object.create(Object.getPrototypeOf(like)), like, {
    ...{ type, content, tag: type === 'code_inline' ? 'code' : '', nesting: 0, attrs: null, children: null },
  })

/** One link: to a page, to another place, or, where a file is no page, its words and where it is. */
const relinked = (link: readonly Token[], file: string, findPage: FindPage): Token[] => {
  const [open, ...rest] = link as [Token, ...Token[]]
  const words = rest.slice(0, -1)
  const href = String(open.attrGet('href') ?? '')
  if (EXTERNAL.test(href) || href.startsWith('#')) return [...link]
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(file), path)
  const page = findPage(target)
  const saysPath = posix.basename(plainOf(words)) === posix.basename(path)
  if (page === undefined) {
    const code = wordsOf(open, 'code_inline', target)
    return saysPath ? [code] : [...words, wordsOf(open, 'text', ' ('), code, wordsOf(open, 'text', ')')]
  }
  open.attrSet('href', anchor === undefined ? page.url : `${page.url}#${anchor}`)
  return [open, ...(saysPath ? [wordsOf(open, 'text', page.title)] : words), ...rest.slice(-1)]
}

/** Where the pictures of guides lie. */
const PICTURE = /^docs\/pictures\/([a-z0-9-]+\.png)$/

/** A picture of a guide, whose address the build knows later. @throws Error for any other */
const replaced = (image: Token, file: string): Token => {
  const source = posix.join(posix.dirname(file), String(image.attrGet('src') ?? ''))
  const [, name] = PICTURE.exec(source) ?? []
  if (name === undefined) throw new Error(`${file} shows ${source}, which is no picture of docs/pictures`)
  image.attrSet('src', placeOfPicture(name))
  image.attrSet('loading', 'lazy')
  return image
}

const withLinks = (children: readonly Token[], file: string, findPage: FindPage): Token[] => {
  const result: Token[] = []
  for (let index = 0; index < children.length; index++) {
    const token = children[index] as Token
    if (token.type !== 'link_open') {
      result.push(token.type === 'image' ? replaced(token, file) : token)
      continue
    }
    const end = children.findIndex(({ type }, at) => at > index && type === 'link_close')
    result.push(...relinked(children.slice(index, end + 1), file, findPage))
    index = end
  }
  return result
}

/** An empty cell of a head heads nothing. */
const withoutHead = (tokens: readonly Token[], at: number): void => {
  for (const part of [tokens[at], tokens[at + 2]]) if (part) part.tag = 'td'
}

/**
 * @param file path in the repository, which its links start from
 * @throws Error when it holds markup
 */
export const renderGuide = (text: string, file: string, findPage: FindPage): RenderedGuide => {
  const tokens = markdown.parse(text, {})
  const anchorOf = createAnchors()
  const headings: (Heading & { below: string })[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const inline = tokens[index + 1] as Token
      const title = plainOf(inline.children ?? [])
      const id = anchorOf(title)
      token.attrSet('id', id)
      headings.push({ level: Number(token.tag.slice(1)), id, text: title, below: '' })
    }
    if (token.type === 'th_open' && tokens[index + 1]?.content === '') withoutHead(tokens, index)
    if (token.type !== 'inline' || token.children === null) continue
    const heading = headings.at(-1)
    if (heading && tokens[index - 1]?.type !== 'heading_open') heading.below += `${plainOf(token.children)} `
    token.children = withLinks(token.children, file, findPage)
  }
  let at = 0
  const html = markdown.renderer
    .render(tokens, markdown.options, {})
    // The title needs no link to itself.
    .replaceAll(/<\/h([1-6])>/g, (end, level) => {
      const heading = headings[at++]
      return level === '1' || !heading ? end : `${permalink(heading.id, heading.text)}${end}`
    })
  return { html, headings }
}

/** A description of the OpenAPI document, in paragraphs. */
export const renderText = (text: string): string => markdown.render(text)

/** The same in one line. */
export const renderLine = (text: string): string => markdown.renderInline(text)
