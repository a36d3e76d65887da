/**
 * A ledger of one organisation in plain maps, which commits one decision after the other and takes back everything when one
 * throws. Its leaves are numbers, not hashes.
 */
import {
  type Decide,
  type Entry,
  type Held,
  type Json,
  type Tx,
  WithRoot,
} from '../../../src/ledger/decision.ts'
import type { Row } from '../../../src/store/table.ts'

const hexOf = (number: number): string => number.toString(16).padStart(64, '0')

export class ReferenceLedger {
  claims = new Map<string, Held>()
  counters = new Map<string, number>()
  entries: Entry[] = []
  rows: Row[] = []
  readonly #at: number
  readonly #firstIndex: number

  /** @param at Unix ms @param firstIndex of its entries */
  constructor(at = 0, firstIndex = 0) {
    this.#at = at
    this.#firstIndex = firstIndex
  }

  leafHash(index: number): string {
    return hexOf(index)
  }

  get size(): number {
    return this.#firstIndex + this.entries.length
  }

  /** @throws what the decision throws, with nothing written */
  append<R>(decide: Decide<R>): R {
    const before = {
      claims: new Map(this.claims),
      counters: new Map(this.counters),
      entries: [...this.entries],
      rows: [...this.rows],
    }
    try {
      const answer = decide(this.#tx())
      return answer instanceof WithRoot ? answer.finish(hexOf(this.size), this.size) : answer
    } catch (error) {
      Object.assign(this, before)
      throw error
    }
  }

  #tx(): Tx {
    const at = this.#at
    const nameOf = (kind: string, key: string) => `${kind} ${key}`
    return {
      at,
      holder: (kind, key) => this.claims.get(nameOf(kind, key)),
      counter: (name) => this.counters.get(name) ?? 0,
      claim: (kind, key, holder: Json = null) => {
        if (this.claims.has(nameOf(kind, key))) throw new Error('claimed although it is held')
        this.claims.set(nameOf(kind, key), { holder, at })
      },
      add: (counter, amount) => {
        const value = (this.counters.get(counter) ?? 0) + amount
        this.counters.set(counter, value)
        return value
      },
      append: (entry) => {
        const index = this.size
        this.entries.push(entry)
        return { log: 0, index, entryId: `ent_${index}`, leafHash: hexOf(index), at }
      },
      write: (row) => {
        this.rows.push(row)
      },
      withRoot: (finish) => new WithRoot(finish),
    }
  }
}
