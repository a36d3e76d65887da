/** Names of custom domains, and the days, weeks and rates of a pod's statistics. */
import { expect } from 'chai'
import fc from 'fast-check'
import { hostName, normaliseDomain } from '../../../src/domain/pods/domain-name.ts'
import { mondayOf, percentage, utcDay } from '../../../src/domain/pods/statistics.ts'
import { AppError } from '../../../src/errors.ts'

const refusal = (input: string): unknown => {
  try {
    return normaliseDomain(input)
  } catch (error) {
    return error instanceof AppError ? error.code : error
  }
}

describe('names of custom domains', () => {
  for (const [input, name] of [
    ['shop.example', 'shop.example'],
    ['Verify.SHOP.Example.', 'verify.shop.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['faß.de', 'xn--fa-hia.de'],
    ['ｓｈｏｐ.example', 'shop.example'],
    ['shop。example', 'shop.example'],
    ['a.github.io', 'a.github.io'],
    ['shop.co.uk', 'shop.co.uk'],
    ['shop.公司.cn', 'shop.xn--55qx5d.cn'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
    [`${'a.'.repeat(119)}example`, `${'a.'.repeat(119)}example`],
  ] as const) {
    it(`${input.slice(0, 30)} is taken`, () => {
      expect(normaliseDomain(input)).to.equal(name)
    })
  }

  for (const input of [
    '',
    '.',
    'localhost',
    'com',
    'co.uk',
    'CO.UK.',
    'github.io',
    '公司.cn',
    'xn--55qx5d.cn',
    'shop.example:8080',
    'https://shop.example',
    'shop.example/path',
    'shop.example?x',
    'shop.example#x',
    'user@shop.example',
    '*.shop.example',
    'shop..example',
    '.shop.example',
    'shop.example..',
    'sh op.example',
    ' shop.example',
    'shop.example\n',
    'shop\u0000.example',
    '_verify.shop.example',
    '-shop.example',
    'shop-.example',
    'xn--a.example',
    'sh%6fp.example',
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '１２７.0.0.1',
    '1.2.3',
    '[::1]',
    '::1',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(119)}examples`,
    `${'a.'.repeat(123)}examples`,
    'ü'.repeat(300),
    `${'a.'.repeat(100_000)}example`,
  ]) {
    it(`${JSON.stringify(input.slice(0, 30))} is refused`, () => {
      expect(refusal(input)).to.equal('invalid_domain')
    })
  }

  it('are normal once they are normalised, and any text is taken or refused', () => {
    const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.domain())
    fc.assert(
      fc.property(texts, (text) => {
        const name = refusal(text)
        if (name === 'invalid_domain') return
        expect(name)
          .to.be.a('string')
          .and.match(/^[a-z0-9.-]{3,245}$/)
        expect(refusal(String(name))).to.equal(name)
        expect(hostName(`${String(name).toUpperCase()}.:8080`)).to.equal(name)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a Host header', () => {
  for (const [header, name] of [
    ['shop.example', 'shop.example'],
    ['SHOP.example:443', 'shop.example'],
    ['shop.example.', 'shop.example'],
    ['127.0.0.1:8080', undefined],
    ['[::1]:8080', undefined],
    ['localhost', undefined],
    ['', undefined],
    ['shop.example:8080:1', undefined],
    ['shop.example/x', undefined],
    ['a'.repeat(10_000), undefined],
  ] as const) {
    it(`${header.slice(0, 30) || 'that is empty'} names ${name ?? 'no bound domain'}`, () => {
      expect(hostName(header)).to.equal(name)
    })
  }
})

describe('weeks of a pod', () => {
  const at = (text: string): number => utcDay(Date.parse(text))

  it('begin on Monday at midnight UTC', () => {
    expect(mondayOf(at('2026-11-22T23:59:59.999Z'))).to.equal(at('2026-11-16T00:00:00Z'))
    expect(mondayOf(at('2026-11-23T00:00:00.000Z'))).to.equal(at('2026-11-23T00:00:00Z'))
    // The first ISO week of 2027 begins in January, the 53rd of 2026 ends on 3 January.
    expect(mondayOf(at('2027-01-03T12:00:00Z'))).to.equal(at('2026-12-28T00:00:00Z'))
  })

  it('are those of the calendar on every day', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 80_000 }), (day) => {
        const monday = mondayOf(day)
        expect(new Date(monday * 86_400_000).getUTCDay()).to.equal(1)
        expect(day - monday).to.be.within(0, 6)
      }),
    )
  })
})

describe('the success rate', () => {
  for (const [part, whole, text] of [
    [0, 0, '0.00%'],
    [0, 7, '0.00%'],
    [7, 7, '100.00%'],
    [197, 200, '98.50%'],
    [2, 3, '66.67%'],
    [1, 3, '33.33%'],
    [1, 800, '0.13%'],
    [1, 40_000, '0.00%'],
    [201, 40_000, '0.50%'],
    [1, 2_000_000, '0.00%'],
    [9_007_199_254_740_990, 9_007_199_254_740_991, '100.00%'],
  ] as const) {
    it(`of ${part} in ${whole} is ${text}`, () => {
      expect(percentage(part, whole)).to.equal(text)
    })
  }
})
