import { expect } from 'chai'
import fc from 'fast-check'
import type { Sale } from '../../src/web/till/records.ts'
import { amountOf, money, totalsOf, usedOf } from '../../src/web/till/report.ts'

const sale = (changes: Partial<Sale>): Sale => ({
  transactionId: 'txn_1',
  terminalId: 'ter_1',
  amount: 1,
  currency: 'GBP',
  at: 0,
  state: 'booked',
  ...changes,
})

describe('sums of the till', () => {
  it('read digits as minor units of the currency', () => {
    expect(['', '1', '1250'].map((digits) => amountOf(digits, 'GBP'))).to.deep.equal([0, 0.01, 12.5])
    expect(amountOf('1250', 'JPY')).to.equal(1250)
    expect(amountOf('1250', 'KWD')).to.equal(1.25)
  })

  it('show the decimals of the currency', () => {
    expect(money(12.5, 'GBP', 'en-GB')).to.equal('£12.50')
    expect(money(1250, 'JPY', 'en-GB')).to.equal('JP¥1,250')
    expect(money(1.25, 'KWD', 'en-GB').replace(/\s/, ' ')).to.equal('KWD 1.250')
  })

  it('add up each state and currency by itself, in the order of the report', () => {
    const sales = [
      sale({ amount: 0.1 }),
      sale({ amount: 0.2 }),
      sale({ amount: 5, currency: 'EUR' }),
      sale({ amount: 3, state: 'void' }),
      sale({ amount: 7, state: 'waiting' }),
    ]
    expect(totalsOf(sales)).to.deep.equal([
      { state: 'booked', currency: 'EUR', count: 1, sum: 5 },
      { state: 'booked', currency: 'GBP', count: 2, sum: 0.3 },
      { state: 'waiting', currency: 'GBP', count: 1, sum: 7 },
      { state: 'void', currency: 'GBP', count: 1, sum: 3 },
    ])
  })

  it('lose no minor unit, against a sum of integers', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 999_999_999 }), { minLength: 1 }), (minors) => {
        const [total] = totalsOf(minors.map((minor) => sale({ amount: minor / 100 })))
        expect(total?.sum).to.equal(minors.reduce((sum, minor) => sum + minor, 0) / 100)
      }),
    )
  })

  it('say how much of a limit is used', () => {
    expect(usedOf(undefined, '5.00')).to.equal(undefined)
    expect(usedOf(100, undefined)).to.equal(0)
    expect(usedOf(100, '80.00')).to.equal(0.8)
    expect(usedOf(100, '180.00')).to.equal(1)
    expect(usedOf(0, undefined)).to.equal(1)
  })
})
