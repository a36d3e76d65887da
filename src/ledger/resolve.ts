/**
 * Decides a batch in memory: who wins which claim, which takes fit, what is written. It runs on what was read under
 * the head's lock, so that its outcome is what the database would have said, item by item, in order. Nothing awaits.
 * @module
 */
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { PseudonymEpoch } from '../keys/pseudonyms.ts'
import type { Outcome } from '../store/lane.ts'
import type { Row } from '../store/table.ts'
import { requireSameRequest } from './answers.ts'
import { actorOf, entryText, newSalt, subjectOf } from './entry.ts'
import type { Claim, Entry, Held, Item, Receipt, Settled, Take } from './item.ts'
import { type Known, keyOf, Overlay, type Unread } from './overlay.ts'
import { type AnswerRow, claims as claimTable, counters as counterTable, entries } from './tables.ts'
import { type Growth, grow, leafHash } from './tree/merkle.ts'
import type { Unit } from './unit.ts'

/** An item may answer a lost claim with another item, and that one again; a chain this long is a mistake. */
const MAX_REPLACEMENTS = 4

export interface Head {
  readonly size: number
  readonly root: Uint8Array
  readonly edge: readonly Uint8Array[]
  /** Unix ms of the last entry. */
  readonly at: number
}

export interface Context {
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

/** What a resolved batch asks to be written. */
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

/** An item that won everything, and where its takes left their counters. */
interface Won {
  readonly item: Item<unknown>
  readonly taken: readonly number[]
}

interface DraftEntry {
  readonly entry: Entry
  readonly id: string
  /** Pseudonym. */
  readonly subject: string | null
  readonly text: string
  readonly leaf: Uint8Array
}

interface Draft extends Won {
  /** That of the item, and those that stand behind it. */
  readonly entries: readonly [DraftEntry, ...DraftEntry[]]
}

/** A unit that may be committed: a draft, or a settled answer, per item. */
interface Candidate {
  readonly unit: Unit
  readonly slots: readonly (Draft | Settled<unknown>)[]
  /** Set once the slots are placed. */
  firstIndex: number
}

const isSettled = <T extends object>(value: T | Settled<unknown>): value is Settled<unknown> =>
  'settled' in value

const isDraft = (slot: Draft | Settled<unknown>): slot is Draft => 'entries' in slot

/** A builder threw when everything was decided: what its neighbours were told no longer holds. */
class LateFailure extends Error {
  constructor(cause: unknown) {
    super('A unit failed after its neighbours were decided.', { cause })
    this.name = 'LateFailure'
  }
}

/** One pass over the batch: an object only because its parts share so much. */
class Pass {
  readonly unread: Unread = { claims: [], counters: [] }
  readonly outcomes = new Map<Unit, Outcome<unknown>>()
  readonly replayed: Unit[] = []
  readonly #context: Context
  readonly #batch: Overlay
  readonly #rows: Row[] = []
  readonly #candidates: Candidate[] = []

  constructor(context: Context) {
    this.#context = context
    this.#batch = new Overlay(context.known)
  }

  /** @throws AppError when the claim is lost and the item does not say what to do then */
  #claim(overlay: Overlay, organisation: string, claim: Claim): Held | undefined {
    const key = keyOf(organisation, claim.kind, claim.key)
    const held = overlay.holderOf(key)
    if (held === undefined) this.unread.claims.push([organisation, claim.kind, claim.key])
    if (held) return { claim, holder: held.holder, at: held.at }
    if (!claim.look) overlay.claims.set(key, { holder: claim.holder ?? null, at: this.#context.at })
    return undefined
  }

  /** @returns where the counter stands, and the take, if even the last alternative does not fit */
  #take(overlay: Overlay, organisation: string, take: Take): { value: number; exceeded?: Take } {
    const key = keyOf(organisation, take.counter)
    const value = overlay.valueOf(key)
    if (value === undefined) this.unread.counters.push([organisation, take.counter])
    const sum = (value ?? 0) + take.amount
    // What does not fit may be any sum: it is only compared.
    if (!Number.isSafeInteger(sum <= take.limit ? sum : take.amount))
      throw new RangeError(`Counter ${take.counter} would leave the safe integers.`)
    if (sum <= take.limit) {
      overlay.counters.set(key, sum)
      return { value: sum }
    }
    return take.otherwise
      ? this.#take(overlay, organisation, take.otherwise)
      : { value: value ?? 0, exceeded: take }
  }

  /**
   * Wins everything for an item, or says what it turns into.
   * @throws AppError when it loses and does not say what to do then
   */
  #win(overlay: Overlay, organisation: string, item: Item<unknown>): Won | Item<unknown> | Settled<unknown> {
    for (const claim of item.claims ?? []) {
      const lost = this.#claim(overlay, organisation, claim)
      if (lost === undefined) continue
      if (item.lost === undefined) throw new AppError(claim.code)
      return item.lost(lost)
    }
    const taken: number[] = []
    for (const take of item.takes ?? []) {
      const { value, exceeded } = this.#take(overlay, organisation, take)
      if (exceeded === undefined) {
        taken.push(value)
        continue
      }
      if (item.exceeded === undefined) throw new AppError(exceeded.code)
      return item.exceeded(exceeded, value)
    }
    return { item, taken }
  }

  /** Wins everything for an item, or for what it turns into when it loses. */
  #settle(unitOverlay: Overlay, organisation: string, item: Item<unknown>): Won | Settled<unknown> {
    let chosen = item
    for (let round = 0; round <= MAX_REPLACEMENTS; round++) {
      const overlay = new Overlay(unitOverlay)
      const next = this.#win(overlay, organisation, chosen)
      if (isSettled(next)) return next
      if ('taken' in next) {
        unitOverlay.absorb(overlay)
        return next
      }
      chosen = next
    }
    throw new Error('An item that lost a claim turned into others that lost theirs, over and over.')
  }

  #draft(unit: Unit, won: Won): Draft {
    const { entry, more = [] } = won.item
    return {
      ...won,
      entries: [this.#draftEntry(unit, entry), ...more.map((one) => this.#draftEntry(unit, one))],
    }
  }

  #draftEntry(unit: Unit, entry: Entry): DraftEntry {
    const { at, epoch } = this.#context
    const { organisation, credential } = unit.caller
    const [actorKind, actorId] = actorOf(credential)
    const id = newId('ent', at)
    const named = subjectOf(entry, credential)
    const subject = named ? epoch.of(organisation, ...named) : null
    const text = entryText(entry, {
      id,
      at,
      organisation,
      actor: epoch.of(organisation, actorKind, actorId),
      subject,
      salt: newSalt(),
    })
    return { entry, id, subject, text, leaf: leafHash(text) }
  }

  /** Answers a repeated request with its first answer. @returns false when the request is a first one */
  #repeat(unit: Unit): boolean {
    if (unit.idempotency === undefined) return false
    const { organisation, key } = unit.idempotency
    const row = this.#context.known.answers.get(keyOf(organisation, key))
    if (!row) return false
    requireSameRequest(row, unit.idempotency)
    this.outcomes.set(unit, { value: this.#context.replay(row) })
    this.replayed.push(unit)
    return true
  }

  /** First half: claims, takes, and the entry's bytes. A unit that fails leaves nothing behind. */
  admit(unit: Unit): void {
    try {
      if (this.#repeat(unit)) return
      const overlay = new Overlay(this.#batch)
      const slots = unit.items.map((item) => {
        const chosen = this.#settle(overlay, unit.caller.organisation, item)
        return isSettled(chosen) ? chosen : this.#draft(unit, chosen)
      })
      this.#batch.absorb(overlay)
      this.#candidates.push({ unit, slots, firstIndex: 0 })
    } catch (error) {
      this.outcomes.set(unit, { error })
    }
  }

  /** Second half: with the places in the tree known, rows and answers. */
  place(units: readonly Unit[]): Resolution {
    const { head } = this.#context
    const drafts: DraftEntry[] = []
    for (const candidate of this.#candidates) {
      candidate.firstIndex = head.size + drafts.length
      drafts.push(...candidate.slots.filter(isDraft).flatMap(({ entries }) => entries))
    }
    const leaves = drafts.map(({ leaf }) => leaf)
    const growth = grow(head.size, head.edge, leaves)
    const root = Buffer.from(growth.root).toString('hex')
    try {
      for (const candidate of this.#candidates) this.#finish(candidate, growth.size, root)
    } catch (error) {
      // Others lost their claims to this unit, or took their places in the tree behind it.
      throw units.length === 1 ? error : new LateFailure(error)
    }
    this.#writeOverlay()
    return {
      outcomes: units.map((unit) => this.outcomes.get(unit) ?? { error: new Error('A unit was left out.') }),
      rows: this.#rows,
      growth,
      leaves,
      firstEntryId: drafts[0]?.id,
      replayed: this.replayed,
    }
  }

  #finish({ unit, slots, firstIndex }: Candidate, treeSize: number, root: string): void {
    let index = firstIndex
    const rows: Row[] = []
    const results = slots.map((slot) => {
      if (!isDraft(slot)) return slot.settled
      const [first] = slot.entries
      const receipt: Receipt = {
        index,
        entryId: first.id,
        leafHash: Buffer.from(first.leaf).toString('hex'),
        treeSize,
        root,
        at: this.#context.at,
      }
      for (const draft of slot.entries) rows.push(this.#entryRow(unit, draft, index++))
      rows.push(...(slot.item.rows?.(receipt) ?? []))
      return slot.item.result(receipt, slot.taken)
    })
    const value = unit.finish(results)
    // Only effects are kept: a unit that changed nothing may simply be asked again.
    if (unit.idempotency && (rows.length > 0 || unit.items.length === 0)) {
      rows.push(this.#context.keep(unit, value))
    }
    this.#rows.push(...rows)
    this.outcomes.set(unit, { value })
  }

  #entryRow({ caller }: Unit, { entry, id, subject, text, leaf }: DraftEntry, index: number): Row {
    const { credential } = caller
    const actingKey = 'keyId' in credential ? credential.keyId : null
    return entries.row({
      idx: index,
      id,
      organisation: caller.organisation,
      type: entry.type,
      at: this.#context.at,
      subject,
      key_id: entry.keyId ?? actingKey,
      circuit_id: entry.circuitId ?? null,
      proof_id: entry.proofId ?? null,
      digest: entry.digest ?? null,
      leaf_hash: leaf,
      entry: text,
    })
  }

  #writeOverlay(): void {
    const { at, known } = this.#context
    for (const [compound, { holder }] of this.#batch.claims) {
      const [organisation = '', kind = '', key = ''] = compound.split('\0')
      this.#rows.push(
        claimTable.row({
          organisation,
          kind,
          key,
          holder: holder === null ? null : JSON.stringify(holder),
          at,
        }),
      )
    }
    for (const [compound, value] of this.#batch.counters) {
      const [organisation = '', counter = ''] = compound.split('\0')
      const added = value - (known.counters.get(compound) ?? 0)
      this.#rows.push(counterTable.row({ organisation, counter, value: added }))
    }
  }
}

/**
 * Resolves a batch.
 * @returns what to write, or what has to be read first
 * @throws LateFailure when a builder threw and the batch holds other units
 */
export const resolveBatch = (
  units: readonly Unit[],
  context: Context,
): { resolution: Resolution } | { unread: Unread } => {
  const pass = new Pass(context)
  for (const unit of units) pass.admit(unit)
  if (pass.unread.claims.length + pass.unread.counters.length > 0) return { unread: pass.unread }
  return { resolution: pass.place(units) }
}
