/** Wire shapes of the answers of circuits. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../json/schemas.ts'
import { SnarkProofJson } from '../proofs/schemas.ts'
import type { CircuitQuestion } from '../proofs/statements/question.ts'

const answerFields = {
  success: Type.Literal(true, { description: 'The question was answered; the field after it says how.' }),
  circuit_id: Type.String(),
  proofId: orNull(Type.String({ description: '`prf_…`, as the proof routes know it.' })),
  proof: orNull(SnarkProofJson),
  publicInputs: orNull(Type.Array(Type.String())),
  digest: orNull(Type.String({ description: 'Names what was proven, lower-case hex.' })),
  verifiedAt: DateTime,
  reasonCodes: Type.Array(Type.String(), {
    description:
      'Why it is false; empty when it is true. DECISION_NO: the proof shows so. With any other code nothing is proven, and proofId, proof, publicInputs and digest are null.',
  }),
  message: Type.Optional(Type.String({ description: 'The same for people, where it can be told.' })),
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
