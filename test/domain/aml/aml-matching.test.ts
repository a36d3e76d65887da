/** Names against names: the index against a slow reference, the measure against published values and another implementation. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { compareBirth } from '../../../src/domain/aml/attributes.ts'
import { jaroWinkler } from '../../../src/domain/aml/names/jaro-winkler.ts'
import {
  createNameIndexBuilder,
  MIN_FOUND_SCORE,
  type NameIndex,
} from '../../../src/domain/aml/names/name-index.ts'
import { nameTokens } from '../../../src/domain/aml/names/name-tokens.ts'
import { tokenForm, tokenSimilarity } from '../../../src/domain/aml/names/token-similarity.ts'
import { referenceJaroWinkler } from '../../support/reference/jaro-winkler.ts'

const REVIEW_SCORE = 85
const MIN_RECALL = 0.95
const MIN_PRECISION = 0.9

const indexOf = (names: readonly string[]): Promise<NameIndex> => {
  const builder = createNameIndexBuilder()
  for (const name of names) builder.add(name)
  return builder.build()
}

const scoreOf = async (a: string, b: string): Promise<number> => (await indexOf([b])).compare(a, 0)

/** `same` or `different`, category, one name, the other. */
const PAIRS = readFileSync(join(import.meta.dirname, '../../vectors/aml/name-pairs.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [label: string, category: string, a: string, b: string])

const word = fc.string({ unit: fc.constantFrom(...'aeiklmnr'), minLength: 1, maxLength: 9 })
const name = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '))

describe('matching of names', () => {
  it('measures Jaro-Winkler as published', () => {
    // W. E. Winkler, "Overview of Record Linkage and Current Research Directions" (2006), table 6.
    for (const [a, b, published] of [
      ['shackleford', 'shackelford', 0.982],
      ['dunningham', 'cunnigham', 0.896],
      ['nichleson', 'nichulson', 0.956],
      ['jones', 'johnson', 0.832],
      ['massey', 'massie', 0.933],
      ['abroms', 'abrams', 0.922],
      ['hardin', 'martinez', 0.722],
      ['itman', 'smith', 0.467],
      ['jeraldine', 'geraldine', 0.926],
      ['marhta', 'martha', 0.961],
      ['michelle', 'michael', 0.921],
      ['julies', 'julius', 0.933],
      ['tanya', 'tonya', 0.88],
      ['dwayne', 'duane', 0.84],
      ['sean', 'susan', 0.805],
      ['jon', 'john', 0.933],
      ['jon', 'jan', 0.8],
    ] as const)
      expect(jaroWinkler(a, b), `${a} ${b}`).to.be.closeTo(published, 0.0006)
  })

  it('measures Jaro-Winkler as the slow reference does, whichever comes first', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const measured = jaroWinkler(a, b)
        expect(measured).to.equal(jaroWinkler(b, a))
        expect(measured).to.be.closeTo(referenceJaroWinkler(a, b), 1e-12)
      }),
      { numRuns: 5000 },
    )
  })

  it('finds with the index what comparing with every name finds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 40 }),
        name,
        fc.nat(),
        async (names, other, pick) => {
          const index = await indexOf(names)
          const asked = pick % 3 === 0 ? other : altered(names[pick % names.length] as string, pick)
          const slow = names
            .map((_, number) => ({ name: number, score: index.compare(asked, number) }))
            .filter(({ score }) => score >= MIN_FOUND_SCORE)
            .toSorted((a, b) => b.score - a.score || a.name - b.name)
          expect(index.search(asked)).to.deep.equal(slow)
        },
      ),
      // An initial finds no particle, so that it must not score as one either.
      { numRuns: 300, examples: [[['al', 'a'], 'a', 0]] },
    )
  })

  it('scores words alike whichever comes first, and 100 only for the same words', async () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const [first, second] = [tokenForm(a), tokenForm(b)]
        expect(tokenSimilarity(first, second)).to.equal(tokenSimilarity(second, first))
        if (a !== b) expect(tokenSimilarity(first, second)).to.be.lessThan(1)
      }),
    )
    expect(await scoreOf('Testov Ivan', 'Ivan Testov')).to.equal(100)
    for (const other of ['Ivan Testow', 'Ivan Petrovich Testov', 'I. Testov', 'Vanya Testov'])
      expect(await scoreOf(other, 'Ivan Testov'), other).to.be.within(80, 99.9)
  })

  it('grades: a name that differs more scores lower', async () => {
    const scores = await Promise.all(
      [
        'Katharina Lindqvist',
        'Katarina Lindqvist',
        'Katarina Lindkvist',
        'Katrina Lindgren',
        'Karin Lindgren',
      ].map((other) => scoreOf(other, 'Katharina Lindqvist')),
    )
    expect(scores.toSorted((a, b) => b - a)).to.deep.equal(scores)
    expect(new Set(scores)).to.have.property('size', scores.length)
  })

  it('takes one word of several for no name', async () => {
    for (const [a, b] of [
      ['Mohammed', 'Mohammed Hussein Karimi'],
      ['Obraztsov', 'Dmitri Obraztsov'],
      ['Trading', 'Blue Harbour Trading Co'],
    ] as const)
      expect(await scoreOf(a, b), `${a} ${b}`).to.be.at.most(80)
    expect(await scoreOf('Suharto', 'Suharto')).to.equal(100)
  })

  it('weighs a rare word more than one that everybody has', async () => {
    const crowd = Array.from(
      { length: 300 },
      (_, i) => `Mohammed Zq${String.fromCharCode(97 + (i % 26))}x${'aeiou'[i % 5]}${i % 7}`,
    )
    const index = await indexOf(['Mohammed Obraztsov', ...crowd])
    const rare = index.compare('Ahmad Obraztsov', 0)
    const frequent = index.compare('Mohammed Lindqvist', 0)
    expect(rare).to.be.greaterThan(frequent + 20)
  })

  it('makes words of names in any script, without titles and legal forms', () => {
    expect(nameTokens('Dr. J.R. O’Néil-Smith, Jr.')).to.deep.equal(['j', 'r', 'oneil', 'smith'])
    expect(nameTokens('Fiktiv Shipping & Trading Co. Ltd.')).to.deep.equal(['fiktiv', 'shipping', 'trading'])
    expect(nameTokens('Société Générale S.A.')).to.deep.equal(['societe', 'generale'])
    expect(nameTokens('习近平')).to.deep.equal(['xi', 'jin', 'ping'])
    expect(nameTokens('Ｊａｎｇ　장')).to.deep.equal(['jang', 'jang'])
    expect(nameTokens('عبد الرحمن')).to.deep.equal(['abdul', 'rhmn*'])
    for (const spelling of ['Abd al-Rahman', 'Abdul Rahman', 'Abdel-Rahman', 'Abdulrahman', 'ABD AR-RAHMAN'])
      expect(nameTokens(spelling), spelling).to.deep.equal(['abdul', 'rahman'])
    expect(nameTokens('Abdullah')).to.deep.equal(['abdullah'])
    expect(nameTokens('Mr. Co')).to.deep.equal(['mr', 'co'])
    expect(nameTokens('— … 。')).to.deep.equal([])
  })

  it('tells the pairs of the labelled set apart', async () => {
    const index = await indexOf(PAIRS.map(([, , , b]) => b))
    const found = PAIRS.map(([label, , a], i) => ({ label, isFound: index.compare(a, i) >= REVIEW_SCORE }))
    const right = found.filter(({ label, isFound }) => label === 'same' && isFound).length
    expect(PAIRS.length).to.be.greaterThan(250)
    expect(right / found.filter(({ label }) => label === 'same').length).to.be.at.least(MIN_RECALL)
    expect(right / found.filter(({ isFound }) => isFound).length).to.be.at.least(MIN_PRECISION)
  })

  it('compares dates of birth with what lists know of them', () => {
    const day = { from: '1961-04-12', to: '1961-04-12' }
    const year = { from: '1961-01-01', to: '1961-12-31' }
    const range = { from: '1955-01-01', to: '1960-12-31' }
    expect(compareBirth('1961-04-12', [day])).to.equal('agrees')
    expect(compareBirth('1961-12-04', [day])).to.equal('close')
    expect(compareBirth('1962-04-12', [day])).to.equal('close')
    expect(compareBirth('1970-04-12', [day])).to.equal('differs')
    expect(compareBirth('1961-07-01', [year])).to.equal('agrees')
    expect(compareBirth('1957-07-01', [range])).to.equal('close')
    expect(compareBirth('1940-07-01', [range, year])).to.equal('differs')
    expect(compareBirth('1961-04-12', [range, day])).to.equal('agrees')
    expect(compareBirth('1961-04-12', [])).to.equal(undefined)
  })
})

/** Another order, two words as one, an initial for a word, or one letter less. */
const altered = (original: string, pick: number): string => {
  const words = original.split(' ')
  if (pick % 4 === 0) return words.toReversed().join(' ')
  if (pick % 4 === 1) return words.join('')
  if (pick % 4 === 2)
    return words.map((one, i) => (i === pick % words.length ? one.slice(0, 1) : one)).join(' ')
  const at = pick % original.length
  return original.slice(0, at) + original.slice(at + 1)
}
