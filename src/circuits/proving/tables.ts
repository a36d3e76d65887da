/**
 * Tables of multiples of a proving key's points: how the sums of a proof are laid out, and how their tables are made,
 * at once or slice by slice on any thread. They hold public points only.
 * @module
 */
import type { CircuitId } from '../catalogue.ts'
import { createAllocator, instantiateProver, type ProverInstance } from './proving-instance.ts'
import { type Bases, joinBases, type ProvingKey, readProvingKey } from './proving-key.ts'
import { planSums, type WindowPlan } from './window-plan.ts'

/** About how many wires of a circuit are not bits. */
const FULL_SHARE = 0.7
/** An addition in G2, in additions in G1. */
const G2_ADDITION_COST = 3
/** Points of a slice in G1, which is made in about the hundredth part of a second. */
const SLICE_POINTS = 192

/** A sum that a proof needs: its bases, and the table of their multiples. */
export interface Sum {
  readonly bases: Bases
  readonly isG2: boolean
  readonly count: number
  readonly plan: WindowPlan
  readonly pointBytes: number
  /** Where its table begins among those of all sums, and its length. */
  readonly offset: number
  readonly bytes: number
}

/** Tables that were made, laid out for this budget. */
export interface Tables {
  readonly budgetBytes: number
  readonly bytes: Uint8Array
}

/** Tables that threads copy; `number` tells those of one circuit apart that were made one after the other. */
export type SharedTables = readonly {
  readonly circuitId: CircuitId
  readonly number: number
  readonly tables: Tables
}[]

/** Where the scalars stand: the wires, the quotient's values, then r, s, 1 and −rs. */
export const scalarPlaces = ({ wires, domain }: Pick<ProvingKey, 'wires' | 'domain'>) => {
  const end = wires + domain
  return { quotient: wires, r: end, s: end + 1, one: end + 2, minusRs: end + 3, count: end + 4 }
}

/** What is summed up: A + α + rδ, then B + β + sδ in both groups, then C and the quotient − rsδ. */
const basesOf = (key: ProvingKey) => {
  const { quotient, r, s, one, minusRs } = scalarPlaces(key)
  const full = FULL_SHARE * key.wires
  const single = (points: Uint8Array<ArrayBuffer>, number: number): Bases => ({ points, numbers: [number] })
  const h = { ...key.h, numbers: key.h.numbers.map((number) => number + quotient) }
  return [
    { bases: joinBases([key.a, single(key.delta1, r), single(key.alpha1, one)]), isG2: false, full },
    { bases: joinBases([key.b1, single(key.delta1, s), single(key.beta1, one)]), isG2: false, full },
    { bases: joinBases([key.b2, single(key.delta2, s), single(key.beta2, one)]), isG2: true, full },
    { bases: joinBases([key.c, h, single(key.delta1, minusRs)]), isG2: false, full: full + key.domain },
  ]
}

/** The sums of a proof, A, B in G1, B in G2 and C, with tables that fit the budget together. The same on every thread. */
export const sumsOf = (
  key: ProvingKey,
  { G1_BYTES, G2_BYTES, LARGEST_WINDOW_BITS }: ProverInstance['layout'],
  budgetBytes: number,
): Sum[] => {
  const all = basesOf(key).map(({ full, ...sum }) => {
    const { length: count } = sum.bases.numbers
    const [pointBytes, additionCost] = sum.isG2 ? [G2_BYTES, G2_ADDITION_COST] : [G1_BYTES, 1]
    return { ...sum, count, full: Math.min(full, count), pointBytes, additionCost }
  })
  const plans = planSums(all, budgetBytes, LARGEST_WINDOW_BITS)
  let end = 0
  return all.map(({ bases, isG2, count, pointBytes }, i) => {
    const plan = plans[i] as WindowPlan
    const bytes = plan.entries * count * pointBytes
    end += bytes
    return { bases, isG2, count, plan, pointBytes, offset: end - bytes, bytes }
  })
}

/** Makes the tables of one key on the thread that asks, a slice at a time. */
export interface TableMaker {
  /** Bytes of all tables. */
  readonly bytes: number
  readonly slices: number
  /** Makes a slice, from 0 on, and puts it where it belongs. */
  fill(slice: number, tables: Uint8Array): void
}

/** @param zkey the proving key's file @throws RangeError for what is none */
export const createTableMaker = (zkey: Uint8Array, budgetBytes: number): TableMaker => {
  const instance = instantiateProver()
  const { call, layout, memory } = instance
  const { reserve, put, briefly } = createAllocator(instance)
  const sums = sumsOf(readProvingKey(zkey), layout, budgetBytes)
  const slices = sums.flatMap((sum) => {
    const most = Math.ceil(SLICE_POINTS / (sum.isG2 ? G2_ADDITION_COST : 1))
    const froms = Array.from({ length: Math.ceil(sum.count / most) }, (_, i) => i * most)
    return froms.map((from) => ({ sum, from, count: Math.min(most, sum.count - from) }))
  })
  return {
    bytes: sums.reduce((total, { bytes }) => total + bytes, 0),
    slices: slices.length,
    fill(number, tables) {
      const slice = slices[number]
      if (slice === undefined) throw new RangeError(`there is no slice ${number} of ${slices.length}`)
      const { sum, from, count } = slice
      const { bases, plan, pointBytes, offset } = sum
      briefly(() => {
        const length = bases.points.length / sum.count
        const source = put(bases.points.subarray(length * from, length * (from + count)))
        const table = reserve(pointBytes * count * plan.entries)
        const prepare = sum.isG2 ? call.prepareG2 : call.prepareG1
        prepare(table, source, count, plan.entries, plan.bits * plan.groups)
        for (let entry = 0; entry < plan.entries; entry++) {
          const row = new Uint8Array(memory.buffer, table + pointBytes * count * entry, pointBytes * count)
          tables.set(row, offset + pointBytes * (sum.count * entry + from))
        }
      })
    },
  }
}
