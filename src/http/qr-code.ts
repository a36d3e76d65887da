/** QR codes (ISO/IEC 18004) as pictures, at error correction level M. @module */
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
/** Without filters, of which rows of two colours have nothing; trying them all would hold up everybody for 100 ms. */
const PNG_PACKING = { filterType: 0, deflateStrategy: 0 } as const

/** The format that was asked for, else the one that an Accept header would rather have; SVG where it doesn't say. */
export const qrFormatOf = (asked: QrFormat | undefined, accept: string | string[] | undefined): QrFormat => {
  if (asked !== undefined) return asked
  return prefers(accept, QR_CONTENT_TYPES.png, QR_CONTENT_TYPES.svg) ? 'png' : 'svg'
}

/** @param text ASCII, at most {@link MAX_QR_CHARACTERS} where phones are to read it @throws Error above 2,331 characters */
export const drawQrCode = async (text: string, format: QrFormat): Promise<string | Buffer> => {
  const options = { errorCorrectionLevel: 'M', margin: QUIET_ZONE_MODULES } as const
  if (format === 'svg') return QRCode.toString(text, { ...options, type: 'svg' })
  const side = QRCode.create(text, options).modules.size + 2 * QUIET_ZONE_MODULES
  const width = side * Math.ceil(MIN_WIDTH_PIXELS / side)
  // The encoder writes into what it is given.
  return QRCode.toBuffer(text, { ...options, width, rendererOpts: { ...PNG_PACKING } })
}
