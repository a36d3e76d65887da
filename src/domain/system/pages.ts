/** The pages for people, as `npm run build` made them: read once, served from memory. @module */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { fail } from '../../errors.ts'

/** From a bundle in build/, and from the sources. */
const PLACES = ['./web/', '../../../build/web/']

/** The name of an asset changes with its content, so nobody needs to ask for it again. */
const ASSET_MAX_AGE_SECONDS = 365 * 24 * 3600

/** Scripts, styles and images are our own files; nothing runs that came another way. */
const contentSecurityPolicy = ({ scripts = '', workers = false, manifest = false } = {}): string =>
  [
    "default-src 'none'",
    `script-src 'self'${scripts}`,
    ...(workers ? ["worker-src 'self'"] : []),
    ...(manifest ? ["manifest-src 'self'"] : []),
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The policy `assay` lets a page start the programs that were built for it, and nothing else.
    `trusted-types ${workers ? 'assay' : "'none'"}`,
  ].join('; ')

/** The core runs in WebAssembly, which goes under no other name. */
const WASM = " 'wasm-unsafe-eval'"

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy(),
  'Cross-Origin-Opener-Policy': 'same-origin',
  // It names the assets, which are others after an update.
  'Cache-Control': 'no-cache',
  Vary: 'Accept',
} as const

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
}

/** Checks proofs and evidence. */
const CHECKING_HEADERS = {
  ...PAGE_HEADERS,
  'Content-Security-Policy': contentSecurityPolicy({ scripts: WASM }),
} as const

/** Checks or makes proofs on a thread of its own. */
const THREADED_HEADERS = {
  ...PAGE_HEADERS,
  'Content-Security-Policy': contentSecurityPolicy({ scripts: WASM, workers: true }),
} as const

/** Takes payments, and is kept on the device by a service worker. */
const TERMINAL_HEADERS = {
  ...PAGE_HEADERS,
  'Content-Security-Policy': contentSecurityPolicy({ scripts: WASM, workers: true, manifest: true }),
} as const

/** A thread keeps to the policy that its program comes with, not to that of the page. Other scripts have no use for it. */
const WORKER_POLICY = `default-src 'none'; script-src 'self'${WASM}; connect-src 'self'`

/** It answers for the till's page, which is not below its own address (Service Workers, section 3.1.3). */
const TERMINAL_WORKER_HEADERS = {
  'Content-Type': 'text/javascript; charset=utf-8',
  'Content-Security-Policy': WORKER_POLICY,
  'Service-Worker-Allowed': '/terminal',
  'Cache-Control': 'no-cache',
} as const

/** A text as it is answered. */
export interface Served {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** A file as it is answered. */
interface ServedFile {
  readonly body: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

export interface Pages {
  /** What the service is, at `/`. */
  readonly landing: Served
  /** The chat. */
  readonly chat: Served
  /** Checks in the browser whatever somebody was given. */
  readonly check: Served
  /** Checks a signed result in the browser. */
  readonly verify: Served
  /** Keeps credentials in the browser, and proves with them what somebody asks. */
  readonly holder: Served
  /** An organisation's own affairs, behind a sign-in. */
  readonly console: Served
  /**
   * The reference and the guides. @param name empty: the first page
   * @throws AppError not_found
   */
  docs(name: string): Served
  /** Names of the pages that `docs` takes. */
  readonly docsNames: readonly string[]
  /** Takes payments, with and without a network. */
  readonly terminal: Served
  /** The program that keeps the till on a device. */
  readonly terminalWorker: Served
  /** That of all pages. */
  readonly icon: ServedFile
  /** Names of all assets. */
  readonly assets: readonly string[]
  /** A script, style or image of the pages. @throws AppError not_found */
  asset(name: string): ServedFile
}

/** @throws Error where nothing was built */
const findDirectory = (): URL => {
  const found = PLACES.map((place) => new URL(place, import.meta.url)).find((url) =>
    existsSync(fileURLToPath(new URL('landing.html', url))),
  )
  if (found === undefined) throw new Error('build/web is missing; npm run build makes it')
  return found
}

/** Text as HTML takes it, in elements and in attributes between double quotes. */
export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** What the built documents say where the address of the server is meant. */
const BASE_URL = '{{BASE_URL}}'
const FIRST_DOCS_PAGE = 'index'

/** Kept compressed, as they were built: there are many, of which few are read. */
const loadDocs = (directory: URL, baseUrl: string): Pick<Pages, 'docs' | 'docsNames'> => {
  const kept = new Map<string, Buffer>()
  for (const file of readdirSync(directory)) {
    const name = file.slice(0, -'.html.gz'.length)
    kept.set(name === FIRST_DOCS_PAGE ? '' : name, readFileSync(new URL(file, directory)))
  }
  return {
    docs: (name) => ({
      body: gunzipSync(kept.get(name) ?? fail('not_found'))
        .toString()
        .replaceAll(BASE_URL, baseUrl),
      headers: PAGE_HEADERS,
    }),
    docsNames: [...kept.keys()],
  }
}

/**
 * Reads the pages.
 * @param baseUrl where the service is, as its documents say it
 * @throws Error where they were not built
 */
export const loadPages = (baseUrl: string): Pages => {
  const directory = findDirectory()
  const read = (name: string): string => readFileSync(new URL(name, directory), 'utf8')
  const page = (name: string, headers: Served['headers'] = PAGE_HEADERS): Served => ({
    body: read(`${name}.html`),
    headers,
  })
  const assets = new Map<string, ServedFile>()
  for (const name of readdirSync(new URL('assets/', directory))) {
    const type = CONTENT_TYPES[name.split('.').at(-1) ?? '']
    if (type === undefined) continue
    const headers = {
      'Content-Type': type,
      'Cache-Control': `public, max-age=${ASSET_MAX_AGE_SECONDS}, immutable`,
      ...(name.endsWith('.js') && { 'Content-Security-Policy': WORKER_POLICY }),
    }
    const content = readFileSync(new URL(`assets/${name}`, directory))
    assets.set(name, { body: type === CONTENT_TYPES.png ? content : content.toString(), headers })
  }
  const icon = [...assets].find(([name]) => /^icon-.*\.svg$/.test(name))?.[1]
  if (icon === undefined) throw new Error('build/web has no icon; npm run build makes it')
  return {
    landing: page('landing'),
    chat: page('chat'),
    verify: page('verify', CHECKING_HEADERS),
    check: {
      body: read('check.html').replaceAll(BASE_URL, escapeText(baseUrl)),
      headers: THREADED_HEADERS,
    },
    holder: page('holder', THREADED_HEADERS),
    console: page('console', CHECKING_HEADERS),
    terminal: page('terminal', TERMINAL_HEADERS),
    terminalWorker: { body: read('terminal-worker.js'), headers: TERMINAL_WORKER_HEADERS },
    ...loadDocs(new URL('docs/', directory), escapeText(baseUrl)),
    icon,
    assets: [...assets.keys()],
    asset: (name) => assets.get(name) ?? fail('not_found'),
  }
}
