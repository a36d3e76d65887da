/**
 * The four nouns of the glossary in CONTRIBUTING, each with one meaning: names of files and exports may carry them only
 * where that is meant.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '..')

/** A pattern is compared with `file` for the name of a file, and with `file#name` for an export. */
const NOUNS: readonly { noun: RegExp; may: readonly [pattern: RegExp, reason: string][] }[] = [
  {
    noun: /claim/i,
    may: [
      [/^src\/ledger\//, 'keys of the ledger'],
      [
        /^src\/domain\/.+#(record|spend|revoked(Digest|Nullifier)?|nullifier|state|nonce|erased|opened|succeeded)Claim$/,
        'makes a key of the ledger',
      ],
      [/#(MAX_CLAIMS_(DEPTH|BYTES)|claimsFault)$/, 'claims of a token (RFC 7519 §4)'],
    ],
  },
  {
    noun: /statement/i,
    may: [
      [/^src\/domain\/(proofs|verification|hermes)\//, 'what a proof says'],
      [/^src\/circuits\//, 'what a proof says'],
    ],
  },
  {
    noun: /lane(?!t)/i,
    may: [
      [/^src\/(store|ledger)\//, 'the queue that commits in batches'],
      [/^src\/domain\/chat\/posts\//, 'the queue of the chat'],
      [
        /^src\/bin\/build-steps\/field-kernels\.ts#lanes$/,
        'lanes of SIMD vectors, as WebAssembly calls them',
      ],
    ],
  },
  {
    noun: /outcome/i,
    may: [
      [/^src\/domain\/tickets\/schemas\.ts#BatchOutcomes?$/, 'a schema of the OpenAPI document'],
      [/^src\/store\/lane\.ts#Outcome$/, 'what became of an item of the lane'],
      [/^src\/domain\/payments\/payment\.ts#Outcome$/, 'what became of a payment as an item of the lane'],
      [/^src\/domain\/exports\/formats\/words\.ts#/, 'event.outcome of the Elastic Common Schema'],
    ],
  },
]

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => posix.join('src', name))

const exportsOf = (file: string): string[] => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  return source.statements.flatMap((node) => {
    const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(node))
      return node.declarationList.declarations.map(({ name }) => name.getText(source))
    return ts.isDeclarationStatement(node) && node.name ? [node.name.getText(source)] : []
  })
}

describe('the nouns of the glossary', () => {
  it('are used for one thing each in names of files and exports', () => {
    const named = sources.flatMap((file) => [
      { name: posix.basename(file), place: file },
      ...exportsOf(file).map((name) => ({ name, place: `${file}#${name}` })),
    ])
    const misused = NOUNS.flatMap(({ noun, may }) =>
      named.filter(({ name, place }) => noun.test(name) && !may.some(([pattern]) => pattern.test(place))),
    )
    expect(misused.map(({ place }) => place)).to.deep.equal([])
    const unused = NOUNS.flatMap(({ may }) =>
      may.filter(([pattern]) => !named.some(({ place }) => pattern.test(place))),
    )
    expect(unused.map(([pattern]) => String(pattern))).to.deep.equal([])
  })
})
