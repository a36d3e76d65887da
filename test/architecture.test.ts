/**
 * The shape of the code as a test: who may import whom, how long files may grow, where the clock is read.
 * It reads the sources themselves, so no lint comment can silence it.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect } from 'chai'
import { filesBelow, functionsOf, type Import, importsOf, ROOT, read } from './support/sources.ts'

const MAX_FILE_LINES = 500
const MAX_OWN_LINES = 70
const SHORT_FILE_LINES = 40
const MAX_NAMES_IN_SRC = 22
const MAX_FILES_IN_FOLDER = 20
/** Folders beside the sources that git ignores. */
const IGNORED = ['node_modules', 'data', 'terminal', 'coverage']
/** Folders that are lists. */
const LISTS = ['src/store/migrations', 'src/circuits/mappers']

const STATEMENTS = /^src\/domain\/proofs\/statements\//

/** Short files with one importer that are not merged into it, and why. */
const OF_THEIR_OWN: readonly [pattern: RegExp, reason: string][] = [
  [/^src\/bin\//, 'a program, or a command that is loaded when it is called'],
  [/^src\/terminal\/(browser|node)\.ts$/, 'the entry of a bundle'],
  [/^src\/domain\/.+\/(routes|schemas|store)(-[a-z0-9-]+)?\.ts$/, 'what a domain is made of'],
  [/^src\/web\/docs\/(index-asked|made-index)\.ts$/, 'loaded when it is asked for, and made by the build'],
  [/^src\/store\/migrations\//, 'a list'],
  [/^src\/circuits\/mappers\//, 'a list: one for each circuit'],
  [STATEMENTS, 'a list: one for each circuit'],
  [/^src\/domain\/exports\/formats\//, 'a list: one for each format'],
]

/** Root files that hold no logic of any domain; every server-side folder may use them. */
const VOCABULARY = [
  'src/errors.ts',
  'src/caller.ts',
  'src/clock.ts',
  'src/ids.ts',
  'src/json/',
  'src/domain/webhooks/events.ts',
]
const FOLDERS_BELOW_DOMAIN = [
  'src/core/',
  'src/protocol/',
  'src/rules/',
  'src/circuits/',
  'src/keys/',
  'src/net/',
  'src/store/',
  'src/ledger/',
]

/** The first rule whose `in` matches a file is its law: what it may import besides its own folder. */
const RULES: { in: RegExp; may: readonly string[] }[] = [
  { in: /^src\/core\//, may: ['build/core-wasm.ts', 'build/field-wasm.ts'] },
  // Agents sign with it, in browsers too, where Ed25519 of WebCrypto is not everywhere; terminals do not load it.
  { in: /^src\/protocol\/envelope\.ts$/, may: ['src/core/', '@noble/curves'] },
  { in: /^src\/protocol\//, may: ['src/core/', 'canonicalize'] },
  {
    in: /^src\/circuits\/(artifacts\/(artifacts|key-files|setup-record)|proving\/prover|threads\/.+|verifying\/verifier-queue)\.ts$/,
    may: [...VOCABULARY, 'src/core/', 'src/protocol/', 'src/rules/', 'src/keys/ml-dsa.ts', 'node:'],
  },
  { in: /^src\/circuits\/holder\.ts$/, may: ['src/rules/', 'jose'] },
  { in: /^src\/circuits\/choice\.ts$/, may: ['src/errors.ts', 'src/rules/'] },
  // The rest of the folder runs in browsers too.
  {
    in: /^src\/circuits\//,
    may: [
      'build/prover-wasm.ts',
      'build/verifier-wasm.ts',
      'src/core/',
      'src/protocol/',
      'src/rules/',
      '@noble/curves',
      'poseidon-lite',
    ],
  },
  {
    in: /^src\/terminal\/(node|storage\/journal)\.ts$/,
    // One way of taking over from a dead process, of which the store has the most to lose.
    may: ['src/core/', 'src/protocol/', 'src/store/directory-lock.ts', 'node:'],
  },
  { in: /^src\/store\/directory-lock\.ts$/, may: ['node:'] },
  { in: /^src\/terminal\/(browser|storage\/indexed-db)\.ts$/, may: ['src/core/', 'src/protocol/', 'idb'] },
  { in: /^src\/terminal\//, may: ['src/core/', 'src/protocol/'] },
  {
    in: /^src\/rules\//,
    may: [
      'src/errors.ts',
      'src/json/schemas.ts',
      'src/json/unknown-members.ts',
      'src/core/',
      'src/protocol/canonical-json.ts',
      'src/protocol/json-object.ts',
      'lossless-json',
      're2js',
      'typebox',
    ],
  },
  {
    in: /^src\/keys\//,
    may: [
      ...VOCABULARY,
      'src/core/',
      'src/protocol/',
      // What signatures for circuits are made of.
      'src/circuits/issuer-signature.ts',
      'src/store/',
      'node:',
      '@noble/curves',
      '@noble/hashes',
      '@noble/post-quantum',
    ],
  },
  { in: /^src\/net\//, may: ['node:', 'undici', 'ipaddr.js', 'p-limit'] },
  {
    in: /^src\/store\//,
    may: [
      ...VOCABULARY,
      'node:',
      'knex',
      'pg',
      'ioredis',
      'rate-limiter-flexible',
      'lru-cache',
      '@electric-sql/pglite',
    ],
  },
  {
    in: /^src\/ledger\//,
    may: [...VOCABULARY, 'src/core/', 'src/protocol/', 'src/store/', 'src/keys/', 'node:', 'knex', 'pino'],
  },
  // What agents and their directories sign is read here.
  {
    in: /^src\/domain\/agents\/(trust\/evidence\/(http-signature|signature-agent)|enrol\/directory-signature)\.ts$/,
    may: [...VOCABULARY, 'src/keys/', 'src/net/', 'http-message-sig', 'structured-headers'],
  },
  { in: /^src\/domain\/agents\/trust\/evidence\/content-digest\.ts$/, may: ['node:', 'structured-headers'] },
  {
    in: /^src\/domain\/.+\/routes[^/]*\.ts$/,
    may: [
      ...VOCABULARY,
      'src/http/route.ts',
      'src/http/accept.ts',
      'src/http/qr-code.ts',
      'typebox',
      'src/protocol/',
      // The routes that ask circuits are made from it.
      'src/domain/proofs/statements/index.ts',
    ],
  },
  // What is known of a circuit, from the schema of its inputs to the answer of its route.
  { in: STATEMENTS, may: [...VOCABULARY, ...FOLDERS_BELOW_DOMAIN, 'typebox'] },
  // The wire form of a credential is that of `assay/proving`.
  {
    in: /^src\/domain\/holders\/schemas\.ts$/,
    may: [
      'src/json/',
      'typebox',
      'src/rules/encode.ts',
      'src/circuits/credential.ts',
      'src/circuits/issuer-signature.ts',
    ],
  },
  {
    in: /^src\/domain\/.+\/schemas[^/]*\.ts$/,
    may: [...VOCABULARY, 'src/http/route.ts', 'typebox', 'src/protocol/', 'src/rules/schemas.ts'],
  },
  // The ledger's tables are read by those who show the log, by place or by time; it alone writes them.
  {
    in: /^src\/domain\/.+\/store(-[a-z-]+)?\.ts$/,
    may: [...VOCABULARY, 'src/store/', 'src/ledger/entries.ts', 'src/ledger/tables.ts', 'knex'],
  },
  {
    in: /^src\/domain\/tokens\/apple-pass\.ts$/,
    may: [...VOCABULARY, 'node:', 'passkit-generator', 'src/config/passes.ts'],
  },
  { in: /^src\/domain\/accounts\/totp\/codes\.ts$/, may: ['src/keys/', 'otpauth'] },
  {
    in: /^src\/domain\/accounts\/oidc\/provider\.ts$/,
    may: [...VOCABULARY, 'src/config/config.ts', 'openid-client'],
  },
  { in: /^src\/domain\/aml\/names\/scripts\.ts$/, may: ['any-ascii', 'opencc-js'] },
  { in: /^src\/domain\/aml\/names\/token-similarity\.ts$/, may: ['double-metaphone'] },
  { in: /^src\/domain\/aml\/lists\/files\//, may: ['node:', 'csv-parse', 'saxes', '@streamparser/json'] },
  { in: /^src\/domain\/kyc\/countries\.ts$/, may: ['iso-3166'] },
  {
    in: /^src\/domain\/kyc\/sd-jwt\/sd-jwt\.ts$/,
    may: ['node:', 'src/keys/', 'src/config/', '@sd-jwt/sd-jwt-vc'],
  },
  { in: /^src\/domain\/kyc\/machine-readable-zone\.ts$/, may: ['mrz'] },
  { in: /^src\/domain\/consent\/input\.ts$/, may: [...VOCABULARY, 'iso-3166'] },
  {
    in: /^src\/domain\/mcp\//,
    may: [
      'src/errors.ts',
      'src/json/unknown-members.ts',
      'src/protocol/json-object.ts',
      'node:',
      'pino',
      'typebox',
      '@modelcontextprotocol/server',
    ],
  },
  {
    in: /^src\/domain\//,
    may: [
      ...VOCABULARY,
      ...FOLDERS_BELOW_DOMAIN,
      'node:',
      'pino',
      'psl',
      'yazl',
      'csv-stringify',
      'lru-cache',
      'p-limit',
      'src/metrics.ts',
      'src/config/config.ts',
      'src/http/qr-code.ts',
      // What makes files of text no faster than they are read; routes hand them on.
      'src/http/text-stream.ts',
    ],
  },
  // The console, whose state is kept by components.
  {
    in: /^src\/web\/console\//,
    may: [
      'src/clock.ts',
      'src/core/',
      'src/protocol/',
      'src/circuits/',
      'preact',
      '@preact/signals',
      'preact-iso',
    ],
  },
  // The documentation: an index to search in, forms whose state is kept by components.
  {
    in: /^src\/web\/docs\//,
    may: ['src/protocol/', 'minisearch', 'preact'],
  },
  // What checks whatever somebody was given, signatures of two kinds among it.
  {
    in: /^src\/web\/check\//,
    may: [
      'src/clock.ts',
      'src/core/',
      'src/protocol/',
      'src/circuits/',
      '@noble/post-quantum',
      'preact',
      '@preact/signals',
    ],
  },
  // The till, whose state is kept by signals.
  {
    in: /^src\/web\/till\//,
    may: ['src/clock.ts', 'src/protocol/', 'src/terminal/', 'idb', 'jsqr', 'preact', '@preact/signals'],
  },
  // Runs in browsers.
  {
    in: /^src\/web\//,
    may: [
      'src/clock.ts',
      'src/core/',
      'src/protocol/',
      'src/terminal/',
      'src/circuits/',
      '@noble/curves',
      '@noble/hashes',
      '@noble/post-quantum',
    ],
  },
  {
    in: /^src\/http\//,
    may: [
      ...VOCABULARY,
      // Whose turn it is: of requests and of proofs.
      'src/circuits/threads/fair-queue.ts',
      'src/circuits/threads/give-way.ts',
      'src/protocol/json-object.ts',
      // What comes in pieces, from whichever side.
      'src/net/gathered.ts',
      'node:',
      'koa',
      '@koa/router',
      '@koa/cors',
      'ajv',
      'ajv-formats',
      'typebox',
      'pino',
      'ipaddr.js',
      'lru-cache',
      'negotiator',
      'p-limit',
      'proxy-addr',
      'qrcode',
    ],
  },
  {
    in: /^src\/json\//,
    may: ['src/errors.ts', 'src/ids.ts', 'typebox', 'lossless-json', 'fastest-levenshtein', 'node:'],
  },
  { in: /^src\/config\//, may: [...VOCABULARY, ...FOLDERS_BELOW_DOMAIN, 'node:', 'typebox', 'ajv'] },
  // What is published for receivers: nothing of the server.
  {
    in: /^src\/bin\/packages\/contents\/client\//,
    may: ['src/protocol/webhook/signature.ts', '@noble/hashes'],
  },
  {
    in: /^src\/bin\/packages\/contents\/verify\//,
    may: ['src/core/', 'src/protocol/', '@noble/curves', '@noble/post-quantum'],
  },
  // What puts everything together: services below, the server that they are served by above.
  { in: /^src\/services\//, may: [...VOCABULARY, ...FOLDERS_BELOW_DOMAIN, 'src/', 'node:', 'pino'] },
  // Loaded only where somebody collects it.
  { in: /^src\/server\/(telemetry|otlp-metrics)\.ts$/, may: ['src/', 'node:', '@opentelemetry/'] },
  { in: /^src\/server\//, may: ['src/', 'node:', 'koa', 'pino', 'typebox'] },
]

const sources = filesBelow('src', '.ts')
const imports = sources.flatMap(importsOf)

const ownFolder = (file: string): string => /^src\/(domain\/)?[^/]+\//.exec(file)?.[0] ?? ''

const breaks = ({ from, to, typeOnly }: Import): boolean => {
  const rule = RULES.find((candidate) => candidate.in.test(from))
  if (!rule || to.startsWith(ownFolder(from))) return false
  if (rule.may.some((allowed) => (allowed.endsWith('/') ? to.startsWith(allowed) : to === allowed)))
    return false
  // The wire form of one domain's answer may be another's.
  const quotes = /\/(routes|schemas)[^/]*\.ts$/
  if ((quotes.test(from) || STATEMENTS.test(from)) && /^src\/domain\/.+\/schemas[^/]*\.ts$/.test(to))
    return false
  // Pages read what routes answer: as types, so that no validator reaches a browser.
  if (from.startsWith('src/web/') && typeOnly && /^src\/domain\/.+\/schemas[^/]*\.ts$/.test(to)) return false
  // A domain sees other domains, and the machinery above it, as types only; instances are handed to it.
  return !(
    from.startsWith('src/domain/') &&
    typeOnly &&
    (to.startsWith('src/domain/') || rule.may.includes('src/ledger/'))
  )
}

describe('architecture', () => {
  it('lets every folder import only what lies below it', () => {
    const broken = imports.filter(breaks).map(({ from, to }) => `${from} → ${to}`)
    expect(broken).to.deep.equal([])
  })

  it('has a rule for every folder of src', () => {
    const loose = sources.filter((file) => file.split('/').length > 2 && !file.startsWith('src/bin/'))
    expect(loose.filter((file) => !RULES.some((rule) => rule.in.test(file)))).to.deep.equal([])
  })

  it('imports programs from nowhere', () => {
    expect(
      imports.filter(({ from, to }) => to.startsWith('src/bin/') && !from.startsWith('src/bin/')),
    ).to.deep.equal([])
  })

  it('tells every folder of src, every file beside them and every domain in docs/architecture.md', () => {
    const page = read('docs/architecture.md')
    const names = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `\n  ${entry.name}/ ` : `\n  ${entry.name} `,
    )
    const areas = new Set(sources.flatMap((file) => /^src\/domain\/([^/]+)\//.exec(file)?.[1] ?? []))
    const domains = [...areas].map((name) => `\n| \`${name}\` |`)
    expect([...names, ...domains].filter((name) => !page.includes(name))).to.deep.equal([])
    const folders = new Set(sources.map((file) => posix.basename(posix.dirname(file))))
    const words = new Set(page.match(/[\w-]+/g))
    expect([...folders].filter((name) => !words.has(name))).to.deep.equal([])
    const roots = readdirSync(ROOT, { withFileTypes: true }).filter(({ name }) => /^(\.ci|\w+)$/.test(name))
    const unnamed = roots.filter((entry) => entry.isDirectory() && !page.includes(`\n${entry.name}/`))
    expect(unnamed.map(({ name }) => name).filter((name) => !IGNORED.includes(name))).to.deep.equal([])
    const paths = page.match(/`[\w./-]+\.ts`/g) ?? []
    const places = ['src', 'test', 'assembly', 'src/domain', '.']
    const gone = paths.map((path) => path.slice(1, -1)).filter((path) => path.includes('/'))
    expect(gone.filter((path) => !places.some((place) => existsSync(join(ROOT, place, path))))).to.deep.equal(
      [],
    )
  })

  it(`keeps src at ${MAX_NAMES_IN_SRC} names, and its folders at ${MAX_FILES_IN_FOLDER} files`, () => {
    expect(readdirSync(join(ROOT, 'src')).length).to.be.at.most(MAX_NAMES_IN_SRC)
    const folders = [...new Set(sources.map((file) => posix.dirname(file)))].filter(
      (folder) => !LISTS.includes(folder),
    )
    const filesIn = (folder: string) =>
      readdirSync(join(ROOT, folder), { withFileTypes: true }).filter((entry) => entry.isFile()).length
    expect(folders.filter((folder) => filesIn(folder) > MAX_FILES_IN_FOLDER)).to.deep.equal([])
  })

  it('has no import cycles', () => {
    const edges = new Map(
      sources.map((file) => [file, imports.filter((i) => i.from === file && !i.typeOnly).map((i) => i.to)]),
    )
    const done = new Set<string>()
    const cycles: string[] = []
    const walk = (file: string, path: string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      else if (!done.has(file)) {
        for (const next of edges.get(file) ?? []) walk(next, [...path, file])
        done.add(file)
      }
    }
    for (const file of sources) walk(file, [])
    expect(cycles).to.deep.equal([])
  })

  it(`keeps files under ${MAX_FILE_LINES} lines`, () => {
    const written = ['src', 'test', 'bench', 'examples', 'assembly'].flatMap((folder) =>
      filesBelow(folder, '.ts'),
    )
    const long = written.filter((file) => {
      const text = read(file)
      return (
        !text.slice(0, 200).split('\n')[0]?.includes('generated') && text.split('\n').length > MAX_FILE_LINES
      )
    })
    expect(long).to.deep.equal([])
  })

  it(`keeps functions at ${MAX_OWN_LINES} lines of their own`, () => {
    const long = sources.flatMap((file) =>
      functionsOf(file)
        .filter(({ lines }) => lines > MAX_OWN_LINES)
        .map(({ name, lines }) => `${file}: ${name} has ${lines}`),
    )
    expect(long).to.deep.equal([])
  })

  it(`keeps no file under ${SHORT_FILE_LINES} lines beside the only one that imports it`, () => {
    const others = ['test', 'bench', 'examples'].flatMap((folder) => filesBelow(folder, '.ts'))
    const importers = new Map<string, Set<string>>()
    for (const { from, to } of [...imports, ...others.flatMap(importsOf)])
      importers.set(to, (importers.get(to) ?? new Set()).add(from))
    const single = sources.filter(
      (file) => importers.get(file)?.size === 1 && read(file).trimEnd().split('\n').length < SHORT_FILE_LINES,
    )
    expect(single.filter((file) => !OF_THEIR_OWN.some(([pattern]) => pattern.test(file)))).to.deep.equal([])
  })

  it('opens transactions only in the store and the ledger', () => {
    const opens = sources.filter((file) => /\.transaction\(|['"`]\s*BEGIN\b/i.test(read(file)))
    // What terminals and tills keep in a browser is in IndexedDB, whose transactions have nothing to do with ours.
    const inBrowsers = ['src/terminal/storage/indexed-db.ts', 'src/web/till/records.ts']
    expect(
      opens.filter((file) => !/^src\/(store|ledger)\//.test(file) && !inBrowsers.includes(file)),
    ).to.deep.equal([])
  })

  for (const [what, pattern, where] of [
    ['the environment', /process\.env/, /^src\/(config\/config|bin\/[a-z-/]+)\.ts$/],
    [
      'the clock',
      /\bDate\.now\b|new Date\(\)/,
      // The check for purity sets it, for a moment.
      /^src\/(clock|terminal\/index|protocol\/envelope|circuits\/offline-verification|ledger\/purity|bin\/[a-z-/]+)\.ts$/,
    ],
    ['Math.random', /\bMath\.random\b/, /^$/],
    ['the console', /\bconsole\.\w+\(/, /^src\/bin\//],
  ] as const) {
    it(`reads ${what} only in the files named for it`, () => {
      expect(sources.filter((file) => pattern.test(read(file)) && !where.test(file))).to.deep.equal([])
    })
  }

  it('leaves nothing in tests to chance that nobody could repeat', () => {
    const drawn = /\bMath\.random\b|\bprompts\.random\(/
    const files = filesBelow('test', '.ts').filter((file) => file !== 'test/architecture.test.ts')
    expect(files.filter((file) => drawn.test(read(file)))).to.deep.equal([])
  })

  it('mirrors the names of assembly in src/core', () => {
    const faces = filesBelow('src/core', '.ts').map((file) => posix.basename(file))
    const kernels = filesBelow('assembly', '.ts').map((file) => posix.basename(file))
    const own = ['index.ts', 'instance.ts', 'errors.ts', 'poseidon-tags.ts']
    const shared = faces.filter((name) => !own.includes(name))
    expect(shared.filter((name) => !kernels.includes(name))).to.deep.equal([])
  })

  it('runs something that exists in every npm script', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const missing = Object.values(scripts)
      .flatMap((script) => script.match(/\b(?:src|test|bench)\/[\w./-]+\.ts\b/g) ?? [])
      .filter((file) => !existsSync(join(ROOT, file)))
    expect(missing).to.deep.equal([])
  })

  it('never points out of the repository', () => {
    const files = ['src', 'test', 'bench', 'examples', 'assembly'].flatMap((folder) =>
      filesBelow(folder, '.ts'),
    )
    const outside = files.flatMap(importsOf).filter(({ to }) => to.startsWith('../'))
    expect(outside).to.deep.equal([])
  })
})
