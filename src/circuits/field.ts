/** The one instance of the field that all circuits of this process share. @module */
import { createField, type Field } from '../core/field.ts'

let instance: Field | undefined

/** `Poseidon[tag](inputs)` over the scalar field of BN254. @throws RangeError for inputs that are not canonical */
export const poseidon = (tag: number, inputs: readonly bigint[]): bigint => {
  instance ??= createField()
  return instance.poseidon(tag, inputs)
}
