/**
 * Signed checkpoints: what the log commits to in public. Each is written down before anybody sees it, and none is
 * signed that contradicts an earlier one: the root at the last signed size is recomputed from the tiles first, and
 * compared with what the database and this server's high-water mark remember.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { fail } from '../../errors.ts'
import type { CurrentSigner, PostQuantumSigner, Signers } from '../../keys/signers.ts'
import {
  cosignedMessage,
  NOTE_ED25519,
  NOTE_ML_DSA_44_COSIGNATURE,
  type NoteKey,
  timestampedSignature,
} from '../../protocol/checkpoint/note.ts'
import { checkpointText, signatureLine, verifierKey } from '../../protocol/checkpoint/signed-note.ts'
import type { Database } from '../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../store/table.ts'
import { headName } from '../tables.ts'
import type { Head, Log } from '../tree/log.ts'
import { createHighWater } from './high-water.ts'

/**
 * An ML-DSA signature takes a thread 2 to 60 ms, by chance, and anybody may ask: whoever asks in between waits for the
 * next, so that signing a log takes a small part of its time.
 */
const SIGNING_PAUSE_MS = 250
/** The same between logs that take turns: together at most a quarter of the time, however many there are. */
const TURN_MS = 60
/** Another server signed in between; then there is something newer to read. */
const MAX_ATTEMPTS = 20
const RETRY_AFTER_SECONDS = 1

export interface Checkpoint extends Head {
  /** The signed note: text, blank line, signature lines. */
  readonly note: string
}

export interface Checkpoints {
  /**
   * A checkpoint of the tree as it is now, or was no earlier than this call.
   * @throws AppError log_inconsistent when the tree is not a continuation of what was signed before; unavailable when that can't be
   *   told, or not be written down, for now
   */
  latest(): Promise<Checkpoint>
  /** Verifier keys (C2SP signed-note) of the keys that sign now: Ed25519, ML-DSA-44. */
  verifierKeys(): Promise<string[]>
}

export const checkpoints = table('ledger_checkpoint', {
  log: integer().key(),
  name: text(),
  /** Grows with each signature. */
  version: integer(),
  size: integer(),
  root: bytes(),
  note: text(),
  /** Thumbprints of the keys that signed, separated by a space. */
  signers: text(),
  /** Unix ms. */
  signed_at: integer(),
})

type CheckpointRow = RowOf<typeof checkpoints>

interface Deps {
  readonly database: Database
  readonly log: Log
  readonly signers: Pick<Signers, 'current' | 'postQuantum' | 'jwks'>
  readonly clock: Clock
  /** Which log it is, from 0; default 0. */
  readonly number?: number
  /** First line of every checkpoint, and name of its keys. */
  readonly origin: string
  /** Where the high-water mark is kept; undefined keeps none. */
  readonly directory: string | undefined
  /** Of the log, default 1. */
  readonly generation?: number
  /** Whether database and log are those that were started on, and no copy or new log took their place; absent: they are. */
  readonly isAtHome?: () => Promise<boolean>
  /** Ends when it is this log's turn to sign, where several take turns; absent: it takes none. */
  readonly turn?: () => Promise<unknown>
  /** Called whenever the tree turns out not to continue what was signed. */
  readonly onInconsistency: (reason: string) => void
}

/** Turns of the logs of a server to sign, first come, first served. */
export const createSigningTurns = (): (() => Promise<void>) => {
  let next = 0
  return async () => {
    const now = performance.now()
    const at = Math.max(now, next)
    next = at + TURN_MS
    if (at > now) await pause(at - now)
  }
}

/** A key of the log that signs now, as its notes name it. */
type Signing<Signer> = Signer & { readonly key: NoteKey }
type SigningKeys = readonly [Signing<CurrentSigner>, Signing<PostQuantumSigner>]

const equal = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

export const createCheckpoints = (deps: Deps): Checkpoints => {
  const { database, log, number = 0, signers, clock, origin, onInconsistency } = deps
  const { knex } = database
  const highWater = createHighWater(deps.directory, deps.generation, number)
  const rows = () => knex<CheckpointRow>('ledger_checkpoint')
  let signedAt = Number.NEGATIVE_INFINITY

  const signingKeys = async (): Promise<SigningKeys> => {
    const [classical, postQuantum] = await Promise.all([
      signers.current('log', 'Ed25519'),
      signers.postQuantum('log', 'ML-DSA-44'),
    ])
    const { keys } = await signers.jwks()
    const named = <Signer extends { readonly kid: string }>(
      signer: Signer,
      type: NoteKey['type'],
    ): Signing<Signer> => {
      const jwk = keys.find(({ kid }) => kid === signer.kid)
      const encoded = jwk?.x ?? jwk?.pub
      if (encoded === undefined) throw new Error(`The log's key ${signer.kid} is not published.`)
      return { ...signer, key: { name: origin, type, publicKey: Buffer.from(encoded, 'base64url') } }
    }
    return [named(classical, NOTE_ED25519), named(postQuantum, NOTE_ML_DSA_44_COSIGNATURE)]
  }

  const inconsistent = (reason: string): never => {
    onInconsistency(reason)
    return fail('log_inconsistent')
  }

  /** Recomputes the root that somebody remembers. */
  const expectRoot = async ({ size, root }: Head, where: string): Promise<void> => {
    const computed = await log.root(size).catch((error: unknown) => {
      if (error instanceof RangeError) return inconsistent(`hashes below ${size} leaves are missing`)
      throw error
    })
    if (!equal(computed, root)) inconsistent(`${where} remembers another root at ${size} leaves`)
  }

  /** Whether the tree as it is now begins with the tree that was signed. */
  const expectContinuation = async (signed: Head, head: Head, where: string): Promise<void> => {
    if (signed.size > head.size) {
      inconsistent(`${where} remembers ${signed.size} leaves, the tree has ${head.size}`)
    }
    await expectRoot(signed, where)
  }

  /** What was signed last is read before the head, so that it can only be greater if something is wrong. */
  const readChecked = async (): Promise<{ row: CheckpointRow | undefined; head: Head }> => {
    const [row, isAtHome, mark] = await Promise.all([
      rows().where({ log: number }).first(),
      deps.isAtHome?.() ?? true,
      highWater.read().catch((error: unknown) => {
        // A file that can't be read now says nothing of the log. errno(3)
        if (error instanceof Error && 'errno' in error)
          return fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS, cause: error })
        return inconsistent(`the high-water mark: ${String(error)}`)
      }),
    ])
    if (!isAtHome)
      inconsistent('the database was restored from a copy, or a new log began, while the server ran')
    const head = await log.head()
    if (row) await expectContinuation(row, head, 'the database')
    if (mark) await expectContinuation(mark, head, 'the high-water mark')
    await expectRoot(head, 'the head')
    return { row, head }
  }

  const sign = async (
    { size, root }: Head,
    [classical, postQuantum]: SigningKeys,
    at: number,
  ): Promise<string> => {
    const text = checkpointText(origin, size, root)
    const timestamp = Math.floor(at / 1000)
    const message = cosignedMessage({ cosigner: origin, origin, timestamp, size, root })
    const cosignature = timestampedSignature(timestamp, await postQuantum.sign(message))
    return [
      `${text}\n`,
      signatureLine(classical.key, classical.sign(Buffer.from(text))),
      signatureLine(postQuantum.key, cosignature),
    ].join('')
  }

  /** @returns false when another server was first */
  const swap = async (before: CheckpointRow | undefined, after: CheckpointRow): Promise<boolean> => {
    const row = { ...after, root: Buffer.from(after.root) }
    if (before === undefined) {
      const inserted = await rows().insert(row).onConflict('log').ignore().returning('log')
      return inserted.length === 1
    }
    return (await rows().where({ log: number, version: before.version }).update(row)) === 1
  }

  const publish = async ({ size, root, note }: Checkpoint): Promise<Checkpoint> => {
    await highWater.raise({ size, root })
    return { size, root, note }
  }

  const run = async (): Promise<Checkpoint> => {
    let isOurTurn = deps.turn === undefined
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const keys = await signingKeys()
      const { row, head } = await readChecked()
      const kids = keys.map(({ kid }) => kid).join(' ')
      if (row?.size === head.size && row.signers === kids && row.note.startsWith(`${origin}\n`)) {
        return publish(row)
      }
      const rest = signedAt + SIGNING_PAUSE_MS - performance.now()
      if (rest > 0) {
        await pause(rest)
        continue
      }
      if (!isOurTurn) {
        await deps.turn?.()
        isOurTurn = true
        // What was read may be old by now.
        continue
      }
      const at = clock.now()
      const note = await sign(head, keys, at)
      signedAt = performance.now()
      const version = (row?.version ?? 0) + 1
      const next = {
        log: number,
        name: headName(number),
        version,
        ...head,
        note,
        signers: kids,
        signed_at: at,
      }
      if (await swap(row, next)) return publish(next)
    }
    return fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
  }

  /** Ends when no run is under way; runs of one server follow one another. */
  let tail: Promise<unknown> = Promise.resolve()
  let waiting: Promise<Checkpoint> | undefined

  return {
    latest() {
      // The run that is under way may have read the head before this call: one more for all who wait.
      if (waiting) return waiting
      const next = tail.then(() => {
        waiting = undefined
        return run()
      })
      waiting = next
      tail = next.catch(() => undefined)
      return next
    },

    async verifierKeys() {
      return (await signingKeys()).map(({ key }) => verifierKey(key))
    },
  }
}
