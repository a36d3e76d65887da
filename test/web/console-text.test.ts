/** Words and figures of the console. */
import { expect } from 'chai'
import { withTexts } from '../../src/web/console/parts/form.tsx'
import { money } from '../../src/web/console/parts/text.tsx'

describe('the console', () => {
  it('writes money with the decimals that the service counts', () => {
    const digits = (amount: number, currency: string) =>
      money(amount, currency)
        .replace(/[^\d.,]/g, '')
        .replace(',', '.')
    expect(digits(1.5, 'IQD')).to.equal('1.500')
    expect(digits(12.5, 'GBP')).to.equal('12.50')
    expect(digits(12, 'JPY')).to.equal('12')
    expect(digits(2, 'LBP')).to.equal('2.00')
    expect(money(3, 'points')).to.equal('3 points')
  })

  it('sends what was typed as JSON as it was typed', () => {
    const body = withTexts(
      { name: 'a', left: undefined },
      { rules: ' [1.0, 90071992547409931]', none: undefined },
    )
    expect(body).to.equal('{"name":"a","rules": [1.0, 90071992547409931]}')
    expect(withTexts({}, {})).to.equal('{}')
  })
})
