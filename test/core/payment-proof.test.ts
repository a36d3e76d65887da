import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Core, createCore, type ProofInput } from '../../src/core/index.ts'
import { CORES, hex, vectors } from '../support/circuits/core-builds.ts'
import { makeProof } from '../support/domain/payment-proofs.ts'
import { createReferenceCore } from '../support/reference/core.ts'

interface Vector extends ProofInput {
  key: string
  mac: string
  compact: string
  stored: string
}
const { vectors: published } = vectors('payment-proof') as { vectors: Vector[] }
const [vector] = published as [Vector]
const KEY = vector.key

const inputs = fc.record({
  cardToken: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  amountMinor: fc.oneof(fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  currency: fc.constantFrom('GBP', 'JPY', 'KWD', 'EUR'),
  nonce: fc.integer({ min: 0, max: 0xffff }),
  timestampMs: fc.maxSafeNat(),
  merchantId: fc.string({ maxLength: 64 }),
})

/** The message as bytes, by node alone. */
const messageOf = (
  nullifier: Uint8Array,
  { amountMinor, currency, nonce, timestampMs, merchantId }: ProofInput,
) => {
  const amount = Buffer.alloc(8)
  amount.writeBigUInt64BE(BigInt(amountMinor))
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(timestampMs))
  const counter = Buffer.from([nonce >> 8, nonce & 255])
  const texts = [Buffer.from(currency), counter, time, Buffer.from(merchantId)]
  return Buffer.concat([Buffer.from('offline-proof/1'), nullifier, amount, ...texts])
}

for (const { name, core } of CORES) {
  describe(`payment proof, ${name}`, () => {
    for (const { key, mac, compact, stored, ...input } of published) {
      it('makes the published proof', () => {
        const loaded = core.loadKey(key)
        const proof = loaded.prove(input)
        expect(proof.compact).to.equal(compact)
        expect(proof.stored).to.equal(stored)
        expect(loaded.proveCompact(input)).to.equal(compact)
        expect(hex(core.hmac(core.hmacMidstate(key), messageOf(proof.nullifier, input)))).to.equal(mac)
        loaded.dispose()
      })
    }

    it('accepts what node:crypto alone makes, and makes the same', () => {
      const midstate = core.hmacMidstate(KEY)
      const loaded = core.loadMidstate(midstate)
      fc.assert(
        fc.property(inputs, (input) => {
          const facts = { ...input, amountMinor: Number(BigInt(input.amountMinor) % 2n ** 53n) }
          const { stored, compact } = makeProof({ ...facts, key: KEY })
          expect(loaded.prove(facts)).to.include({ stored, compact })
          expect(core.verifyBatch(midstate, [{ ...facts, stored }])).to.deep.equal(['match'])
        }),
      )
      loaded.dispose()
    })

    it('has merchant ids of every length from 0 to 64 bytes', () => {
      const loaded = core.loadKey(KEY)
      for (let length = 0; length <= 64; length++) {
        const input = { ...vector, merchantId: 'm'.repeat(length) }
        const { stored, compact } = makeProof({ ...input, amountMinor: 1250, key: KEY })
        expect(loaded.prove(input), `${length} bytes`).to.include({ stored, compact })
        expect(loaded.verifyBatch([{ ...input, stored }]), `${length} bytes`).to.deep.equal(['match'])
      }
      loaded.dispose()
    })

    it('has card tokens of every length, also in UTF-8 of several bytes', () => {
      const loaded = core.loadKey(KEY)
      const tokens = [...Array(129).keys()].map((length) => 't'.repeat(length))
      for (const cardToken of [...tokens, '€'.repeat(128), '𝄞'.repeat(128)]) {
        const { stored } = makeProof({ ...vector, cardToken, amountMinor: 1250 })
        expect(loaded.prove({ ...vector, cardToken }).stored).to.equal(stored)
      }
      loaded.dispose()
    })

    it('fails when any one of its 392 bits is another', () => {
      const midstate = core.hmacMidstate(KEY)
      const proof = Buffer.from(vector.stored, 'base64url')
      const payments = Array.from({ length: proof.length * 8 }, (_, bit) => {
        const changed = Buffer.from(proof)
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        return { ...vector, stored: changed.toString('base64url') }
      })
      expect(new Set(core.verifyBatch(midstate, payments))).to.deep.equal(new Set(['mismatch']))
    })

    it('fails when any one bit of amount, time, currency or merchant, or of the key, is another', () => {
      const midstate = core.hmacMidstate(KEY)
      const others = [
        ...Array.from({ length: 64 }, (_, bit) => ({ amountMinor: 1250n ^ (1n << BigInt(bit)) })),
        ...Array.from({ length: 53 }, (_, bit) => ({
          timestampMs: Number(1763683200000n ^ (1n << BigInt(bit))),
        })),
        ...['FBP', 'GCP', 'GBQ', 'GBX', 'USD'].map((currency) => ({ currency })),
        ...['mer_0', 'Mer_1', 'mer_', 'mer_1\0', 'mer_1 ', '', 'm'.repeat(60)].map((merchantId) => ({
          merchantId,
        })),
      ]
      const verdicts = core.verifyBatch(
        midstate,
        others.map((other) => ({ ...vector, ...other })),
      )
      expect(new Set(verdicts)).to.deep.equal(new Set(['mismatch']))
      for (let bit = 0; bit < 512; bit += 37) {
        const changed = midstate.slice()
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(core.verifyBatch(changed, [vector])).to.deep.equal(['mismatch'])
      }
    })

    it('calls what is not 66 characters of canonical base64url malformed, and judges its neighbours rightly', () => {
      const midstate = core.hmacMidstate(KEY)
      const { stored } = vector
      const bad = [
        '',
        stored.slice(1),
        `${stored}A`,
        `${stored.slice(0, 65)}R`,
        `${stored.slice(0, 65)}=`,
        vector.compact,
      ]
      for (const character of ['+', '/', ' ', '.', '\0', 'é', '€', 'ı', 'Ɓ', '\ud800']) {
        for (const at of [0, 17, 47, 63, 64, 65])
          bad.push(stored.slice(0, at) + character + stored.slice(at + 1))
      }
      const payments = bad.flatMap((text) => [vector, { ...vector, stored: text }])
      const expected = bad.flatMap(() => ['match', 'malformed'])
      expect(core.verifyBatch(midstate, payments)).to.deep.equal(expected)
    })

    it('gives one verdict a payment, in order, in batches of every size from 0 to 70 and of 200', () => {
      const midstate = core.hmacMidstate(KEY)
      const loaded = core.loadMidstate(midstate)
      const payments = Array.from({ length: 200 }, (_, i) => {
        const input = { ...vector, nonce: i, merchantId: 'm'.repeat(i % 65), cardToken: `tok_${i}` }
        const { stored } = loaded.prove(input)
        return i % 3 === 1 ? { ...input, stored, amountMinor: 1 } : { ...input, stored }
      })
      loaded.dispose()
      const expected = payments.map((_, i) => (i % 3 === 1 ? 'mismatch' : 'match'))
      for (const size of [...Array(71).keys(), 200]) {
        expect(core.verifyBatch(midstate, payments.slice(0, size)), `${size}`).to.deep.equal(
          expected.slice(0, size),
        )
      }
    })
  })
}

describe('payment proof limits', () => {
  const core: Core = createCore()
  const key = core.loadKey(KEY)

  for (const [what, change] of [
    ['amountMinor', { amountMinor: -1 }],
    ['amountMinor', { amountMinor: 1.5 }],
    ['amountMinor', { amountMinor: 2 ** 53 }],
    ['amountMinor', { amountMinor: 2n ** 64n }],
    ['amountMinor', { amountMinor: -1n }],
    ['amountMinor', { amountMinor: Number.NaN }],
    ['timestampMs', { timestampMs: -1 }],
    ['timestampMs', { timestampMs: 0.5 }],
    ['currency', { currency: 'gbp' }],
    ['currency', { currency: 'GBPX' }],
    ['currency', { currency: 'GB€' }],
    ['merchantId', { merchantId: 'm'.repeat(65) }],
    ['merchantId', { merchantId: '€'.repeat(22) }],
    ['nonce', { nonce: -1 }],
    ['nonce', { nonce: 65_536 }],
    ['nonce', { nonce: 0.5 }],
    ['cardToken', { cardToken: 't'.repeat(513) }],
  ] as const) {
    it(`refuses a ${what} of ${Object.values(change).map(String).join().slice(0, 24)} and works on afterwards`, () => {
      expect(() => key.prove({ ...vector, ...change })).to.throw(RangeError, what)
      if (what !== 'nonce' && what !== 'cardToken') {
        expect(() => key.verifyBatch([{ ...vector, ...change }])).to.throw(RangeError, what)
      }
      expect(key.prove(vector).stored).to.equal(vector.stored)
      expect(key.verifyBatch([vector])).to.deep.equal(['match'])
    })
  }

  it('do not let a key be used once it is disposed of', () => {
    const other = core.loadKey('other')
    other.dispose()
    expect(() => other.prove(vector)).to.throw(TypeError, 'disposed')
    expect(() => other.verifyBatch([vector])).to.throw(TypeError, 'disposed')
  })

  it('leave no card token in memory', () => {
    const memory = new WebAssembly.Memory({ initial: 1 })
    const own = createCore({ memory })
    const token = `tok_${randomBytes(100).toString('hex')}`
    own.loadKey(KEY).prove({ ...vector, cardToken: token })
    expect(() => own.loadKey(KEY).prove({ ...vector, cardToken: token.repeat(3) })).to.throw(RangeError)
    for (const part of [token.slice(0, 16), token.slice(70, 86), token.slice(-16)]) {
      expect(Buffer.from(memory.buffer).includes(part)).to.equal(false)
    }
  })

  it('keep keys of one core apart', () => {
    const reference = createReferenceCore()
    const keys = ['a', 'b', 'c'].map((text) => ({
      ours: core.loadKey(text),
      theirs: reference.loadKey(text),
    }))
    for (const { ours, theirs } of [...keys, ...keys.toReversed()]) {
      expect(ours.prove(vector)).to.deep.equal(theirs.prove(vector))
    }
    for (const { ours } of keys) ours.dispose()
  })
})
