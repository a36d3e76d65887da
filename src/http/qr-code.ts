/** QR codes (ISO/IEC 18004) as pictures, at error correction level M. @module */
import { crc32, deflateSync } from 'node:zlib'
import QRCode from 'qrcode'
import { prefers } from './accept.ts'

/** Content types of a QR code. */
export const QR_CONTENT_TYPES = { svg: 'image/svg+xml', png: 'image/png' } as const
export type QrFormat = keyof typeof QR_CONTENT_TYPES

/** What version 25 holds: 117 modules a side, about as many as a phone still reads from another phone's screen. */
export const MAX_QR_CHARACTERS = 997

const QUIET_ZONE_MODULES = 4
/** Of the PNG's side; somewhat more where modules would not be whole pixels. Whoever prints takes SVG. */
const MIN_WIDTH_PIXELS = 512
const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** The format that was asked for, else the one that an Accept header would rather have; SVG where it doesn't say. */
export const qrFormatOf = (asked: QrFormat | undefined, accept: string | string[] | undefined): QrFormat => {
  if (asked !== undefined) return asked
  return prefers(accept, QR_CONTENT_TYPES.png, QR_CONTENT_TYPES.svg) ? 'png' : 'svg'
}

/** PNG, third edition, § 5.3. */
const pngChunk = (type: string, data: Uint8Array): Buffer => {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const numbers = Buffer.alloc(8)
  numbers.writeUInt32BE(data.length)
  numbers.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([numbers.subarray(0, 4), named, numbers.subarray(4)])
}

/** Of one bit for each pixel, 1 for white. The library makes 32 of each, for which everybody would wait for 30 ms. */
const drawPng = (modules: QRCode.BitMatrix): Buffer => {
  const side = modules.size + 2 * QUIET_ZONE_MODULES
  const scale = Math.ceil(MIN_WIDTH_PIXELS / side)
  const width = side * scale
  const lines = Array.from({ length: side }, (_, y) => {
    const line = Buffer.alloc(1 + Math.ceil(width / 8), 0xff)
    // No filter: rows of two colours have nothing of one.
    line[0] = 0
    const row = y - QUIET_ZONE_MODULES
    const columns = row >= 0 && row < modules.size ? modules.size : 0
    for (let column = 0; column < columns; column++) {
      if (modules.get(row, column) === 0) continue
      const left = (column + QUIET_ZONE_MODULES) * scale
      for (let x = left; x < left + scale; x++) {
        const at = 1 + (x >> 3)
        line[at] = (line[at] ?? 0) & ~(0x80 >> (x & 7))
      }
    }
    return Array<Buffer>(scale).fill(line)
  }).flat()
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(width, 4)
  header[8] = 1
  const chunks = [
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.concat(lines))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([PNG_SIGNATURE, ...chunks])
}

/** @param text ASCII, at most {@link MAX_QR_CHARACTERS} where phones are to read it @throws Error above 2,331 characters */
export const drawQrCode = async (text: string, format: QrFormat): Promise<string | Buffer> => {
  const options = { errorCorrectionLevel: 'M', margin: QUIET_ZONE_MODULES } as const
  if (format === 'svg') return QRCode.toString(text, { ...options, type: 'svg' })
  return drawPng(QRCode.create(text, options).modules)
}
