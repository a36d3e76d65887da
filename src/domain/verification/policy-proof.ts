/** The proof that goes with a decision by policy: over its facts where the circuit holds rules. @module */
import { type Choice, chooseCircuit, type Question } from '../../circuits/choice.ts'
import { AppError, fail } from '../../errors.ts'
import { parseRules } from '../../rules/tree.ts'

/** Circuits that hold values or rules, and so prove what a policy decides. */
const RULE_CIRCUITS: readonly string[] = ['simple_yesno', 'yesno', 'eligibility', 'composite']

/** Whether a circuit proves the policy's decision; the others prove a statement of their own. */
export const provesPolicies = (circuitId: string): boolean => RULE_CIRCUITS.includes(circuitId)

/** The rule that `yesno` holds where the policy is no single comparison: the committed decision is a yes. */
const DECIDED_YES = parseRules([{ field: 'decision', op: 'eq', value: true }], undefined)

const decisionQuestion = ({ decision }: Question): Question => ({
  tree: DECIDED_YES,
  data: { decision: decision.decision === 'YES' },
  decision: { decision: decision.decision },
})

export interface PolicyChoice extends Choice {
  /** What the committed value is: the facts that the policy looks at, or its decision. */
  readonly commits: 'facts' | 'decision'
}

/** @returns the choice, or why there is none */
const tryChoice = (question: Question, circuitId: string): Choice | AppError => {
  try {
    return chooseCircuit(question, circuitId)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/**
 * How this circuit, and no other, proves a decision. `eligibility` and `composite` evaluate the policy again inside.
 * `yesno` does where the policy is one comparison; otherwise, and under `simple_yesno` always, the decision that was
 * made here is what is committed and proved.
 * @throws AppError not_provable for a policy or facts that the circuit can't hold
 */
export const choosePolicyCircuit = (question: Question, circuitId: string): PolicyChoice => {
  const choice = tryChoice(question, circuitId)
  if (!(choice instanceof AppError))
    return { ...choice, commits: circuitId === 'simple_yesno' ? 'decision' : 'facts' }
  if (circuitId === 'yesno')
    return { ...chooseCircuit(decisionQuestion(question), circuitId), commits: 'decision' }
  const because = choice.details?.[0]?.message ?? choice.message
  return fail('not_provable', { message: `${circuitId} can't prove the decision of its policy: ${because}` })
}
