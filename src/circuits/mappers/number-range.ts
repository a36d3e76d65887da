/** The numbers that circuits compare. @module */

/** `NUMBER_BITS` of circuits/lib/range.circom. */
const NUMBER_LIMIT = 1n << 64n

/** @throws RangeError naming the first that isn't 0 ≤ number < 2^64: no witness exists for it */
export const demandNumbers = (numbers: Readonly<Record<string, bigint>>): void => {
  for (const [name, number] of Object.entries(numbers))
    if (number < 0n || number >= NUMBER_LIMIT) throw new RangeError(`${name} must be within 64 bits`)
}
