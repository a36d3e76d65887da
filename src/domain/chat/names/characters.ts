/** Characters that have no place in what others are shown, in one line or in many. @module */

/**
 * Combining marks in a row: no writing needs more (UAX #15 §13), and bringing longer runs into a normal form takes time that grows
 * with the square of their length.
 */
export const MAX_MARKS_IN_A_ROW = 30

const PILED_MARKS = new RegExp(`\\p{M}{${MAX_MARKS_IN_A_ROW + 1}}`, 'u')
const CONTROL_BUT_NEWLINE_AND_TAB = /[^\P{Cc}\n\t]/u
/** Controls, and the line and paragraph separators, which break a line as a newline does. */
const NOT_IN_A_LINE = /[\p{Cc}\u2028\u2029]/u
/**
 * Embeddings, overrides and isolates: they turn round what is shown of a text, and beside it (UAX #9 §2.1 to §2.5). The three marks of
 * §2.6 (U+061C, U+200E, U+200F) do no more than a letter does, and people who write from right to left need them.
 */
const TURNS_DIRECTION = /[\u202a-\u202e\u2066-\u2069]/
/** A letter, number, sign or symbol that is not drawn as nothing, as fillers and the empty braille pattern are. */
const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u
/** An invisible copy of ASCII, which models read and people don't see. */
const TAGS = /[\u{e0000}-\u{e007f}]/u
/** Where it belongs: in the flags of regions such as Scotland (UTS #51, emoji tag sequences). */
const REGION_FLAG = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}/gu

/** Whether marks are piled, or would be once the text is normalised: some are short for two. Takes linear time. */
export const hasPiledMarks = (text: string): boolean =>
  PILED_MARKS.test(text) || PILED_MARKS.test(text.normalize('NFC'))

/** Whether a text of many lines holds control characters, hides a text in invisible ones, or turns its direction. */
export const hasControls = (text: string): boolean =>
  CONTROL_BUT_NEWLINE_AND_TAB.test(text) ||
  TURNS_DIRECTION.test(text) ||
  TAGS.test(text.replace(REGION_FLAG, ''))

/** As {@link hasControls}, for what must be one line. */
export const breaksLine = (text: string): boolean => NOT_IN_A_LINE.test(text) || hasControls(text)

/** Whether it holds something to see. */
export const isVisible = (text: string): boolean => VISIBLE.test(text)
