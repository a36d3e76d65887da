import { expect } from 'chai'
import fc from 'fast-check'
import { parse } from 'lossless-json'
import * as exactJson from '../../src/json/exact-numbers.ts'
import { type Inexact, readNumber, scanJson } from '../../src/json/exact-numbers.ts'
import { anyCharacter } from '../support/any-character.ts'

const MAX_DEPTH = 64

/** The inexact numbers in a text that is within the limits. */
const inexactIn = (bytes: Buffer): readonly Inexact[] => {
  const scan = scanJson(bytes, { depth: MAX_DEPTH, inexact: Number.POSITIVE_INFINITY })
  if ('exceeds' in scan) throw new RangeError(scan.exceeds)
  return scan.inexact
}

const parseExact = (text: string): unknown => {
  const bytes = Buffer.from(text)
  return exactJson.parseExact(bytes, inexactIn(bytes))
}

const findInexact = (text: string): string[] | undefined => {
  const bytes = Buffer.from(text)
  return exactJson.findInexact(bytes, inexactIn(bytes))
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
      fc.property(digits, (text) => {
        const value = Number(text)
        const isExact = Number.isFinite(value) && sameDecimal(text, String(value))
        expect(findInexact(`[${text}]`) === undefined, text).to.equal(isExact)
      }),
      { numRuns: 2000 },
    )
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
  const within = { inexact: [] }

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

  it('leave numbers alone where nobody asks for them', () => {
    for (const text of UNREADABLE) expect(scan(`[${text}]`), text).to.deep.equal({ inexact: [], members: 0 })
    const scanned = scanJson(Buffer.from('[1e400,1e400]'), { ...limits, inexact: 1 })
    expect(scanned).to.deep.equal({ exceeds: 'inexact' })
  })

  it('are looked for in any text, also in what is no JSON', () => {
    const pieces = fc.constantFrom(...'-+.eE0123456789"\\,:[]{} x')
    const texts = fc.array(pieces, { maxLength: 40 }).map((some) => some.join(''))
    const seldom = fc.constantFrom('-.12345678901234567', '[-.5e300]')
    fc.assert(
      fc.property(fc.oneof(texts, seldom), (text) => {
        scanJson(Buffer.from(text), { depth: MAX_DEPTH, inexact: 10 })
      }),
      { numRuns: 2000 },
    )
  })
})
