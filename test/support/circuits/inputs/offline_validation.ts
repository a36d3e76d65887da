/** Values that offline_validation has a witness for. @module */
import {
  type OfflineValidationValues,
  offlineValidation,
} from '../../../../src/circuits/mappers/offline_validation.ts'
import { randomElement } from '../../elements.ts'

export const offlineValidationValues = (
  changes: Partial<OfflineValidationValues> = {},
): OfflineValidationValues => ({
  cardNullifier: randomElement(),
  amount: 1250n,
  time: 1_800_000_000n,
  salt: randomElement(),
  terminalSecret: randomElement(),
  limit: 5000n,
  from: 1_799_999_000n,
  to: 1_800_000_060n,
  ctx: randomElement(),
  ...changes,
})

export const goodInput = offlineValidation.witnessInput(offlineValidationValues())
