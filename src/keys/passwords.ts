/**
 * Hashes of passwords and terminal secrets: scrypt (RFC 7914), computed outside the main thread.
 * The text form is `scrypt$N$r$p$salt$hash` with base64url values, so costs can grow without breaking old hashes.
 * @module
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { AppError } from '../errors.ts'

export interface Cost {
  /** CPU and memory cost, a power of two; memory is 128 · N · r bytes. */
  readonly N: number
  readonly r: number
  readonly p: number
}

/** For secrets that people choose: 32 MiB a hash. */
export const PASSWORD_COST: Cost = { N: 2 ** 15, r: 8, p: 1 }
/** For generated secrets of 256 bits, which no guessing reaches anyway: 16 MiB a hash. */
export const SECRET_COST: Cost = { N: 2 ** 14, r: 8, p: 1 }

const SALT_BYTES = 16
const HASH_BYTES = 32
/** Hashes that may wait for a thread; beyond it the service is being flooded and says so. */
const MAX_WAITING = 64
const RETRY_AFTER_SECONDS = 2

let waiting = 0

const derive = async (secret: string, salt: Uint8Array, { N, r, p }: Cost): Promise<Buffer> => {
  if (waiting >= MAX_WAITING) throw new AppError('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
  waiting++
  try {
    return await new Promise((resolve, reject) => {
      const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r }
      scrypt(secret.normalize('NFKC'), salt, HASH_BYTES, options, (error, key) =>
        error ? reject(error) : resolve(key),
      )
    })
  } finally {
    waiting--
  }
}

/**
 * Hashes a secret with a fresh salt.
 * @throws AppError unavailable when too many hashes wait already
 */
export const hashPassword = async (secret: string, cost: Cost = PASSWORD_COST): Promise<string> => {
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(secret, salt, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/**
 * Whether a secret is the hashed one; the comparison takes constant time.
 * @param stored undefined when there is nobody to compare with: takes as long as for somebody, and is false
 * @param cost of the comparison with nobody
 * @throws AppError unavailable when too many hashes wait already
 * @throws Error when the stored text is no hash of ours
 */
export const verifyPassword = async (
  secret: string,
  stored: string | undefined,
  cost: Cost = PASSWORD_COST,
): Promise<boolean> => {
  if (stored === undefined) {
    await derive(secret, Buffer.alloc(SALT_BYTES), cost)
    return false
  }
  const [scheme, N, r, p, salt = '', hash = ''] = stored.split('$')
  if (scheme !== 'scrypt') throw new Error('unknown password hash scheme')
  const expected = Buffer.from(hash, 'base64url')
  const actual = await derive(secret, Buffer.from(salt, 'base64url'), {
    N: Number(N),
    r: Number(r),
    p: Number(p),
  })
  return timingSafeEqual(actual, expected)
}
