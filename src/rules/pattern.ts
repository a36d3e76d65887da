/** Patterns in RE2 syntax, whose size is known before they are compiled. @module */
import { RE2JS, RE2JSException } from 're2js'

/** RE2 takes no more; larger counts are errors, and of no use here either. */
const MAX_REPETITIONS = 1000

/** What `\pL` and the like cost to read, however often they are repeated; about what so many characters do. */
const UNICODE_CLASS_SIZE = 16
const UNICODE_CLASS = /\\p/gi
/** In patterns without regard to case, reading a range looks at each of its characters, up to the last with a case. */
const IGNORES_CASE = /\(\?[a-z-]*i/i
const RANGE_END = /-(?=\\x\{(?<hex>[\da-f]+)\}|(?<literal>.))/gisu
const LAST_CASED = 0x1e943
const CHARACTERS_PER_SIZE = 400

/**
 * The parts of a pattern that matter for its size: what stands for one character though it is written with more, the
 * start of a group, a counted repetition, or any character. Flags and empty quotes are passed over: what follows them
 * repeats what stands before. Text that only looks like a repetition counts as one.
 */
const PART =
  /\\[pPx]\{[^}]*\}|\\Q(?<quoted>.*?)(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|(?<flags>\(\?[A-Za-z-]+\))|\((?:\?(?:P?<\w*>|[A-Za-z-]*:?))?|\{(?<least>\d+)(?:,(?<most>\d*))?\}|./gsu

/** What a group has so far: before its last part, and in that part, which a repetition may follow. */
interface Group {
  size: number
  last: number
}

const repetitionsOf = (least: string, most = ''): number =>
  Math.min(MAX_REPETITIONS, Math.max(1, Number(least), Number(most)))

const classSize = (pattern: string): number => {
  const classes = pattern.match(UNICODE_CLASS)?.length ?? 0
  let ranged = 0
  for (const { groups } of IGNORES_CASE.test(pattern) ? pattern.matchAll(RANGE_END) : []) {
    const { hex, literal } = groups as Record<string, string | undefined>
    ranged += Math.min(LAST_CASED, hex ? Number.parseInt(hex, 16) : (literal?.codePointAt(0) ?? 0))
  }
  return classes * UNICODE_CLASS_SIZE + Math.floor(ranged / CHARACTERS_PER_SIZE)
}

/** About how many characters a pattern has with its counted repetitions written out. */
const writtenOutSize = (pattern: string): number => {
  let group: Group = { size: 0, last: 0 }
  const around: Group[] = []
  for (const { 0: part, groups } of pattern.matchAll(PART)) {
    const { quoted, flags, least, most } = groups as Record<string, string | undefined>
    if (flags !== undefined || quoted === '') continue
    if (least !== undefined) group.last *= repetitionsOf(least, most)
    else if ('?*+'.includes(part)) group.last += 1
    else if (part.startsWith('(')) {
      around.push(group)
      group = { size: 1, last: 0 }
    } else {
      group.size += group.last
      group.last = quoted?.length ?? 1
      const outer = part === ')' ? around.pop() : undefined
      if (outer) group = { size: outer.size + outer.last, last: group.size + group.last }
    }
  }
  return [group, ...around].reduce((sum, { size, last }) => sum + size + last, 0)
}

/**
 * What it costs to compile a pattern, in characters: about how many it has once its counted repetitions are written out
 * (`(ab{3}){2}` is twice two brackets and four characters), and more for classes that are large to read. It compiles
 * to about as many instructions, at most a few times as many. What is no pattern has some size, too.
 */
export const patternSize = (pattern: string): number => writtenOutSize(pattern) + classSize(pattern)

/** @returns the compiled pattern, or undefined when it isn't one in RE2 syntax */
export const compilePattern = (pattern: string): RE2JS | undefined => {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return undefined
  }
}
