/** THE LIST of what is published. Everything that a package is made of follows from its line here. @module */

export interface Entry {
  /** What importers write behind the package's name: `.`, `./node`. */
  readonly path: string
  readonly source: string
  /** What an import loads, minified and as gzip; KiB. */
  readonly maxGzipKib: number
  /** Shares no file with the package's other entries, which would load all that it uses of a module that both import. */
  readonly isApart?: true
}

export interface Library {
  /** Behind the product's name: `assay-verify`. */
  readonly suffix: string
  readonly description: string
  readonly licence: 'Apache-2.0' | 'GPL-3.0-or-later'
  readonly keywords: readonly string[]
  readonly entries: readonly Entry[]
  /** Packages that are installed beside it; what else it needs is inside. */
  readonly dependencies: readonly string[]
  /** Own files that it may hold besides those below `folders`. */
  readonly holds: readonly RegExp[]
}

/** What proofs are verified with, apart from the core. */
const VERIFIER =
  /^src\/circuits\/(circuit|proof-form|verifier|verifying\/(combination|key-verifier|verifying))\.ts$|^build\/verifier-wasm\.ts$/
const CORE = /^src\/core\/|^build\/(core|field)-wasm\.ts$/
export const LIBRARIES: readonly Library[] = [
  {
    suffix: '-verify',
    description:
      'Verifies what Assay signs and proves, offline: results, tokens, tickets, receipts, webhooks, status lists, the log, Groth16 proofs.',
    licence: 'Apache-2.0',
    keywords: ['verification', 'jws', 'webhooks', 'transparency-log', 'merkle-tree', 'groth16', 'bn254'],
    entries: [
      { path: '.', source: 'src/bin/packages/contents/verify/index.ts', maxGzipKib: 60 },
      { path: './proof', source: 'src/circuits/verifying/verifying.ts', maxGzipKib: 60 },
      { path: './pq', source: 'src/bin/packages/contents/verify/pq.ts', maxGzipKib: 60 },
    ],
    dependencies: ['@noble/curves', '@noble/post-quantum'],
    holds: [
      /^src\/bin\/packages\/contents\/verify\//,
      CORE,
      VERIFIER,
      /^src\/protocol\/(checkpoint|consent|webhook)\//,
      /^src\/protocol\/(base-field|canonical-json|hybrid-token|json-object|jws|log-heads|merkle-proofs|proof-points|status|status-list|zk1)\.ts$/,
    ],
  },
  {
    suffix: '-client',
    description: 'A typed client of every operation of an Assay service; signs messages of agents.',
    licence: 'Apache-2.0',
    keywords: ['api-client', 'verification', 'zero-knowledge', 'webhooks', 'ai-agents'],
    entries: [
      { path: '.', source: 'build/client/index.ts', maxGzipKib: 15 },
      { path: './envelope', source: 'src/protocol/envelope.ts', maxGzipKib: 35, isApart: true },
    ],
    dependencies: [],
    holds: [
      /^src\/bin\/packages\/contents\/client\//,
      /^build\/client\/index\.ts$/,
      CORE,
      /^src\/protocol\/(canonical-json|envelope|webhook\/signature)\.ts$/,
    ],
  },
  {
    suffix: '-terminal',
    description:
      'A payment terminal that goes on accepting cards while the network is down, for Node and browsers.',
    licence: 'Apache-2.0',
    keywords: ['payments', 'offline-first', 'terminal', 'webassembly'],
    entries: [
      { path: '.', source: 'src/terminal/index.ts', maxGzipKib: 35 },
      { path: './node', source: 'src/terminal/node.ts', maxGzipKib: 35 },
      { path: './browser', source: 'src/terminal/browser.ts', maxGzipKib: 35 },
    ],
    dependencies: [],
    holds: [
      /^src\/terminal\//,
      CORE,
      /^src\/store\/directory-lock\.ts$/,
      /^src\/protocol\/(currency|json-object|payment-limits|payment-proof|sync)\.ts$/,
    ],
  },
  {
    suffix: '-proving',
    description:
      'Makes zero-knowledge proofs for Assay where the secrets are: in browsers, on terminals, in Node.',
    // What it runs are witness programs, which circom made of circomlib (GPL-3.0).
    licence: 'GPL-3.0-or-later',
    keywords: ['zero-knowledge', 'groth16', 'bn254', 'circom', 'credentials'],
    entries: [{ path: '.', source: 'src/circuits/proving/proving.ts', maxGzipKib: 155 }],
    dependencies: [],
    holds: [/^src\/(circuits|core|protocol|rules|json)\//, /^src\/errors\.ts$/, /^build\/\w+-wasm\.ts$/],
  },
]
