import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  COMPACT_BYTES,
  compactOf,
  fromMinorUnits,
  looksLikeCardNumber,
  NULLIFIER_FRAGMENT_BYTES,
  parseProof,
  STORED_BYTES,
  toMinorUnits,
  transactionIdFor,
} from '../../src/protocol/payment-proof.ts'
import { hex, vectors } from '../support/circuits/core-builds.ts'

const { vectors: published } = vectors('payment-proof') as {
  vectors: { compact: string; stored: string; mac: string; cardToken: string; nonce: number }[]
}

const parsed = (text: string) => {
  const proof = parseProof(text)
  if (!proof.ok) throw new Error(proof.reason)
  return proof
}

describe('payment proof texts', () => {
  for (const { compact, stored, mac, cardToken, nonce } of published) {
    it('come apart into nullifier, body and nonce', () => {
      const nullifier = createHash('sha256').update(cardToken).digest('hex')
      const whole = parsed(stored)
      expect(whole.form).to.equal('stored')
      expect(whole.bytes.length).to.equal(STORED_BYTES)
      expect(hex(whole.nullifier)).to.equal(nullifier)
      expect(hex(whole.nullifier12)).to.equal(nullifier.slice(0, 2 * NULLIFIER_FRAGMENT_BYTES))
      expect(hex(whole.body)).to.equal(mac.slice(0, 30))
      expect(whole.nonce).to.equal(nonce)
      const short = parsed(compact)
      expect(short.form).to.equal('compact')
      expect(short.bytes.length).to.equal(COMPACT_BYTES)
      expect(hex(short.nullifier12)).to.equal(hex(whole.nullifier12))
      expect(hex(short.body)).to.equal(hex(whole.body))
      expect(short).not.to.have.any.keys('nullifier', 'nonce')
    })

    it('have one compact form, whichever form it is made from', () => {
      expect(compactOf(parsed(stored))).to.equal(compact)
      expect(compactOf(parsed(compact))).to.equal(compact)
    })
  }

  it('keep every nonce', () => {
    for (const nonce of [0, 1, 255, 256, 0x8000, 0xffff]) {
      const bytes = Buffer.alloc(49)
      bytes.writeUInt16BE(nonce, 47)
      expect(parsed(bytes.toString('base64url')).nonce).to.equal(nonce)
    }
  })

  it('are refused at any other length, and unless canonical', () => {
    const [{ stored, compact }] = published as [(typeof published)[number]]
    for (const text of [
      '',
      'A',
      compact.slice(1),
      `${compact}A`,
      stored.slice(1),
      `${stored}A`,
      'A'.repeat(49),
    ]) {
      expect(parseProof(text)).to.deep.equal({ ok: false, reason: 'length' })
    }
    const spare = `${stored.slice(0, 65)}R`
    for (const text of [
      spare,
      `${stored.slice(0, 65)}=`,
      `${compact.slice(0, 35)}+`,
      `${compact.slice(0, 35)}é`,
    ]) {
      expect(parseProof(text)).to.deep.equal({ ok: false, reason: 'encoding' })
    }
  })
})

describe('transaction ids', () => {
  it('are txn_ and the first 130 bits of SHA-256 of the text, in Crockford base32', () => {
    const [{ stored }] = published as [(typeof published)[number]]
    const bits = [...createHash('sha256').update(stored).digest()]
      .map((byte) => byte.toString(2).padStart(8, '0'))
      .join('')
    const digits = (bits.slice(0, 130).match(/.{5}/g) ?? []).map(
      (five) => '0123456789abcdefghjkmnpqrstvwxyz'[Number.parseInt(five, 2)],
    )
    expect(transactionIdFor(stored)).to.equal(`txn_${digits.join('')}`)
    expect(transactionIdFor(stored)).to.match(/^txn_[0-9a-hjkmnp-tv-z]{26}$/)
  })
})

describe('minor units', () => {
  for (const [amount, currency, minor] of [
    [12.5, 'GBP', 1250],
    [0.01, 'GBP', 1],
    [1.1, 'GBP', 110],
    [8.2, 'EUR', 820],
    [1.005, 'KWD', 1005],
    [4.35, 'USD', 435],
    [1e3, 'JPY', 1000],
    [1e-2, 'GBP', 1],
    [1e-3, 'KWD', 1],
    [0.0001, 'CLF', 1],
    [90071992547409.9, 'GBP', 9007199254740990],
    [9007199254740991, 'JPY', 9007199254740991],
    [1e14, 'JPY', 1e14],
  ] as const) {
    it(`of ${amount} ${currency} are ${minor}`, () => {
      expect(toMinorUnits(amount, currency)).to.deep.equal({ ok: true, minor })
    })
  }

  it('do not exist when the shortest decimal text has more decimals than the currency', () => {
    for (const [amount, currency] of [
      [0.1 + 0.2, 'GBP'],
      [1.005, 'GBP'],
      [1.5, 'JPY'],
      [1.0001, 'KWD'],
      [5e-324, 'GBP'],
      [1e-7, 'CLF'],
    ] as const) {
      expect(toMinorUnits(amount, currency)).to.include({ ok: false, reason: 'precision' })
    }
  })

  it('do not exist when the amount is not positive, not finite or beyond safe integers', () => {
    for (const amount of [
      0,
      -0,
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1e21,
      2 ** 53,
      90071992547409.92,
    ]) {
      expect(toMinorUnits(amount, 'GBP'), `${amount}`).to.include({ ok: false, reason: 'range' })
    }
  })

  it('come back to the same amount, whatever the currency', () => {
    const currencies = fc.constantFrom('JPY', 'GBP', 'KWD', 'CLF')
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 14 }), currencies, (minor, currency) => {
        expect(toMinorUnits(fromMinorUnits(minor, currency), currency)).to.deep.equal({ ok: true, minor })
      }),
    )
  })

  it('throw for a currency that does not exist', () => {
    for (const currency of ['XYZ', 'gbp', '', 'constructor']) {
      expect(() => toMinorUnits(1, currency)).to.throw(RangeError, 'ISO 4217')
    }
  })
})

describe('card numbers', () => {
  it('are recognised with spaces and dashes, from 13 to 19 digits', () => {
    for (const text of [
      '4242424242424242',
      '4242 4242 4242 4242',
      '4242-4242-4242-4242',
      '378282246310005',
      '4222222222222',
      '6304000000000000000',
      ' 5555 5555-5555 4444 ',
    ]) {
      expect(looksLikeCardNumber(text), text).to.equal(true)
    }
  })

  it('are not seen in tokens, in wrong check digits or in other lengths', () => {
    for (const text of [
      'tok_4242424242424242',
      '4242424242424241',
      '424242424242',
      '42424242424242424242',
      '',
      '４２４２４２４２４２４２４２４２',
      '4242.4242.4242.4242',
    ]) {
      expect(looksLikeCardNumber(text), text).to.equal(false)
    }
  })
})
