/** Wire shapes of the answers of circuits. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../json/schemas.ts'
import { SnarkProofJson } from '../proofs/schemas.ts'
import type { CircuitQuestion } from '../proofs/statements/question.ts'

const answerFields = {
  success: Type.Literal(true, {
    description: 'The request was processed; the result is in the field that follows.',
  }),
  circuit_id: Type.String(),
  proofId: orNull(Type.String({ description: '`prf_…`, the id in the proof routes.' })),
  proof: orNull(SnarkProofJson),
  publicInputs: orNull(Type.Array(Type.String())),
  digest: orNull(Type.String({ description: 'Identifies what was proven, lower-case hex.' })),
  verifiedAt: DateTime,
  reasonCodes: Type.Array(Type.String(), {
    description:
      'Why the field is false; empty if it is true. DECISION_NO: the proof shows a NO. With any other code nothing is proven, and proofId, proof, publicInputs and digest are null.',
  }),
  message: Type.Optional(Type.String({ description: 'An explanation of the reason, if there is one.' })),
}

/** What every answer has besides its result field. */
export type CircuitAnswer = Static<Type.TObject<typeof answerFields>>

/** The answer to one question. */
export const circuitAnswer = ({
  field,
  title,
  isTrue,
}: Pick<CircuitQuestion, 'field' | 'title' | 'isTrue'>) =>
  // A computed name is a string to the compiler.
  Type.Object({ [field]: Type.Boolean({ description: isTrue }), ...answerFields }, { title })
