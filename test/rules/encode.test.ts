import { hash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import {
  bindingOf,
  commonScopeElement,
  contextElement,
  defaultPurpose,
  encodeValue,
  h248,
  idElement,
  organisationElement,
  scopeElement,
} from '../../src/rules/encode.ts'
import { equal } from '../../src/rules/equality.ts'
import { canonical, h248 as slowH248 } from '../support/reference/rules.ts'

const TYPE = 2n ** 248n
const OFFSET = 2n ** 63n
const BN254_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n

const notProvable = (value: unknown): boolean => {
  try {
    encodeValue(value)
    return false
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_provable' && error.status === 422) return true
    throw error
  }
}

/** Millionths, which every provable number is a whole number of. */
const millionths = fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n })
const numberOf = (parts: bigint): number => Number(`${parts}e-6`)

describe('encoding of values', () => {
  it('is fixed by these vectors', () => {
    const vectors: [value: unknown, element: bigint][] = [
      [undefined, 0n],
      [0, TYPE + OFFSET],
      [-0, TYPE + OFFSET],
      [1, TYPE + OFFSET + 1_000_000n],
      [-12.5, TYPE + OFFSET - 12_500_000n],
      [0.000001, TYPE + OFFSET + 1n],
      [20260131, TYPE + OFFSET + 20_260_131_000_000n],
      [1e12, TYPE + OFFSET + 10n ** 18n],
      [false, 2n * TYPE],
      [true, 2n * TYPE + 1n],
      ['', 3n * TYPE + slowH248('""')],
      ['GB', 3n * TYPE + slowH248('"GB"')],
      [null, 3n * TYPE + slowH248('null')],
      [{ b: [1.5, 'x'], a: null }, 3n * TYPE + slowH248('{"a":null,"b":[1.5,"x"]}')],
    ]
    for (const [value, element] of vectors) expect(encodeValue(value), canonical(value)).to.equal(element)
    expect(h248('abc')).to.equal(0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015n)
  })

  it('hashes bytes and texts alike, and always fits the field', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'grapheme' }), (bytes, text) => {
        expect(h248(bytes)).to.equal(slowH248(bytes))
        expect(h248(text)).to.equal(slowH248(text))
        expect(h248(bytes) < TYPE).to.equal(true)
        expect(encodeValue(text) < BN254_ORDER).to.equal(true)
      }),
    )
  })

  it('keeps numbers exact and in order', () => {
    fc.assert(
      fc.property(millionths, millionths, (a, b) => {
        expect(encodeValue(numberOf(a))).to.equal(TYPE + OFFSET + a)
        expect(encodeValue(numberOf(a)) < encodeValue(numberOf(b))).to.equal(numberOf(a) < numberOf(b))
      }),
    )
  })

  it('refuses numbers with more than six decimals or out of range, and never rounds one', () => {
    for (const value of [0.0000001, 1.0000001, 1e-7, 5e-324, 0.1 + 0.2])
      expect(notProvable(value), `${value}`).to.equal(true)
    for (const value of [1e13, -1e13, 1e21, 1e300, Number.MAX_VALUE, 9223372036854.8, 2 ** 63])
      expect(notProvable(value), `${value}`).to.equal(true)
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 2n ** 60n, () => 1])
      expect(notProvable(value)).to.equal(true)
    expect(encodeValue(9223372036854.775)).to.equal(TYPE + OFFSET + 9223372036854775000n)
    expect(encodeValue(-9223372036854.775)).to.equal(TYPE + OFFSET - 9223372036854775000n)
    const short = fc.tuple(fc.integer(), fc.integer({ min: -9, max: 2 })).map(([n, e]) => Number(`${n}e${e}`))
    fc.assert(
      fc.property(fc.oneof(fc.double({ min: -9e12, max: 9e12, noNaN: true }), short), (value) => {
        fc.pre(Math.abs(value) < 9e12)
        const text = String(value)
        const [whole = '', decimals = ''] = text.split('.')
        if (text.includes('e') || decimals.length > 6) expect(notProvable(value), text).to.equal(true)
        else
          expect(encodeValue(value), text).to.equal(TYPE + OFFSET + BigInt(whole + decimals.padEnd(6, '0')))
      }),
    )
  })

  it('refuses numbers that no double holds, wherever they stand', () => {
    for (const inexact of [Number.NaN, 2n ** 70n, [Number.NaN], { a: { b: [2n] } }, [[1, 2n]]])
      expect(notProvable(inexact)).to.equal(true)
    expect(notProvable([1, { a: null }])).to.equal(false)
  })

  it('refuses lists and objects that take long to write down, since sixteen rules may ask for one inside the other', () => {
    const ones = (length: number) => Array(length).fill(1)
    const x = 'x'
    for (const [value, isTooLarge] of [
      [ones(10_000), false],
      [ones(10_001), true],
      [[ones(5000), { a: ones(4996) }], false],
      [[ones(5000), { a: ones(4997) }], true],
      [{ [x.repeat(9999)]: 1 }, false],
      [{ [x.repeat(10_000)]: 1 }, true],
      [[x.repeat(9999)], false],
      [[x.repeat(10_000)], true],
      [x.repeat(20_000), false],
    ] as const)
      expect(notProvable(value)).to.equal(isTooLarge)
  })

  it('gives two values one element exactly if the rules call them equal', () => {
    const near = fc.constantFrom(
      0,
      -0,
      1,
      true,
      false,
      null,
      'null',
      '1',
      'true',
      '',
      '""',
      '[]',
      [],
      {},
      '{}',
      [1],
      '[1]',
      ['1'],
    )
    const value = fc.oneof(near, millionths.map(numberOf), fc.string(), fc.jsonValue({ maxDepth: 2 }))
    fc.assert(
      fc.property(value, value, (a, b) => {
        fc.pre(!notProvable(a) && !notProvable(b))
        expect(encodeValue(a) === encodeValue(b)).to.equal(equal(a, b))
        expect(encodeValue(a)).to.equal(encodeValue(structuredClone(a)))
      }),
      { numRuns: 2000 },
    )
  })

  it('binds a context to each of its fields, and to the absence of an expiry', () => {
    const context = {
      aud: 'https://a.test',
      org: 'org_1',
      circuit: 'yesno',
      statement: { op: 'gte' },
      nonce: 'n',
      exp: 1,
    }
    const text =
      '{"aud":"https://a.test","circuit":"yesno","exp":1,"nonce":"n","org":"org_1","statement":{"op":"gte"}}'
    expect(contextElement(context)).to.equal(slowH248(`ctx/1${text}`))
    const others = [
      { aud: 'https://b.test' },
      { org: 'org_2' },
      { circuit: 'simple_yesno' },
      { statement: { op: 'gt' } },
      { nonce: 'm' },
      { exp: 2 },
      { exp: undefined },
    ].map((change) => contextElement({ ...context, ...change }))
    expect(new Set([contextElement(context), ...others]).size).to.equal(others.length + 1)
  })

  it('binds a scope to audience, organisation and purpose', () => {
    const scope = { aud: 'https://a.test', org: 'org_1', purpose: 'age' }
    expect(scopeElement(scope)).to.equal(
      slowH248('scope/2{"aud":"https://a.test","org":"org_1","purpose":"age"}'),
    )
    expect(commonScopeElement(scope)).to.equal(slowH248('scope/1{"aud":"https://a.test","purpose":"age"}'))
    for (const change of [{ aud: 'https://b.test' }, { org: 'org_2' }, { purpose: 'vote' }])
      expect(scopeElement({ ...scope, ...change })).to.not.equal(scopeElement(scope))
  })

  it('tells an issuer by its id, and whether the holder made the secret', () => {
    expect(organisationElement('org_1', 'bearer')).to.equal(slowH248('org_1'))
    expect(organisationElement('org_1', 'holder')).to.equal(slowH248('org_1') + 2n ** 248n)
    for (const binding of ['bearer', 'holder'] as const)
      expect(bindingOf(organisationElement('org_1', binding))).to.equal(binding)
  })

  it('tells whose an organisation is by just two elements', () => {
    const id = slowH248('org_1')
    for (const binding of ['bearer', 'holder'] as const)
      expect(idElement(organisationElement('org_1', binding))).to.equal(id)
    for (let more = 2n; more < 48n; more++) expect(idElement(id + more * 2n ** 248n)).to.not.equal(id)
  })

  it('makes a purpose of the question, whoever the answer is about', () => {
    const question = { minLevel: '2', countries: ['1', '2'] }
    const jcs = '{"countries":["1","2"],"minLevel":"2"}'
    const expected = `kyc/${hash('sha256', jcs).slice(0, 16)}`
    expect(defaultPurpose('kyc', question)).to.equal(expected)
    expect(defaultPurpose('kyc', { ...question, subject: 's', credential: 'c' })).to.equal(expected)
    expect(defaultPurpose('kyc', { ...question, minLevel: '1' })).to.not.equal(expected)
    expect(defaultPurpose('yesno', question)).to.not.equal(expected)
  })
})
