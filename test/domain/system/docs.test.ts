/** The documentation over HTTP: everything is in it, and no link is dead. What it does in a browser is in test/browser. */
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { WEBHOOK_EVENTS } from '../../../src/domain/webhooks/events.ts'
import { ERRORS } from '../../../src/errors.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'

/** Of a page and all that it may load, packed. */
const MAX_PAGE_BYTES = 100_000
const MIN_TEXT_CHARACTERS = 400
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const all = (html: string, pattern: RegExp): string[] =>
  [...html.matchAll(pattern)].map(([, found]) => found ?? '')
const idsOf = (html: string): string[] => all(html, /\sid="([^"]+)"/g)
/** Addresses of links, scripts and images. */
const linksOf = (html: string): string[] => all(html, /\s(?:href|src)="([^"]*)"/g)
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
/** Scripts that a script loads, at once or later. */
const importsOf = (script: string): string[] =>
  all(script, /"\.\/([\w-]+\.js)"/g).map((name) => `/assets/${name}`)

interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly content?: Readonly<Record<string, { readonly example?: unknown }>>
      }
    >
  >
}

describe('documentation', () => {
  let app: TestApp
  /** Every page that can be reached from the first one, by its path. */
  const pages = new Map<string, string>()
  const get = (path: string) => app.request<string>('GET', path, { headers: { accept: BROWSER } })

  before(async function () {
    this.timeout(60_000)
    app = await sharedApp()
    const found = ['/docs']
    for (const path of found) {
      const { status, body } = await get(path)
      if (status !== 200) continue
      pages.set(path, body)
      for (const link of linksOf(body)) {
        const [page = ''] = link.split('#')
        if (page.startsWith('/docs') && !found.includes(page)) found.push(page)
      }
    }
  })

  const pageOf = (path: string): string => pages.get(path) ?? ''
  /** A page without its contents, which are on each. */
  const mainOf = (path: string): string => /<main[\s\S]*<\/main>/.exec(pageOf(path))?.[0] ?? ''

  it('has no dead link, in pages and to their anchors', async () => {
    const dead: string[] = []
    const elsewhere = new Set<string>()
    for (const [path, html] of pages)
      for (const link of linksOf(html)) {
        if (/^https?:/.test(link)) continue
        const [page = '', anchor] = link.split('#')
        const target = page === '' ? path : page
        if (anchor === undefined && !pages.has(target)) elsewhere.add(target)
        else if (anchor !== undefined && !idsOf(pageOf(target)).includes(decodeURIComponent(anchor)))
          dead.push(`${path}: ${link}`)
      }
    expect(dead).to.deep.equal([])
    expect(elsewhere).to.include('/chat')
    for (const path of elsewhere) expect((await get(path)).status, path).to.equal(200)
  })

  it('leads outside only by https, and never to a file of the source', () => {
    for (const [path, html] of pages)
      for (const link of linksOf(html)) expect(link, path).to.match(/^(https:\/\/|\/|#)/)
  })

  it('can be read on every page without JavaScript: one heading, and text below it', () => {
    expect(pages.size).to.be.greaterThan(50)
    for (const path of pages.keys()) {
      const main = mainOf(path)
      expect(all(main, /<h1[^>]*>([\s\S]*?)<\/h1>/g).map(textOf), path)
        .to.have.length(1)
        .and.to.not.include('')
      expect(textOf(main).length, path).to.be.greaterThan(MIN_TEXT_CHARACTERS)
    }
  })

  it('is small, with its style, its scripts, the search and all that it looks in', async () => {
    const [first = ''] = pages.values()
    const assets = new Set(linksOf(first).filter((link) => link.startsWith('/assets/')))
    let bytes = 0
    for (const path of assets) {
      const body = await get(path).then(({ body }) => body)
      bytes += gzipSync(body).length
      for (const script of path.endsWith('.js') ? importsOf(body) : []) assets.add(script)
    }
    expect([...assets].join())
      .to.include('index-asked')
      .and.to.include('.css')
    for (const [path, html] of pages)
      expect(gzipSync(html).length + bytes, path).to.be.lessThan(MAX_PAGE_BYTES)
  })

  it('keeps to the policy of all pages, and uses each id once', async () => {
    for (const [path, html] of pages) {
      expect(html, path).to.not.match(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc="\/assets\/)/i)
      expect(html, path).to.not.include('{{')
      const ids = idsOf(html)
      expect(ids.length - new Set(ids).size, path).to.equal(0)
    }
    const { headers } = await get('/docs/verification')
    expect(headers.get('content-security-policy')).to.equal(
      (await get('/')).headers.get('content-security-policy'),
    )
    expect(headers.get('cache-control')).to.equal('no-cache')
    const etag = headers.get('etag') ?? ''
    const again = await app.request('GET', '/docs/verification', { headers: { 'if-none-match': etag } })
    expect(again.status).to.equal(304)
  })

  it('has every operation of the document that is served, with its errors', async () => {
    const { body } = await app.request<{ paths: Record<string, Record<string, Described>> }>(
      'GET',
      '/v1/openapi.json',
    )
    const first = mainOf('/docs')
    for (const [path, item] of Object.entries(body.paths))
      for (const [method, { operationId, tags, responses }] of Object.entries(item)) {
        const page = `/docs/api-${tags[0]?.toLowerCase().replaceAll(' ', '-')}`
        expect(first, operationId).to.include(`href="${page}#${operationId}"`)
        const [section = ''] =
          new RegExp(
            `<section[^>]*data-operation="${operationId}"[\\s\\S]*?(?=<section[^>]*data-operation|</main>)`,
          ).exec(pageOf(page)) ?? []
        expect(section, operationId).to.include(`data-method="${method.toUpperCase()}"`)
        expect(section, operationId).to.include(`<code class="path">${path}</code>`)
        expect(section, operationId).to.include(`curl -s `).and.to.include(app.url.replace(/\/$/, ''))
        const example = Object.values(responses).find(({ content }) => content?.['application/json']?.example)
        expect(section.includes('A server answered '), operationId).to.equal(example !== undefined)
        const codes = Object.values(responses).flatMap(({ description }) => all(description, /^`(\w+)`:/gm))
        expect(all(section, /href="\/docs\/errors#(\w+)"/g), operationId).to.have.members(codes)
      }
  })

  it('has every error code with its status and meaning, and every event', () => {
    const errors = pageOf('/docs/errors')
    for (const [code, [, meaning]] of Object.entries(ERRORS)) {
      const [row = ''] = new RegExp(`<tr id="${code}">[\\s\\S]*?</tr>`).exec(errors) ?? []
      expect(row.replaceAll('&quot;', '"'), code).to.include(meaning)
    }
    expect(all(pageOf('/docs/webhook-events'), /data-event="([^"]+)"/g)).to.have.members([...WEBHOOK_EVENTS])
  })

  it('shows members of bodies with type, limits and whether they are required', () => {
    const text = textOf(mainOf('/docs/api-verification'))
    expect(text).to.include('data object required The data to verify.')
    expect(text).to.include('1 to 1,000 members.')
    expect(text).to.include('Format date-time.')
  })

  it('answers 404 to names of no page', async () => {
    for (const name of ['unknown', 'index', '..%2flanding', 'constructor', '__proto__'])
      expect((await get(`/docs/${name}`)).status, name).to.equal(404)
  })
})
