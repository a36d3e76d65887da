/**
 * Which circuit proves a decision: the table below, the one that says most first. The last of them always fits, for it
 * proves a decision that was made outside of it.
 * @module
 */
import type { WitnessInput } from '../../circuits/circuit.ts'
import { simpleYesno } from '../../circuits/simple_yesno.ts'
import { YESNO_OPERATORS, type YesnoOperator, yesno, yesnoFits } from '../../circuits/yesno.ts'
import { AppError } from '../../errors.ts'
import { encodeValue } from '../../rules/encode.ts'
import type { Decision } from '../../rules/evaluate.ts'
import { valueAt } from '../../rules/field-path.ts'
import type { Leaf, Tree } from '../../rules/rule.ts'

/** A decision about data that is to be proved. */
export interface Question {
  /** Undefined: no rules. */
  readonly tree: Tree | undefined
  readonly data: unknown
  readonly decision: Decision
}

/** What every circuit mixes in. */
interface Binding {
  readonly salt: bigint
  readonly ctx: bigint
  readonly scope: bigint
}

interface Signals {
  readonly publicSignals: readonly string[]
  readonly witness: WitnessInput
  readonly commitment: bigint
  /** What the circuit itself comes to. */
  readonly holds: boolean
}

export type ProvableId = typeof yesno.id | typeof simpleYesno.id

/** A circuit that fits a question. */
interface Choice {
  readonly id: ProvableId
  signals(binding: Binding): Signals
}

/** @returns the choice, or the error to answer with when exactly this circuit was asked for */
type Candidate = (question: Question) => Choice | AppError

const unsuitable = (message: string): AppError =>
  new AppError('validation_failed', {
    details: [{ path: '/options/circuit_id', code: 'unsuitable', message }],
  })

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

const isYesnoOperator = (op: string): op is YesnoOperator =>
  (YESNO_OPERATORS as readonly string[]).includes(op)

/** The one rule that a tree consists of, or undefined. */
const onlyRule = (tree: Tree | undefined): Leaf | undefined => {
  if (tree?.kind === 'rule') return tree
  const isPlain =
    tree?.kind === 'gate' && (tree.op === 'AND' || tree.op === 'OR') && tree.children.length === 1
  return isPlain ? onlyRule(tree.children[0]) : undefined
}

/** @returns the element, or the error that says why there is none */
const encoded = (value: unknown): bigint | AppError => {
  try {
    return encodeValue(value)
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_provable') return error
    throw error
  }
}

/** `yesno`: the one rule is evaluated again inside the circuit, over the committed value. */
const compareInside: Candidate = ({ tree, data, decision }) => {
  const rule = onlyRule(tree)
  if (rule === undefined || !isYesnoOperator(rule.op)) {
    return unsuitable(`yesno proves one rule with one of the operators ${YESNO_OPERATORS.join(', ')}.`)
  }
  const found = valueAt(data, rule.path)
  if (!isScalar(found) || !isScalar(rule.value) || decision.reason !== undefined) {
    return unsuitable('yesno compares a text, number or boolean in the data with another.')
  }
  const { op } = rule
  const value = encoded(found)
  const operand = encoded(rule.value)
  if (value instanceof AppError) return value
  if (operand instanceof AppError) return operand
  if (!yesnoFits({ op, value, operand })) return unsuitable('yesno orders numbers only.')
  return {
    id: yesno.id,
    signals(binding) {
      const values = { value, op, operand, ...binding }
      const publicSignals = yesno.publicSignals(values)
      const { commitment, decision: bit } = yesno.read(publicSignals)
      return { publicSignals, witness: yesno.witnessInput(values), commitment, holds: bit === 1n }
    },
  }
}

/** `simple_yesno`: the committed value is the decision itself, 1 or 0; `ctx` binds the data it was made about. */
const commitDecision: Candidate = ({ decision }) => ({
  id: simpleYesno.id,
  signals({ salt, ctx }) {
    const values = { value: decision.decision === 'YES' ? 1n : 0n, threshold: 1n, salt, ctx }
    const publicSignals = simpleYesno.publicSignals(values)
    const { commitment, decision: bit } = simpleYesno.read(publicSignals)
    return { publicSignals, witness: simpleYesno.witnessInput(values), commitment, holds: bit === 1n }
  },
})

const CANDIDATES: readonly (readonly [id: ProvableId, candidate: Candidate])[] = [
  [yesno.id, compareInside],
  [simpleYesno.id, commitDecision],
]

/**
 * The circuit for a question.
 * @param asked the caller's choice
 * @throws AppError validation_failed for a circuit that doesn't exist or doesn't fit; not_provable when it can't hold
 *   the value
 */
export const chooseCircuit = (question: Question, asked?: string): Choice => {
  const candidates = CANDIDATES.filter(([id]) => asked === undefined || id === asked)
  let refusal = new AppError('validation_failed', {
    details: [
      {
        path: '/options/circuit_id',
        code: 'unknown',
        message: `must be one of ${CANDIDATES.map(([id]) => id).join(', ')}`,
      },
    ],
  })
  for (const [, candidate] of candidates) {
    const choice = candidate(question)
    if (!(choice instanceof AppError)) return choice
    refusal = choice
  }
  throw refusal
}
