/**
 * Payment proofs: made with a loaded key, verified in batches. The byte layout is in assembly/payment-proof.ts.
 * @module
 */
import type { KeySlots } from './hmac.ts'
import { ascii, type CoreInstance, writeText } from './instance.ts'

const COMPACT_CHARACTERS = 36
const STORED_CHARACTERS = 66
const NULLIFIER_BYTES = 32
/** 128 characters of up to four bytes in UTF-8. */
export const CARD_TOKEN_LIMIT_BYTES = 512
export const MERCHANT_LIMIT_BYTES = 64
const NONCE_LIMIT = 0xffff
const AMOUNT_LIMIT = (1n << 64n) - 1n
const TWO_32 = 2 ** 32

/** What a payment's MAC covers, besides nullifier and nonce. */
export interface PaymentFacts {
  /** Minor units of the currency, 0 to 2^64 − 1; as a number at most 2^53 − 1. */
  amountMinor: number | bigint
  /** Three letters A–Z, ISO 4217. */
  currency: string
  /** Unix time in milliseconds, a safe integer ≥ 0. */
  timestampMs: number
  /** At most 64 bytes in UTF-8. */
  merchantId: string
}

export interface ProofInput extends PaymentFacts {
  /** At most 512 bytes in UTF-8. */
  cardToken: string
  /** The terminal's counter, 0 to 65,535. */
  nonce: number
}

export interface PaymentProof {
  /** 36 characters: nullifier[0:12] ‖ body[0:15]. */
  compact: string
  /** 66 characters: nullifier ‖ body[0:15] ‖ nonce. */
  stored: string
  /** 32 bytes. */
  nullifier: Uint8Array
}

export interface StoredPayment extends PaymentFacts {
  /** The stored form, 66 characters. */
  stored: string
}

/** `malformed`: not 66 characters of canonical base64url. Which bytes differ in a mismatch takes no part in its time. */
export type ProofVerdict = 'match' | 'mismatch' | 'malformed'

/** A key that stays loaded until it is disposed of. */
export interface ProofKey {
  /** Makes a proof. @throws RangeError naming the field that is out of its limits */
  prove(input: ProofInput): PaymentProof
  /** Makes only the compact form, which is quicker. @throws RangeError as {@link prove} */
  proveCompact(input: ProofInput): string
  /** Verifies proofs under this key. @throws RangeError as {@link prove} */
  verifyBatch(payments: readonly StoredPayment[]): ProofVerdict[]
  /** Wipes the key. Using it afterwards throws. */
  dispose(): void
}

export interface PaymentProofs {
  /** Loads a key. At most 63 are loaded at once. @throws RangeError when it exceeds 4096 bytes or no slot is free */
  loadKey(key: Uint8Array | string): ProofKey
  /** Loads a key by its midstate. @throws RangeError when it has not 64 bytes or no slot is free */
  loadMidstate(midstate: Uint8Array): ProofKey
  /**
   * Recomputes the MACs of any number of proofs; each is compared in constant time. The midstate is wiped from the
   * core's memory before this returns.
   * @throws RangeError when the midstate has not 64 bytes, or a payment's fields are out of their limits
   */
  verifyBatch(midstate: Uint8Array, payments: readonly StoredPayment[]): ProofVerdict[]
}

const VERDICTS = ['mismatch', 'match', 'malformed'] as const satisfies readonly ProofVerdict[]
const MALFORMED = VERDICTS.indexOf('malformed')
/** Keeps the place of a text that can't be a proof. */
const PLACEHOLDER = '-'.repeat(STORED_CHARACTERS)

const outOfLimits = (field: string, limit: string): never => {
  throw new RangeError(`payment proof: ${field} must be ${limit}`)
}

/** Checks an amount and returns its upper 32 bits; the lower ones follow by {@link lower}. */
const upper = (amount: number | bigint): number => {
  if (typeof amount === 'bigint') {
    if (amount < 0n || amount > AMOUNT_LIMIT) outOfLimits('amountMinor', `0 to ${AMOUNT_LIMIT}`)
    return Number(amount >> 32n)
  }
  if (!Number.isSafeInteger(amount) || amount < 0)
    outOfLimits('amountMinor', 'a safe integer from 0, or a bigint')
  return Math.floor(amount / TWO_32)
}

const lower = (amount: number | bigint): number =>
  typeof amount === 'bigint' ? Number(amount & 0xffffffffn) : amount % TWO_32

const checkTime = (timestampMs: number): void => {
  if (!Number.isSafeInteger(timestampMs) || timestampMs < 0)
    outOfLimits('timestampMs', 'a safe integer from 0')
}

/** A field that seldom changes between calls: checked and written again only when it does. */
const remembered = (write: (text: string) => number): ((text: string) => number) => {
  let last: string | undefined
  let result = 0
  return (text) => {
    if (text !== last) {
      last = undefined
      result = write(text)
      last = text
    }
    return result
  }
}

/** Three letters, the first in the lowest byte. */
const packCurrency = (currency: string): number => {
  if (!/^[A-Z]{3}$/.test(currency)) outOfLimits('currency', 'three letters A–Z')
  return currency.charCodeAt(0) | (currency.charCodeAt(1) << 8) | (currency.charCodeAt(2) << 16)
}

/** Writes a merchant id into its zero-padded place and returns its bytes. */
const writeMerchant = (room: Uint8Array, merchantId: string): number => {
  room.fill(0)
  const length = writeText(room, merchantId)
  return length < 0 ? outOfLimits('merchantId', `at most ${MERCHANT_LIMIT_BYTES} bytes`) : length
}

/** The half that makes proofs: returns a function that runs the core, after which the texts stand in OUTPUT. */
const createMaker = ({ call, layout, memory }: CoreInstance) => {
  const token = new Uint8Array(memory.buffer, layout.INPUT, CARD_TOKEN_LIMIT_BYTES)
  const merchant = new Uint8Array(memory.buffer, layout.MERCHANT, MERCHANT_LIMIT_BYTES)
  const compact = new Uint8Array(memory.buffer, layout.OUTPUT + layout.COMPACT_AT, COMPACT_CHARACTERS)
  const stored = new Uint8Array(memory.buffer, layout.OUTPUT + layout.STORED_AT, STORED_CHARACTERS)
  const nullifier = new Uint8Array(memory.buffer, layout.OUTPUT + layout.NULLIFIER_OUT_AT, NULLIFIER_BYTES)
  const currencyOf = remembered(packCurrency)
  const merchantBytes = remembered((merchantId) => writeMerchant(merchant, merchantId))

  const run = (slot: number, input: ProofInput): void => {
    const { amountMinor, nonce, timestampMs } = input
    const amountHigh = upper(amountMinor)
    if (!(nonce >= 0 && nonce <= NONCE_LIMIT && Number.isInteger(nonce)))
      outOfLimits('nonce', `0 to ${NONCE_LIMIT}`)
    checkTime(timestampMs)
    const currency = currencyOf(input.currency)
    const merchantLength = merchantBytes(input.merchantId)
    const tokenLength = writeText(token, input.cardToken)
    if (tokenLength < 0) outOfLimits('cardToken', `at most ${CARD_TOKEN_LIMIT_BYTES} bytes`)
    call.prove(
      slot,
      tokenLength,
      amountHigh,
      lower(amountMinor),
      currency,
      nonce,
      Math.floor(timestampMs / TWO_32),
      timestampMs % TWO_32,
      merchantLength,
    )
  }

  return {
    prove(slot: number, input: ProofInput): PaymentProof {
      run(slot, input)
      return { compact: ascii(compact), stored: ascii(stored), nullifier: new Uint8Array(nullifier) }
    },
    proveCompact(slot: number, input: ProofInput): string {
      run(slot, input)
      return ascii(compact)
    },
  }
}

/** The half that verifies: at most BATCH_PROOFS payments a call of the core. */
const createVerifier = ({ call, layout, memory }: CoreInstance) => {
  const words = new Uint32Array(memory.buffer, layout.BATCH, (layout.BATCH_PROOFS * layout.RECORD_BYTES) / 4)
  const wordsPerRecord = layout.RECORD_BYTES / 4
  const texts = new Uint8Array(memory.buffer, layout.BATCH_TEXTS, layout.BATCH_PROOFS * STORED_CHARACTERS)
  const verdicts = new Uint8Array(memory.buffer, layout.BATCH_VERDICTS, layout.BATCH_PROOFS)
  const currencyOf = remembered(packCurrency)

  /** Writes a merchant id as number `index` of the batch. */
  const writeBatchMerchant = (index: number, merchantId: string): number =>
    writeMerchant(
      new Uint8Array(
        memory.buffer,
        layout.BATCH_MERCHANTS + index * MERCHANT_LIMIT_BYTES,
        MERCHANT_LIMIT_BYTES,
      ),
      merchantId,
    )

  const writeRecords = (payments: readonly StoredPayment[], from: number, count: number): void => {
    let merchantId: string | undefined
    let merchantIndex = -1
    let merchantLength = 0
    let at = 0
    for (let i = from; i < from + count; i++) {
      const payment = payments[i]
      if (payment === undefined) break
      const { amountMinor, timestampMs } = payment
      if (payment.merchantId !== merchantId) {
        merchantId = payment.merchantId
        merchantLength = writeBatchMerchant(++merchantIndex, merchantId)
      }
      checkTime(timestampMs)
      words[at] = upper(amountMinor)
      words[at + 1] = lower(amountMinor)
      words[at + 2] = Math.floor(timestampMs / TWO_32)
      words[at + 3] = timestampMs % TWO_32
      words[at + 4] = currencyOf(payment.currency)
      words[at + 5] = merchantIndex
      words[at + 6] = merchantLength
      at += wordsPerRecord
    }
  }

  /** All texts in one encoding call. A text of another length would push the following ones out of their places. */
  const writeTexts = (payments: readonly StoredPayment[], from: number, count: number): void => {
    let joined = ''
    for (let i = from; i < from + count; i++) {
      const text = payments[i]?.stored ?? ''
      joined += text.length === STORED_CHARACTERS ? text : PLACEHOLDER
    }
    if (writeText(texts, joined) === joined.length) return
    // Still one character each, and still foreign to the alphabet.
    writeText(texts, joined.replace(/[^\x20-\x7e]/g, '*'))
  }

  return (slot: number, payments: readonly StoredPayment[]): ProofVerdict[] => {
    const results: ProofVerdict[] = []
    for (let from = 0; from < payments.length; from += layout.BATCH_PROOFS) {
      const count = Math.min(layout.BATCH_PROOFS, payments.length - from)
      writeRecords(payments, from, count)
      writeTexts(payments, from, count)
      call.verifyBatch(slot, count)
      for (let i = 0; i < count; i++) {
        const wellSized = payments[from + i]?.stored.length === STORED_CHARACTERS
        results.push(VERDICTS[wellSized ? (verdicts[i] ?? MALFORMED) : MALFORMED] ?? 'malformed')
      }
    }
    return results
  }
}

export const createPaymentProofs = (instance: CoreInstance, slots: KeySlots): PaymentProofs => {
  const maker = createMaker(instance)
  const verify = createVerifier(instance)

  const open = (taken: number): ProofKey => {
    let slot: number | undefined = taken
    const inUse = (): number => {
      if (slot === undefined) throw new TypeError('payment proof: this key was disposed of')
      return slot
    }
    return {
      prove: (input) => maker.prove(inUse(), input),
      proveCompact: (input) => maker.proveCompact(inUse(), input),
      verifyBatch: (payments) => verify(inUse(), payments),
      dispose() {
        if (slot !== undefined) slots.forget(slot)
        slot = undefined
      },
    }
  }

  return {
    loadKey: (key) => open(slots.load(key)),
    loadMidstate: (midstate) => open(slots.loadMidstate(midstate)),
    verifyBatch: (midstate, payments) => slots.passing(midstate, (slot) => verify(slot, payments)),
  }
}
