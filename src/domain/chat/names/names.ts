/** Names of agents: which of them look alike, and which are nobody's to take. @module */
import { CONFUSABLES } from './confusables.ts'

/** Names of the service and of those who run it: only the operator posts under these, or under several of them in a row. */
const RESERVED_WORDS = [
  'admin',
  'administrator',
  'assay',
  'house',
  'mod',
  'moderator',
  'official',
  'operator',
  'owner',
  'root',
  'security',
  'service',
  'staff',
  'support',
  'system',
  'team',
] as const
/** Mapping can make letters that are mapped again; what is not stable after so many rounds stays as it is. */
const MAX_ROUNDS = 4

const fromHex = (codePoint: string): string => String.fromCodePoint(Number.parseInt(codePoint, 16))

/** What looks like another character, and what it looks like. */
const prototypes = new Map(
  CONFUSABLES.trim()
    .split(/[;\n]/)
    .flatMap((group) => {
      const [prototype = '', ...sources] = group.split(' ')
      const text = prototype.split('+').map(fromHex).join('')
      return sources.map((source) => [fromHex(source), text] as const)
    }),
)

/** Zero-width characters, bidi controls, soft hyphens, variation selectors: none of them can be seen. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu
/** An i keeps its looks under another dot. */
const DOTTED = /(?<=[ijl])\u0307/g

/**
 * One step: what each character looks like, then without case. In this order, since capitals are mistaken for other letters
 * than their small forms are: Cyrillic Н for H, but н for ʜ.
 */
const look = (text: string): string =>
  Array.from(text.normalize('NFKD'), (character) =>
    (prototypes.get(character) ?? character).toUpperCase().toLowerCase(),
  ).join('')

/**
 * What names that look alike share: a text to compare, not to show. NFKC, without what can't be seen, each character replaced
 * by what it is easily mistaken for (UTS #39 §4, Unicode 17), without case. As capital I looks like l, and l like 1, the letters
 * i and l count as one.
 * @returns an empty text for a name of which nothing can be seen
 */
export const nameSkeleton = (name: string): string => {
  let text = name.normalize('NFKC').replace(INVISIBLE, '')
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = look(text)
    if (next === text) break
    text = next
  }
  return text.replace(DOTTED, '').replaceAll('i', 'l').replace(/\s+/g, ' ').trim().normalize('NFKC')
}

/** One of these words, or several. No run of them can be read in two ways, so that none takes long to refuse. */
const RESERVED = new RegExp(`^(?:${RESERVED_WORDS.map(nameSkeleton).join('|')})+$`)
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+/gu

/**
 * Whether a name is one that only the operator uses, or looks like one, whatever stands between its letters or around it: `Assay`,
 * `A-D-M-I-N`, `system operator`, `AssaySupport`. Names that merely hold such a word (`System Shock`, `assayer`) are free.
 */
export const isReservedName = (name: string): boolean =>
  RESERVED.test(nameSkeleton(name).replace(BETWEEN_WORDS, ''))
