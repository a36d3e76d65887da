/**
 * Decides a batch of posts and removals in order, in memory, under the head's lock: what each may do given what is
 * stored and what those before it in the batch did.
 * @module
 */
import { AppError, fail } from '../../../errors.ts'
import type { Outcome } from '../../../store/lane.ts'
import type { Row } from '../../../store/table.ts'
import { noteName, useName } from '../names/name-bindings.ts'
import type { PostingMode } from '../schemas.ts'
import {
  chatEnvelopes,
  chatMessages,
  chatNames,
  chatPrompts,
  chatProofs,
  chatRemovals,
  type HeadRow,
  type MessageRow,
  type RemovalRow,
  type StoredMessageRow,
} from '../store.ts'
import { noteRepetition, refuseDuplicate } from './duplicates.ts'
import {
  type AcceptedEnvelope,
  type ChatUnit,
  envelopeKey,
  hex,
  isRemoval,
  type Known,
  type PostUnit,
  type RemovalUnit,
  type UsedEnvelope,
} from './lane-units.ts'
import { qualifies } from './posting-mode.ts'
import type { TargetRow } from './store-lane.ts'

/** How recent is what the counts of the last 24 hours take. */
export const LATELY_MS = 24 * 60 * 60 * 1000
/** A proof speaks for one key: for another only so long after its last use. */
export const PROOF_OF_ONE_KEY_MS = 24 * 60 * 60 * 1000

export interface BatchRules {
  /** The mode while no operator has set one. */
  readonly initialMode: PostingMode
  /** Names that a key, or an address, may bind in a day; Infinity: not limited. */
  readonly namesPerDay: number
  /** A keyed hash, which replaces the text of a removed message: without the key it can't be guessed at. */
  readonly hashRemoved: (text: string) => string
}

/** What a batch does. */
export interface Decided {
  readonly outcomes: readonly Outcome<MessageRow | undefined>[]
  /** As the batch found it. */
  readonly before: HeadRow
  /** As the batch leaves it. */
  readonly head: HeadRow
  /** When it was decided, Unix ms. */
  readonly at: number
  /** Names that nobody had used for 24 hours. */
  readonly agentsBack: number
  readonly rows: readonly Row[]
  readonly messages: readonly StoredMessageRow[]
  readonly removals: readonly RemovalRow[]
  /** Message → direct replies gained, or lost. */
  readonly replies: ReadonlyMap<number, number>
  /** Removed message → what replaces its text. */
  readonly blanks: ReadonlyMap<number, string>
  /** Keys whose envelopes came a second time. */
  readonly replays: readonly string[]
}

/** A batch while it is decided. */
interface Batch {
  readonly before: HeadRow
  readonly head: HeadRow
  agentsBack: number
  readonly mode: PostingMode
  readonly known: Known
  readonly at: number
  readonly rules: BatchRules
  readonly rows: Row[]
  readonly messages: StoredMessageRow[]
  readonly removals: RemovalRow[]
  readonly replies: Map<number, number>
  readonly blanks: Map<number, string>
  readonly replays: string[]
}

/** @throws AppError replayed_envelope */
const refuseReplay = ({ known, replays }: Batch, envelope: UsedEnvelope): void => {
  if (!known.envelopes.has(envelopeKey(envelope))) return
  replays.push(envelope.fingerprint)
  fail('replayed_envelope')
}

const consume = ({ known, rows }: Batch, { fingerprint, id, expiresAt }: UsedEnvelope): void => {
  known.envelopes.add(envelopeKey({ fingerprint, id }))
  rows.push(chatEnvelopes.row({ fingerprint, id, expires_at: expiresAt }))
}

const countReply = ({ replies }: Batch, id: number, by: 1 | -1): void => {
  replies.set(id, (replies.get(id) ?? 0) + by)
}

/** @throws AppError unknown_reply_to */
const parentOf = ({ known }: Batch, replyTo: number | null): TargetRow | undefined => {
  if (replyTo === null) return undefined
  const parent = known.targets.get(replyTo)
  return parent === undefined || parent.removed_at !== null ? fail('unknown_reply_to') : parent
}

/** @throws AppError verified_only for a post that does not qualify while only those may */
const requireQualified = (
  { mode, at }: Batch,
  { kind, envelope }: PostUnit,
  boundAt: number | undefined,
): void => {
  if (kind === 'house' || mode !== 'verified_only') return
  const provesPerson = envelope?.proof?.provesPerson ?? false
  if (envelope === undefined || !qualifies({ provesPerson, boundAt, now: at })) fail('verified_only')
}

/** @throws AppError proof_in_use for a proof that spoke for another key lately */
const requireOwnProof = ({ known, at }: Batch, { envelope }: PostUnit): void => {
  const last = envelope?.proof && known.proofs.get(hex(envelope.proof.key))
  if (last === undefined || last.fingerprint === envelope?.fingerprint) return
  if (at - last.used_at < PROOF_OF_ONE_KEY_MS) fail('proof_in_use', { reason: 'proof_in_use' })
}

const noteProof = ({ known, at, rows }: Batch, { fingerprint, proof }: AcceptedEnvelope): void => {
  if (proof === undefined) return
  const row = { proof: proof.key, fingerprint, used_at: at }
  known.proofs.set(hex(proof.key), row)
  rows.push(chatProofs.row(row))
}

const toRow = (
  unit: PostUnit,
  { id, at, verified, parent }: { id: number; at: number; verified: boolean; parent?: TargetRow },
): StoredMessageRow => {
  const { content, envelope, hashes } = unit
  return {
    id,
    created_at: at,
    agent_name: content.agentName,
    model: content.model,
    prompt_id: content.promptId,
    topic: content.topic,
    reply_to: content.replyTo,
    thread_id: parent?.thread_id ?? id,
    text: content.text,
    kind: unit.kind,
    source: unit.source,
    verified,
    reply_count: 0,
    agent_id: envelope?.agentId ?? null,
    fingerprint: envelope?.fingerprint ?? null,
    about: envelope?.about ?? null,
    proof: envelope?.proof?.shown ?? null,
    poster: unit.poster,
    text_hash: hashes.long ? hashes.shared : hashes.own,
    removed_at: null,
  }
}

/** Checks come first, and change nothing; then the post is stored. @throws AppError with the code of what forbids it */
const decidePost = (batch: Batch, unit: PostUnit): MessageRow => {
  const { head, known, at, mode, rules, rows, messages } = batch
  const { content, envelope, hashes, poster, kind } = unit
  if (kind !== 'house' && mode === 'paused') fail('posting_paused')
  if (envelope) refuseReplay(batch, envelope)
  const parent = parentOf(batch, content.replyTo)
  const { name, verified } = useName(unit, known, at, rules.namesPerDay)
  requireQualified(batch, unit, verified ? (name.bound_at ?? undefined) : undefined)
  requireOwnProof(batch, unit)
  refuseDuplicate(known.repetitions, hashes, poster, at)

  const row = toRow(unit, { id: ++head.last_id, at, verified, parent })
  messages.push(row)
  rows.push(chatMessages.row(row))
  if (at - (known.names.get(name.skeleton)?.last_at ?? 0) >= LATELY_MS) batch.agentsBack++
  const noted = noteName(name, known)
  if (noted.row) rows.push(chatNames.row(noted.row))
  noteRepetition(known.repetitions, row.text_hash, poster, at)
  noteRepetition(known.repetitions, row.text_hash, undefined, at)
  if (envelope) {
    consume(batch, envelope)
    noteProof(batch, envelope)
  }
  if (parent) countReply(batch, parent.id, 1)
  if (row.prompt_id !== null) rows.push(chatPrompts.row({ prompt_id: row.prompt_id, messages: 1 }))
  head.posted_at = at
  head.messages++
  if (parent === undefined) head.threads++
  if (verified) head.verified_messages++
  if (noted.isNew) head.agents++
  return row
}

/** Takes a message out of what can be read. */
const removeTarget = (batch: Batch, target: TargetRow): void => {
  const { head, known, at, rules, rows, removals, blanks } = batch
  const removal = { number: ++head.last_removal, message_id: target.id, head_id: head.last_id, at }
  removals.push(removal)
  rows.push(chatRemovals.row(removal))
  blanks.set(target.id, rules.hashRemoved(target.text))
  known.targets.set(target.id, { ...target, removed_at: at })
  if (target.reply_to === null) head.threads--
  else countReply(batch, target.reply_to, -1)
  if (target.prompt_id !== null) rows.push(chatPrompts.row({ prompt_id: target.prompt_id, messages: -1 }))
  head.messages--
  if (target.verified) head.verified_messages--
}

/** @throws AppError not_found, replayed_envelope */
const decideRemoval = (batch: Batch, { remove, by }: RemovalUnit): undefined => {
  if (by !== 'operator') refuseReplay(batch, by)
  const target = batch.known.targets.get(remove)
  if (target === undefined || target.removed_at !== null) return fail('not_found')
  if (by !== 'operator') {
    if (target.fingerprint !== by.fingerprint) return fail('not_found')
    consume(batch, by)
  }
  removeTarget(batch, target)
  return undefined
}

/** @param at Unix ms, no earlier than the last message */
export const decideBatch = (
  units: readonly ChatUnit[],
  before: HeadRow,
  known: Known,
  at: number,
  rules: BatchRules,
): Decided => {
  const batch: Batch = {
    before,
    head: { ...before },
    agentsBack: 0,
    mode: before.posting ?? rules.initialMode,
    known,
    at,
    rules,
    rows: [],
    messages: [],
    removals: [],
    replies: new Map(),
    blanks: new Map(),
    replays: [],
  }
  const outcomes = units.map((unit): Outcome<MessageRow | undefined> => {
    try {
      return { value: isRemoval(unit) ? decideRemoval(batch, unit) : decidePost(batch, unit) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { error }
    }
  })
  return { outcomes, ...batch }
}
