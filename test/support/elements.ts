/** Field elements for tests. @module */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { FIELD_MODULUS } from '../../src/core/field.ts'

/** Encoded numbers begin here. */
export const NUMBERS = 1n << 248n

export const randomElement = (): bigint => BigInt(`0x${randomBytes(31).toString('hex')}`)

/** The largest number of 64 bits. */
export const MAX_64 = (1n << 64n) - 1n
export const anyNumber64 = fc.bigInt({ min: 0n, max: MAX_64 })
export const anyElement = fc.bigInt({ min: 0n, max: FIELD_MODULUS - 1n })
