/**
 * base64url without padding as RFC 4648 section 5 writes it down, bit by bit.
 * @module
 */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

export const encode = (bytes: Uint8Array): string => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,6}/g) ?? []).map((six) => ALPHABET[Number.parseInt(six.padEnd(6, '0'), 2)]).join('')
}

/** Undefined unless `text` is what {@link encode} makes of the result. */
export const decode = (text: string): Uint8Array | undefined => {
  const values = Array.from(text, (character) => ALPHABET.indexOf(character))
  if (values.includes(-1)) return undefined
  const bits = values.map((value) => value.toString(2).padStart(6, '0')).join('')
  const bytes = Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
  return encode(bytes) === text ? bytes : undefined
}
