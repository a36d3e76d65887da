/** Values that yesno has a witness for. @module */
import { type YesnoValues, yesno } from '../../../../src/circuits/mappers/yesno.ts'
import { NUMBERS, randomElement } from '../../elements.ts'

export const yesnoValues = (changes: Partial<YesnoValues> = {}): YesnoValues => ({
  value: NUMBERS + 20n,
  salt: randomElement(),
  op: 'gte',
  operand: NUMBERS + 18n,
  scope: randomElement(),
  ctx: randomElement(),
  ...changes,
})

export const goodInput = yesno.witnessInput(yesnoValues())
