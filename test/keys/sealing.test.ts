import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createSealing, SealingError } from '../../src/keys/sealing.ts'

const place = { table: 'api_keys', column: 'sealed_midstate', row: 'key_1' }

describe('sealing', () => {
  const sealing = createSealing(randomBytes(32))

  it('opens what it sealed, of any length, and never shows the plaintext', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (plaintext) => {
        const sealed = sealing.seal('test', place, plaintext)
        expect(sealed).to.have.length(plaintext.length + 29)
        expect(Buffer.from(sealing.open('test', place, sealed)).equals(plaintext)).to.equal(true)
        if (plaintext.length >= 8)
          expect(Buffer.from(sealed).includes(Buffer.from(plaintext))).to.equal(false)
      }),
    )
  })

  it('never seals twice to the same bytes', () => {
    const plaintext = Buffer.from('secret')
    expect(sealing.seal('test', place, plaintext)).to.not.deep.equal(sealing.seal('test', place, plaintext))
  })

  it('refuses a value with any bit flipped, or cut short', () => {
    const sealed = sealing.seal('test', place, Buffer.from('secret'))
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const altered = Uint8Array.from(sealed)
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => sealing.open('test', place, altered), `bit ${bit}`).to.throw(SealingError)
    }
    for (let length = 0; length < sealed.length; length++) {
      const cut = sealed.subarray(0, length)
      expect(() => sealing.open('test', place, cut), `length ${length}`).to.throw(SealingError)
    }
  })

  it('refuses a value that was moved to another place, or is opened for another purpose', () => {
    const sealed = sealing.seal('test', place, Buffer.from('secret'))
    const moved = [
      { ...place, row: 'key_2' },
      { ...place, column: 'other' },
      { ...place, table: 'other' },
      { table: 'api_keys', column: 'sealed_midstatekey_1', row: '' },
    ]
    for (const other of moved) expect(() => sealing.open('test', other, sealed)).to.throw(SealingError)
    expect(() => sealing.open('other', place, sealed)).to.throw(SealingError)
  })

  it('makes keyed hashes that differ by purpose, data and master key, and are the same again', () => {
    const data = Buffer.from('data')
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
    const made = [
      sealing.mac('test', data),
      sealing.mac('other', data),
      sealing.mac('test', Buffer.from('date')),
      createSealing(randomBytes(32)).mac('test', data),
      createHash('sha256').update(data).digest(),
    ].map(hex)
    expect(new Set(made)).to.have.length(made.length)
    expect(hex(sealing.mac('test', data))).to.equal(made[0])
  })

  it('is HMAC-SHA-256 under a key of its own, derived as RFC 5869 says', () => {
    const master = new Uint8Array(32).fill(1)
    const key = new Uint8Array(hkdfSync('sha256', master, '', 'assay/mac/1/test', 32))
    const expected = createHmac('sha256', key).update('data').digest()
    expect(Buffer.from(createSealing(master).mac('test', Buffer.from('data')))).to.deep.equal(expected)
  })

  it('refuses a value that another master key sealed', () => {
    const sealed = sealing.seal('test', place, Buffer.from('secret'))
    expect(() => createSealing(randomBytes(32)).open('test', place, sealed)).to.throw(
      SealingError,
      /MASTER_KEY/,
    )
  })

  it('demands a master key of 32 bytes', () => {
    for (const length of [0, 16, 31, 33]) {
      expect(() => createSealing(randomBytes(length))).to.throw(RangeError, /32 bytes/)
    }
  })
})
