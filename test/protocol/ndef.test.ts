/** Messages for NFC tags, read by an outside parser. */
import { expect } from 'chai'
import fc from 'fast-check'
import ndef from 'ndef'
import {
  encodeNdef,
  fitsTag,
  mediaRecord,
  TAG_BYTES,
  type TagType,
  uriRecord,
} from '../../src/protocol/ndef.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const read = (bytes: Uint8Array) => ndef.decodeMessage([...bytes])

describe('NDEF messages', () => {
  it('have the bytes of the examples of RTD URI 1.0, Appendix A', () => {
    expect(hex(encodeNdef([uriRecord('http://www.nfc.com')]))).to.equal('d101085501' + '6e66632e636f6d')
    // A.2, whose `tel:` abbreviation isn't one that web addresses use.
    expect(hex(encodeNdef([uriRecord('urn:nfc:x')]))).to.equal('d1010a5500' + '75726e3a6e66633a78')
  })

  it('abbreviate an address by the longest prefix, and an outside parser restores it', () => {
    for (const [uri, code] of [
      ['https://www.example.org/a', 2],
      ['http://www.example.org/a', 1],
      ['https://example.org/a?b=c', 4],
      ['http://127.0.0.1:8080/a', 3],
    ] as const) {
      const [record] = read(encodeNdef([uriRecord(uri)]))
      expect(record?.payload[0]).to.equal(code)
      expect(record?.value).to.equal(uri)
    }
  })

  it('hold records of any length, as an outside parser reads them', () => {
    const bytes = fc
      .oneof(fc.nat(20), fc.integer({ min: 250, max: 260 }), fc.integer({ min: 700, max: 900 }))
      .map((length) => Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 0xff))
    const media = fc.tuple(fc.constantFrom('application/jwt', 'text/x', 'a/b'), bytes)
    fc.assert(
      fc.property(
        fc.constantFrom('https://a.example/x', 'http://b.example', 'c:d'),
        fc.array(media, { maxLength: 3 }),
        (uri, others) => {
          const records = [uriRecord(uri), ...others.map(([type, payload]) => mediaRecord(type, payload))]
          const message = encodeNdef(records)
          const parsed = read(message)
          expect(parsed).to.have.length(records.length)
          parsed.forEach(({ tnf, type, payload }, i) => {
            expect({ tnf, type }).to.deep.equal({ tnf: records[i]?.tnf, type: records[i]?.type })
            expect(hex(Uint8Array.from(payload))).to.equal(hex(records[i]?.payload ?? new Uint8Array(0)))
          })
          // It writes a payload of 255 bytes, and no other, in the long form.
          if (records.every(({ payload }) => payload.length !== 255))
            expect(hex(Uint8Array.from(ndef.encodeMessage(parsed)))).to.equal(hex(message))
          const lengths = records.map(
            ({ type, payload }) => (payload.length < 256 ? 3 : 6) + type.length + payload.length,
          )
          expect(message.length).to.equal(lengths.reduce((a, b) => a + b))
        },
      ),
      { numRuns: 60 },
    )
  })

  it('begin once and end once', () => {
    const message = encodeNdef([uriRecord('https://a.example'), mediaRecord('a/b', Buffer.alloc(3))])
    expect((message[0] ?? 0) & 0xf8).to.equal(0x90)
    const second = 4 + (message[2] ?? 0)
    expect((message[second] ?? 0) & 0xf8).to.equal(0x50)
  })

  it('fit a tag up to the byte, with the block that wraps them', () => {
    for (const [tag, bytes] of [
      ['ntag213', 141],
      ['ntag215', 491],
      ['ntag216', 867],
    ] as [TagType, number][]) {
      expect(fitsTag(bytes, tag), tag).to.equal(true)
      expect(fitsTag(bytes + 1, tag), tag).to.equal(false)
      expect(TAG_BYTES[tag] - bytes).to.equal(bytes < 255 ? 3 : 5)
    }
  })
})
