/** Numbers that follow from a seed, so that a run can be repeated. */
import { createHash } from 'node:crypto'

export interface Random {
  /** A whole number from 0 to below `end`. */
  below(end: number): number
  /** Whether something happens that does with this probability. */
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  /** An address of a client. */
  address(): string
  /** A text that no other one of this seed and name is. */
  name(): string
}

const UINT32_END = 2 ** 32

/** @param name each has numbers of its own, whatever the others draw meanwhile */
export const seeded = (seed: number, name: string): Random => {
  let count = 0
  const draw = (): Buffer => createHash('sha256').update(`${seed}/${name}/${count++}`).digest()
  const fraction = (): number => draw().readUInt32BE() / UINT32_END
  const below = (end: number): number => Math.floor(fraction() * end)
  return {
    below,
    chance: (probability) => fraction() < probability,
    pick: (list) => {
      const picked = list[below(list.length)]
      if (picked === undefined) throw new Error('There is nothing to pick.')
      return picked
    },
    address: () => `10.${below(256)}.${below(256)}.${below(256)}`,
    name: () => draw().toString('hex').slice(0, 16),
  }
}
