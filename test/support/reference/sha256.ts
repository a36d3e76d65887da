/**
 * SHA-256 as FIPS 180-4 section 6.2 writes it down: slow, one word at a time.
 * @module
 */

/** Words; FIPS 180-4 section 4.2.2. */
const fractionalBits = (root: (n: number) => number, count: number): number[] => {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes.map((prime) => Math.floor((root(prime) % 1) * 2 ** 32))
}
const K = fractionalBits(Math.cbrt, 64)
export const INITIAL_STATE: readonly number[] = fractionalBits(Math.sqrt, 8)

const rotr = (x: number, n: number): number => (x >>> n) | (x << (32 - n))
const word = (list: readonly number[], i: number): number => list[i] ?? 0

/** The next state after one block of 64 bytes. */
export const compress = (state: readonly number[], block: Uint8Array): number[] => {
  const w = Array.from({ length: 16 }, (_, t) =>
    new DataView(block.buffer, block.byteOffset).getUint32(4 * t),
  )
  for (let t = 16; t < 64; t++) {
    const [x, y] = [word(w, t - 15), word(w, t - 2)]
    const sigma0 = rotr(x, 7) ^ rotr(x, 18) ^ (x >>> 3)
    const sigma1 = rotr(y, 17) ^ rotr(y, 19) ^ (y >>> 10)
    w.push((word(w, t - 16) + sigma0 + word(w, t - 7) + sigma1) >>> 0)
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let t = 0; t < 64; t++) {
    const t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + word(K, t) + word(w, t)
    const t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0]
  }
  return [a, b, c, d, e, f, g, h].map((value, i) => (value + word(state, i)) >>> 0)
}

/** State words as bytes. */
export const stateBytes = (state: readonly number[]): Uint8Array => {
  const bytes = new Uint8Array(4 * state.length)
  state.forEach((value, i) => {
    new DataView(bytes.buffer).setUint32(4 * i, value)
  })
  return bytes
}

/** Hashes the rest of a message of which `before` bytes are in `state` already. */
export const finish = (state: readonly number[], rest: Uint8Array, before: number): Uint8Array => {
  const padded = new Uint8Array(64 * Math.ceil((rest.length + 9) / 64))
  padded.set(rest)
  padded[rest.length] = 0x80
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(before + rest.length) * 8n)
  let next = [...state]
  for (let at = 0; at < padded.length; at += 64) next = compress(next, padded.subarray(at, at + 64))
  return stateBytes(next)
}

export const sha256 = (message: Uint8Array): Uint8Array => finish(INITIAL_STATE, message, 0)
