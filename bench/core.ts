/**
 * The core beside its peers: noble-hashes, as-sha256, node:crypto and `Set`, each used in its fastest way.
 * @module
 */
import { createHmac, createSecretKey, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { digest, hashInto } from '@chainsafe/as-sha256'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { createCore, createNullifierSet, restoreNullifierSet } from '../src/core/index.ts'
import { createComparison, inTurn } from './support/comparison.ts'
import { report } from './support/interleaved.ts'

const core = createCore()
const { rows, compare, limit } = createComparison()

const shortMessages = (): void => {
  for (const length of [32, 64]) {
    const next = inTurn(Array.from({ length: 64 }, () => new Uint8Array(randomBytes(length))))
    compare(`SHA-256 of ${length} B`, () => core.sha256(next()), [
      { name: '@noble/hashes', run: () => sha256(next()), goal: 3.8 },
      { name: '@chainsafe/as-sha256', run: () => digest(next()), goal: 1.8 },
      { name: 'crypto.hash', run: () => hash('sha256', next(), 'buffer'), goal: 1.8 },
    ])
  }
}

const batches = (): void => {
  const count = 256
  const messages = new Uint8Array(randomBytes(64 * count))
  const output = new Uint8Array(32 * count)
  compare(
    'SHA-256, 256 × 64 B',
    () => core.sha256Batch(messages, 64),
    [{ name: 'as-sha256 hashInto', run: () => hashInto(messages, output), goal: 2.2 }],
    count,
  )
}

const KEY = 'vk_test_0123456789abcdef'
const MERCHANT = 'mer_01j9x2'
const PREFIX = Buffer.from('offline-proof/1', 'latin1')

interface Payment {
  cardToken: string
  amountMinor: number
  currency: string
  nonce: number
  timestampMs: number
  merchantId: string
}

const payments: Payment[] = Array.from({ length: 50 }, (_, i) => ({
  cardToken: `tok_${randomBytes(8).toString('hex')}`,
  amountMinor: 1250 + i,
  currency: 'GBP',
  nonce: i,
  timestampMs: 1_763_683_200_000 + i,
  merchantId: MERCHANT,
}))

/** The message in a buffer that is reused: prefix and merchant stand in it already. */
const message = Buffer.alloc(68 + MERCHANT.length)
PREFIX.copy(message)
message.write(MERCHANT, 68, 'latin1')
const writeMessage = (
  nullifier: Uint8Array,
  nonce: number,
  payment: Omit<Payment, 'cardToken' | 'nonce'>,
): void => {
  message.set(nullifier, 15)
  message.writeUInt32BE(Math.floor(payment.amountMinor / 2 ** 32), 47)
  message.writeUInt32BE(payment.amountMinor % 2 ** 32, 51)
  message.write(payment.currency, 55, 3, 'latin1')
  message.writeUInt16BE(nonce, 58)
  message.writeUInt32BE(Math.floor(payment.timestampMs / 2 ** 32), 60)
  message.writeUInt32BE(payment.timestampMs % 2 ** 32, 64)
}

const keyObject = createSecretKey(Buffer.from(KEY, 'latin1'))
const nobleKey = hmac.create(sha256, Buffer.from(KEY, 'latin1'))
const innerBlock = Buffer.alloc(64 + message.length)
const outerBlock = Buffer.alloc(64 + 32)
innerBlock.fill(0x36, 0, 64)
outerBlock.fill(0x5c, 0, 64)
Buffer.from(KEY, 'latin1').forEach((byte, i) => {
  innerBlock[i] = byte ^ 0x36
  outerBlock[i] = byte ^ 0x5c
})

/** Ways to the MAC of `message`. */
const macs = {
  createHmac: () => createHmac('sha256', keyObject).update(message).digest(),
  /** HMAC by hand over prepared blocks: two one-shot hashes. */
  'crypto.hash': () => {
    innerBlock.set(message, 64)
    outerBlock.set(hash('sha256', innerBlock, 'buffer'), 64)
    return hash('sha256', outerBlock, 'buffer')
  },
  noble: () => nobleKey.clone().update(message).digest(),
}

const compactOf = (nullifier: Uint8Array, mac: Uint8Array): string => {
  const proof = Buffer.allocUnsafe(27)
  proof.set(nullifier.subarray(0, 12))
  proof.set(mac.subarray(0, 15), 12)
  return proof.toString('base64url')
}

const compactProof = (): void => {
  const key = core.loadKey(KEY)
  const next = inTurn(payments)
  const withNode = (mac: () => Buffer) => () => {
    const payment = next()
    const nullifier = hash('sha256', payment.cardToken, 'buffer')
    writeMessage(nullifier, payment.nonce, payment)
    return compactOf(nullifier, mac())
  }
  const withNoble = () => {
    const payment = next()
    const nullifier = sha256(Buffer.from(payment.cardToken))
    writeMessage(nullifier, payment.nonce, payment)
    return compactOf(nullifier, macs.noble())
  }
  const [payment] = payments
  if (!payment) return
  const expected = key.proveCompact(payment)
  for (const way of [withNode(macs.createHmac), withNode(macs['crypto.hash']), withNoble]) {
    const made = payments.map(() => way())
    if (!made.includes(expected)) throw new Error('a peer makes another proof')
  }
  const [own] = compare('compact proof, string to string', () => key.proveCompact(next()), [
    { name: 'node createHmac', run: withNode(macs.createHmac), goal: 3 },
    { name: 'node crypto.hash, by hand', run: withNode(macs['crypto.hash']), goal: 3 },
    { name: '@noble/hashes', run: withNoble, goal: 5.5 },
  ])
  limit('compact proof', (own?.nanoseconds ?? Number.NaN) / 1000, 1, 'µs')
  key.dispose()
}

const verification = (): void => {
  const midstate = core.hmacMidstate(KEY)
  const key = core.loadKey(KEY)
  const stored = payments.map((payment) => ({ ...payment, stored: key.prove(payment).stored }))
  key.dispose()
  const withPeer = (mac: () => Uint8Array) => () =>
    stored.map((item) => {
      const proof = Buffer.from(item.stored, 'base64url')
      writeMessage(proof.subarray(0, 32), proof.readUInt16BE(47), item)
      return timingSafeEqual(mac().subarray(0, 15), proof.subarray(32, 47))
    })
  const ours = () => core.verifyBatch(midstate, stored)
  const good = [
    ours().every((verdict) => verdict === 'match'),
    ...[macs.createHmac, macs.noble].map((mac) => withPeer(mac)().every(Boolean)),
  ]
  if (good.includes(false)) throw new Error('a verifier refuses a good proof')
  compare(
    'verify, batch of 50, each',
    ours,
    [
      { name: 'node createHmac', run: withPeer(macs.createHmac), goal: 5 },
      { name: 'node crypto.hash, by hand', run: withPeer(macs['crypto.hash']) },
      { name: '@noble/hashes', run: withPeer(macs.noble), goal: 7 },
    ],
    stored.length,
  )
}

const SET_ENTRIES = 10_000_000
/** One `Set` throws at 2^24 entries. */
const SET_SHARDS = 64
/** Entries asked for in one turn, and how many there are in all: more than the processor's caches hold. */
const QUERIES = 4000
const QUERY_SETS = 100

const snapshotLoad = (snapshot: Uint8Array): number => {
  const loads = Array.from({ length: 9 }, () => {
    const start = performance.now()
    restoreNullifierSet(snapshot)
    return performance.now() - start
  }).sort((a, b) => a - b)
  return (loads[4] ?? Number.NaN) / 1000
}

const nullifierSet = (): void => {
  const entries = new Uint8Array(12 * SET_ENTRIES)
  for (let i = 0; i < entries.length; i += 60_000) entries.set(randomBytes(60_000), i)
  const set = createNullifierSet({ seed: randomBytes(16), capacityHint: SET_ENTRIES })
  set.addBatch(entries)
  limit('nullifier set, 10 M, memory', set.bytesPerEntry, 15, 'B an entry')
  limit('nullifier set, 10 M, snapshot load', snapshotLoad(set.snapshot()), 0.1, 's')

  // One byte a character is the smallest key that a Set can have.
  const all = Buffer.from(entries.buffer)
  const peers = Array.from({ length: SET_SHARDS }, () => new Set<string>())
  const peerOf = (entry: string): Set<string> | undefined => peers[entry.charCodeAt(11) % SET_SHARDS]
  for (let i = 0; i < all.length; i += 12) {
    const entry = all.toString('latin1', i, i + 12)
    peerOf(entry)?.add(entry)
  }
  // Half are present, from all over the set, and half are not.
  const batches = Array.from({ length: QUERY_SETS }, (_, batch) => {
    const queries = randomBytes(12 * QUERIES)
    for (let i = 0; i < QUERIES; i += 2) {
      const from = 12 * Math.floor(((i + batch / QUERY_SETS) / QUERIES) * SET_ENTRIES)
      all.copy(queries, 12 * i, from, from + 12)
    }
    const texts = Array.from({ length: QUERIES }, (_, i) => queries.toString('latin1', 12 * i, 12 * i + 12))
    return { queries, texts }
  })
  const [ours, bytes, ready] = [inTurn(batches), inTurn(batches), inTurn(batches)]
  const withSet = (texts: readonly string[]): number =>
    texts.reduce((found, text) => found + Number(peerOf(text)?.has(text)), 0)
  const fromBytes = (queries: Buffer): number => {
    let found = 0
    for (let i = 0; i < queries.length; i += 12) {
      const text = queries.toString('latin1', i, i + 12)
      found += Number(peerOf(text)?.has(text))
    }
    return found
  }
  for (const { queries, texts } of batches) {
    const found = set.hasBatch(queries).reduce((sum, present) => sum + present, 0)
    if (found !== withSet(texts) || found !== fromBytes(queries)) throw new Error('the sets disagree')
  }
  const [own] = compare(
    'nullifier set, 10 M, check',
    () => set.hasBatch(ours().queries),
    [
      { name: 'Set, of ready strings', run: () => withSet(ready().texts), goal: 8 },
      { name: 'Set, from the same bytes', run: () => fromBytes(bytes().queries) },
    ],
    QUERIES,
  )
  limit('nullifier check, 10 M', (own?.nanoseconds ?? Number.NaN) / QUERIES, 100, 'ns')
}

shortMessages()
batches()
compactProof()
verification()
nullifierSet()
report(rows)
