/** Circuit `simple_yesno`: a committed number reaches a public threshold, or it doesn't. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { demandNumbers } from './number-range.ts'

export interface SimpleYesnoValues {
  /** 0 ≤ value < 2^64; a decision that was made elsewhere is 0 or 1. */
  readonly value: bigint
  /** Secret, at least 128 random bits: it is what hides the value. */
  readonly salt: bigint
  /** 0 ≤ threshold < 2^64; 1 for a decision. */
  readonly threshold: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

export const simpleYesno = defineCircuit({
  id: 'simple_yesno',
  name: 'Simple yes or no',
  description: 'Whether a committed whole number is at least a public threshold.',
  version: '1.0.0',
  domain: 512,
  proves:
    'The prover knows value and salt behind the commitment, and decision says whether value ≥ threshold. In a result ' +
    "of POST /verify the value is the service's own decision, 1 or 0, against the threshold 1: about the data the proof " +
    'shows nothing beyond that decision.',
  checks: [
    'threshold is 1 in a result, and ctx is recomputed from what was asked and signed',
    'decision is that of a signed result, whose digest names these public signals',
  ],
  selfAsserted: true,
  outputs: ['decision'],
  inputs: ['commitment', 'threshold', 'ctx'],
  secrets: ['value', 'salt'],
  assign({ value, salt, threshold, ctx }: SimpleYesnoValues) {
    demandNumbers({ value, threshold })
    const commitment = poseidon(POSEIDON_TAGS.COMMITMENT, [value, salt])
    return { decision: value >= threshold ? 1n : 0n, commitment, threshold, ctx, value, salt }
  },
})
