import { expect } from 'chai'
import { buildPoseidon, type CircomPoseidon } from 'circomlibjs'
import fc from 'fast-check'
import { poseidon2 } from 'poseidon-lite/poseidon2'
import {
  FIELD_MODULUS,
  type Field,
  fieldModule,
  instantiateField,
  POSEIDON_TAGS,
} from '../../src/core/field.ts'
import { vectors } from '../support/circuits/core-builds.ts'
import { FIELDS } from '../support/circuits/field-builds.ts'
import { createReferenceField, toBytes } from '../support/reference/field.ts'

const { vectors: published } = vectors('poseidon') as {
  vectors: { from: string; tag: number; inputs: string[]; hash: string }[]
}

const LARGEST_TAG = 2 ** 29 - 1
const TOO_LARGE = [FIELD_MODULUS, FIELD_MODULUS + 1n, 2n ** 254n, 2n ** 256n - 1n]
/** Values at the borders of the field, of its limbs of 29 bits, and of words of 64 bits. */
const EDGES = [
  0n,
  1n,
  FIELD_MODULUS - 1n,
  FIELD_MODULUS >> 1n,
  ...[29n, 58n, 64n, 128n, 192n, 232n, 253n].flatMap((bits) => [2n ** bits, 2n ** bits - 1n]),
]

const element = fc.oneof(
  fc.bigInt({ min: 0n, max: FIELD_MODULUS - 1n }),
  fc.constantFrom(...EDGES),
  fc.nat(1000).map((distance) => FIELD_MODULUS - 1n - BigInt(distance)),
)
const tag = fc.oneof(fc.constantFrom(...Object.values(POSEIDON_TAGS)), fc.constantFrom(0, LARGEST_TAG))

const bytes = (elements: readonly bigint[]): Uint8Array => Buffer.concat(elements.map(toBytes))
const random = (count: number): bigint[] => fc.sample(element, count)
const reference = createReferenceField()

let circomPoseidon: CircomPoseidon
before(async () => {
  circomPoseidon = await buildPoseidon()
})

/** PoseidonEx chained by its starting state, with circomlibjs. */
const withCircomlibjs = (start: number, inputs: readonly bigint[]): bigint => {
  const { F } = circomPoseidon
  let state = F.e(BigInt(start))
  for (let i = 0; i < inputs.length; i += 2) {
    state = circomPoseidon([F.e(inputs[i] ?? 0n), F.e(inputs[i + 1] ?? 0n)], state)
  }
  return F.toObject(state)
}

const describeProducts = (field: Field): void => {
  it('multiplies all pairs of edge values as integers do', () => {
    for (const x of EDGES)
      for (const y of EDGES) expect(field.multiply(x, y)).to.equal((x * y) % FIELD_MODULUS)
  })

  it('multiplies as the reference does', () => {
    fc.assert(fc.property(element, element, (x, y) => field.multiply(x, y) === reference.multiply(x, y)))
  })

  it('multiplies batches of every size as it multiplies one by one', () => {
    for (const count of [0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 127, 128, 129, 200]) {
      const [xs, ys] = [random(count), random(count)]
      const products = xs.map((x, i) => (x * (ys[i] ?? 0n)) % FIELD_MODULUS)
      expect(Buffer.from(field.multiplyBatch(bytes(xs), bytes(ys))), `${count}`).to.deep.equal(
        bytes(products),
      )
    }
  })

  it('refuses what is not below r, naming the limit', () => {
    for (const wrong of [...TOO_LARGE, -1n]) {
      expect(() => field.multiply(wrong, 1n)).to.throw(RangeError, 'below the modulus r')
      expect(() => field.multiply(1n, wrong)).to.throw(RangeError, 'below the modulus r')
    }
    for (const wrong of TOO_LARGE) {
      const good = random(70)
      for (const place of [0, 3, 64, 69]) {
        const bad = bytes(good.with(place, wrong))
        expect(() => field.multiplyBatch(bad, bytes(good))).to.throw(RangeError, 'below the modulus r')
        expect(() => field.multiplyBatch(bytes(good), bad)).to.throw(RangeError, 'below the modulus r')
      }
    }
  })

  it('refuses batches of lengths that do not fit', () => {
    expect(() => field.multiplyBatch(new Uint8Array(33), new Uint8Array(33))).to.throw(
      RangeError,
      'no multiple of 32',
    )
    expect(() => field.multiplyBatch(new Uint8Array(64), new Uint8Array(32))).to.throw(
      RangeError,
      "can't be multiplied",
    )
  })
}

const describePoseidon = (field: Field): void => {
  for (const { from, tag: start, inputs, hash } of published) {
    it(`gives the published hash of ${inputs.map((x) => x.slice(0, 8)).join(', ')} under ${start} (${from})`, () => {
      expect(field.poseidon(start, inputs.map(BigInt))).to.equal(BigInt(hash))
    })
  }

  it('agrees with circomlibjs on edge values under every tag', () => {
    for (const start of [0, ...Object.values(POSEIDON_TAGS), LARGEST_TAG]) {
      for (const [a, b] of [
        [0n, 0n],
        [1n, FIELD_MODULUS - 1n],
        [FIELD_MODULUS - 1n, FIELD_MODULUS - 1n],
      ] as const)
        expect(field.poseidon(start, [a, b]), `${start}`).to.equal(withCircomlibjs(start, [a, b]))
    }
  })

  it('agrees with circomlibjs on chains of any length, the last input padded with 0', () => {
    const inputs = fc.array(element, { minLength: 1, maxLength: 9 })
    const agrees = (start: number, xs: bigint[]) => field.poseidon(start, xs) === withCircomlibjs(start, xs)
    fc.assert(fc.property(tag, inputs, agrees), { numRuns: 200 })
  })

  it('takes in more inputs than its buffer holds', () => {
    for (const count of [127, 128, 129, 255, 256, 257]) {
      const inputs = random(count)
      expect(field.poseidon(7, inputs), `${count}`).to.equal(withCircomlibjs(7, inputs))
    }
  })

  it('agrees with poseidon-lite from the state 0', () => {
    fc.assert(
      fc.property(element, element, (a, b) => field.poseidon(0, [a, b]) === poseidon2([a, b])),
      {
        numRuns: 50,
      },
    )
  })

  it('hashes batches of pairs as it hashes each alone', () => {
    for (const count of [0, 1, 2, 3, 63, 64, 65, 130]) {
      const inputs = random(2 * count)
      const hashes = Array.from({ length: count }, (_, i) =>
        field.poseidon(5, inputs.slice(2 * i, 2 * i + 2)),
      )
      expect(Buffer.from(field.poseidonPairs(5, bytes(inputs))), `${count}`).to.deep.equal(bytes(hashes))
    }
  })

  it('refuses inputs that are not below r, other tags, and no input', () => {
    for (const wrong of [...TOO_LARGE, -1n]) {
      for (const inputs of [[wrong], [1n, wrong], [1n, 2n, wrong]])
        expect(() => field.poseidon(1, inputs)).to.throw(RangeError, 'below the modulus r')
    }
    for (const wrong of TOO_LARGE) {
      const bad = bytes(random(200).with(150, wrong))
      expect(() => field.poseidonPairs(1, bad)).to.throw(RangeError, 'below the modulus r')
    }
    for (const wrong of [-1, 0.5, LARGEST_TAG + 1, Number.NaN])
      expect(() => field.poseidon(wrong, [1n])).to.throw(RangeError, 'the tag')
    expect(() => field.poseidon(1, [])).to.throw(RangeError, 'at least one input')
    expect(() => field.poseidonPairs(1, new Uint8Array(65))).to.throw(RangeError, 'no multiple of 64')
  })

  it('hashes well after it refused', () => {
    const expected = field.poseidon(3, [1n, 2n, 3n])
    expect(() => field.poseidon(4, [...EDGES, FIELD_MODULUS])).to.throw(RangeError)
    expect(field.poseidon(3, [1n, 2n, 3n])).to.equal(expected)
  })
}

for (const { name, field } of FIELDS) {
  describe(`field, ${name}`, () => describeProducts(field))
  describe(`Poseidon, ${name}`, () => describePoseidon(field))
}

describe('the field module', () => {
  it('names the element that is wrong', () => {
    const [release] = FIELDS
    expect(() => release?.field.poseidonPairs(1, bytes([...random(129), FIELD_MODULUS]))).to.throw(
      'poseidonPairs: element 129',
    )
  })

  it('multiplies four at a time in Montgomery form, each lane for itself and below 2r', () => {
    const { call, layout, memory } = instantiateField({ module: fieldModule() })
    const limbs = new Uint32Array(memory.buffer)
    const write = (address: number, lane: number, x: bigint) => {
      for (let i = 0; i < 9; i++)
        limbs[address / 4 + 4 * i + lane] = Number(BigInt.asUintN(29, x >> BigInt(29 * i)))
    }
    const read = (address: number, lane: number) =>
      Array.from({ length: 9 }, (_, i) => BigInt(limbs[address / 4 + 4 * i + lane] ?? 0)).reduceRight(
        (sum, limb) => (sum << 29n) | limb,
        0n,
      )
    const xs = [FIELD_MODULUS - 1n, ...random(3)]
    const ys = [FIELD_MODULUS - 1n, ...random(3)]
    xs.forEach((x, lane) => {
      write(layout.FIRST, lane, x)
      write(layout.SECOND, lane, ys[lane] ?? 0n)
    })
    call.multiplyMany4(layout.FIRST, layout.FIRST, layout.SECOND, 1)
    xs.forEach((x, lane) => {
      const product = read(layout.FIRST, lane)
      expect(product < 2n * FIELD_MODULUS).to.equal(true)
      expect((product * 2n ** 261n) % FIELD_MODULUS).to.equal((x * (ys[lane] ?? 0n)) % FIELD_MODULUS)
    })
  })

  it('keeps its buffers within its first page', () => {
    const { layout } = instantiateField()
    for (const address of Object.values(layout)) expect(address).to.be.below(65_536)
  })
})
