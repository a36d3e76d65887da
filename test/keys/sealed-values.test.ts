import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createSealedValues } from '../../src/keys/sealed-values.ts'
import { createSealing, SealingError } from '../../src/keys/sealing.ts'

describe('sealed values', () => {
  const codec = createSealedValues(createSealing(randomBytes(32)))

  it('come back as they were: rows, bytes, null and undefined', () => {
    const bytes = fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array))
    const value = fc.oneof(bytes, fc.constantFrom(null, undefined), fc.object(), fc.array(bytes))
    fc.assert(
      fc.property(value, fc.nat(), (value, at) => {
        const opened = codec.decode('memory', 'key', codec.encode('memory', 'key', { value, at }))
        expect(opened).to.deep.equal({ value, at })
      }),
    )
  })

  it('open for their own memory and key only, and under their own master key only', () => {
    const sealed = codec.encode('memory', 'key', { value: 'v', at: 1 })
    expect(() => codec.decode('memory', 'other', sealed)).to.throw(SealingError)
    expect(() => codec.decode('other', 'key', sealed)).to.throw(SealingError)
    const stranger = createSealedValues(createSealing(randomBytes(32)))
    expect(() => stranger.decode('memory', 'key', sealed)).to.throw(SealingError)
  })
})
