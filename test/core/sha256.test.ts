import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { anyCharacter } from '../support/any-character.ts'
import { CORES, hex, memoryAfter, vectors } from '../support/circuits/core-builds.ts'

interface Vector {
  from: string
  hex: string
  repeat?: number
  digest: string
}
const { vectors: published } = vectors('sha256') as { vectors: Vector[] }
const node = (message: Uint8Array | string) => createHash('sha256').update(message).digest('hex')

for (const { name, core } of CORES) {
  describe(`SHA-256, ${name}`, () => {
    for (const { from, hex: message, repeat = 1, digest } of published) {
      it(`gives the published digest of ${(message.length / 2) * repeat} bytes (${from})`, () => {
        expect(hex(core.sha256(Buffer.from(message.repeat(repeat), 'hex')))).to.equal(digest)
      })
    }

    it('agrees with node:crypto at every length from 0 to 300', () => {
      const bytes = randomBytes(300)
      for (let length = 0; length <= 300; length++) {
        const message = bytes.subarray(0, length)
        expect(hex(core.sha256(message)), `${length} bytes`).to.equal(node(message))
      }
    })

    it('agrees with node:crypto around the size of its buffer and beyond', () => {
      for (const length of [4031, 4032, 4095, 4096, 4097, 4160, 8191, 8192, 8193, 20_000]) {
        const message = randomBytes(length)
        expect(hex(core.sha256(message)), `${length} bytes`).to.equal(node(message))
      }
    })

    it('hashes texts in UTF-8, of any length', () => {
      const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: anyCharacter }))
      fc.assert(fc.property(texts, (text) => hex(core.sha256(text)) === node(text)))
      for (const text of ['€'.repeat(1365), '€'.repeat(1366), '𝄞'.repeat(2000), '\ud800']) {
        expect(hex(core.sha256(text))).to.equal(node(text))
      }
    })

    it('is not disturbed by what it hashed before', () => {
      const long = new Uint8Array(4096).fill(255)
      for (let length = 0; length <= 130; length++) {
        core.sha256(long)
        expect(hex(core.sha256(long.subarray(0, length)))).to.equal(node(long.subarray(0, length)))
      }
    })

    for (const length of [32, 64] as const) {
      it(`hashes batches of ${length}-byte messages as it hashes each alone`, () => {
        for (const count of [0, 1, 2, 3, 4, 5, 7, 63, 64, 65, 128, 129, 200]) {
          const messages = randomBytes(length * count)
          const digests = core.sha256Batch(messages, length)
          expect(digests.length).to.equal(32 * count)
          for (let i = 0; i < count; i++) {
            const one = messages.subarray(i * length, (i + 1) * length)
            expect(hex(digests.subarray(32 * i, 32 * i + 32)), `${i} of ${count}`).to.equal(node(one))
          }
          expect(hex(core.sha256(messages.subarray(0, 5)))).to.equal(node(messages.subarray(0, 5)))
        }
      })
    }

    it('returns a new array each time', () => {
      const first = core.sha256('a')
      const copy = first.slice()
      core.sha256('b')
      expect(first).to.deep.equal(copy)
    })
  })
}

describe('SHA-256 messages', () => {
  it('leave no trace but their digest: memory is the same whichever message was hashed', () => {
    for (const length of [40, 64, 5000]) {
      const [one, other] = ['a', 'b'].map((letter) => {
        const message = Buffer.from(letter.repeat(length))
        const memory = memoryAfter((core) => core.sha256(message))
        const digest = createHash('sha256').update(message).digest()
        // As it is handed out, and in the core's own words.
        for (const form of [digest, Buffer.from(digest).swap32()]) {
          const at = memory.indexOf(form)
          memory.fill(0, at, at + form.length)
        }
        return memory
      })
      expect(other?.equals(one ?? Buffer.alloc(0)), `${length} bytes`).to.equal(true)
    }
  })
})

describe('SHA-256 batches', () => {
  it('refuse a length that is no multiple of the message length', () => {
    const [release] = CORES
    expect(() => release?.core.sha256Batch(new Uint8Array(65), 64)).to.throw(RangeError, 'no multiple of 64')
  })
})
