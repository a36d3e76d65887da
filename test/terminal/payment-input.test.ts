import { expect } from 'chai'
import { checkPayment, formatMinorUnits, minorUnitsOf } from '../../src/terminal/payment-input.ts'

const GOOD = { cardToken: 'tok_1', amount: 12.5 }

const errorOf = (input: unknown): string | undefined => {
  const checked = checkPayment(input)
  return 'error' in checked ? checked.error : undefined
}

describe('payment input of a terminal', () => {
  it('takes the least there may be, and fills in pounds', () => {
    expect(checkPayment(GOOD)).to.deep.include({
      cardToken: 'tok_1',
      amount: 12.5,
      amountMinor: 1250,
      currency: 'GBP',
    })
  })

  it('counts null as absent and ignores what it does not know', () => {
    const nulls = { currency: null, customerId: null, paymentMethod: null, transactionId: null, tip: 1 }
    expect(errorOf({ ...GOOD, ...nulls })).to.equal(undefined)
  })

  const accepted: [string, object][] = [
    ['a token of 128 characters', { cardToken: 'x'.repeat(128) }],
    ['a token of 128 characters outside the basic plane', { cardToken: '💳'.repeat(128) }],
    ['thirteen digits that fail Luhn', { cardToken: '4242424242421' }],
    ['a currency without decimals', { amount: 500, currency: 'JPY' }],
    ['a currency with three decimals', { amount: 1.234, currency: 'KWD' }],
    ['a transaction id of 128 characters', { transactionId: '~'.repeat(128) }],
    ['every payment method', { paymentMethod: 'contactless' }],
    ['a customer', { customerId: 'Zoë' }],
  ]
  for (const [what, fields] of accepted) {
    it(`takes ${what}`, () => expect(errorOf({ ...GOOD, ...fields })).to.equal(undefined))
  }

  const refused: [string, unknown, RegExp][] = [
    ['nothing', undefined, /validation_failed: A payment must be an object/],
    ['no token', { amount: 1 }, /validation_failed: cardToken .* 1 to 128 characters/],
    ['an empty token', { ...GOOD, cardToken: '' }, /validation_failed: cardToken .* 1 to 128 characters/],
    ['a number for a token', { ...GOOD, cardToken: 4 }, /validation_failed: cardToken/],
    [
      'a token of 129 characters',
      { ...GOOD, cardToken: 'x'.repeat(129) },
      /cardToken must have at most 128 characters/,
    ],
    ['half a surrogate pair', { ...GOOD, cardToken: 'tok\ud800' }, /cardToken must be well-formed/],
    ['a card number', { ...GOOD, cardToken: '4242424242424242' }, /^pan_not_allowed: cardToken/],
    [
      'a card number with spaces',
      { ...GOOD, cardToken: '4242 4242 4242 4242' },
      /^pan_not_allowed: cardToken/,
    ],
    ['a card number with dashes', { ...GOOD, cardToken: '3782-822463-10005' }, /^pan_not_allowed: cardToken/],
    ['no amount', { cardToken: 't' }, /validation_failed: amount is required/],
    ['text for an amount', { ...GOOD, amount: '12.50' }, /validation_failed: amount is required, a number/],
    ['zero', { ...GOOD, amount: 0 }, /validation_failed: amount/],
    ['a negative amount', { ...GOOD, amount: -1 }, /validation_failed: amount/],
    ['an infinite amount', { ...GOOD, amount: Number.POSITIVE_INFINITY }, /validation_failed: amount/],
    ['no number at all', { ...GOOD, amount: Number.NaN }, /validation_failed: amount/],
    ['a third decimal of pounds', { ...GOOD, amount: 12.505 }, /^amount_precision: amount/],
    ['a sum that floats carry wrongly', { ...GOOD, amount: 0.1 + 0.2 }, /^amount_precision: amount/],
    ['a decimal of yen', { ...GOOD, amount: 0.5, currency: 'JPY' }, /^amount_precision: amount/],
    ['an unknown currency', { ...GOOD, currency: 'XXY' }, /^currency_invalid: currency/],
    ['a currency in lower case', { ...GOOD, currency: 'gbp' }, /^currency_invalid: currency/],
    ['a customer that is no text', { ...GOOD, customerId: 7 }, /customerId must be a string/],
    ['half a customer', { ...GOOD, customerId: 'Zo\udc00' }, /customerId must be well-formed/],
    ['a customer with U+0000', { ...GOOD, customerId: 'Zo\0' }, /customerId must be well-formed/],
    ['a payment method of its own', { ...GOOD, paymentMethod: 'cash' }, /chip, contactless, nfc, qr/],
    ['an empty transaction id', { ...GOOD, transactionId: '' }, /transactionId .* 1 to 128 visible ASCII/],
    ['a transaction id with a space', { ...GOOD, transactionId: 'a b' }, /transactionId .* visible ASCII/],
    [
      'a transaction id of 129 characters',
      { ...GOOD, transactionId: 'x'.repeat(129) },
      /transactionId .* 1 to 128/,
    ],
  ]
  for (const [what, input, message] of refused) {
    it(`refuses ${what}`, () => expect(errorOf(input)).to.match(message))
  }

  it('writes sums exactly', () => {
    expect(formatMinorUnits(5n, 'GBP')).to.equal('0.05')
    expect(formatMinorUnits(0n, 'KWD')).to.equal('0.000')
    expect(formatMinorUnits(123n, 'JPY')).to.equal('123')
    expect(formatMinorUnits(900719925474099312345n, 'GBP')).to.equal('9007199254740993123.45')
  })

  it('reads limits of any precision', () => {
    expect(minorUnitsOf(0, 'GBP')).to.equal(0n)
    expect(minorUnitsOf(0.29, 'GBP')).to.equal(29n)
    expect(minorUnitsOf(10.5, 'JPY')).to.equal(10n)
    expect(minorUnitsOf(Number.POSITIVE_INFINITY, 'GBP')).to.equal(BigInt(Number.MAX_SAFE_INTEGER))
  })
})
