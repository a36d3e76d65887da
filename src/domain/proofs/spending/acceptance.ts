/**
 * What a proof that is verified is good for. Only a YES to a question that was asked opens anything; everything else is a
 * fact, which is accepted nowhere and spends nothing.
 * @module
 */
import type { ReasonCode, Stated } from '../statement.ts'

/** From the public signals; null where nothing was asked, so that nothing was decided. */
export type ProofDecision = 0 | 1 | null

/** Why a proof is accepted nowhere, although it may be verified. */
export type Refusal = 'DECISION_NO' | 'NO_QUESTION' | 'NOT_UNIQUE'

/** Whether a statement only attests data: it names its rules, and there are none. */
export const asksNothing = ({ rules_hash }: Stated): boolean => rules_hash === null

/** @param proof a valid one @returns undefined for a YES that can be spent */
export const refusalOf = ({
  decision,
  isSpendable,
}: {
  readonly decision: ProofDecision
  readonly isSpendable: boolean
}): Refusal | undefined => {
  if (decision === 1) return isSpendable ? undefined : 'NOT_UNIQUE'
  return decision === 0 ? 'DECISION_NO' : 'NO_QUESTION'
}

/** Where a policy decided as well, it has the last word over what the circuit alone shows. */
export const POLICY_NO = 'POLICY_NO'

/** Whether a reason is that a policy said NO, to the proof itself or to one that it stands for. */
export const isPolicyNo = (reason: ReasonCode): boolean => /^(?:MEMBER_\d_)*POLICY_NO$/.test(reason)
