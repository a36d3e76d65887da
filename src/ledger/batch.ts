/**
 * Decides a batch in memory: its decisions run in order, each on what was read under the head's lock and on what those before
 * it wrote, so that the outcome is what the database would have said one by one. Nothing awaits.
 * @module
 */
import { keyBehind } from '../caller.ts'
import { newId } from '../ids.ts'
import type { PseudonymEpoch } from '../keys/pseudonyms.ts'
import type { Outcome } from '../store/lane.ts'
import type { Row } from '../store/table.ts'
import { requireSameRequest } from './answers.ts'
import { type Entry, type Held, type Json, type Place, type Tx, WithRoot } from './decision.ts'
import { actorOf, entryText, newSalt, subjectOf } from './entry.ts'
import { type Keys, type Known, keyOf, noKeys } from './known.ts'
import { type AnswerRow, claims as claimTable, counters as counterTable, entries } from './tables.ts'
import { type Growth, grow, leafHash } from './tree/merkle.ts'
import type { Unit } from './unit.ts'

export interface Head {
  readonly size: number
  readonly root: Uint8Array
  readonly edge: readonly Uint8Array[]
  /** Unix ms of the last entry. */
  readonly at: number
}

export interface Context {
  /** The log that is appended to. */
  readonly log: number
  readonly head: Head
  readonly known: Known
  readonly epoch: PseudonymEpoch
  /** Unix ms: the time of everything in the batch, no earlier than the entries before it. */
  readonly at: number
  /** Opens the stored answer of an idempotent request. */
  readonly replay: (row: AnswerRow) => unknown
  /** Makes the row that keeps an answer. */
  readonly keep: (unit: Unit, answer: unknown) => Row
}

/** What a decided batch asks to be written. */
export interface Resolution {
  readonly outcomes: readonly Outcome<unknown>[]
  readonly rows: readonly Row[]
  readonly growth: Growth
  readonly leaves: readonly Uint8Array[]
  /** Of the first entry, to find it again when the outcome of the commit is unknown. */
  readonly firstEntryId: string | undefined
  /** Units whose answer is a stored one. */
  readonly replayed: readonly Unit[]
}

/** A unit that has decided. */
interface Decided {
  readonly unit: Unit
  readonly answer: unknown
  readonly hasWritten: boolean
}

/** A unit failed when everything was decided: what its neighbours were told no longer holds. */
class LateFailure extends Error {
  constructor(cause: unknown) {
    super('A unit failed after its neighbours were decided.', { cause })
    this.name = 'LateFailure'
  }
}

/** One pass over the batch, and what the decision that is running reads and writes. */
class Pass implements Tx {
  readonly at: number
  /** Named by decisions, and not read yet: whatever they made of it does not count. */
  readonly unread: Keys = noKeys()
  readonly #context: Context
  readonly #claims = new Map<string, Held>()
  readonly #counters = new Map<string, number>()
  readonly #rows: Row[] = []
  readonly #leaves: Uint8Array[] = []
  #firstEntryId: string | undefined
  readonly #outcomes = new Map<Unit, Outcome<unknown>>()
  readonly #replayed: Unit[] = []
  readonly #decided: Decided[] = []
  #unit: Unit | undefined
  /** Undoes what the running decision has put into the maps. */
  #undo: (() => void)[] = []

  constructor(context: Context) {
    this.#context = context
    this.at = context.at
  }

  get #caller() {
    if (this.#unit === undefined) throw new Error('A decision was over when it read or wrote.')
    return this.#unit.caller
  }

  holder(kind: string, key: string): Held | undefined {
    return this.#holder(keyOf(this.#caller.organisation, kind, key), kind, key)
  }

  #holder(name: string, kind: string, key: string): Held | undefined {
    const held = this.#claims.get(name) ?? this.#context.known.claims.get(name)
    if (held === undefined) this.unread.claims.push([this.#caller.organisation, kind, key])
    return held ?? undefined
  }

  counter(counter: string): number {
    const { organisation } = this.#caller
    const name = keyOf(organisation, counter)
    const value = this.#counters.get(name) ?? this.#context.known.counters.get(name)
    if (value === undefined) this.unread.counters.push([organisation, counter])
    return value ?? 0
  }

  claim(kind: string, key: string, holder: Json = null): void {
    const { organisation } = this.#caller
    const { at } = this
    const name = keyOf(organisation, kind, key)
    if (this.#holder(name, kind, key))
      throw new Error(`A key of kind ${kind} was claimed although it is held.`)
    this.#claims.set(name, { holder, at })
    this.#undo.push(() => this.#claims.delete(name))
    const text = holder === null ? null : JSON.stringify(holder)
    this.write(claimTable.row({ organisation, kind, key, holder: text, at }))
  }

  add(counter: string, amount: number): number {
    const { organisation } = this.#caller
    const before = this.counter(counter)
    const value = before + amount
    if (!Number.isSafeInteger(value))
      throw new RangeError(`Counter ${counter} would leave the safe integers.`)
    const name = keyOf(organisation, counter)
    this.#counters.set(name, value)
    this.#undo.push(() => this.#counters.set(name, before))
    // Rows of one counter add up.
    this.write(counterTable.row({ organisation, counter, value: amount }))
    return value
  }

  append(entry: Entry): Place {
    const { at } = this
    const { epoch, head, log } = this.#context
    const { organisation, credential } = this.#caller
    const [actorKind, actorId] = actorOf(credential)
    const id = newId('ent', at)
    const named = subjectOf(entry, credential)
    const subject = named ? epoch.of(organisation, ...named) : null
    const actor = epoch.of(organisation, actorKind, actorId)
    const text = entryText(entry, { id, at, organisation, actor, subject, salt: newSalt() })
    const leaf = leafHash(text)
    const index = head.size + this.#leaves.length
    if (this.#leaves.push(leaf) === 1) this.#firstEntryId = id
    const actingKey = keyBehind(credential)
    this.write(
      entries.row({
        log,
        idx: index,
        id,
        organisation,
        type: entry.type,
        at,
        subject,
        key_id: entry.keyId ?? actingKey,
        circuit_id: entry.circuitId ?? null,
        proof_id: entry.proofId ?? null,
        digest: entry.digest ?? null,
        leaf_hash: leaf,
        entry: text,
      }),
    )
    return { log, index, entryId: id, leafHash: leaf.toString('hex'), at }
  }

  write(row: Row): void {
    this.#rows.push(row)
  }

  withRoot<R>(finish: (root: string, treeSize: number) => R): WithRoot<R> {
    return new WithRoot(finish)
  }

  /** Answers a repeated request with its first answer. @returns false when the request is a first one */
  #repeat(unit: Unit): boolean {
    if (unit.idempotency === undefined) return false
    const { organisation, key } = unit.idempotency
    const row = this.#context.known.answers.get(keyOf(organisation, key))
    if (!row) return false
    requireSameRequest(row, unit.idempotency)
    this.#outcomes.set(unit, { value: this.#context.replay(row) })
    this.#replayed.push(unit)
    return true
  }

  /** Has a unit decide. One that throws leaves nothing behind. */
  admit(unit: Unit): void {
    const [rows, leaves] = [this.#rows.length, this.#leaves.length]
    this.#undo = []
    try {
      if (this.#repeat(unit)) return
      this.#unit = unit
      const answer = unit.decide(this)
      this.#decided.push({ unit, answer, hasWritten: this.#rows.length > rows })
    } catch (error) {
      for (const undo of this.#undo.reverse()) undo()
      this.#rows.length = rows
      this.#leaves.length = leaves
      this.#outcomes.set(unit, { error })
    } finally {
      this.#unit = undefined
    }
  }

  /** With all decided: answers and rows that needed the tree, and answers that are kept. */
  finish(units: readonly Unit[]): Resolution {
    const { head } = this.#context
    const growth = grow(head.size, head.edge, this.#leaves)
    const root = Buffer.from(growth.root).toString('hex')
    try {
      for (const decided of this.#decided) this.#settle(decided, root, growth.size)
    } catch (error) {
      // Others found keys held by this unit, or took their places in the tree behind it.
      throw units.length === 1 ? error : new LateFailure(error)
    }
    return {
      outcomes: units.map((unit) => this.#outcomes.get(unit) ?? { error: new Error('A unit was left out.') }),
      rows: this.#rows,
      growth,
      leaves: this.#leaves,
      firstEntryId: this.#leaves.length === 0 ? undefined : this.#firstEntryId,
      replayed: this.#replayed,
    }
  }

  #settle({ unit, answer, hasWritten }: Decided, root: string, treeSize: number): void {
    const before = this.#rows.length
    const value = answer instanceof WithRoot ? answer.finish(root, treeSize) : answer
    // Only effects are kept: a unit that changed nothing may simply be asked again.
    const isKept = hasWritten || this.#rows.length > before || unit.isAlwaysKept
    if (unit.idempotency && isKept) this.write(this.#context.keep(unit, value))
    this.#outcomes.set(unit, { value })
  }
}

/**
 * Decides a batch.
 * @returns what to write, or what has to be read first
 * @throws LateFailure when a unit failed after all had decided, and the batch holds others
 */
export const decideBatch = (
  units: readonly Unit[],
  context: Context,
): { resolution: Resolution } | { unread: Keys } => {
  const pass = new Pass(context)
  for (const unit of units) pass.admit(unit)
  const { unread } = pass
  if (unread.claims.length + unread.counters.length > 0) return { unread }
  return { resolution: pass.finish(units) }
}
