/** Circuit `yesno`: one comparison of a committed value with a public operand. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { isNumber } from './encoded.ts'

/** The operators, each at the place that is its number in the circuit. */
export const YESNO_OPERATORS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const
export type YesnoOperator = (typeof YESNO_OPERATORS)[number]

export interface YesnoValues {
  /** `encodeValue` of src/rules/encode.ts: type · 2^248 + payload. */
  readonly value: bigint
  /** Secret, at least 128 random bits: it hides the value and is the source of the nullifier. */
  readonly salt: bigint
  readonly op: YesnoOperator
  /** Encoded like the value. */
  readonly operand: bigint
  /** `scopeElement` of src/rules/encode.ts: where the nullifier is to be unlinkable to others. */
  readonly scope: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

const holds: Readonly<Record<YesnoOperator, (value: bigint, operand: bigint) => boolean>> = {
  eq: (value, operand) => value === operand,
  ne: (value, operand) => value !== operand,
  lt: (value, operand) => value < operand,
  lte: (value, operand) => value <= operand,
  gt: (value, operand) => value > operand,
  gte: (value, operand) => value >= operand,
}

/** Whether a proof can exist at all: orderings are for encoded numbers, equality for every value. */
export const yesnoFits = ({ op, value, operand }: Pick<YesnoValues, 'op' | 'value' | 'operand'>): boolean =>
  op === 'eq' || op === 'ne' || (isNumber(value) && isNumber(operand))

export const yesno = defineCircuit({
  id: 'yesno',
  name: 'Yes or no',
  description:
    'Whether a committed value equals, differs from, or is ordered before or after a public operand.',
  version: '1.0.0',
  domain: 1024,
  proves:
    'The prover knows value and salt behind the commitment, decision says whether the comparison with the operand ' +
    'holds, and the nullifier belongs to this salt and scope. That the value stands in the data of data_commitment is ' +
    'not proven inside. In a verdict of hermes the value is a count that the service made outside of the circuit; in an ' +
    "answer of POST /v1/verify that says commits: decision, it is the service's own decision.",
  checks: [
    'op, operand, scope and ctx are recomputed from what was asked and signed',
    'decision is that of a signed result, whose digest names these public signals',
    'with data and salt: the commitment opens to the value in the data',
    'the nullifier is made from the salt, so it says nothing of uniqueness',
  ],
  selfAsserted: true,
  outputs: ['decision', 'nullifier'],
  inputs: ['commitment', 'op', 'operand', 'scope', 'ctx'],
  secrets: ['value', 'salt'],
  assign({ value, salt, op, operand, scope, ctx }: YesnoValues) {
    if (!yesnoFits({ op, value, operand })) throw new RangeError(`${op} compares encoded numbers only`)
    return {
      decision: holds[op](value, operand) ? 1n : 0n,
      nullifier: poseidon(POSEIDON_TAGS.NULLIFIER, [salt, scope]),
      commitment: poseidon(POSEIDON_TAGS.COMMITMENT, [value, salt]),
      op: BigInt(YESNO_OPERATORS.indexOf(op)),
      operand,
      scope,
      ctx,
      value,
      salt,
    }
  },
})
