/** Values that simple_yesno has a witness for. @module */
import { type SimpleYesnoValues, simpleYesno } from '../../../../src/circuits/mappers/simple_yesno.ts'
import { randomElement } from '../../elements.ts'

export const simpleYesnoValues = (changes: Partial<SimpleYesnoValues> = {}): SimpleYesnoValues => ({
  value: 20n,
  salt: randomElement(),
  threshold: 18n,
  ctx: randomElement(),
  ...changes,
})

export const goodInput = simpleYesno.witnessInput(simpleYesnoValues())
