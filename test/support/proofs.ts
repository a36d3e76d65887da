/** Good inputs of the circuits, and proofs of them that are made once for all tests of a process. */
import { randomBytes } from 'node:crypto'
import type { Proved } from '../../src/circuits/groth16.ts'
import { createProofMaker } from '../../src/circuits/groth16.ts'
import { type SimpleYesnoValues, simpleYesno } from '../../src/circuits/simple_yesno.ts'
import { type YesnoValues, yesno } from '../../src/circuits/yesno.ts'
import { artifacts } from './circuits.ts'

/** Encoded numbers begin here. */
export const NUMBERS = 1n << 248n

export const randomElement = (): bigint => BigInt(`0x${randomBytes(31).toString('hex')}`)

export const simpleYesnoValues = (changes: Partial<SimpleYesnoValues> = {}): SimpleYesnoValues => ({
  value: 20n,
  salt: randomElement(),
  threshold: 18n,
  ctx: randomElement(),
  ...changes,
})

export const yesnoValues = (changes: Partial<YesnoValues> = {}): YesnoValues => ({
  value: NUMBERS + 20n,
  salt: randomElement(),
  op: 'gte',
  operand: NUMBERS + 18n,
  scope: randomElement(),
  ctx: randomElement(),
  ...changes,
})

/** A good witness input of each circuit, by id. */
export const GOOD_INPUTS = {
  simple_yesno: simpleYesno.witnessInput(simpleYesnoValues()),
  yesno: yesno.witnessInput(yesnoValues()),
}

const proofs = new Map<keyof typeof GOOD_INPUTS, Promise<Proved>>()

/** A proof of the good input, made on this thread. */
export const goodProof = (id: keyof typeof GOOD_INPUTS): Promise<Proved> => {
  const proof = proofs.get(id) ?? createProofMaker(artifacts[id]).then((make) => make(GOOD_INPUTS[id]))
  proofs.set(id, proof)
  return proof
}
