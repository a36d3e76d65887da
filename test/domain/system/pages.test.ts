/** Pages and their files over HTTP; what they do in a browser is in test/browser. */
import { expect } from 'chai'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { hashOf, signedResult } from '../../support/verification.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const PAGES = ['/', '/chat', '/console', '/console/keys', '/docs', '/verify', '/terminal', '/credentials']
const UNKNOWN_HASH = 'A'.repeat(43)

describe('pages', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const ask = (path: string, accept?: string) =>
    app.request<string & { name?: string; error?: string }>('GET', path, {
      headers: accept === undefined ? {} : { accept },
    })
  const expectPage = (answer: Awaited<ReturnType<typeof ask>>, status: number) => {
    expect(answer.status).to.equal(status)
    expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(answer.headers.get('vary')).to.equal('Accept, Accept-Encoding')
    expect(answer.headers.get('cache-control')).to.equal('no-cache')
    expect(answer.body).to.match(/^<!doctype html>/i)
  }
  const assetsOf = (html: string): string[] => [
    ...new Set([...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path as string)),
  ]

  it('GET / is a page for browsers and JSON for everybody else', async () => {
    expectPage(await ask('/', BROWSER), 200)
    for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.9']) {
      const { status, body, headers } = await ask('/', accept)
      expect(status).to.equal(200)
      expect(headers.get('content-type'), accept).to.match(/^application\/json/)
      expect(headers.get('vary')).to.equal('Accept')
      expect(body).to.have.property('name', 'Assay')
    }
  })

  it('GET /verify is the page that checks for browsers, and says whether it works to everybody else', async () => {
    const page = await ask('/verify', BROWSER)
    expectPage(page, 200)
    expect(page.body).to.include('<title>Verify · Assay</title>')
    for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.9']) {
      const { status, body, headers } = await ask('/verify', accept)
      expect(status).to.equal(200)
      expect(headers.get('content-type'), accept).to.match(/^application\/json/)
      expect(headers.get('vary')).to.equal('Accept')
      expect(body).to.have.property('issuer')
    }
  })

  it('the chat is a page, whatever is asked for', async () => {
    for (const accept of [BROWSER, undefined, 'application/json']) expectPage(await ask('/chat', accept), 200)
  })

  it('the console is one document at all of its addresses, and takes none from its routes', async () => {
    for (const path of ['/console', '/console/keys', '/console/anything'])
      expectPage(await ask(path, 'application/json'), 200)
    expect((await ask('/console/api/me')).status).to.equal(401)
    expect((await ask('/console/api/unknown')).status).to.equal(404)
  })

  it('a signed result is a page for browsers, JSON for everybody else, and a code for whoever names a format', async () => {
    const { apiKey } = await app.organisation()
    const path = `/verify/qr/${hashOf(await signedResult(app, apiKey))}`
    expectPage(await ask(path, BROWSER), 200)
    const json = await ask(path, '*/*')
    expect(json.headers.get('vary')).to.equal('Accept, Accept-Encoding')
    expect(json.body).to.have.property('status', 'VALID')
    const code = await ask(`${path}?format=svg`, BROWSER)
    expect(code.headers.get('content-type')).to.equal('image/svg+xml')
  })

  it('a result that does not exist is 404, with a page for browsers', async () => {
    expectPage(await ask(`/verify/qr/${UNKNOWN_HASH}`, BROWSER), 404)
    const json = await ask(`/verify/qr/${UNKNOWN_HASH}`)
    expect(json.status).to.equal(404)
    expect(json.body).to.have.property('error', 'not_found')
    expect((await ask(`/verify/qr/${UNKNOWN_HASH}?format=png`, BROWSER)).status).to.equal(404)
  })

  it('pages run and load nothing but our own files, and nobody may frame them', async () => {
    for (const path of [...PAGES, `/verify/qr/${UNKNOWN_HASH}`]) {
      const { headers, body } = await ask(path, BROWSER)
      const policy = headers.get('content-security-policy')?.split('; ') ?? []
      expect(policy).to.include.members([
        "default-src 'none'",
        // They read proofs, or make them, in WebAssembly.
        /^\/(verify|console|terminal|credentials)/.test(path)
          ? "script-src 'self' 'wasm-unsafe-eval'"
          : "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ])
      expect(policy.join(' ')).to.not.match(/(?<!wasm-)unsafe|https?:|\*/)
      // What strangers wrote stands in the chat's page as text: a test in Chromium looks at it.
      const own = path === '/chat' ? body.replace(/<noscript>.*<\/noscript>/s, '') : body
      expect(own).to.not.match(
        /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc="\/assets\/)|(src|href)="https?:/i,
      )
      expect(own).to.not.include('{{')
    }
  })

  it('only pages that start programs of ours may, and only the till is installed', async () => {
    for (const path of PAGES) {
      const policy = (await ask(path, BROWSER)).headers.get('content-security-policy')?.split('; ') ?? []
      const starts = ['/verify', '/terminal', '/credentials'].includes(path)
      expect(policy.includes("worker-src 'self'"), path).to.equal(starts)
      expect(policy, path).to.include(`trusted-types ${starts ? 'assay' : "'none'"}`)
      expect(policy.includes("manifest-src 'self'"), path).to.equal(path === '/terminal')
    }
  })

  it('assets may be kept for good, since their names change with their content', async () => {
    const { body } = await ask('/', BROWSER)
    const paths = assetsOf(body)
    expect(paths.map((path) => path.split('.').at(-1))).to.have.members(['js', 'css', 'svg'])
    for (const path of paths) {
      const { status, headers } = await ask(path)
      expect(status, path).to.equal(200)
      expect(headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
      expect(headers.get('ratelimit')).to.equal(null)
      expect(headers.get('x-content-type-options')).to.equal('nosniff')
    }
    const [script] = paths.filter((path) => path.endsWith('.js'))
    expect((await ask(script ?? '')).headers.get('content-type')).to.equal('text/javascript; charset=utf-8')
  })

  it('assets are those files and no others', async () => {
    for (const name of [
      'landing.html',
      'landing-AAAAAAAA.js',
      '..%2flanding.html',
      '%2e%2e%2f%2e%2e%2fserver.js',
      'constructor',
      '__proto__',
    ])
      expect((await ask(`/assets/${name}`)).status, name).to.equal(404)
  })
})
