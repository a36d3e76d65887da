/** Sums of multiples of points, against the curve of noble: every case that a shortcut might forget. */
import { bn254 } from '@noble/curves/bn254.js'
import { expect } from 'chai'
import { scalarBytes, scalarOf } from '../../src/circuits/proving/scalars.ts'
import { planSums, type WindowPlan, windowsOf } from '../../src/circuits/proving/window-plan.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { PROVERS, type ProverBuild } from '../support/circuits/prover-builds.ts'
import { randomElement } from '../support/elements.ts'

const { G1, G2, fields } = bn254
const P = fields.Fp.ORDER

/** What both groups of noble have. */
interface Point {
  add(other: Point): Point
  negate(): Point
  multiplyUnsafe(scalar: bigint): Point
}
type G1Point = typeof G1.Point.BASE
type G2Point = typeof G2.Point.BASE

interface Group {
  readonly name: 'G1' | 'G2'
  readonly base: Point
  readonly zero: Point
  /** In the order of a proving key; zeros for infinity. */
  coordinates(point: Point): bigint[]
}

const groups: readonly Group[] = [
  {
    name: 'G1',
    base: G1.Point.BASE as Point,
    zero: G1.Point.ZERO as Point,
    coordinates: (point) => {
      const { x, y } = (point as G1Point).toAffine()
      return [x, y]
    },
  },
  {
    name: 'G2',
    base: G2.Point.BASE as Point,
    zero: G2.Point.ZERO as Point,
    coordinates: (point) => {
      const { x, y } = (point as G2Point).toAffine()
      return [x.c0, x.c1, y.c0, y.c1]
    },
  },
]

interface Term {
  readonly point: Point
  readonly scalar: bigint
}

/** As a proving key has coordinates: in Montgomery form. */
const stored = (coordinate: bigint): Uint8Array => scalarBytes((coordinate << 256n) % P)

/** The affine sum by the module; zeros for infinity. */
const computed = (
  { instance: { call, layout, memory }, allocator }: ProverBuild,
  group: Group,
  terms: readonly Term[],
  bits: number,
  sets: number,
): bigint[] => {
  const isG1 = group.name === 'G1'
  const { length: count } = terms
  const entries = Math.ceil(windowsOf(bits) / sets)
  const size = isG1 ? 2 : 4
  let result: bigint[] = []
  allocator.briefly(() => {
    const table = allocator.reserve(entries * count * (isG1 ? layout.G1_BYTES : layout.G2_BYTES) + 64)
    const coordinates = terms.flatMap(({ point }) => group.coordinates(point))
    const source = allocator.put(Buffer.concat(coordinates.map(stored)))
    const scalars = allocator.put(Buffer.concat(terms.map(({ scalar }) => scalarBytes(scalar))))
    const numbers = allocator.put(new Uint8Array(Uint32Array.from(terms.keys()).buffer))
    const room = allocator.reserve(6 * count * windowsOf(bits) + 64)
    const sum = allocator.reserve(layout.POINT_BYTES)
    const output = allocator.reserve(128)
    const prepare = isG1 ? call.prepareG1 : call.prepareG2
    prepare(table, source, count, entries, bits * sets)
    const add = isG1 ? call.sumG1 : call.sumG2
    add(sum, count, table, bits, sets, scalars, numbers, room)
    const write = isG1 ? call.writeG1 : call.writeG2
    write(output, sum)
    const bytes = new Uint8Array(memory.buffer)
    result = Array.from({ length: size }, (_, i) =>
      scalarOf(bytes.subarray(output + 32 * i, output + 32 * i + 32)),
    )
  })
  return result
}

const expected = ({ zero, coordinates }: Group, terms: readonly Term[]): bigint[] =>
  coordinates(
    terms.reduce(
      (sum, { point, scalar }) => (scalar === 0n ? sum : sum.add(point.multiplyUnsafe(scalar))),
      zero,
    ),
  )

const EDGES = [
  0n,
  1n,
  2n,
  R - 1n,
  R - 2n,
  R >> 1n,
  2n ** 128n,
  2n ** 253n,
  2n ** 10n,
  2n ** 9n,
  2n ** 11n - 1n,
]

/** Terms in which points and scalars come again, as they are and negated. */
const entangled = ({ base }: Group, count: number): Term[] => {
  const terms: Term[] = []
  for (let i = 0; i < count; i++) {
    const before = terms[(i * 7) % Math.max(1, i)]
    const fresh = { point: base.multiplyUnsafe(randomElement() + 1n), scalar: randomElement() }
    if (before === undefined || i % 5 === 0) terms.push(fresh)
    else if (i % 5 === 1) terms.push(before)
    else if (i % 5 === 2) terms.push({ point: before.point.negate(), scalar: before.scalar })
    else if (i % 5 === 3) terms.push({ point: before.point, scalar: R - 1n - before.scalar })
    else terms.push({ point: fresh.point, scalar: EDGES[i % EDGES.length] ?? 0n })
  }
  return terms
}

const describeSums = (prover: ProverBuild, group: Group): void => {
  const { base } = group
  const check = (terms: readonly Term[], bits: number, sets: number): void => {
    expect(computed(prover, group, terms, bits, sets)).to.deep.equal(expected(group, terms))
  }

  it('are right for all edge scalars of one point, at every width of windows', () => {
    const point = base.multiplyUnsafe(7n)
    for (const bits of [4, 5, 9, 14])
      for (const scalar of EDGES) check([{ point, scalar }], bits, bits === 9 ? 4 : 1)
  })

  it('are right with points and scalars that come again, as they are and negated', () => {
    for (const [count, bits, sets] of [
      [1, 6, 2],
      [2, 6, 1],
      [13, 4, 1],
      [60, 5, 7],
      [60, 8, 32],
      [61, 11, 1],
    ] as const)
      check(entangled(group, count), bits, sets)
  })

  it('are right when equal and opposite sums come about in different ways', () => {
    // Coordinates are reduced to below 2p only, so the same x has two forms.
    const multiple = (n: bigint): Point =>
      n < 0n ? base.multiplyUnsafe(-n).negate() : base.multiplyUnsafe(n)
    for (let i = 0n; i < 24n; i++) {
      const [a, b, shift] = [100n + 7n * i, 900n + 5n * i, 13n + i]
      const same = [a, b, a + shift, b - shift]
      const opposite = [a, b, shift - a, -shift - b]
      for (const numbers of [same, opposite])
        check(
          numbers.map((n) => ({ point: multiple(n), scalar: 3n })),
          5,
          51,
        )
    }
  })

  it('are right when all terms are the same, so that every addition is a doubling', () => {
    const term = { point: base.multiplyUnsafe(3n), scalar: R - 5n }
    check(
      Array.from({ length: 37 }, () => term),
      6,
      2,
    )
  })

  it('are infinity when terms cancel, or all scalars are 0', () => {
    const [point, scalar] = [base.multiplyUnsafe(11n), randomElement()]
    const zeros = Array.from({ length: group.name === 'G1' ? 2 : 4 }, () => 0n)
    const opposite = { point: point.negate(), scalar }
    const pairs = Array.from({ length: 10 }, () => [{ point, scalar }, opposite]).flat()
    expect(computed(prover, group, pairs, 7, 3)).to.deep.equal(zeros)
    const nothing = pairs.map(({ point: each }) => ({ point: each, scalar: 0n }))
    expect(computed(prover, group, nothing, 7, 3)).to.deep.equal(zeros)
  })
}

for (const prover of PROVERS)
  for (const group of groups)
    describe(`sums in ${group.name}, ${prover.name}`, function () {
      this.timeout(60_000)
      describeSums(prover, group)
    })

describe('sums in G1 of more points than one pass takes', () => {
  it('are right when one bucket holds all of them', () => {
    const [group] = groups
    const [release] = PROVERS
    if (!group || !release) throw new Error('no group, or no build')
    const terms: Term[] = []
    for (let point = group.base; terms.length < 8300; point = point.add(group.base))
      terms.push({ point, scalar: 1n })
    // 1 + 2 + … + 8300
    const sum = [{ point: group.base, scalar: (8300n * 8301n) / 2n }]
    expect(computed(release, group, terms, 10, 26)).to.deep.equal(expected(group, sum))
  }).timeout(60_000)
})

const sizeOf = (count: number) => ({ count, full: count, pointBytes: 72, additionCost: 1 })

describe('the plan of windows', () => {
  it('keeps to its budget, down to no multiples at all, and gets slower only by less memory', () => {
    for (const count of [1, 30, 1000, 15_000])
      for (const budget of [0, 1e4, 1e6, 1e7, 1e9]) {
        const [{ bits, groups: sets, entries }] = planSums([sizeOf(count)], budget, 14) as [WindowPlan]
        expect(entries * sets).to.be.at.least(windowsOf(bits))
        expect(entries === 1 || entries * count * 72 <= budget, `${count}, ${budget}`).to.equal(true)
      }
    expect(planSums([sizeOf(1000)], 1e9, 14)[0]?.groups).to.equal(1)
    expect(() => planSums([sizeOf(10)], 0, 3)).to.throw(RangeError)
  })

  it('shares a budget so that the dearest additions are saved first', () => {
    const sizes = [sizeOf(1000), { ...sizeOf(1000), pointBytes: 144, additionCost: 3 }]
    const entriesFor = (budget: number) => planSums(sizes, budget, 14).map(({ entries }) => entries)
    expect(entriesFor(0)).to.deep.equal([1, 1])
    for (const budget of [5e5, 1e6, 4e6, 1.6e7]) {
      const [first = 0, second = 0] = entriesFor(budget)
      expect(first * 72_000 + second * 144_000).to.be.at.most(budget)
      expect(second, `${budget}`).to.be.above(1)
    }
  })
})
