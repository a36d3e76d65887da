import { expect } from 'chai'
import published from 'currency-codes'
import { currencyCodes, exponentOf, isCurrency } from '../../src/protocol/currency.ts'

describe('the currency table', () => {
  it('holds every code of ISO 4217 list one with its decimals, and no other', () => {
    expect(currencyCodes().toSorted()).to.deep.equal(published.codes().toSorted())
    for (const code of published.codes())
      expect(exponentOf(code), code).to.equal(published.code(code)?.digits)
  })

  it('knows codes in upper case only', () => {
    expect(isCurrency('GBP')).to.equal(true)
    for (const code of ['gbp', 'GBX', '', 'toString']) expect(isCurrency(code)).to.equal(false)
    expect(() => exponentOf('gbp')).to.throw(RangeError)
  })
})
