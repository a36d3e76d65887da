/**
 * The rounds of Poseidon with three state elements (circomlib parameters); src/bin/build-steps/poseidon-schedule.ts says why they
 * look like this. The lanes of a vector are the elements of the state in the full rounds, and the values that a dot
 * product takes in the partial rounds.
 * @module
 */
import { addConstants, LANE, moveElement } from './field-elements'
import { dot, ELEMENT_BYTES, mix, multiply, multiply4, square4, VECTOR_BYTES } from './field-kernels'
import { CLOSING, ENTRY, OPENING, OUTPUT, PARTIAL, REJOIN, START } from './poseidon-constants'

const PARTIAL_ROUNDS: i32 = 57
const MIX_BYTES: usize = 3 * VECTOR_BYTES
const DOT_BYTES: usize = VECTOR_BYTES + ELEMENT_BYTES
const OPENING_END: usize = OPENING + 3 * MIX_BYTES
const CLOSING_END: usize = CLOSING + 3 * MIX_BYTES

/** The elements are lanes 0, 1 and 2; lane 3 is nothing. */
export const STATE: usize = memory.data(144, 16)
const SBOX: usize = memory.data(144, 16)
const POWER: usize = memory.data(144, 16)
/** What the partial rounds take dot products of: two S-box outputs and two inputs. */
const HISTORY: usize = memory.data(144, 16)
const INPUT: usize = memory.data(36, 16)
const NEXT: usize = memory.data(36, 16)
const ZERO: usize = memory.data(36, 16)

/** z = x⁵ of one element. */
function fifthPower(z: usize, x: usize): void {
  multiply(POWER, x, x)
  multiply(POWER, POWER, POWER)
  multiply(z, POWER, x)
}

/** z = x⁵ of four elements. */
function fifthPower4(z: usize, x: usize): void {
  square4(POWER, x)
  square4(POWER, POWER)
  multiply4(z, POWER, x)
}

function fullRounds(k: usize, end: usize): void {
  for (; k < end; k += MIX_BYTES) {
    fifthPower4(SBOX, STATE)
    mix(STATE, SBOX, k)
  }
}

/** A dot product with what stands in HISTORY; z = lane `lane` of `target`. */
@inline
function rejoin(target: usize, lane: usize, k: usize): void {
  dot(NEXT, ZERO, HISTORY, k)
  moveElement(target + 4 * lane, LANE, NEXT)
}

/**
 * One partial round. The new S-box output and input replace the older ones of their pairs, which stand in lanes `turn`
 * and 2 + `turn`.
 */
@inline
function partialRound(k: usize, turn: usize): void {
  fifthPower(SBOX, INPUT)
  dot(INPUT, SBOX, HISTORY, k)
  moveElement(HISTORY + 4 * turn, LANE, SBOX)
  moveElement(HISTORY + 8 + 4 * turn, LANE, INPUT)
}

/** Permutes the state of plain values below 2r in STATE. z = the plain first element of the result, below 2r. */
export function permute(z: usize): void {
  addConstants(STATE, START)
  fullRounds(OPENING, OPENING_END)
  fifthPower4(SBOX, STATE)
  memory.fill(HISTORY, 0, VECTOR_BYTES)
  dot(INPUT, ZERO, SBOX, ENTRY)
  dot(NEXT, ZERO, SBOX, ENTRY + DOT_BYTES)
  for (let i: usize = 0; i < VECTOR_BYTES; i += 16) store<u32>(HISTORY + i, load<u32>(SBOX + i))
  moveElement(HISTORY + 8, LANE, INPUT)
  moveElement(HISTORY + 12, LANE, NEXT)
  let k = PARTIAL
  for (let r = 0; r < PARTIAL_ROUNDS - 1; r += 2, k += 2 * DOT_BYTES) {
    partialRound(k, 1)
    partialRound(k + DOT_BYTES, 0)
  }
  partialRound(k, 1)
  moveElement(STATE, LANE, INPUT)
  rejoin(STATE, 1, REJOIN)
  rejoin(STATE, 2, REJOIN + DOT_BYTES)
  fullRounds(CLOSING, CLOSING_END)
  fifthPower4(SBOX, STATE)
  dot(z, ZERO, SBOX, OUTPUT)
}
