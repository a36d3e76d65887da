/** What a camera sees: a film that Chromium takes for one. @module */
import QRCode from 'qrcode'

const WIDTH = 640
const HEIGHT = 480
const WHITE = 235
const BLACK = 16
const NO_COLOUR = 128

/**
 * A film of one picture, a QR code on white (YUV4MPEG2, 4:2:0).
 * @param modulePixels of one square of the code, which has to fit
 */
export const filmOf = (text: string, modulePixels = 8): Buffer => {
  const { size, data } = QRCode.create(text, { errorCorrectionLevel: 'M' }).modules
  const luma = Buffer.alloc(WIDTH * HEIGHT, WHITE)
  const left = Math.floor((WIDTH - size * modulePixels) / 2)
  const top = Math.floor((HEIGHT - size * modulePixels) / 2)
  for (let y = 0; y < size * modulePixels; y++)
    for (let x = 0; x < size * modulePixels; x++) {
      const isDark = data[Math.floor(y / modulePixels) * size + Math.floor(x / modulePixels)]
      if (isDark) luma[(top + y) * WIDTH + left + x] = BLACK
    }
  return Buffer.concat([
    Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F10:1 Ip A1:1 C420jpeg\nFRAME\n`),
    luma,
    Buffer.alloc((WIDTH * HEIGHT) / 2, NO_COLOUR),
  ])
}
