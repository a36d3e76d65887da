/**
 * Messages for NFC tags: NFC Forum NDEF 1.0 with the two kinds of records that tokens need, URI (RTD URI 1.0) and
 * media type (NDEF 1.0 §3.2.6), and how much of a Type 2 tag (NFC Forum T2T 1.0) they take.
 * @module
 */

const MESSAGE_BEGIN = 0x80
const MESSAGE_END = 0x40
const SHORT_RECORD = 0x10
const MAX_SHORT_PAYLOAD_BYTES = 255
/** Type Name Format (NDEF 1.0 §3.2.6). */
const TNF_WELL_KNOWN = 1
const TNF_MEDIA_TYPE = 2

/** Abbreviations of RTD URI 1.0 §3.2.2, those that web addresses use; the longest that fits counts. */
const URI_PREFIXES = [
  [0x02, 'https://www.'],
  [0x01, 'http://www.'],
  [0x04, 'https://'],
  [0x03, 'http://'],
  [0x00, ''],
] as const

/** One record. It is never in chunks and has no id. */
export interface NdefRecord {
  readonly tnf: number
  /** ASCII, at most 255 characters. */
  readonly type: string
  readonly payload: Uint8Array
}

const utf8 = new TextEncoder()

/** A record that phones open, such as a web address. */
export const uriRecord = (uri: string): NdefRecord => {
  const [code, prefix] = URI_PREFIXES.find(([, text]) => uri.startsWith(text)) ?? [0, '']
  return {
    tnf: TNF_WELL_KNOWN,
    type: 'U',
    payload: Uint8Array.of(code, ...utf8.encode(uri.slice(prefix.length))),
  }
}

/** A record with data of a media type (RFC 2046), such as `application/jwt`. */
export const mediaRecord = (type: string, payload: Uint8Array): NdefRecord => ({
  tnf: TNF_MEDIA_TYPE,
  type,
  payload,
})

const lengthOf = ({ length }: Uint8Array): readonly number[] =>
  length <= MAX_SHORT_PAYLOAD_BYTES
    ? [length]
    : [length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff]

/** The bytes of a message (NDEF 1.0 §3.2). @param records at least one */
export const encodeNdef = (records: readonly NdefRecord[]): Uint8Array => {
  const bytes = records.flatMap(({ tnf, type, payload }, i) => {
    const flags =
      (i === 0 ? MESSAGE_BEGIN : 0) |
      (i === records.length - 1 ? MESSAGE_END : 0) |
      (payload.length <= MAX_SHORT_PAYLOAD_BYTES ? SHORT_RECORD : 0)
    const name = utf8.encode(type)
    return [flags | tnf, name.length, ...lengthOf(payload), ...name, ...payload]
  })
  return Uint8Array.from(bytes)
}

/** Data areas of common Type 2 tags in bytes, as their capability container tells it (NXP NTAG213/215/216, §8.5.6). */
export const TAG_BYTES = { ntag213: 144, ntag215: 496, ntag216: 872 } as const
export type TagType = keyof typeof TAG_BYTES

/** Lengths from here on take three bytes of the TLV block (T2T 1.0 §2.3). */
const LONG_TLV_BYTES = 255
const TERMINATOR_BYTES = 1

/** Whether a message of so many bytes fits a tag: with its TLV block's head, and the terminator. */
export const fitsTag = (messageBytes: number, tag: TagType): boolean =>
  (messageBytes < LONG_TLV_BYTES ? 2 : 4) + messageBytes + TERMINATOR_BYTES <= TAG_BYTES[tag]
