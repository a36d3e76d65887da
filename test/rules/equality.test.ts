import { expect } from 'chai'
import fc from 'fast-check'
import { compareNumber } from 'lossless-json'
import { readTypedQuestion } from '../../src/domain/hermes/criteria.ts'
import { compare, equal } from '../../src/rules/equality.ts'
import { decide } from '../../src/rules/evaluate.ts'
import { parseRules } from '../../src/rules/tree.ts'

const SIZE = 10_000

/** A value that counts how many of its members and names are looked at. */
const counted = <T extends object>(value: T): { value: T; looks: () => number } => {
  let looks = 0
  const traps: ProxyHandler<T> = {
    get(target, name) {
      looks += 1
      return Reflect.get(target, name)
    },
    getOwnPropertyDescriptor(target, name) {
      looks += 1
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
    ownKeys(target) {
      const names = Reflect.ownKeys(target)
      looks += names.length
      return names
    },
  }
  return { value: new Proxy(value, traps), looks: () => looks }
}

const longList = () => counted(Array<number>(SIZE).fill(1))
const wideObject = () => counted(Object.fromEntries(Array.from({ length: SIZE }, (_, i) => [`k${i}`, 1])))

describe('the work of comparing', () => {
  const nin = (candidate: unknown) => ({ field: 'a', op: 'nin', value: Array(100).fill(candidate) })
  const decideSixteen = (value: unknown, candidate: unknown) =>
    decide(parseRules(Array(16).fill(nin(candidate)), undefined), { a: value }).decision

  it('is that of the smaller value, for lists', () => {
    for (const candidate of [[], [2], {}]) {
      const { value, looks } = longList()
      expect(decideSixteen(value, candidate)).to.equal('YES')
      expect(looks(), JSON.stringify(candidate)).to.be.at.most(2 * 16 * 100)
    }
  })

  it('is that of the smaller value, for objects, besides counting their names once', () => {
    for (const candidate of [{}, { k0: 2 }, []]) {
      const { value, looks } = wideObject()
      expect(decideSixteen(value, candidate)).to.equal('YES')
      expect(looks(), JSON.stringify(candidate)).to.be.at.most(2 * SIZE + 2 * 16 * 100)
    }
    const inside = wideObject()
    expect(decideSixteen([inside.value], [{}])).to.equal('YES')
    expect(inside.looks()).to.be.at.most(2 * SIZE)
  })

  it('stops at the first difference', () => {
    const { value, looks } = longList()
    expect(equal(value, [2, ...Array<number>(SIZE - 1).fill(1)])).to.equal(false)
    expect(looks()).to.be.at.most(4)
  })

  it('is no more than hermes charges for it', () => {
    const ofSize = (size: number) => Array<number>(size).fill(1)
    const questions = [{ nin: Array(100).fill([]) }, { in: [ofSize(900)] }, { eq: ofSize(900) }, { ne: {} }]
    for (const wanted of questions) {
      const [criterion] = readTypedQuestion({ a: wanted }, true).criteria
      const [condition] = criterion?.conditions ?? []
      const { value, looks } = longList()
      condition?.test(value)
      expect(looks(), JSON.stringify(wanted).slice(0, 20)).to.be.at.most(2 * (condition?.steps(value) ?? 0))
    }
  })
})

describe('a whole number that no double holds', () => {
  it('is compared as decimals are', () => {
    const doubles = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(0, -0, 0.5, 1e21, 1e23, -1e23, 1.7976931348623157e308, 2 ** 53, 2 ** 60, 1.5e300),
    )
    const near = doubles.chain((double) =>
      fc.tuple(
        fc.constant(double),
        fc.oneof(
          fc.bigInt(),
          fc.bigInt({ min: -3n, max: 3n }).map((by) => BigInt(Math.trunc(double)) + by),
          fc.bigInt({ min: -3n, max: 3n }).map((by) => 10n ** 23n + by),
          fc.constantFrom(10n ** 999n, -(10n ** 999n)),
        ),
      ),
    )
    fc.assert(
      fc.property(near, ([double, value]) => {
        expect(compare(value, double)).to.equal(compareNumber(String(value), String(double)))
      }),
      { numRuns: 2000 },
    )
    expect(compare(99_999_999_999_999_991_611_392n, 1e23)).to.equal(-1)
  })
})
