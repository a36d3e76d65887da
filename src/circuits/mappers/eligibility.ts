/** Circuit `eligibility`: whether up to eight rules all hold for committed values. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import type { Program } from '../../rules/program.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { assertForm, evaluateProgram, numberSlots, type RuleProgramValues } from './rule-program.ts'

/** Names the rules, whatever the data. @param program of the form `eligibility` */
export const policyHash = ({ operands, schema, words }: Program): bigint =>
  poseidon(POSEIDON_TAGS.POLICY, [...operands, schema, words])

export const eligibility = defineCircuit({
  id: 'eligibility',
  name: 'Eligibility',
  description: 'Whether up to eight rules about up to eight committed values all hold.',
  version: '1.0.0',
  domain: 4096,
  proves:
    'The prover knows attributes and salt behind the commitment and the rules behind policyHash, both over the same ' +
    'fields, and decision says whether every rule holds, evaluated inside. Which values the attributes are, and ' +
    'which rule failed, is not shown; nor that the attributes stand in the data of data_commitment.',
  checks: [
    'policyHash is recomputed from the rules that were asked',
    'ctx is recomputed from what was asked and signed',
    'decision is that of a signed result or a stored proof, whose digest names these public signals',
    'with data and salt: the commitment opens to the values of the data, and to which of them are numbers: the circuit ' +
      'takes that from the commitment',
  ],
  selfAsserted: true,
  outputs: ['decision'],
  inputs: ['commitment', 'policyHash', 'ctx'],
  secrets: [['attributes', 8], 'numbers', 'salt', 'schema', 'words', ['operands', 8]],
  assign(values: RuleProgramValues) {
    assertForm(values, 'eligibility')
    const { program, attributes, salt, ctx } = values
    const { schema, words, operands } = program
    const numbers = numberSlots(attributes)
    return {
      decision: evaluateProgram(program, attributes) ? 1n : 0n,
      commitment: poseidon(POSEIDON_TAGS.ELIGIBILITY_DATA, [...attributes, numbers, schema, salt]),
      policyHash: policyHash(program),
      ctx,
      attributes,
      numbers,
      salt,
      schema,
      words,
      operands,
    }
  },
})
