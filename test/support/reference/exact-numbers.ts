/** Numbers in JSON text, slowly: what each means, decided by a comparison of decimals. */
import { compareNumber, isNumber } from 'lossless-json'

/** What a number means: itself where the shortest text of its double is the same decimal, else a bigint if it is whole, else NaN. */
export const readNumber = (text: string): number | bigint => {
  const value = Number(text)
  // Comparing throws at texts that `Number` reads and JSON does not have, such as `-.5`.
  if (Number.isFinite(value) && isNumber(text) && compareNumber(text, String(value)) === 0) return value
  return /^-?\d+$/.test(text) && text.length <= 1000 ? BigInt(text) : Number.NaN
}
