import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { canonicalJson, hasCanonicalJson, isSameJson } from '../../src/protocol/canonical-json.ts'
import { dataCommitment } from '../../src/protocol/commitment.ts'
import { writeJws } from '../../src/protocol/jws.ts'
import { encodeValue } from '../../src/rules/encode.ts'

interface Vectors {
  readonly canonical: readonly { readonly input: string; readonly output: string }[]
  /** JSON texts that have no canonical form. */
  readonly refused: readonly string[]
}

const vectors = JSON.parse(
  readFileSync(new URL('../vectors/canonical-json.json', import.meta.url), 'utf8'),
) as Vectors

describe('canonical JSON', () => {
  it('is that of RFC 8785', () => {
    for (const { input, output } of vectors.canonical)
      expect(canonicalJson(JSON.parse(input)), input).to.equal(output)
  })

  it('there is none of half a surrogate pair, in texts and names at any depth (RFC 8785 §3.2.2.2)', () => {
    for (const input of vectors.refused) {
      const value: unknown = JSON.parse(input)
      expect(() => canonicalJson(value), input).to.throw(TypeError, 'surrogate')
      expect(() => dataCommitment(new Uint8Array(32), value), input).to.throw(TypeError, 'surrogate')
      expect(() => encodeValue(value), input).to.throw(TypeError, 'surrogate')
      expect(() => writeJws({ alg: 'EdDSA' }, { value }, (text) => text), input).to.throw(
        TypeError,
        'surrogate',
      )
    }
  })

  it('there is none of what is no JSON', () => {
    const itself: unknown[] = []
    itself.push(itself)
    for (const value of [undefined, Number.NaN, Number.POSITIVE_INFINITY, [Number.NaN], itself, () => 1])
      expect(() => canonicalJson(value)).to.throw(TypeError)
  })

  it('of what has none nothing is the same, not even itself', () => {
    expect(isSameJson({ a: 1, b: [2] }, { b: [2], a: 1 })).to.equal(true)
    expect(isSameJson({ a: 1 }, { a: 2 })).to.equal(false)
    for (const value of [undefined, { a: '\ud800' }, { '\ud800': 1 }, [Number.POSITIVE_INFINITY]]) {
      expect(hasCanonicalJson(value)).to.equal(false)
      expect(isSameJson(value, value)).to.equal(false)
    }
  })
})
