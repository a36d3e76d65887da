/**
 * What the circuits about rules prove: that rules hold for committed data, or that they don't. Yesno, eligibility and
 * composite evaluate the rules inside; simple_yesno commits to the decision that was made here.
 * @module
 */
import { chooseCircuit } from '../../../circuits/choice.ts'
import type { Circuit } from '../../../circuits/circuit.ts'
import { composite } from '../../../circuits/mappers/composite.ts'
import { eligibility } from '../../../circuits/mappers/eligibility.ts'
import { simpleYesno } from '../../../circuits/mappers/simple_yesno.ts'
import { YESNO_OPERATORS, yesno } from '../../../circuits/mappers/yesno.ts'
import { decide } from '../../../rules/evaluate.ts'
import { hashRules } from '../../../rules/hash.ts'
import { parseRules } from '../../../rules/tree.ts'
import { RuleInputs } from '../schemas.ts'
import { signalOf } from '../signals.ts'
import type { Checked, Prepared, Stated, Statement } from '../statement.ts'

/** JSON Pointers for the details of errors. */
export interface RulePointers {
  /** To what holds `rules` and `logic`. */
  readonly rules: string
  /** To the caller's choice of a circuit. */
  readonly circuit: string
}

/** A question with the circuit that proves its answer. */
export interface PreparedRules {
  readonly circuitId: string
  readonly prepared: Prepared
}

/**
 * Decides and finds the circuit.
 * @param asked the caller's choice
 * @throws AppError validation_failed, tree_too_large, not_provable
 */
export const prepareRules = (
  { data, rules, logic }: RuleInputs,
  asked: string | undefined,
  pointers: RulePointers,
): PreparedRules => {
  const tree = parseRules(rules, logic, pointers.rules)
  const decision = decide(tree, data)
  const choice = chooseCircuit({ tree, data, decision }, asked, pointers.circuit)
  const statement = { ...choice.statement, rules_hash: hashRules({ rules, logic }) }
  return {
    circuitId: choice.id,
    prepared: {
      statement,
      ...(decision.reason && { reason: decision.reason }),
      signals(binding) {
        const { publicSignals, witness, holds } = choice.signals(binding)
        if (holds !== (decision.decision === 'YES'))
          throw new Error(`Circuit ${choice.id} and the rules disagree.`)
        return { publicSignals, witness }
      },
    },
  }
}

/** Signals that the statement fixes, each with the value that it must have; undefined fits nothing. */
type Fixed = (statement: Stated) => Readonly<Record<string, unknown>>

const operatorNumber = (op: unknown): string | undefined => {
  const numbers: readonly unknown[] = YESNO_OPERATORS
  return numbers.includes(op) ? String(numbers.indexOf(op)) : undefined
}

/** @param members of the statement that fix signals; a signed result binds the hash of its rules in their place */
const ruleStatement = (circuit: Circuit<string>, members: readonly string[], fixed: Fixed): Statement => ({
  circuit,
  decision: 'decision',
  provesRules: true,
  inputs: RuleInputs,
  // The service has checked the inputs against the schema above.
  prepare: (_, inputs) =>
    prepareRules(inputs as RuleInputs, circuit.id, { rules: '/inputs', circuit: '/circuit_id' }).prepared,
  check({ statement, publicSignals }: Checked) {
    if (!members.some((member) => Object.hasOwn(statement, member))) return []
    const isOther = ([name, value]: [string, unknown]) => signalOf(circuit, publicSignals, name) !== value
    return Object.entries(fixed(statement)).some(isOther) ? ['STATEMENT_MISMATCH'] : []
  },
})

export const ruleStatements: readonly Statement[] = [
  ruleStatement(simpleYesno, ['threshold'], ({ threshold }) => ({ threshold })),
  ruleStatement(yesno, ['op', 'operand'], ({ op, operand }) => ({ op: operatorNumber(op), operand })),
  ruleStatement(eligibility, ['policy_hash'], ({ policy_hash }) => ({ policyHash: policy_hash })),
  ruleStatement(composite, ['program_hash'], ({ program_hash }) => ({ programHash: program_hash })),
]
