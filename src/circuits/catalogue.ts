/** Every circuit there is. What else knows circuits by name derives it from here. @module */
import type { Circuit } from './circuit.ts'
import { simpleYesno } from './simple_yesno.ts'
import { yesno } from './yesno.ts'

const catalogue = [simpleYesno, yesno] as const

export type CircuitId = (typeof catalogue)[number]['id']

export const CIRCUITS: readonly Circuit<CircuitId>[] = catalogue

/** @returns the circuit of this id, or undefined where there is none */
export const findCircuit = (id: string): Circuit<CircuitId> | undefined =>
  CIRCUITS.find((circuit) => circuit.id === id)
