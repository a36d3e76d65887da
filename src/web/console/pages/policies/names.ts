/** What policies are called, and what each decides by its name. @module */
import type { CircuitId } from '../../../../circuits/catalogue.ts'

/** The policy that decides for resources whose type has none. */
export const FALLBACK = 'default'

/** What a policy can be called. */
export const NAME = /^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/

/** What each circuit shows, in a few words. */
const CIRCUITS: Readonly<Record<CircuitId, string>> = {
  simple_yesno: 'a decision, committed',
  yesno: 'one comparison',
  eligibility: 'several conditions together',
  composite: 'a tree of conditions',
  kyc: 'who somebody is',
  token_validation: 'that a token is good',
  consent_verification: 'that somebody consented',
  audit_proof: 'that an entry is in the log',
  proof_aggregation: 'several proofs at once',
  quantum_safe_token: 'that a hybrid token is good',
  offline_validation: 'a payment taken offline',
}

/** Policies that are there from the start. */
export const INITIAL: readonly string[] = [FALLBACK, ...Object.keys(CIRCUITS)]

export const isOfCircuit = (policyId: string): policyId is CircuitId => Object.hasOwn(CIRCUITS, policyId)

/** What a policy decides about, for people. */
export const decidesText = (policyId: string): string => {
  if (isOfCircuit(policyId)) return `Verifications: ${CIRCUITS[policyId]}`
  return policyId === FALLBACK
    ? 'Resources of every type without a policy of its own'
    : 'Resources of this type'
}

export const addressOf = (policyId: string): string =>
  `/console/policies?policy=${encodeURIComponent(policyId)}`
