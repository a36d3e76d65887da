import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { CORES, hex, vectors } from '../support/circuits/core-builds.ts'
import { decode as referenceDecode } from '../support/reference/base64url.ts'

const { vectors: published } = vectors('base64url') as {
  vectors: { text?: string; hex?: string; encoded: string }[]
}

for (const { name, core } of CORES) {
  describe(`base64url, ${name}`, () => {
    for (const { text, hex: bytesInHex, encoded } of published) {
      it(`encodes and decodes "${encoded}" (RFC 4648)`, () => {
        const bytes = bytesInHex === undefined ? Buffer.from(text ?? '') : Buffer.from(bytesInHex, 'hex')
        expect(core.base64urlEncode(bytes)).to.equal(encoded)
        expect(hex(core.base64urlDecode(encoded))).to.equal(bytes.toString('hex'))
      })
    }

    it('agrees with node at every length from 0 to 300 and beyond its buffer', () => {
      const lengths = [...Array(301).keys(), 3071, 3072, 3073, 6144, 10_000]
      for (const length of lengths) {
        const bytes = randomBytes(length)
        const text = bytes.toString('base64url')
        expect(core.base64urlEncode(bytes), `${length} bytes`).to.equal(text)
        expect(hex(core.base64urlDecode(text)), `${length} bytes`).to.equal(bytes.toString('hex'))
      }
    })

    it('accepts exactly the texts that it makes itself', () => {
      const nearMiss = fc
        .tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(), fc.constantFrom(...'AZaz09-_+/= \n.é€\0'))
        .map(([bytes, at, character]) => {
          const text = Buffer.from(bytes).toString('base64url')
          const place = at % (text.length + 1)
          return text.slice(0, place) + character + text.slice(place + (at % 2))
        })
      fc.assert(
        fc.property(nearMiss, (text) => hex(core.base64urlDecode(text)) === hex(referenceDecode(text))),
        { numRuns: 500 },
      )
    })

    it('refuses each of the 65,472 characters outside its alphabet', () => {
      const alphabet = new Set('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
      for (let code = 0; code <= 0xffff; code++) {
        const character = String.fromCharCode(code)
        expect(core.base64urlDecode(`AA${character}A`) !== undefined).to.equal(alphabet.has(character))
      }
    })

    it('refuses padding, impossible lengths and every set spare bit', () => {
      for (const text of ['A', 'AAAAA', 'AA==', 'AAA=', 'AA A', 'AB', 'AAB', 'A_', 'AA_']) {
        expect(core.base64urlDecode(text), text).to.equal(undefined)
      }
      const good = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.slice(0, 64)
      expect(core.base64urlDecode(`${good}AQ`)?.length).to.equal(49)
      for (const last of 'BCDEFGHIJKLMNOPRSTUVWXYZ')
        expect(core.base64urlDecode(`${good}A${last}`)).to.equal(undefined)
    })
  })
}
