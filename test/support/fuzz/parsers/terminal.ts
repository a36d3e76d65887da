/** What a terminal finds on its own disk, and what a till hands it. @module */
import { hash } from 'node:crypto'
import {
  createNullifierSet,
  NULLIFIER_ENTRY_BYTES,
  NullifierSnapshotError,
  restoreNullifierSet,
} from '../../../../src/core/index.ts'
import { TerminalError } from '../../../../src/terminal/errors.ts'
import { checkPayment, formatMinorUnits } from '../../../../src/terminal/payment-input.ts'
import {
  firstFrame,
  nullifiersFrame,
  readJournal,
  recordsFrame,
  salvageJournal,
} from '../../../../src/terminal/storage/frame.ts'
import type { JournalRecord } from '../../../../src/terminal/storage/records.ts'
import { ofJson, type Parser, promise } from '../parser.ts'

const RECORDS: readonly JournalRecord[][] = [
  [{ kind: 'terminal', merchantId: 'mer_1' }],
  [
    { kind: 'queued', transactionId: 'a' },
    { kind: 'void', transactionId: 'b', spent: true, known: false },
  ],
  [{ kind: 'nonce', last: 7 }],
]

const snapshot = (entries: number): Buffer => {
  const set = createNullifierSet({ seed: new Uint8Array(16).fill(3) })
  for (let i = 0; i < entries; i++) set.add(new Uint8Array(NULLIFIER_ENTRY_BYTES).fill(i))
  return Buffer.from(set.snapshot())
}
const SNAPSHOT = snapshot(5)

const BEHIND = [
  nullifiersFrame(1, SNAPSHOT.subarray(0, 40)),
  ...RECORDS.slice(1).map((records, i) => recordsFrame(i + 2, records)),
]
/** As earlier versions began one, and as it begins now. */
const JOURNALS = [recordsFrame(0, RECORDS[0] ?? []), firstFrame(RECORDS[0] ?? [], 3)].map((first) =>
  Buffer.concat([first, ...BEHIND]),
)

const readBoth = (journal: Uint8Array): void => {
  const salvaged = salvageJournal(journal)
  const { contents, wholeBytes } = readJournal(journal)
  promise(wholeBytes <= journal.length, 'no more bytes are whole than there are')
  promise(salvaged.contents.records.length >= contents.records.length, 'what can be read can be salvaged')
}

const SHARDS_AT = 12
const BYTES_AT = 24
const HEADER_BYTES = 64
const SHARD_BYTES = 80

/** With the length and the digest that its header must have. */
const resealed = (input: Buffer): Buffer => {
  if (input.length < HEADER_BYTES) return input
  const bytes = Buffer.from(input)
  bytes.writeBigUInt64LE(BigInt(bytes.length), BYTES_AT)
  const end = HEADER_BYTES + bytes.readUInt32LE(SHARDS_AT) * SHARD_BYTES
  if (end + 32 <= bytes.length) hash('sha256', bytes.subarray(0, end), 'buffer').copy(bytes, end)
  return bytes
}

/** As a terminal uses the set of cards that were accepted. */
const restore = (bytes: Uint8Array): void => {
  const set = restoreNullifierSet(bytes)
  set.has(new Uint8Array(NULLIFIER_ENTRY_BYTES))
  set.add(new Uint8Array(NULLIFIER_ENTRY_BYTES).fill(255))
  set.add(new Uint8Array(NULLIFIER_ENTRY_BYTES))
}

export const TERMINAL: readonly Parser[] = [
  {
    name: 'journals',
    seeds: [...JOURNALS, ...JOURNALS.map((journal) => journal.subarray(0, 90))],
    refusesWith: [TerminalError],
    parse: readBoth,
  },
  // Frames whose checksums are right, whatever they hold.
  ofJson(
    'journals, sealed anew',
    [RECORDS],
    (frames) =>
      Array.isArray(frames)
        ? readBoth(Buffer.concat(frames.map((records, i) => recordsFrame(i, records))))
        : undefined,
    [TerminalError],
  ),
  { name: 'nullifier snapshots', seeds: [SNAPSHOT], refusesWith: [NullifierSnapshotError], parse: restore },
  {
    name: 'nullifier snapshots, sealed anew',
    seeds: [SNAPSHOT, snapshot(0)],
    refusesWith: [NullifierSnapshotError],
    parse: (input) => restore(resealed(input)),
  },
  ofJson(
    'payments at a till',
    [
      {
        cardToken: 'tok_4242',
        amount: 12.5,
        currency: 'GBP',
        customerId: 'c',
        paymentMethod: 'chip',
        transactionId: 't',
      },
      { cardToken: '4242 4242 4242 4242', amount: 1e-7 },
    ],
    (input) => {
      const payment = checkPayment(input)
      if ('error' in payment) return
      promise(
        Number(formatMinorUnits(BigInt(payment.amountMinor), payment.currency)) === payment.amount,
        'an amount is exact',
      )
    },
  ),
]
