/** Routes that ask one circuit, by what callers have: one for each question of a circuit's statement. @module */
import type { ErrorCode } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { Answered, CircuitQuestions } from '../proofs/circuit-questions.ts'
import { CIRCUIT_QUESTIONS } from '../proofs/statements/index.ts'
import type { Answers, CircuitQuestion } from '../proofs/statements/question.ts'
import type { UsageService } from '../usage/service.ts'
import { circuitAnswer } from './schemas-questions.ts'

interface Services extends Answers {
  readonly circuitQuestions: CircuitQuestions
  readonly usage: UsageService
}

const ERRORS: readonly ErrorCode[] = [
  'not_found',
  'inputs_insufficient',
  'not_provable',
  'subscription_inactive',
  'free_allocation_used',
  'prover_overloaded',
  'proof_service_unavailable',
]
const COMMON =
  'If the statement is not true, the answer is 200 with the field false. The raw form `inputs` takes the signals by name; `now`, `scope` and `ctx` are set by the service.'

const questionRoute = (question: CircuitQuestion) => {
  const { circuit, name, summary, description, body, field, errors, example } = question
  return route({
    name,
    method: 'POST',
    path: `/api/circuits/${circuit.replaceAll('_', '-')}`,
    auth: 'key',
    scope: 'circuit',
    tag: 'Circuits',
    summary,
    description: `${description} ${COMMON}`,
    body,
    response: { 200: circuitAnswer(question) },
    errors: [...ERRORS, ...errors],
    example,
    async handler({ caller, body: sent }, services: Services) {
      const { circuitQuestions, usage } = services
      const asked = await question.asked(sent, caller, services)
      const present = ({ holds, ...rest }: Answered) => ({ [field]: holds, ...rest })
      const answer =
        'proof' in asked
          ? await circuitQuestions.adopt(caller, asked, present)
          : await circuitQuestions.ask(caller, circuit, asked, present)
      return new Reply(200, answer, await usage.headers(caller.organisation))
    },
  })
}

export const circuitQuestionRoutes = CIRCUIT_QUESTIONS.map(questionRoute)
