/** Circuit `composite`: what a tree of up to sixteen rules comes to for committed values. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import type { Program } from '../../rules/program.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { assertForm, evaluateProgram, numberSlots, type RuleProgramValues } from './rule-program.ts'

/** The gates stand above the words. */
const WORDS_BITS = 128n

/** Names the tree, whatever the data. @param program of the form `composite` */
export const programHash = ({ operands, schema, words, gates }: Program): bigint =>
  poseidon(POSEIDON_TAGS.PROGRAM, [...operands, schema, words + (gates << WORDS_BITS)])

export const composite = defineCircuit({
  id: 'composite',
  name: 'Composite rules',
  description: 'Whether a tree of up to sixteen rules about up to sixteen committed values holds.',
  version: '1.0.0',
  domain: 8192,
  proves:
    'The prover knows attributes and salt behind the commitment and the tree behind programHash, both over the same ' +
    'fields, and decision says whether the tree holds, its rules and gates evaluated inside. Which values the ' +
    'attributes are, and what each rule came to, is not shown; nor that the attributes stand in the data of ' +
    'data_commitment.',
  checks: [
    'programHash is recomputed from the rules that were asked',
    'ctx is recomputed from what was asked and signed',
    'decision is that of a signed result or a stored proof, whose digest names these public signals',
    'with data and salt: the commitment opens to the values of the data, and to which of them are numbers: the circuit ' +
      'takes that from the commitment',
  ],
  selfAsserted: true,
  outputs: ['decision'],
  inputs: ['commitment', 'programHash', 'ctx'],
  secrets: [['attributes', 16], 'numbers', 'salt', 'schema', 'words', 'gates', ['operands', 16]],
  assign(values: RuleProgramValues) {
    assertForm(values, 'composite')
    const { program, attributes, salt, ctx } = values
    const { schema, words, gates, operands } = program
    const numbers = numberSlots(attributes)
    return {
      decision: evaluateProgram(program, attributes) ? 1n : 0n,
      commitment: poseidon(POSEIDON_TAGS.COMPOSITE_DATA, [...attributes, numbers, schema, salt]),
      programHash: programHash(program),
      ctx,
      attributes,
      numbers,
      salt,
      schema,
      words,
      gates,
      operands,
    }
  },
})
