/** How a circuit is asked by a route of its own: what callers send, and which field of the answer is true. @module */
import type { Static, TSchema } from 'typebox'
import type { Caller } from '../../../caller.ts'
import type { CircuitId } from '../../../circuits/catalogue.ts'
import type { ErrorCode } from '../../../errors.ts'
import type { Example } from '../../../http/route.ts'
import type { AuditService } from '../../audit/service.ts'
import type { ConsentService } from '../../consent/service.ts'
import type { TokensService } from '../../tokens/service.ts'
import type { Presented, Question } from '../circuit-questions.ts'

/** What tells whether an answer that came back whole is the one that was given. */
export interface Answers {
  readonly audit: Pick<AuditService, 'requireListed'>
  readonly consents: Pick<ConsentService, 'requireLogged'>
  readonly tokens: Pick<TokensService, 'requireIssued'>
}

/** `POST /api/circuits/ID`, with hyphens in the id. */
export interface CircuitQuestion<Field extends string = string, Body extends TSchema = TSchema> {
  readonly circuit: CircuitId
  /** operationId in OpenAPI; unique. */
  readonly name: string
  readonly summary: string
  /** What to send, and what the proof shows or doesn't. */
  readonly description: string
  readonly body: Body
  /** The result field of the answer. */
  readonly field: Field
  /** Name of the answer in OpenAPI. */
  readonly title: string
  /** When the result field is true. */
  readonly isTrue: string
  /** Codes besides those that every question can be answered with. */
  readonly errors: readonly ErrorCode[]
  readonly example: Example
  /** What the circuit is asked by such a body, or the proof that is to be checked. */
  asked(body: Static<Body>, caller: Caller, answers: Answers): Promise<Question | Presented>
}

/** Type-checks a question in full, then erases the type of its body. */
export const circuitQuestion = <const Field extends string, Body extends TSchema>(
  question: CircuitQuestion<Field, Body>,
): CircuitQuestion<Field> => question

/** For descriptions, of questions that take what the making of a thing answered. */
export const WHOLE = 'You can send the complete answer that contained it.'
/** For descriptions, of questions with `expect`. */
export const EXPECTED =
  'If something differs from `expect`, nothing is proved: the field is false, the reasons contain EXPECTATION_ and the name, and no proof is consumed.'

/** The signals by name, or what the caller has of it; and what is expected of that. */
type Asked = Pick<Question, 'expect'> & Readonly<Record<string, unknown>>
export const askedIn = ({ expect, ...body }: Asked): Question => ({
  inputs: 'inputs' in body ? body.inputs : body,
  expect,
})
