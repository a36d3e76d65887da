/**
 * Names compared one by one and word by word, as the documentation of the comparison says it: without an index, without bounds, with
 * sets and arrays. What a search must find, and what each name must score.
 * @module
 */
import { editDistance } from '../../../src/domain/aml/names/edit-distance.ts'
import { GIVEN_NAMES } from '../../../src/domain/aml/names/given-names.ts'
import { compareForms } from '../../../src/domain/aml/names/legal-forms.ts'
import { agreementOf } from '../../../src/domain/aml/names/name-score.ts'
import { type Reading, readingsOf } from '../../../src/domain/aml/names/name-tokens.ts'
import { isCommonWord, isTelling, kindFactor } from '../../../src/domain/aml/names/name-words.ts'
import { MIN_WEIGHT, spansOf } from '../../../src/domain/aml/names/read-names.ts'
import { isPinyin, syllableKey } from '../../../src/domain/aml/names/romanisations.ts'
import { TokenForm, tokenSimilarity } from '../../../src/domain/aml/names/token-similarity.ts'

interface Pair {
  readonly first: readonly number[]
  readonly second: readonly number[]
  readonly similarity: number
}

interface Weighed {
  readonly forms: readonly TokenForm[]
  readonly weights: readonly number[]
}

const MIN_JOINED_SIMILARITY = 0.88

const isSyllable = ({ script }: TokenForm): boolean => script === 'han' || script === 'hangul'
const isInitial = (form: TokenForm): boolean => form.letters.length === 1 && !isSyllable(form)
const sum = (values: readonly number[], positions: Iterable<number>): number =>
  [...positions].reduce((total, i) => total + (values[i] as number), 0)
const shareSome = (a: readonly string[], b: readonly string[]): boolean => a.some((one) => b.includes(one))

/** Whether an initial stands for a word, or both are initials, or neither is. */
const areComparable = (asked: TokenForm, listed: TokenForm): boolean =>
  isInitial(asked) || !isInitial(listed) || listed.text.length === 1

const pairsOf = (asked: Weighed, listed: Weighed): Pair[] => {
  const pairs: Pair[] = []
  const texts = ({ forms }: Weighed) => forms.map(({ text }) => text)
  for (const [j, other] of listed.forms.entries()) {
    for (const [i, form] of asked.forms.entries())
      if (areComparable(form, other))
        pairs.push({ first: [i], second: [j], similarity: tokenSimilarity(form, other) })
    for (const { positions, text, factor } of spansOf(texts(asked))) {
      const form = new TokenForm(text)
      if (isInitial(other) || !shareSome(form.askedJoinedAs(true), other.listedAs)) continue
      const similarity = tokenSimilarity(form, other)
      if (similarity >= MIN_JOINED_SIMILARITY)
        pairs.push({ first: positions, second: [j], similarity: factor * similarity })
    }
  }
  for (const [i, form] of asked.forms.entries())
    for (const { positions, text, factor } of spansOf(texts(listed))) {
      const other = new TokenForm(text)
      if (form.letters.length < 5 || text.length > 2 * form.letters.length + 2) continue
      if (!shareSome(form.askedJoinedAs(true), other.listedJoinedAs)) continue
      const similarity = tokenSimilarity(form, other)
      if (similarity >= MIN_JOINED_SIMILARITY)
        pairs.push({ first: [i], second: positions, similarity: factor * similarity })
    }
  return pairs.filter(({ similarity }) => similarity > 0)
}

const choose = (a: Weighed, b: Weighed, pairs: readonly Pair[]): Pair[] => {
  const value = ({ first, second, similarity }: Pair): number =>
    similarity * (sum(a.weights, first) + sum(b.weights, second))
  const at = ([place = 0]: readonly number[]): number => place
  const shift = ({ first, second }: Pair): number => Math.abs(at(first) - at(second))
  const inOrder = pairs.toSorted(
    (p, q) =>
      q.similarity - p.similarity ||
      value(q) - value(p) ||
      shift(p) - shift(q) ||
      at(p.first) - at(q.first) ||
      at(p.second) - at(q.second),
  )
  const [used, usedToo] = [new Set<number>(), new Set<number>()]
  return inOrder.filter(({ first, second }) => {
    if (first.some((i) => used.has(i)) || second.some((i) => usedToo.has(i))) return false
    for (const i of first) used.add(i)
    for (const i of second) usedToo.add(i)
    return true
  })
}

/** By position: words that tell who is meant. */
const tellingOf = ({ forms }: Weighed, isPerson: boolean): boolean[] => {
  const telling = forms.map(({ letters }) => isTelling(letters))
  const distinctive = forms.map(({ letters }) => isTelling(letters) && !isCommonWord(letters))
  return !isPerson && distinctive.includes(true) ? distinctive : telling
}

const limitOf = (a: Weighed, b: Weighed, chosen: readonly Pair[], isPerson: boolean): number => {
  const [first, second] = [tellingOf(a, isPerson), tellingOf(b, isPerson)]
  const count = (telling: readonly boolean[], positions: readonly number[]): number =>
    positions.filter((i) => telling[i]).length
  const most = Math.max(...[first, second].map((telling) => telling.filter(Boolean).length))
  if (most === 0) return chosen.some(({ similarity }) => similarity === 1) ? 100 : 50
  const parts = chosen.map((pair) => {
    const [ours, theirs] = [count(first, pair.first), count(second, pair.second)]
    if (ours > 0 && theirs > 0) return Math.max(ours, theirs)
    return ours + theirs > 0 ? 0.5 : 0
  })
  const evidence = parts.some((part) => part >= 1) ? parts.reduce((total, part) => total + part, 0) : 0
  const paired = (side: 'first' | 'second') => new Set(chosen.flatMap((pair) => pair[side]))
  const [ours, theirs] = [paired('first'), paired('second')]
  const isLacking = first.some((is, i) => is && !ours.has(i)) || second.some((is, i) => is && !theirs.has(i))
  const isRare = chosen.some(
    (pair) =>
      count(first, pair.first) > 0 &&
      count(second, pair.second) > 0 &&
      sum(a.weights, pair.first) + sum(b.weights, pair.second) >= 1.4,
  )
  const oneWord = !isPerson && isRare && most === 2 ? 90 : 80
  const limit = evidence >= Math.min(2, most) ? 100 : evidence < 1 ? 50 : evidence > 1 ? 90 : oneWord
  return isLacking ? Math.min(limit, 94.9) : limit
}

const countOutOfOrder = (a: Weighed, b: Weighed, chosen: readonly Pair[]): number => {
  const isOrdered = (form: TokenForm | undefined): boolean =>
    form !== undefined && (form.letters.length === 1 || isSyllable(form))
  const places = chosen
    .filter(({ first: [i = 0], second: [j = 0] }) => isOrdered(a.forms[i]) && isOrdered(b.forms[j]))
    .toSorted((p, q) => (p.first[0] as number) - (q.first[0] as number))
    .map(({ second: [j = 0] }) => j)
  const drops = places.filter((place, i) => i > 0 && place < (places[i - 1] as number)).length
  const isRotation = drops === 1 && (places.at(-1) as number) < (places[0] as number) && places.length > 2
  return isRotation ? 0 : drops
}

const scoreOf = (a: Weighed, b: Weighed, isPerson: boolean, formPoints: number) => {
  const chosen = choose(a, b, pairsOf(a, b))
  if (chosen.length === 0) return { score: 0, evidence: 0 }
  const shares = [
    sum(a.weights, new Set(chosen.flatMap(({ first }) => first))) / sum(a.weights, a.weights.keys()),
    sum(b.weights, new Set(chosen.flatMap(({ second }) => second))) / sum(b.weights, b.weights.keys()),
  ]
  const weights = chosen.map((pair) => sum(a.weights, pair.first) + sum(b.weights, pair.second))
  const weight = weights.reduce((total, one) => total + one, 0)
  const unlike = weights.reduce((total, one, i) => total + one * (1 - (chosen[i] as Pair).similarity), 0)
  const likeness = Math.max(0, 1 - (1.02 * unlike) / weight)
  const disorder = Math.min(27, 9 * countOutOfOrder(a, b, chosen))
  const agreed = likeness * agreementOf(Math.max(...shares), Math.min(...shares)) - disorder - formPoints
  const score = Math.max(0, Math.min(agreed, limitOf(a, b, chosen, isPerson)))
  return { score: Math.floor(score * 10 + 1e-6) / 10, evidence: weight * likeness }
}

const FORM_POINTS = { same: 0, missing: 1, translated: 1.5, differs: 10 } as const

/** Compares a name with every name of a list, each in all its readings. @returns by position in the list */
export const compareWithAll = (asked: string, list: readonly string[], isPerson: boolean) => {
  const listed = list.map((name) => readingsOf(name, isPerson))
  const read = listed.flat()
  const vocabulary = [
    ...new Set(
      [...listed.map(([first]) => first), ...listed.flatMap(([, ...more]) => more)].flatMap(
        ({ words }) => words,
      ),
    ),
  ]
  const rarities = vocabulary.map((word) => {
    const uses = read.flatMap(({ words }) => words.filter((one) => one === word)).length
    const share = Math.log1p(read.length / uses) / Math.log1p(read.length)
    return Math.fround(Math.max(MIN_WEIGHT, Math.min(1, share)))
  })
  const forms = vocabulary.map((word) => new TokenForm(word))
  /** Of a word that no name has: what the first of the words weighs that are most like it. */
  const rarityOf = (form: TokenForm): number => {
    const alike = forms.map((other) =>
      isInitial(form) === isInitial(other) ? tokenSimilarity(form, other) : 0,
    )
    const most = Math.max(0, ...alike)
    return most === 0 ? 1 : (rarities[alike.indexOf(most)] as number)
  }
  const askedAs = readingsOf(asked, isPerson).map(({ words, forms: legalForms }) => {
    const own = words.map((word) => new TokenForm(word))
    const weights = own.map((form) => kindFactor(form.letters, isPerson) * rarityOf(form))
    return { forms: own, weights, legalForms }
  })
  const compareTo = ({ words, forms: legalForms }: Reading) => {
    const numbers = words.map((word) => vocabulary.indexOf(word))
    const second = {
      forms: numbers.map((i) => forms[i] as TokenForm),
      weights: numbers.map((i) =>
        Math.fround(kindFactor((forms[i] as TokenForm).letters, isPerson) * (rarities[i] as number)),
      ),
    }
    return askedAs.map((first) => {
      const form = isPerson ? undefined : compareForms(first.legalForms, legalForms)
      return scoreOf(first, second, isPerson, form === undefined ? 0 : FORM_POINTS[form])
    })
  }
  return listed.map((readings) =>
    readings
      .flatMap(compareTo)
      .reduce((a, b) => (b.score > a.score || (b.score === a.score && b.evidence > a.evidence) ? b : a)),
  )
}

const costOf = (a: string, b: string): number => {
  const wrong = editDistance(a, b) + (a[0] === b[0] ? 0 : 0.25)
  const length = Math.max(a.length, b.length)
  return 0.1 * Math.min(1, wrong) * Math.sqrt(6 / length) + (0.2 * Math.max(0, wrong - 1) * 8) / length
}

/** How alike two different words of Latin letters are by their spelling, of which enough letter pairs are the same. */
export const spellingOf = (a: TokenForm, b: TokenForm): number => {
  const sound = shareSome(a.sounds, b.sounds) ? 0.65 : 1
  const cost = sound * Math.min(costOf(a.letters, b.letters), 0.02 + costOf(a.fold, b.fold))
  const areSyllables = isPinyin(a.letters) && isPinyin(b.letters)
  const areOthers = areSyllables
    ? syllableKey(a.letters) !== syllableKey(b.letters)
    : GIVEN_NAMES.has(a.letters) && GIVEN_NAMES.has(b.letters)
  return 1 - (areOthers && a.fold !== b.fold ? Math.max(cost, 0.24) : cost)
}
