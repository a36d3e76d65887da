/**
 * What the suite of the field runs against: both builds, and the reference.
 * @module
 */
import { readFileSync } from 'node:fs'
import { createField, type Field, fieldModule } from '../../../src/core/field.ts'
import { createReferenceField } from '../reference/field.ts'

const debugModule = new WebAssembly.Module(
  readFileSync(new URL('../../../build/field.debug.wasm', import.meta.url)),
)

export const FIELDS: readonly { name: string; field: Field }[] = [
  { name: 'release build', field: createField({ module: fieldModule() }) },
  { name: 'debug build', field: createField({ module: debugModule }) },
  { name: 'reference', field: createReferenceField() },
]
