/** What a camera sees: a film that Chromium takes for one. @module */
import QRCode from 'qrcode'
import type { Picture } from './png.ts'

const WIDTH = 640
const HEIGHT = 480
const WHITE = 235
const BLACK = 16
const NO_COLOUR = 128
const BYTES_PER_PIXEL = 4

/**
 * A film of one picture on white (YUV4MPEG2, 4:2:0).
 * @param size of the picture in dots @param dotPixels of one dot, so that all fit
 */
const filmWith = (
  { width, height }: { readonly width: number; readonly height: number },
  dotPixels: number,
  isDark: (x: number, y: number) => boolean,
): Buffer => {
  const luma = Buffer.alloc(WIDTH * HEIGHT, WHITE)
  const left = Math.floor((WIDTH - width * dotPixels) / 2)
  const top = Math.floor((HEIGHT - height * dotPixels) / 2)
  for (let y = 0; y < height * dotPixels; y++)
    for (let x = 0; x < width * dotPixels; x++)
      if (isDark(Math.floor(x / dotPixels), Math.floor(y / dotPixels)))
        luma[(top + y) * WIDTH + left + x] = BLACK
  return Buffer.concat([
    Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F10:1 Ip A1:1 C420jpeg\nFRAME\n`),
    luma,
    Buffer.alloc((WIDTH * HEIGHT) / 2, NO_COLOUR),
  ])
}

/** A film of a QR code. @param modulePixels of one square of the code, which has to fit */
export const filmOf = (text: string, modulePixels = 8): Buffer => {
  const { size, data } = QRCode.create(text, { errorCorrectionLevel: 'M' }).modules
  return filmWith({ width: size, height: size }, modulePixels, (x, y) => Boolean(data[y * size + x]))
}

/** A film of white. */
export const BLANK = filmWith({ width: 0, height: 0 }, 1, () => false)

/** A film of a black and white picture, as near to the camera as fits. */
export const filmOfPicture = ({ width, height, data }: Picture): Buffer => {
  const nearness = Math.floor(Math.min(WIDTH / width, HEIGHT / height))
  if (nearness < 1) throw new Error(`${width} × ${height} pixels don't fit`)
  // Green stands for all three; what is transparent is white.
  return filmWith({ width, height }, nearness, (x, y) => {
    const [, green = 0, , alpha = 0] = data.subarray((y * width + x) * BYTES_PER_PIXEL)
    return alpha > 127 && green < 128
  })
}
