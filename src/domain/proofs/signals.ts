/** Public signals of a proof by what they mean to the service. @module */
import type { Circuit } from '../../circuits/circuit.ts'
import type { ProofDecision } from './spending/acceptance.ts'
import type { Statement } from './statement.ts'

const HEX_DIGITS = 64
/** The signal that entries of the log carry, and tree 2 with them. */
const COMMITMENT = 'commitment'

/** A public signal by its name; undefined where the circuit has none of that name. */
export const signalOf = (
  { publicNames }: Pick<Circuit<string>, 'publicNames'>,
  publicSignals: readonly string[],
  name: string,
): string | undefined => publicSignals[publicNames.indexOf(name)]

/** What the public signals of a valid proof say. */
export const decisionOf = ({ circuit, decision }: Statement, publicSignals: readonly string[]): 0 | 1 =>
  decision === null || signalOf(circuit, publicSignals, decision) === '1' ? 1 : 0

/** The decision as entries of the log write it. */
export const verdictOf = (decision: ProofDecision): 'YES' | 'NO' | null => {
  if (decision === null) return null
  return decision === 1 ? 'YES' : 'NO'
}

/** The commitment among the public signals, as entries carry it: 64 hex digits. */
export const commitmentOf = (
  { circuit }: Statement,
  publicSignals: readonly string[],
): string | undefined => {
  const signal = signalOf(circuit, publicSignals, COMMITMENT)
  return signal === undefined ? undefined : BigInt(signal).toString(16).padStart(HEX_DIGITS, '0')
}
