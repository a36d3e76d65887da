/** Whatever reads input from outside takes a time that is linear in its size: each regular expression is judged here. */
import { expect } from 'chai'
import { checkSync } from 'recheck'
import { findPatterns, type Pattern } from '../support/patterns.ts'

/** So that a slow machine doesn't decide; none needs more than a second on a usual one. */
const CHECK_TIMEOUT_MS = 60_000

/** Programs that build the service from its own sources. */
const BUILD_TOOLS = /^src\/bin\/(build-steps|docs)\//

/** Files whose patterns are not linear, or beyond the checker, and what bounds their input instead. */
const BOUNDED: Readonly<Record<string, { readonly begins: readonly string[]; readonly because: string }>> = {
  'src/config/config.ts': { begins: ['-----BEGIN CERT'], because: 'the file of the operator' },
  'src/rules/pattern.ts': { begins: ['\\\\[pPx]'], because: 'patterns of rules have at most 128 characters' },
  'src/domain/chat/posts/credentials.ts': {
    begins: ['\\beyJ', '\\bsk-(?:(?:proj', '\\bAIza', '\\bxox', '\\bhv[sb]'],
    because: 'texts of the chat have at most a few thousand characters',
  },
}

/** Patterns that are put together while the program runs, and from what. */
const COMPOSED: Readonly<Record<string, string>> = {
  'src/domain/aml/lists/list-source.ts': 'the names of parts that a format has',
  'src/domain/chat/posts/credentials.ts': 'the forms above it, as alternatives',
  'src/domain/chat/names/names.ts': 'reserved words, as alternatives, for names of at most 48 characters',
  'src/domain/kyc/machine-readable-zone.ts': 'one class of letters',
  'src/domain/webhooks/schemas.ts': 'the names of events, as alternatives',
  'src/json/schemas.ts': 'the prefix of an id, three letters',
}

const fileOf = ({ at }: Pick<Pattern, 'at'>): string => at.replace(/:\d+$/, '')
const isBounded = (pattern: Pattern): boolean =>
  BOUNDED[fileOf(pattern)]?.begins.some((begin) => pattern.source.startsWith(begin)) ?? false

const judge = ({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string => {
  const verdict = checkSync(source, flags, { timeout: CHECK_TIMEOUT_MS })
  return verdict.status === 'vulnerable' ? `${verdict.status}, ${verdict.complexity.type}` : verdict.status
}

describe('regular expressions', function () {
  this.timeout(600_000)
  const { patterns, unknown } = findPatterns('src')
  const read = patterns.filter(({ at }) => !BUILD_TOOLS.test(at))

  it('are all found: literals, constructed ones and those of schemas', () => {
    expect(read.length).to.be.above(250)
    expect(read.find(({ at }) => at.startsWith('src/http/auth.ts'))?.source).to.equal('^Bearer +([^ ]+) *$')
    expect(read.some(({ source }) => source === '^(tok|hyt)_[0-9a-z]{26}$')).to.equal(true)
    const composed = unknown.filter(({ at }) => !BUILD_TOOLS.test(at)).map(fileOf)
    expect(composed.sort(), 'put together from what the sources do not say').to.deep.equal(
      Object.keys(COMPOSED).sort(),
    )
    for (const [file, { begins }] of Object.entries(BOUNDED))
      for (const begin of begins)
        expect(
          read.some((pattern) => fileOf(pattern) === file && pattern.source.startsWith(begin)),
          begin,
        ).to.equal(true)
  })

  it('take a time that is linear in what they read', () => {
    const judged = new Map<string, string>()
    const faults: string[] = []
    for (const pattern of read) {
      if (isBounded(pattern)) continue
      const key = `${pattern.source}/${pattern.flags}`
      const verdict = judged.get(key) ?? judge(pattern)
      judged.set(key, verdict)
      if (verdict !== 'safe') faults.push(`${pattern.at} /${key}: ${verdict}`)
    }
    expect(faults).to.deep.equal([])
  })

  it('that are quadratic or worse are noticed', () => {
    const quadratic = '^application\\/json(?:\\s*;\\s*charset\\s*=\\s*"?utf-8"?)?\\s*;?\\s*$'
    for (const source of [quadratic, '\\s+$', '(a+)+$'])
      expect(judge({ source, flags: '' })).to.match(/^vulnerable/)
  })
})
