/**
 * Poseidon with three state elements over the BN254 scalar field (circomlib parameters): the capacity element starts as
 * given, the two others are the inputs, the first element of the permuted state is the result.
 * @module
 */
import { FIELD_BYTES, FIELD_INPUT, FIELD_OUTPUT, LANE, moveElement, readElement, SINGLE, writeElement } from './field-elements'
import { ELEMENT_BYTES } from './field-kernels'
import { permute, STATE } from './poseidon-rounds'

/** The chained value: a plain element below 2r. */
const CHAIN: usize = memory.data(36, 16)

const PAIR_BYTES: usize = 2 * FIELD_BYTES

/** Begins a chain with a tag below 2^29. */
export function poseidonBegin(tag: u32): void {
  memory.fill(CHAIN, 0, ELEMENT_BYTES)
  store<u32>(CHAIN, tag)
}

function absorb(source: usize): void {
  moveElement(STATE, LANE, CHAIN)
  readElement(STATE + 4, source, LANE)
  readElement(STATE + 8, source + FIELD_BYTES, LANE)
  permute(CHAIN)
}

/** Takes `count` pairs of canonical elements from INPUT into the chain, one permutation each. */
export function poseidonAbsorb(count: i32): void {
  for (let source = FIELD_INPUT; count > 0; --count, source += PAIR_BYTES) absorb(source)
}

/** Writes the chained value to OUTPUT. */
export function poseidonEnd(): void {
  writeElement(FIELD_OUTPUT, CHAIN, SINGLE)
}

/** OUTPUT[i] = the hash of pair i of INPUT, for `count` pairs of canonical elements under one tag below 2^29. */
export function poseidonPairs(tag: u32, count: i32): void {
  let target = FIELD_OUTPUT
  for (let source = FIELD_INPUT; count > 0; --count, source += PAIR_BYTES, target += FIELD_BYTES) {
    poseidonBegin(tag)
    absorb(source)
    writeElement(target, CHAIN, SINGLE)
  }
}
