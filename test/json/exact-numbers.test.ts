import { expect } from 'chai'
import fc from 'fast-check'
import { parse } from 'lossless-json'
import * as exactJson from '../../src/json/exact-numbers.ts'
import { readInexact, scanJson } from '../../src/json/exact-numbers.ts'
import { anyCharacter } from '../support/any-character.ts'
import { readNumber } from '../support/reference/exact-numbers.ts'

const MAX_DEPTH = 64

/** Where the numbers begin that are compared with their doubles, in a text that is within the limits. */
const doubtfulIn = (bytes: Buffer): readonly number[] => {
  const scan = scanJson(bytes, { depth: MAX_DEPTH })
  if ('exceeds' in scan) throw new RangeError(scan.exceeds)
  return scan.doubtful
}

const parseExact = (text: string): unknown => {
  const bytes = Buffer.from(text)
  return exactJson.parseExact(
    bytes,
    doubtfulIn(bytes).flatMap((start) => readInexact(bytes, start) ?? []),
  )
}

const findInexact = (text: string): string[] | undefined => {
  const bytes = Buffer.from(text)
  return exactJson.findInexact(bytes, doubtfulIn(bytes))
}

/** Texts of one number each, as they may stand in JSON. */
const EXACT = [
  '0',
  '-0',
  '-0.00000000000000000',
  '0.0',
  '1.50',
  '1e3',
  '1E+3',
  '0.1',
  '1e-7',
  '100000000000000000000',
  '9007199254740992',
  '1152921504606847000',
  '0.30000000000000004',
  '1e21',
  '5e-324',
  '0e999999999',
  '0e0',
  '-0.000e-5',
  '1e-310',
  '1.7976931348623157e308',
  '-123456789.123456',
]
const WHOLE = [
  '9007199254740993',
  '-9007199254740993',
  '1152921504606846976',
  '12345678901234567890',
  '1'.repeat(300),
]
const UNREADABLE = [
  '0.10000000000000000001',
  '0.10000000000000001',
  '1e400',
  '-1e400',
  '1e-400',
  '0.01e-400',
  '9007199254740993.0',
  '9007199254740993e0',
  '1'.repeat(1001),
  '1e999999999999',
]

describe('exact numbers in JSON', () => {
  it('that a double holds are numbers', () => {
    for (const text of EXACT) {
      expect(parseExact(`[${text}]`), text).to.deep.equal([Number(text)])
      expect(findInexact(`[${text}]`), text).to.equal(undefined)
    }
  })

  it('that a double would round are bigints when they are whole', () => {
    for (const text of WHOLE) expect(parseExact(text), text).to.equal(BigInt(text))
  })

  it('that a double would round and are not whole are unreadable', () => {
    for (const text of UNREADABLE) expect(parseExact(text), text).to.be.NaN
  })

  it('are looked for everywhere, and texts are left alone', () => {
    for (const text of [...WHOLE, ...UNREADABLE]) {
      expect(findInexact(text), text).to.deep.equal([])
      expect(findInexact(`{"a":[0.5,{"b/c":${text}}]}`), text).to.deep.equal(['a', '1', 'b/c'])
      expect(findInexact(`{"a":"${text}","${text}":1}`), text).to.equal(undefined)
    }
  })

  it('are those that a canonical text would change', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,25})(\.\d{1,25})?([eE][+-]?\d{1,3})?$/)
    const padded = fc.stringMatching(/^-?(0|[1-9]\d{0,16}0{0,9})(\.0{0,9}\d{0,8}0{1,9})?([eE][+-]?\d{1,2})?$/)
    const atEnds = fc.stringMatching(/^-?(0|[1-9]\d{0,7})(\.\d{1,9}0{0,5})?[eE](-3[0-3]\d|\+?(29|30|31)\d)$/)
    // The decimal as a whole number of tenths to the power of `places`, by hand.
    const decimal = (text: string): [bigint, number] => {
      const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
      const [whole = '', fraction = ''] = mantissa.split('.')
      return [BigInt(whole + fraction), Number(exponent) - fraction.length]
    }
    const sameDecimal = (a: string, b: string): boolean => {
      const [[x, p], [y, q]] = [decimal(a), decimal(b)]
      if (x === 0n || y === 0n) return x === y
      return p >= q ? x * 10n ** BigInt(p - q) === y : x === y * 10n ** BigInt(q - p)
    }
    fc.assert(
      fc.property(fc.oneof(digits, padded, atEnds), (text) => {
        const value = Number(text)
        const isExact = Number.isFinite(value) && sameDecimal(text, String(value))
        expect(findInexact(`[${text}]`) === undefined, text).to.equal(isExact)
        expect(parseExact(text), text).to.deep.equal(readNumber(text))
      }),
      { numRuns: 6000 },
    )
  })

  it('are compared with their doubles only where they have more than 15 digits, or are at the ends of its range', () => {
    const list = (text: string) => Buffer.from(`[${Array(100).fill(text)}]`)
    const sure = [
      '1.00000000000000',
      '1.0e-310',
      '0e0',
      '-0.000e-5',
      '0e999999999',
      '1.50',
      '-1E+3',
      '123456789.012345',
      '123456789012345e-322',
      '9.99999999999999e307',
      `1${'0'.repeat(307)}.0`,
      `-0.${'0'.repeat(300)}1`,
    ]
    for (const text of sure) expect(doubtfulIn(list(text)), text).to.deep.equal([])
    for (const text of ['0.1234567890123456', '1.0e308', '1e-323', '5.0e-324', ...WHOLE, ...UNREADABLE])
      expect(doubtfulIn(list(text)), text).to.have.length(100)
  })

  it('are where a reader finds them that keeps the text of every number', () => {
    const numbers = fc.constantFrom(...EXACT, ...WHOLE, ...UNREADABLE)
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 5 }),
        fc.string({ unit: anyCharacter }),
        numbers,
        (json, text, number) => {
          const whole = `[${json}, ${JSON.stringify(text)}, { "a" : ${number}}, ${number} ]`
          const onDuplicateKey = ({ newValue }: { newValue: unknown }) => newValue
          expect(parseExact(whole)).to.deep.equal(
            parse(whole, null, { parseNumber: readNumber, onDuplicateKey }),
          )
        },
      ),
    )
  })

  it('of repeated names count by the last one', () => {
    expect(parseExact('{"a":9007199254740993,"a":1}')).to.deep.equal({ a: 1 })
    expect(parseExact('{"a":1,"a":9007199254740993}')).to.deep.equal({ a: 9007199254740993n })
    expect(findInexact('{"a":9007199254740993,"a":1}')).to.equal(undefined)
    expect(findInexact('{"a":1,"b":0,"a":9007199254740993}')).to.deep.equal(['a'])
  })

  it('own what JSON names, whatever the name', () => {
    const parsed = parseExact('{"__proto__":9007199254740993}')
    expect(Object.getPrototypeOf(parsed)).to.equal(Object.prototype)
    expect(Object.entries(parsed as object)).to.deep.equal([['__proto__', 9007199254740993n]])
  })

  it('are not looked for where it is no JSON', () => {
    for (const text of ['', '{', '[1,]', '01', '1.', 'NaN', '1e400-', '{1e400:1}'])
      expect(() => parseExact(text), text).to.throw(SyntaxError)
  })
})

describe('the limits of a JSON text', () => {
  const limits = { depth: MAX_DEPTH, values: 100 }
  const scan = (text: string) => scanJson(Buffer.from(text), limits)
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const within = { doubtful: [] }

  it('bound its depth, also where parsing drops it', () => {
    expect(scan(nested(MAX_DEPTH))).to.deep.include(within)
    for (const text of [nested(MAX_DEPTH + 1), nested(200_000), `{"a":${nested(MAX_DEPTH)},"a":1}`])
      expect(scan(text)).to.deep.equal({ exceeds: 'depth' })
    expect(scan(`["${'['.repeat(100)}\\"[[[", ${nested(MAX_DEPTH - 1)}]`)).to.deep.include(within)
  })

  it('bound its values', () => {
    expect(scan(`[${Array(99).fill('{}')}]`)).to.deep.include(within)
    expect(scan(`[${Array(100).fill('{}')}]`)).to.deep.equal({ exceeds: 'values' })
    expect(scan(`{"a":[${Array(100).fill('1')}],"a":1}`)).to.deep.equal({ exceeds: 'values' })
    expect(scan(`[${JSON.stringify(','.repeat(200))}]`)).to.deep.include(within)
  })

  it('bound the numbers to be compared, also where nothing stands between them', () => {
    expect(scan('1e400 '.repeat(100)))
      .to.have.property('doubtful')
      .that.has.length(100)
    expect(scan('1e400 '.repeat(101))).to.deep.equal({ exceeds: 'values' })
  })

  it('are looked for in any text, also in what is no JSON', () => {
    const pieces = fc.constantFrom(...'-+.eE0123456789"\\,:[]{} x')
    const texts = fc.array(pieces, { maxLength: 40 }).map((some) => some.join(''))
    const seldom = fc.constantFrom('-.12345678901234567', '[-.5e300]')
    fc.assert(
      fc.property(fc.oneof(texts, seldom), (text) => {
        const bytes = Buffer.from(text)
        for (const start of doubtfulIn(bytes)) readInexact(bytes, start)
      }),
      { numRuns: 2000 },
    )
  })
})
