/** Reads PNG pictures of 8 bits a channel with red, green and blue, and with alpha or without, and those of one bit a pixel (PNG, third edition). */
import { inflateSync } from 'node:zlib'

const SIGNATURE_BYTES = 8
const CHUNK_FRAME_BYTES = 12
const BYTES_PER_PIXEL = 4
/** Type of colour → bytes a pixel. */
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: BYTES_PER_PIXEL }
const OPAQUE = 255

export interface Picture {
  readonly width: number
  readonly height: number
  readonly data: Uint8ClampedArray
}

/** Paeth predictor (§ 9.4). */
const paeth = (left: number, up: number, corner: number): number => {
  const base = left + up - corner
  const [toLeft, toUp, toCorner] = [left, up, corner].map((value) => Math.abs(base - value)) as [
    number,
    number,
    number,
  ]
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

const FILTERS: readonly ((left: number, up: number, corner: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, up) => up,
  (left, up) => (left + up) >> 1,
  paeth,
]

/** Pixels of one bit, 1 for white, in lines without filters. */
const readBits = (raw: Buffer, width: number, height: number): Picture => {
  const data = new Uint8ClampedArray(width * height * BYTES_PER_PIXEL).fill(OPAQUE)
  const stride = 1 + Math.ceil(width / 8)
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)]
    if (raw[y * stride] !== 0) throw new Error('a line with a filter')
    const isWhite = ((raw[y * stride + 1 + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1
    if (!isWhite) data.fill(0, i * BYTES_PER_PIXEL, (i + 1) * BYTES_PER_PIXEL - 1)
  }
  return { width, height, data }
}

/** @throws Error for any other kind of PNG */
export const readPng = (png: Buffer): Picture => {
  const parts: Buffer[] = []
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length))
    at += length + CHUNK_FRAME_BYTES
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  if (png[24] === 1 && png[25] === 0) return readBits(inflateSync(Buffer.concat(parts)), width, height)
  const channels = CHANNELS[png[25] ?? -1]
  if (png[24] !== 8 || channels === undefined || png[28] !== 0)
    throw new Error('neither 8-bit RGB or RGBA nor one bit')
  const raw = inflateSync(Buffer.concat(parts))
  const stride = width * channels
  const lines = new Uint8ClampedArray(stride * height)
  const pixel = (x: number, y: number): number => (x < 0 || y < 0 ? 0 : (lines[y * stride + x] ?? 0))
  for (let y = 0; y < height; y++) {
    const predict = FILTERS[raw[y * (stride + 1)] ?? 0]
    if (predict === undefined) throw new Error('an unknown filter')
    for (let x = 0; x < stride; x++) {
      const left = x - channels
      const predicted = predict(pixel(left, y), pixel(x, y - 1), pixel(left, y - 1))
      lines[y * stride + x] = ((raw[y * (stride + 1) + 1 + x] ?? 0) + predicted) & 0xff
    }
  }
  if (channels === BYTES_PER_PIXEL) return { width, height, data: lines }
  const data = new Uint8ClampedArray(width * height * BYTES_PER_PIXEL).fill(OPAQUE)
  for (let i = 0; i < width * height; i++)
    data.set(lines.subarray(i * channels, (i + 1) * channels), i * BYTES_PER_PIXEL)
  return { width, height, data }
}
