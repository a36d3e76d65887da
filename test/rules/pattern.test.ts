import { expect } from 'chai'
import fc from 'fast-check'
import { compilePattern, patternSize } from '../../src/rules/pattern.ts'
import { MAX_PATTERN_CHARS } from '../../src/rules/rule.ts'

/** Whatever may change what a repetition repeats, or hide one. */
const PIECES =
  'a xy . | * + ?? ^ $ - ] } { [ \\ \\d \\pL \\p{Greek} \\x{41} \\Qa(b\\E \\Q \\E \\Q\\E [a-z] [^]a] []a] [(] [\\]{3}] [[:word:]] ' +
  '[[:x \\( \\) \\{ ( (?: (?P<n> (?i) (?i: ) ) ) {2} {3,} {2,7} {,5} {30} {0} {0,9} {1001}'

/** Instructions for one character, as in `a{0,9}`, and those that every program has. */
const MOST_FOR_ONE = 3
const MOST_FOR_NONE = 4

describe('the size of a pattern', () => {
  it('is that of the pattern with its repetitions written out', () => {
    const sizes: Record<string, number> = {
      '': 0,
      abc: 3,
      'a{200}': 200,
      'a{2,7}b': 8,
      '^\\d{4}-\\d{2}$': 9,
      '[a-z(]{3}\\(\\x{41}{2}': 6,
      '(a{10}){10}': 120,
      '(?:(?:a?){30}){30}': 3660,
      '(?P<name>ab){4}': 16,
      'a(?i){9}': 9,
      'a\\Q\\E{9}': 9,
      '\\Q{9}\\E': 3,
      'a{99999999999999999999}': 1000,
    }
    for (const [pattern, size] of Object.entries(sizes)) expect(patternSize(pattern), pattern).to.equal(size)
  })

  it('counts classes that are large to read: of Unicode, and ranges without regard to case', () => {
    expect(patternSize('\\pL{2}')).to.equal(19)
    expect(patternSize('[\\p{L}\\P{N}]')).to.equal(33)
    expect(patternSize('[a-\u{1e942}]')).to.equal(1)
    for (const range of ['[a-\u{1e942}]', '[a-\\x{1e942}]', '[--\u{1e942}]'])
      expect(patternSize(`(?i)${range}`), range).to.equal(314)
    expect(patternSize('(?i)[a-z]')).to.equal(1)
  })

  it('bounds what it compiles to', () => {
    const pattern = fc
      .array(fc.constantFrom(...PIECES.split(' ')), { maxLength: 14 })
      .map((all) => all.join(''))
    fc.assert(
      fc.property(pattern, (text) => {
        const size = patternSize(text)
        // Those beyond are never compiled.
        fc.pre(text.length <= MAX_PATTERN_CHARS && size <= 2000)
        const instructions = compilePattern(text)?.programSize() ?? 0
        expect(instructions, text).to.be.at.most(MOST_FOR_ONE * size + MOST_FOR_NONE)
      }),
      { numRuns: 5000 },
    )
  })
})
