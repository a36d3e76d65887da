/**
 * HMAC-SHA256 (RFC 2104, FIPS 198-1) with keys kept as midstates.
 * @module
 */
import { type CoreInstance, writeText } from './instance.ts'
import { streamBlocks } from './sha256.ts'

const MAC_BYTES = 32
export const MIDSTATE_BYTES = 64

/** Slot for keys that live for one call. The others belong to {@link KeySlots}. */
const PASSING_SLOT = 0

export interface Hmac {
  /**
   * Midstate of a key: the inner, then the outer SHA-256 state after the padded key block, as big-endian words. It is
   * worth as much as the key to whoever wants to make MACs, but does not reveal the key.
   * @param key bytes, or a text in UTF-8, at most 4096 bytes
   * @returns 64 new bytes
   * @throws RangeError when the key is longer
   */
  hmacMidstate(key: Uint8Array | string): Uint8Array
  /**
   * HMAC-SHA256 of a message of any length.
   * @param midstate 64 bytes from {@link hmacMidstate}
   * @returns 32 new bytes
   * @throws RangeError when the midstate has another length
   */
  hmac(midstate: Uint8Array, message: Uint8Array | string): Uint8Array
}

/** The places in the core's memory where keys stay loaded. */
export interface KeySlots {
  /** Loads a key for good. @throws RangeError when it is too long or no slot is free */
  load(key: Uint8Array | string): number
  /** Loads a midstate for good. @throws RangeError when it has not 64 bytes or no slot is free */
  loadMidstate(midstate: Uint8Array): number
  /** Wipes a slot and gives it back. */
  forget(slot: number): void
  /** Runs `use` with the midstate in a slot that is wiped before this returns. */
  passing<T>(midstate: Uint8Array, use: (slot: number) => T): T
}

export const createHmac = (instance: CoreInstance): Hmac & { slots: KeySlots } => {
  const { call, layout, memory } = instance
  const input = new Uint8Array(memory.buffer, layout.INPUT, layout.INPUT_BYTES)
  const output = new Uint8Array(memory.buffer, layout.OUTPUT, MIDSTATE_BYTES)
  const mac = new Uint8Array(memory.buffer, layout.OUTPUT, MAC_BYTES)
  const free = Array.from({ length: layout.KEY_SLOTS - 1 }, (_, i) => layout.KEY_SLOTS - 1 - i)
  const encoder = new TextEncoder()

  const fill = (slot: number, key: Uint8Array | string): void => {
    const length = typeof key === 'string' ? writeText(input, key) : key.length
    if (length < 0 || length > layout.INPUT_BYTES) {
      throw new RangeError(`hmac: the key is longer than ${layout.INPUT_BYTES} bytes`)
    }
    if (typeof key !== 'string') input.set(key)
    call.hmacKey(length, slot)
  }

  const fillMidstate = (slot: number, midstate: Uint8Array): void => {
    if (midstate.length !== MIDSTATE_BYTES) {
      throw new RangeError(`hmac: a midstate has ${MIDSTATE_BYTES} bytes, not ${midstate.length}`)
    }
    input.set(midstate)
    call.hmacImport(slot)
  }

  const take = (): number => {
    const slot = free.pop()
    if (slot === undefined) throw new RangeError(`hmac: all ${layout.KEY_SLOTS - 1} key slots are taken`)
    return slot
  }

  /** Takes a slot and fills it; gives it back when that fails. */
  const keep = (fillSlot: (slot: number) => void): number => {
    const slot = take()
    try {
      fillSlot(slot)
      return slot
    } catch (error) {
      free.push(slot)
      throw error
    }
  }

  const slots: KeySlots = {
    load: (key) => keep((slot) => fill(slot, key)),
    loadMidstate: (midstate) => keep((slot) => fillMidstate(slot, midstate)),
    forget(slot) {
      call.hmacForget(slot)
      free.push(slot)
    },
    passing(midstate, use) {
      fillMidstate(PASSING_SLOT, midstate)
      try {
        return use(PASSING_SLOT)
      } finally {
        call.hmacForget(PASSING_SLOT)
      }
    },
  }

  return {
    slots,

    hmacMidstate(key) {
      fill(PASSING_SLOT, key)
      call.hmacExport(PASSING_SLOT)
      call.hmacForget(PASSING_SLOT)
      const midstate = new Uint8Array(output)
      output.fill(0)
      return midstate
    },

    hmac: (midstate, message) =>
      slots.passing(midstate, (slot) => {
        const bytes = typeof message === 'string' ? encoder.encode(message) : message
        call.hmacBegin(slot)
        const left = streamBlocks(instance, bytes)
        call.hmacEnd(slot, left, bytes.length - left)
        return new Uint8Array(mac)
      }),
  }
}
