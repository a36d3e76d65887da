/**
 * Which circuit proves a decision: the table below, the one that says most first. The last of them always fits, for it
 * proves a decision that was made outside of it.
 * @module
 */
import { AppError } from '../errors.ts'
import { encodeValue } from '../rules/encode.ts'
import type { Decision } from '../rules/evaluate.ts'
import { valueAt } from '../rules/field-path.ts'
import { attributesOf, compileProgram, type ProgramForm } from '../rules/program.ts'
import type { Leaf, Tree } from '../rules/rule.ts'
import type { Provable } from './circuit.ts'
import { composite, programHash } from './mappers/composite.ts'
import { eligibility, policyHash } from './mappers/eligibility.ts'
import type { RuleProgramValues } from './mappers/rule-program.ts'
import { simpleYesno } from './mappers/simple_yesno.ts'
import { YESNO_OPERATORS, type YesnoOperator, yesno, yesnoFits } from './mappers/yesno.ts'

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

interface Signals extends Provable {
  readonly commitment: bigint
  /** What the circuit itself comes to. */
  readonly holds: boolean
}

const CHOICES = [yesno.id, eligibility.id, composite.id, simpleYesno.id] as const
export type ProvableId = (typeof CHOICES)[number]

/** A circuit that fits a question. */
export interface Choice {
  readonly id: ProvableId
  /** What the public signals ask, as JSON: signals as decimals, nothing of the data. */
  readonly statement: Readonly<Record<string, string>>
  signals(binding: Binding): Signals
}

/** @returns the choice, or the error to answer with when exactly this circuit was asked for */
type Candidate = (question: Question, path: string) => Choice | AppError

const unsuitable = (path: string, message: string): AppError =>
  new AppError('validation_failed', { details: [{ path, code: 'unsuitable', message }] })

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

/** @returns what `make` makes, or the error that says why it has no form inside a proof */
const provable = <T>(make: () => T): T | AppError => {
  try {
    return make()
  } catch (error) {
    if (error instanceof AppError && (error.code === 'not_provable' || error.code === 'tree_too_large'))
      return error
    throw error
  }
}

/** `yesno`: the one rule is evaluated again inside the circuit, over the committed value. */
const compareInside: Candidate = ({ tree, data, decision }, path) => {
  const rule = onlyRule(tree)
  if (rule === undefined || !isYesnoOperator(rule.op)) {
    return unsuitable(path, `yesno proves one rule with one of the operators ${YESNO_OPERATORS.join(', ')}.`)
  }
  const found = valueAt(data, rule.path)
  if (!isScalar(found) || !isScalar(rule.value) || decision.reason !== undefined) {
    return unsuitable(path, 'yesno compares a text, number or boolean in the data with another.')
  }
  const { op } = rule
  const value = provable(() => encodeValue(found))
  const operand = provable(() => encodeValue(rule.value))
  if (value instanceof AppError) return value
  if (operand instanceof AppError) return operand
  if (!yesnoFits({ op, value, operand })) return unsuitable(path, 'yesno orders numbers only.')
  return {
    id: yesno.id,
    statement: { op, operand: String(operand) },
    signals(binding) {
      const values = { value, op, operand, ...binding }
      const publicSignals = yesno.publicSignals(values)
      const { commitment, decision: bit } = yesno.read(publicSignals)
      return { publicSignals, witness: yesno.witnessInput(values), commitment, holds: bit === 1n }
    },
  }
}

type OfForm = Pick<RuleProgramValues, 'program' | 'attributes'>

/** What a program and the attributes it looks at are proved with. */
const ruleSignals =
  (circuit: typeof eligibility | typeof composite, values: OfForm): Choice['signals'] =>
  ({ salt, ctx }) => {
    const all = { ...values, salt, ctx }
    const publicSignals = circuit.publicSignals(all)
    const { commitment, decision } = circuit.read(publicSignals)
    return { publicSignals, witness: circuit.witnessInput(all), commitment, holds: decision === 1n }
  }

const compiled = ({ tree, data }: Question, form: ProgramForm, path: string): OfForm | AppError => {
  if (tree === undefined) return unsuitable(path, `${form} proves rules, and there are none.`)
  return provable(() => {
    const program = compileProgram(tree, form)
    return { program, attributes: attributesOf(program, data) }
  })
}

/** `eligibility`: up to eight rules that must all hold are evaluated again inside the circuit. */
const proveAll: Candidate = (question, path) => {
  const values = compiled(question, 'eligibility', path)
  if (values instanceof AppError) return values
  const statement = { policy_hash: String(policyHash(values.program)) }
  return { id: eligibility.id, statement, signals: ruleSignals(eligibility, values) }
}

/** `composite`: so is any other tree. */
const proveTree: Candidate = (question, path) => {
  const values = compiled(question, 'composite', path)
  if (values instanceof AppError) return values
  const statement = { program_hash: String(programHash(values.program)) }
  return { id: composite.id, statement, signals: ruleSignals(composite, values) }
}

/** `simple_yesno`: the committed value is the decision itself, 1 or 0; `ctx` binds the data it was made about. */
const commitDecision: Candidate = ({ decision }) => ({
  id: simpleYesno.id,
  statement: { threshold: '1' },
  signals({ salt, ctx }) {
    const values = { value: decision.decision === 'YES' ? 1n : 0n, threshold: 1n, salt, ctx }
    const publicSignals = simpleYesno.publicSignals(values)
    const { commitment, decision: bit } = simpleYesno.read(publicSignals)
    return { publicSignals, witness: simpleYesno.witnessInput(values), commitment, holds: bit === 1n }
  },
})

const CANDIDATES: Readonly<Record<ProvableId, Candidate>> = {
  yesno: compareInside,
  eligibility: proveAll,
  composite: proveTree,
  simple_yesno: commitDecision,
}

/**
 * The circuit for a question. Which one it is follows from the rules, except that values which a circuit can't hold are
 * left to the next.
 * @param asked the caller's choice @param path JSON Pointer to it, for the details of errors
 * @throws AppError validation_failed for a circuit that doesn't exist or doesn't fit; not_provable, tree_too_large when
 *   it can't hold the values or the rules
 */
export const chooseCircuit = (question: Question, asked?: string, path = '/options/circuit_id'): Choice => {
  const message = `must be one of ${CHOICES.join(', ')}`
  let refusal = new AppError('validation_failed', { details: [{ path, code: 'unknown', message }] })
  for (const id of CHOICES) {
    if (asked !== undefined && id !== asked) continue
    const choice = CANDIDATES[id](question, path)
    if (!(choice instanceof AppError)) return choice
    refusal = choice
  }
  throw refusal
}
