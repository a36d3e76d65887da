/** Which documents hold which terms, packed: two arrays of 32-bit integers instead of a list for each term. @module */

/** Grows by doubling. */
export interface GrowingInts {
  push(value: number): void
  readonly length: number
  /** A copy of the right size. */
  pack(): Int32Array
}

export const growingInts = (): GrowingInts => {
  let values = new Int32Array(1024)
  let length = 0
  return {
    push(value) {
      if (length === values.length) {
        const larger = new Int32Array(2 * length)
        larger.set(values)
        values = larger
      }
      values[length++] = value
    },
    get length() {
      return length
    },
    pack: () => values.slice(0, length),
  }
}

export interface Postings {
  /** Documents of a term, ascending. */
  of(term: number): Int32Array
}

/**
 * Turns lists of terms by document into lists of documents by term (a counting sort).
 * @param starts where each document's terms begin in `terms`, and the end of the last one
 * @param count terms are below this
 */
export const invert = (starts: Int32Array, terms: Int32Array, count: number): Postings => {
  const ends = new Int32Array(count + 1)
  for (const term of terms) ends[term + 1] = (ends[term + 1] as number) + 1
  for (let term = 0; term < count; term++)
    ends[term + 1] = (ends[term + 1] as number) + (ends[term] as number)
  const from = ends.slice()
  const documents = new Int32Array(terms.length)
  for (let document = 0; document + 1 < starts.length; document++) {
    for (let i = starts[document] as number; i < (starts[document + 1] as number); i++) {
      const term = terms[i] as number
      documents[from[term] as number] = document
      from[term] = (from[term] as number) + 1
    }
  }
  return { of: (term) => documents.subarray(ends[term], ends[term + 1]) }
}
