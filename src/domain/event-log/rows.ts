/**
 * Rows of the event log: what happened, one JSON object each. Rows that restate an entry of the ledger carry its index
 * and leaf hash; deliveries and requests stand in this log alone.
 * @module
 */
import type { LoggedEntry } from '../../ledger/entries.ts'
import { named } from '../../ledger/logs.ts'
import { FACT_TYPES } from '../../protocol/evidence/evidence-format.ts'

export type FactType = (typeof FACT_TYPES)[number]

export const EVENT_TYPES = [...FACT_TYPES, 'merkle.leaf', 'webhook.delivery', 'request'] as const
export type EventType = (typeof EVENT_TYPES)[number]

interface RowOf<T extends EventType> {
  readonly type: T
  /** Unix ms. */
  readonly at: number
  /** `org_…` */
  readonly organisation: string
}

interface LedgerRow<T extends EventType> extends RowOf<T> {
  /** Which log; absent: 0. */
  readonly log?: number
  /** Place in the log. */
  readonly index: number
  /** SHA-256(0x00 ‖ entry), lower-case hex. */
  readonly leafHash: string
  readonly digest: string | null
  readonly keyId: string | null
  readonly circuitId: string | null
  readonly proofId: string | null
}

/** What an entry says, under its own name. */
export type FactRow = LedgerRow<FactType>

/** That an entry was appended to the tree. */
export interface LeafRow extends LedgerRow<'merkle.leaf'> {
  /** The entry's type, which need not be one that is exported under its own name. */
  readonly auditEvent: string
  /** Canonical JSON, byte for byte what was hashed. */
  readonly entry: string
}

/** A webhook delivery that has ended. */
export interface DeliveryRow extends RowOf<'webhook.delivery'> {
  readonly endpointId: string
  readonly deliveryId: string
  /** Such as `proof.verified`. */
  readonly event: string
  readonly outcome: 'delivered' | 'dropped'
  readonly attempts: number
  /** HTTP status of the last attempt; null where there was no answer. */
  readonly lastStatus: number | null
  /** Of all attempts, pauses included. */
  readonly durationMs: number
}

/** A request that was handled for a known caller. Neither query nor body nor the values in its path are kept. */
export interface RequestRow extends RowOf<'request'> {
  readonly requestId: string
  readonly method: string
  /** The route's template, such as `/pod/{podId}`. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
  /** Who asked: kind and id. */
  readonly actor: string
  readonly actorId: string
  /** The API key behind the request, where there is one. */
  readonly keyId: string | null
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
}

/** Rows that are no entries of the ledger. */
export type RecordedRow = DeliveryRow | RequestRow
export type EventRow = FactRow | LeafRow | RecordedRow

/** As a line of the log: who and when come first, so that most lines can be passed over unparsed. */
const lineOf = (at: number, organisation: string, rest: object): string =>
  `{"at":${at},"organisation":${JSON.stringify(organisation)},${JSON.stringify(rest).slice(1)}\n`

/** An entry of the ledger as one line, which {@link parseLine} turns into all rows that it stands for. */
export const ledgerLine = (entry: LoggedEntry): string => {
  const { log, index, organisation, type, at, digest, keyId, circuitId, proofId, text } = entry
  const leafHash = Buffer.from(entry.leafHash).toString('hex')
  return lineOf(at, organisation, {
    index,
    ...named(log),
    type,
    leafHash,
    digest,
    keyId,
    circuitId,
    proofId,
    entry: text,
  })
}

export const recordedLine = (row: RecordedRow): string =>
  lineOf(row.at, row.organisation, { ...row, at: undefined, organisation: undefined })

type StoredEntry = Omit<LeafRow, 'type' | 'auditEvent'> & { readonly type: string }

const isFact = (type: string): type is FactType => FACT_TYPES.some((fact) => fact === type)

/** The rows that a line of the log stands for: an entry is its leaf, then what it says. */
export const parseLine = (line: string): EventRow[] => {
  const stored = JSON.parse(line) as StoredEntry | RecordedRow
  if (!('index' in stored)) return [stored]
  const { type, entry, ...fields } = stored
  const leaf: LeafRow = { ...fields, type: 'merkle.leaf', auditEvent: type, entry }
  return isFact(type) ? [leaf, { ...fields, type }] : [leaf]
}

const CLOSING_BRACE = 0x7d
const STAMP =
  /^\{"at":(\d{1,15}),"organisation":"([\w.-]{1,64})",(?:"index":(\d{1,15}),(?:"log":(\d{1,2}),)?)?"/
/** No stamp is longer. */
const STAMP_MAX_BYTES = 160

/** What a line says first. */
export interface Stamp {
  readonly at: number
  readonly organisation: string
  /** Undefined for rows that are no entries of the ledger. */
  readonly index: number | undefined
  /** Which log, from 0. */
  readonly log: number
}

/** @returns undefined for what is no line of the log */
export const readStamp = (line: Buffer): Stamp | undefined => {
  const [, at, organisation, index, log = 0] = STAMP.exec(line.toString('latin1', 0, STAMP_MAX_BYTES)) ?? []
  if (at === undefined || organisation === undefined || line.at(-1) !== CLOSING_BRACE) return undefined
  return {
    at: Number(at),
    organisation,
    index: index === undefined ? undefined : Number(index),
    log: Number(log),
  }
}
