import { createHmac, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createCore, type StoredPayment } from '../../src/core/index.ts'
import { CORES, hex, memoryAfter, vectors } from '../support/circuits/core-builds.ts'
import { midstate } from '../support/reference/hmac.ts'

const { vectors: published } = vectors('hmac-sha256') as {
  vectors: { case: number; key: string; message: string; mac: string }[]
}
const node = (key: Uint8Array | string, message: Uint8Array | string) =>
  createHmac('sha256', key).update(message).digest('hex')

for (const { name, core } of CORES) {
  describe(`HMAC-SHA256, ${name}`, () => {
    for (const { case: number, key, message, mac } of published) {
      it(`passes case ${number} of RFC 4231`, () => {
        const made = core.hmac(core.hmacMidstate(Buffer.from(key, 'hex')), Buffer.from(message, 'hex'))
        expect(hex(made)?.slice(0, mac.length)).to.equal(mac)
      })
    }

    it('agrees with node:crypto for every key length from 0 to 130 and every message length from 0 to 300', () => {
      const bytes = randomBytes(300)
      for (let length = 0; length <= 130; length++) {
        const key = bytes.subarray(0, length)
        expect(hex(core.hmac(core.hmacMidstate(key), bytes)), `key of ${length}`).to.equal(node(key, bytes))
      }
      const mid = core.hmacMidstate(bytes.subarray(0, 20))
      for (let length = 0; length <= 300; length++) {
        const message = bytes.subarray(0, length)
        expect(hex(core.hmac(mid, message)), `${length} bytes`).to.equal(node(bytes.subarray(0, 20), message))
      }
    })

    it('agrees with node:crypto for long messages, long keys, and texts', () => {
      const key = randomBytes(4096)
      for (const length of [4095, 4096, 4097, 12_345]) {
        const message = randomBytes(length)
        expect(hex(core.hmac(core.hmacMidstate(key), message))).to.equal(node(key, message))
      }
      expect(hex(core.hmac(core.hmacMidstate('clé €'), 'naïve €'))).to.equal(node('clé €', 'naïve €'))
    })

    it('makes midstates that every other build understands', () => {
      const key = randomBytes(24)
      expect(hex(core.hmacMidstate(key))).to.equal(hex(midstate(key)))
    })
  })
}

describe('HMAC keys', () => {
  it('leave no trace: memory is the same whichever key was used, be it shorter or longer than a block', () => {
    for (const length of [24, 64, 65, 200]) {
      const [one, other] = ['a', 'b'].map((letter) =>
        memoryAfter((core) => {
          core.hmacMidstate(letter.repeat(length))
        }),
      )
      expect(other?.equals(one ?? Buffer.alloc(0)), `${length} bytes`).to.equal(true)
    }
  })

  it('leave nothing of a midstate that was passed or loaded, once it is used or disposed of', () => {
    const midstate = createCore().hmacMidstate('vk_secret_that_must_not_linger')
    const { vectors: payments } = vectors('payment-proof') as { vectors: StoredPayment[] }
    const after = memoryAfter((core) => {
      core.hmac(midstate, 'message')
      expect(core.verifyBatch(midstate, payments)).to.have.length(payments.length)
      const loaded = core.loadMidstate(midstate)
      loaded.dispose()
    })
    // The core's own words have the other byte order.
    for (const state of [Buffer.from(midstate), Buffer.from(midstate).swap32()]) {
      for (const half of [state.subarray(0, 16), state.subarray(32, 48)])
        expect(after.includes(half)).to.equal(false)
      // Four payments at a time have each of its words four times.
      for (let at = 0; at < state.length; at += 4)
        expect(after.includes(Buffer.alloc(16, state.subarray(at, at + 4))), `${at}`).to.equal(false)
    }
  })

  it('are refused beyond 4096 bytes, and midstates at any length but 64', () => {
    const core = createCore()
    expect(() => core.hmacMidstate(new Uint8Array(4097))).to.throw(RangeError, '4096')
    expect(() => core.hmacMidstate('k'.repeat(4097))).to.throw(RangeError, '4096')
    expect(() => core.hmac(new Uint8Array(63), 'm')).to.throw(RangeError, '64')
    // Nothing of the refused key disturbs what follows.
    expect(hex(core.hmac(core.hmacMidstate('k'), 'm'))).to.equal(node('k', 'm'))
  })

  it('find 63 free slots, and again after they are disposed of', () => {
    const core = createCore()
    for (let round = 0; round < 2; round++) {
      const keys = Array.from({ length: 63 }, (_, i) => core.loadKey(`key ${i}`))
      expect(() => core.loadKey('one more')).to.throw(RangeError, '63')
      for (const key of keys) key.dispose()
      for (const key of keys) key.dispose()
    }
    expect(() => core.loadMidstate(new Uint8Array(1))).to.throw(RangeError)
    expect(() => Array.from({ length: 63 }, () => core.loadKey('k'))).not.to.throw()
  })
})
