/** What made the score of two names, in words that an officer understands. @module */
import type { LegalForm } from './legal-forms.ts'
import type { Comparison } from './name-index.ts'
import type { TokenPair } from './name-score.ts'
import { differenceOf, TokenForm } from './token-similarity.ts'

export interface NameFinding {
  readonly effect: 'agrees' | 'close' | 'differs'
  readonly detail: string
}

const quoted = (words: readonly string[]): string => words.map((word) => `“${word}”`).join(', ')

const joinWords = (texts: readonly string[], positions: readonly number[]): string =>
  positions.map((i) => texts[i]).join(' ')

const pairFinding = (
  { first, second }: TokenPair,
  asked: readonly string[],
  listed: readonly string[],
): NameFinding => {
  const [a, b] = [joinWords(asked, first), joinWords(listed, second)]
  if (first.length + second.length > 2)
    return { effect: 'close', detail: `“${a}” asked for, “${b}” listed: joined, split or turned round` }
  return {
    effect: 'close',
    detail: `“${a}” asked for, “${b}” listed: ${differenceOf(new TokenForm(a), new TokenForm(b))}`,
  }
}

const leftOver = (texts: readonly string[], pairs: readonly (readonly number[])[]): string[] => {
  const paired = new Set(pairs.flat())
  return texts.filter((_, i) => !paired.has(i))
}

const codes = (forms: readonly LegalForm[]): string =>
  forms
    .filter(({ kind }) => kind !== 'company')
    .map(({ code }) => code)
    .join(', ')

const formFinding = ({ form, asked, listed }: Comparison): NameFinding[] => {
  const [ours, theirs] = [codes(asked.legalForms), codes(listed.legalForms)]
  if (form === 'same') return [{ effect: 'agrees', detail: `the same legal form: ${theirs}` }]
  if (form === 'translated')
    return [
      {
        effect: 'close',
        detail: `the same kind of company in another law or language: ${ours} asked for, ${theirs} listed`,
      },
    ]
  if (form === 'missing')
    return [{ effect: 'close', detail: `only one of the names has a legal form: ${ours || theirs}` }]
  if (form === 'differs')
    return [{ effect: 'differs', detail: `another legal form: ${ours} asked for, ${theirs} listed` }]
  return []
}

/** Words that agree, words that are close and why, words that only one name has, their order, and the legal forms. */
export const explainNames = (compared: Comparison): NameFinding[] => {
  const { asked, listed, pairs, outOfOrder } = compared
  const texts = asked.words
  const inOrder = pairs.toSorted((a, b) => (a.first[0] as number) - (b.first[0] as number))
  const equal = inOrder.filter(({ similarity }) => similarity === 1)
  const found: NameFinding[] = []
  if (equal.length > 0)
    found.push({
      effect: 'agrees',
      detail: `in both names: ${quoted(equal.map(({ first }) => joinWords(texts, first)))}`,
    })
  for (const pair of inOrder) if (pair.similarity < 1) found.push(pairFinding(pair, texts, listed.words))
  const ours = leftOver(
    texts,
    pairs.map(({ first }) => first),
  )
  const theirs = leftOver(
    listed.words,
    pairs.map(({ second }) => second),
  )
  const effect = ours.length > 0 && theirs.length > 0 ? 'differs' : 'close'
  if (ours.length > 0) found.push({ effect, detail: `only in the name that was asked for: ${quoted(ours)}` })
  if (theirs.length > 0) found.push({ effect, detail: `only in the listed name: ${quoted(theirs)}` })
  if (outOfOrder > 0) found.push({ effect: 'differs', detail: 'initials or syllables in another order' })
  return [...found, ...formFinding(compared)]
}
