/** Which documents hold which terms, packed: two arrays of 32-bit integers instead of a list for each term. @module */

/** Waits until others had their turn, where it is time. */
type Breathe = () => Promise<void> | undefined

const CHUNK_BITS = 12
const CHUNK = 1 << CHUNK_BITS
/** Steps, each of which may reach far into memory, between two of which others may have their turn. */
const STEPS_PER_PIECE = 10_000

/** Grows by a chunk, without copying what is there. */
export interface GrowingInts {
  push(value: number): void
  readonly length: number
  /** @param from where it begins to look */
  has(value: number, from: number): boolean
  /** All of it as one array; forgets it. */
  pack(breathe: Breathe): Promise<Int32Array>
}

export const growingInts = (): GrowingInts => {
  let chunks: Int32Array[] = []
  let length = 0
  return {
    push(value) {
      const place = length++ & (CHUNK - 1)
      if (place === 0) chunks.push(new Int32Array(CHUNK))
      ;(chunks.at(-1) as Int32Array)[place] = value
    },
    get length() {
      return length
    },
    has(value, from) {
      for (let i = from; i < length; i++)
        if ((chunks[i >> CHUNK_BITS] as Int32Array)[i & (CHUNK - 1)] === value) return true
      return false
    },
    async pack(breathe) {
      const packed = new Int32Array(length)
      for (const [i, chunk] of chunks.entries()) {
        packed.set(chunk.subarray(0, Math.min(CHUNK, length - i * CHUNK)), i * CHUNK)
        await breathe()
      }
      chunks = []
      length = 0
      return packed
    },
  }
}

export interface Postings {
  /** Documents of a term, ascending. */
  of(term: number): Int32Array
  /** How many there are of the terms before it. */
  start(term: number): number
  readonly bytes: number
}

/**
 * Turns lists of terms by document into lists of documents by term (a counting sort).
 * @param starts where each document's terms begin in `terms`, and the end of the last one
 * @param count terms are below this
 * @param tags of each term of a document, sorted as the documents are
 */
export const invert = async (
  starts: Int32Array,
  terms: Int32Array,
  count: number,
  breathe: Breathe,
  tags?: { readonly given: Uint8Array; readonly sorted: Uint8Array },
): Promise<Postings> => {
  const counts = new Int32Array(count)
  for (let i = 0; i < terms.length; i++) {
    const term = terms[i] as number
    counts[term] = (counts[term] as number) + 1
    if (i % STEPS_PER_PIECE === 0) await breathe()
  }
  // Where each term's documents begin; when they are filled in, where they end, and those of the next one begin.
  const ends = counts
  let sum = 0
  for (let term = 0; term < count; term++) {
    const own = counts[term] as number
    ends[term] = sum
    sum += own
    if (term % STEPS_PER_PIECE === 0) await breathe()
  }
  const documents = new Int32Array(terms.length)
  let document = 0
  for (let i = 0; i < terms.length; i++) {
    while (i === starts[document + 1]) document++
    const term = terms[i] as number
    const place = ends[term] as number
    documents[place] = document
    if (tags !== undefined) tags.sorted[place] = tags.given[i] as number
    ends[term] = place + 1
    if (i % STEPS_PER_PIECE === 0) await breathe()
  }
  return {
    of: (term) => documents.subarray(term === 0 ? 0 : ends[term - 1], ends[term]),
    start: (term) => (term === 0 ? 0 : (ends[term - 1] as number)),
    bytes: ends.byteLength + documents.byteLength,
  }
}

/** 32-bit FNV-1a of UTF-16 units. */
const hash = (text: string): number => {
  let state = 0x811c9dc5
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193)
  return state >>> 0
}

export interface TextPostings {
  /** Documents of a text, ascending, and rarely others: whoever asks compares. */
  of(text: string): readonly number[]
  readonly bytes: number
}

export interface TextPostingsBuilder {
  /** For the next document; each counts once. */
  add(texts: readonly string[]): void
  build(breathe: Breathe): Promise<TextPostings>
}

/** Texts to a place, at most, on average: a place takes as much memory as a document. */
const TEXTS_PER_PLACE = 4
/** So that few texts, which must be told from all that others ask for, are rarely taken for another one. */
const MIN_PLACES = 65_536
/** Of what is at one place, this part of the hash tells which is meant. */
const TAG_SHIFT = 24

/** Postings whose terms are texts, kept by their hashes alone. */
export const textPostingsBuilder = (): TextPostingsBuilder => {
  const starts = growingInts()
  const hashes = growingInts()
  return {
    add(texts) {
      const start = hashes.length
      starts.push(start)
      for (const text of texts) {
        const value = hash(text) | 0
        if (!hashes.has(value, start)) hashes.push(value)
      }
    },
    async build(breathe) {
      starts.push(hashes.length)
      let places = MIN_PLACES
      while (TEXTS_PER_PLACE * places < hashes.length) places *= 2
      const mask = places - 1
      const terms = await hashes.pack(breathe)
      const tags = { given: new Uint8Array(terms.length), sorted: new Uint8Array(terms.length) }
      for (let i = 0; i < terms.length; i++) {
        tags.given[i] = (terms[i] as number) >>> TAG_SHIFT
        terms[i] = (terms[i] as number) & mask
        if (i % STEPS_PER_PIECE === 0) await breathe()
      }
      const postings = await invert(await starts.pack(breathe), terms, places, breathe, tags)
      return createTextPostings(postings, tags.sorted, mask)
    },
  }
}

const createTextPostings = (postings: Postings, tags: Uint8Array, mask: number): TextPostings => ({
  of(text) {
    const value = hash(text)
    const [documents, start] = [postings.of(value & mask), postings.start(value & mask)]
    const tag = value >>> TAG_SHIFT
    const found: number[] = []
    for (let i = 0; i < documents.length; i++) if (tags[start + i] === tag) found.push(documents[i] as number)
    return found
  },
  bytes: postings.bytes + tags.byteLength,
})
