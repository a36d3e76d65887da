/** Names against names: the index against a slow scan, the distance of words against Levenshtein's, and classes of changes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { distance } from 'fastest-levenshtein'
import { compareBirth } from '../../../src/domain/aml/attributes.ts'
import { editDistance } from '../../../src/domain/aml/names/edit-distance.ts'
import { explainNames } from '../../../src/domain/aml/names/explain.ts'
import { GIVEN_NAMES } from '../../../src/domain/aml/names/given-names.ts'
import {
  createNameIndexBuilder,
  type FoundName,
  MIN_FOUND_SCORE,
  type NameIndex,
} from '../../../src/domain/aml/names/name-index.ts'
import { readName } from '../../../src/domain/aml/names/name-tokens.ts'
import { hasLetters, ROMANISATION_RULES } from '../../../src/domain/aml/names/romanisations.ts'
import { TokenForm, tokenSimilarity } from '../../../src/domain/aml/names/token-similarity.ts'
import { compareWithAll, spellingOf } from '../../support/reference/names.ts'

const REVIEW_SCORE = 85
const MIN_RECALL = 0.95
const MIN_PRECISION = 0.9

const indexOf = (names: readonly string[], arePersons = false): Promise<NameIndex> => {
  const builder = createNameIndexBuilder()
  for (const name of names) builder.add(name, arePersons)
  return builder.build()
}

const compareIn = async (a: string, b: string, arePersons = false) =>
  (await indexOf([b], arePersons)).compare(a, 0)
const scoreOf = async (a: string, b: string, arePersons = false): Promise<number> =>
  (await compareIn(a, b, arePersons)).score

const search = (index: NameIndex, name: string): FoundName[] => {
  const steps = index.search(name)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** `same` or `different`, category, one name, the other. */
const PAIRS = readFileSync(join(import.meta.dirname, '../../vectors/aml/name-pairs.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [label: string, category: string, a: string, b: string])

/** Pairs that must be found, by class of change; `true` for persons. */
const SAME: readonly (readonly [string, string, boolean])[] = [
  ['Romashka LIMITED LIABILITY COMPANY', 'OOO Romashka', false],
  ['Nordlicht Gesellschaft mit beschränkter Haftung', 'Nordlicht GmbH', false],
  ['OAO Severny Zavod', 'Severny Zavod JSC', false],
  ['G1obal Tr4ding Nordlicht', 'Global Trading Nordlicht', false],
  ['0lga Petrova', 'Olga Petrova', true],
  ['Оlgа Pеtrоvа', 'Olga Petrova', true],
  ['petrovivan', 'Ivan Petrov', true],
  ['PetrovIvan', 'Ivan Petrov', true],
  ['Iva Petrv', 'Ivan Petrov', true],
  ['Katarna Lindqist', 'Katarina Lindqvist', true],
  ['Annna Petrrova', 'Anna Petrova', true],
  ['I. P. Testov', 'Ivan Petrovich Testov', true],
  ['Bill Testerson', 'William Testerson', true],
  ['Mohamed Hasan Test', 'Muhammad al-Hassan bin Test', true],
  ['AT&T Nordlicht', 'AT and T Nordlicht', false],
  ['Seventh Star Shipping', '7 Star Shipping', false],
  ['Кузнецов Сергей', 'Sergei Kuznetsov', true],
  ['محمد حسن', 'Mohammed Hassan', true],
  ['يوسف قاسم', 'Youssef Kassem', true],
  ['جمال عكاشة', 'Djamel Akkacha', true],
  ['فيصل بوغانمي', 'Faycal Boughanemi', true],
  ['فضل ربيع', 'Fazl Rabi', true],
  ['عصبة الأنصار', 'Asbat al-Ansar', false],
  ['محمد ځدران', 'Muhammad Zadran', true],
  ['عبد الحق وثيق', 'Abdul-Haq Wassiq', true],
  ['N P C International Ltd', 'NPC International', false],
  ['김석수', 'Kim Seoksu', true],
  ['שמעון פרץ', 'Shimon Peretz', true],
  ['Κυριάκος Παπαδόπουλος', 'Kyriakos Papadopoulos', true],
  ['김민준', 'Kim Min-jun', true],
  ['박서연', 'Park Seo-yeon', true],
  ['李偉明', '李伟明', true],
  ['李伟明', 'Li Weiming', true],
  ['毛小东', 'Mao Hsiao-tung', true],
]
/** Pairs of different people and companies. */
const DIFFERENT: readonly (readonly [string, string, boolean])[] = [
  ['高石早苗', '高市早苗', true],
  ['C.B.A. Company', 'A.B.C. Company', false],
  ['C. B. A. Trading', 'A. B. C. Trading', false],
  ['Unit 61398', 'Unit 61486', false],
  ['Ivan Petrov', 'Ivan Sidorov', true],
  ['Anna Petrova', 'Olga Petrova', true],
  ['Blue Harbour Shipping', 'Blue Mountain Shipping', false],
  ['Ivan Petrovich Testov', 'Ivan Sergeevich Testov', true],
]

const word = fc.string({ unit: fc.constantFrom(...'aeiklmnr'), minLength: 1, maxLength: 9 })
const longWord = fc.string({ unit: fc.constantFrom(...'aeiouklmnrsthzw'), minLength: 3, maxLength: 12 })
/** Of other scripts and with forms, and what is like them in Latin letters. */
const known = fc.constantFrom(
  ...'김 민준 李 偉明 محمد محمود الرحمن Иван Петров шимон שמעון mohammed mahmud ivan petrov kim minjun li weiming'.split(
    ' ',
  ),
  ...'shimon vanya abdulrahman abdul rahman al bin trading bank gmbh llc j 2nd second petrovivan'.split(' '),
)
const name = fc
  .array(fc.oneof(word, word, known), { minLength: 1, maxLength: 4 })
  .map((words) => words.join(' '))
const byNumber = ([a = 0]: readonly number[], [b = 0]: readonly number[]): number => a - b

describe('matching of names', () => {
  it('measures no more than Levenshtein does, nothing between equal words alone, and the same both ways', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).to.equal(editDistance(b, a))
        expect(editDistance(a, b)).to.be.at.most(distance(a, b))
        expect(editDistance(a, b) === 0).to.equal(a === b)
      }),
      { numRuns: 5000 },
    )
    // Frequent errors cost less than others.
    expect(editDistance('hassan', 'hasan')).to.be.lessThan(editDistance('hassan', 'hassian'))
    expect(editDistance('marta', 'matra')).to.be.lessThan(editDistance('marta', 'mabla'))
  })

  it('measures a distance exactly up to the one that matters', () => {
    fc.assert(
      fc.property(word, word, fc.double({ min: 0, max: 8, noNaN: true }), (a, b, most) => {
        const [exact, bounded] = [editDistance(a, b), editDistance(a, b, most)]
        if (exact <= most) expect(bounded).to.equal(exact)
        else expect(bounded).to.be.greaterThan(most)
      }),
      { numRuns: 1000 },
    )
  })

  it('changes nothing of a romanisation by the rules that it leaves out', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'aeiouwyhkgcstzdjpbfrlx0'), minLength: 1 }),
        (text) => {
          for (const { spelling, sound, needs } of ROMANISATION_RULES)
            if (!hasLetters(text, needs)) expect(text.replace(spelling, sound)).to.equal(text)
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('finds with the index what comparing word by word with every name finds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 25 }),
        name,
        fc.nat(),
        fc.boolean(),
        async (names, other, pick, arePersons) => {
          const index = await indexOf(names, arePersons)
          const asked = pick % 3 === 0 ? other : altered(names[pick % names.length] as string, pick)
          const slow = compareWithAll(asked, names, arePersons)
          const found = search(index, asked)
          const scores = slow.flatMap(({ score }, number) =>
            score >= MIN_FOUND_SCORE ? [[number, score]] : [],
          )
          expect(found.map((one) => [one.name, one.score]).toSorted(byNumber)).to.deep.equal(scores)
          for (const { name: number, evidence } of found)
            expect(evidence).to.be.closeTo((slow[number] as { evidence: number }).evidence, 1e-9)
          expect(found).to.deep.equal(
            found.toSorted((a, b) => b.score - a.score || b.evidence - a.evidence || a.name - b.name),
          )
          // With what made the score, it is the same one.
          for (const { name: number, score } of found)
            expect(index.compare(asked, number).score).to.equal(score)
        },
      ),
      // An initial finds no particle, so that it must not score as one either.
      { numRuns: 300, examples: [[['al', 'a'], 'a', 0, true]] },
    )
  })

  it('finds among some of the names what it finds among all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 25 }),
        fc.array(fc.boolean(), { minLength: 25, maxLength: 25 }),
        name,
        fc.nat(),
        fc.boolean(),
        async (names, chosen, other, pick, arePersons) => {
          const all = await indexOf(names, arePersons)
          const some = names.flatMap((_, i) => (chosen[i] ? [i] : []))
          const builder = createNameIndexBuilder(all)
          for (const i of some) builder.add(names[i] as string, arePersons)
          const index = await builder.build()
          const asked = pick % 3 === 0 ? other : altered(names[pick % names.length] as string, pick)
          const found = search(index, asked).map((one) => ({ ...one, name: some[one.name] }))
          expect(found).to.deep.equal(search(all, asked).filter(({ name: number }) => chosen[number]))
          for (const { name: number, score } of search(index, asked))
            expect(index.compare(asked, number).score).to.equal(score)
        },
      ),
      { numRuns: 300 },
    )
    // “Mohammad” is none of the names, and weighs as little as “Mohammed”, whom only the others are called.
    const crowd = Array.from(
      { length: 100 },
      (_, i) => `Mohammed Zq${String.fromCharCode(97 + (i % 26))}x${i % 7}`,
    )
    const all = await indexOf([...crowd, 'Ivan Petrov Sidorov'], true)
    const builder = createNameIndexBuilder(all)
    builder.add('Ivan Petrov Sidorov', true)
    const asked = 'Mohammad Ivan Petrov'
    const [expected] = search(all, asked)
    expect(search(await builder.build(), asked)).to.deep.equal([{ ...expected, name: 0 }])
    expect(expected?.name).to.equal(crowd.length)
  })

  it('finds among some of the names one whose only likeness is to a word that no list has', async () => {
    const listed = [
      ['Mohammed Zawahiri', 'al Zawahri'],
      ['Ali Khamenei', 'al Khamenej'],
      ['Hassan Rouhani', 'al Rohani'],
      ['Mohammed Haqqani', 'al Haqani'],
      ['Hassan Zarqawi', 'al Zarkawi'],
      ['Peter Hohenzollern', 'van Hohenzolern'],
    ] as const
    const [given, particles, families] = [
      ['Ivan', 'Oleg', 'Mohammed', 'Ali', 'Hassan', 'Peter'],
      ['al', 'bin', 'van', 'der'],
      ['Petrov', 'Hussein', 'Ahmed', 'Khan', 'Garcia'],
    ]
    const crowd = Array.from({ length: 3000 }, (_, i) =>
      [given[i % 6], ...(i % 3 === 0 ? [particles[i % 4]] : []), families[i % 5]].join(' '),
    )
    const all = await indexOf([...crowd, ...listed.map(([name]) => name)], true)
    for (const [i, [name, asked]] of listed.entries()) {
      const builder = createNameIndexBuilder(all)
      builder.add(name, true)
      const expected = search(all, asked).find((one) => one.name === crowd.length + i)
      expect(expected?.score, asked).to.be.at.least(MIN_FOUND_SCORE)
      expect(search(await builder.build(), asked), asked).to.deep.equal([{ ...expected, name: 0 }])
    }
  })

  it('finds the same the second time, also when another name was compared in a pause of a search', async () => {
    const index = await indexOf(['Ivan Petrov', 'Iwan Petrow', 'Anna Petrova', 'Ivan P.'], true)
    const first = search(index, 'Ivan Petroff')
    expect(first).to.have.length.above(1)
    const steps = index.search('Ivan Petroff')
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) {
        expect(step.value).to.deep.equal(first)
        break
      }
      expect(index.compare('A. Petrova', 2).score).to.be.above(MIN_FOUND_SCORE)
    }
  })

  it('compares words by their spelling as if it had compared them to the end', () => {
    let compared = 0
    fc.assert(
      fc.property(longWord, fc.nat(), longWord, (a, pick, c) => {
        for (const other of [c, altered(a, pick), altered(altered(a, pick), pick % 7)]) {
          const [first, second] = [new TokenForm(a), new TokenForm(other.replaceAll(' ', ''))]
          const similarity = tokenSimilarity(first, second, true)
          const slow = spellingOf(first, second)
          if (first.text === second.text || second.letters.length < 3) continue
          if (Math.abs(second.letters.length - a.length) > Math.min(second.letters.length, a.length)) continue
          compared++
          // Keys such as equal folds can only make words more alike.
          if (slow >= 0.7) expect(similarity).to.be.at.least(slow - 1e-12)
          if (first.fold !== second.fold && GIVEN_NAMES.get(a)?.has(second.letters) !== true)
            expect(similarity).to.be.closeTo(slow >= 0.7 ? slow : 0, 1e-12)
        }
      }),
      { numRuns: 1000 },
    )
    expect(compared).to.be.above(1000)
  })

  it('scores words alike whichever comes first, and 100 only for the same words', async () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const [first, second] = [new TokenForm(a), new TokenForm(b)]
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
    for (const [a, b, isPerson] of [
      ['Mohammed', 'Mohammed Hussein Karimi', true],
      ['Obraztsov', 'Dmitri Obraztsov', true],
      ['Trading', 'Blue Harbour Trading Co', false],
      ['Obraztsov', 'Obraztsov Severny Nordlicht', false],
    ] as const)
      expect(await scoreOf(a, b, isPerson), `${a} ${b}`).to.be.at.most(80)
    // Many companies are called by one of two.
    expect(await scoreOf('Obraztsov Group', 'Obraztsov Severny Group')).to.be.within(REVIEW_SCORE, 90)
    expect(await scoreOf('Suharto', 'Suharto')).to.equal(100)
  })

  it('takes words for words that JavaScript has members of objects by', async () => {
    for (const word of Object.getOwnPropertyNames(Object.prototype).filter((name) => /[a-z]/i.test(name))) {
      const name = `${word} Nile`
      const found = search(await indexOf(['Nordlicht Bank', name]), name)
      expect(
        found.map(({ score }) => score),
        word,
      ).to.deep.equal([100])
    }
  })

  it('leaves a name for review that lacks a word which says who is meant', async () => {
    expect(await scoreOf('Ivan Testov', 'Ivan Petrovich Testov', true)).to.be.within(REVIEW_SCORE, 94.9)
    expect(await scoreOf('Ivan al Testov', 'Ivan Testov', true)).to.be.at.least(95)
  })

  it('weighs a rare word more than one that everybody has', async () => {
    const crowd = Array.from(
      { length: 300 },
      (_, i) => `Mohammed Zq${String.fromCharCode(97 + (i % 26))}x${'aeiou'[i % 5]}${i % 7}`,
    )
    const index = await indexOf(['Mohammed Obraztsov', ...crowd])
    const { score: rare } = index.compare('Ahmad Obraztsov', 0)
    const { score: frequent } = index.compare('Mohammed Lindqvist', 0)
    expect(rare).to.be.greaterThan(frequent + 20)
  })

  it('makes words of names in any script, without titles, and tells legal forms apart from them', () => {
    const wordsOf = (name: string, isPerson = false) => readName(name, isPerson).words
    expect(wordsOf('Dr. J.R. O’Néil-Smith, Jr.')).to.deep.equal(['j', 'r', 'oneil', 'smith'])
    expect(wordsOf('Fiktiv Shipping & Trading Co. Ltd.')).to.deep.equal(['fiktiv', 'shipping', 'trading'])
    expect(wordsOf('習近平')).to.deep.equal(['习', '近', '平'])
    expect(wordsOf('Ｊａｎｇ　장')).to.deep.equal(['jang', '장'])
    expect(wordsOf('عبد الرحمن')).to.deep.equal(['abdul', 'رحمن'])
    for (const spelling of ['Abd al-Rahman', 'Abdul Rahman', 'Abdel-Rahman', 'Abdulrahman', 'ABD AR-RAHMAN'])
      expect(wordsOf(spelling), spelling).to.deep.equal(['abdul', 'rahman'])
    expect(wordsOf('Abdullah')).to.deep.equal(['abdullah'])
    expect(wordsOf('Twenty-first Century')).to.deep.equal(wordsOf('21st Century'))
    expect(wordsOf('PetrovIvan')).to.deep.equal(['petrov', 'ivan'])
    expect(wordsOf('Mr. Co')).to.deep.equal(['mr'])
    expect(wordsOf('Mr. Co', true)).to.deep.equal(['co'])
    expect(wordsOf('— … 。')).to.deep.equal([])
    const formsOf = (name: string) => readName(name).forms.map(({ code }) => code)
    for (const [name, form] of [
      ['Société Générale S.A.', 'SA'],
      ['LIMITED LIABILITY COMPANY ALFA', 'LLC'],
      ['ООО Альфа', 'LLC'],
      ['Müller Gesellschaft mit beschränkter Haftung', 'GmbH'],
      ['Grupo Sol S. de R.L. de C.V.', 'SRL'],
      ['Foo Sp. z o.o.', 'Sp. z o.o.'],
      ['Open Joint Stock Company Beta', 'OJSC'],
      ['深圳科技有限公司', '有限公司'],
      ['Alfa A/S', 'AS'],
    ] as const)
      expect(formsOf(name), name).to.include(form)
    expect(readName('Anna Limited', true).forms).to.deep.equal([])
  })

  it('finds a name through every class of change, and holds what only looks alike apart', async () => {
    for (const [asked, listed, isPerson] of SAME)
      expect(await scoreOf(asked, listed, isPerson), `${asked} | ${listed}`).to.be.at.least(REVIEW_SCORE)
    for (const [asked, listed, isPerson] of DIFFERENT)
      expect(await scoreOf(asked, listed, isPerson), `${asked} | ${listed}`).to.be.below(REVIEW_SCORE)
    // Another legal form is for review, and never the same.
    expect(await scoreOf('Deutsche Bank AG', 'Deutsche Bank GmbH')).to.be.within(REVIEW_SCORE, 94)
    expect(await scoreOf('Alfa Trading OOO', 'Alfa Trading LLC')).to.equal(100)
    expect(await scoreOf('Alfa Trading OAO', 'Alfa Trading JSC')).to.be.within(98, 99.9)
    expect(await scoreOf('Alfa Trading', 'Alfa Trading LLC')).to.be.within(98, 99.9)
  })

  it('says in words what made a score', async () => {
    const said = async (asked: string, listed: string, isPerson = false) =>
      explainNames(await compareIn(asked, listed, isPerson)).map(
        ({ effect, detail }) => `${effect}: ${detail}`,
      )
    expect(await said('Vanya Petrovich Testow', 'Ivan Testov', true)).to.deep.equal([
      'close: “vanya” asked for, “ivan” listed: forms of one given name',
      'close: “testow” asked for, “testov” listed: another romanisation',
      'close: only in the name that was asked for: “petrovich”',
    ])
    expect(await said('Deutsche Bank AG', 'Deutsche Bank GmbH')).to.deep.equal([
      'agrees: in both names: “deutsche”, “bank”',
      'differs: another legal form: AG asked for, GmbH listed',
    ])
    expect(await said('TestovIvan', 'Ivan Testov', true)).to.deep.equal([
      'agrees: in both names: “testov”, “ivan”',
    ])
    expect(await said('testovivan', 'Ivan Testov', true)).to.deep.equal([
      'close: “testovivan” asked for, “testov ivan” listed: joined, split or turned round',
    ])
  })

  it('tells the pairs of the labelled set apart', async () => {
    const index = await indexOf(PAIRS.map(([, , , b]) => b))
    const found = PAIRS.map(([label, , a], i) => ({
      label,
      isFound: index.compare(a, i).score >= REVIEW_SCORE,
    }))
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
