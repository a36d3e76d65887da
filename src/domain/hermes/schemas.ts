/** Wire shapes of hermes: questions and verdicts. @module */
import Type, { type Static } from 'typebox'
import { DateTime } from '../../json/schemas.ts'

/** Questions are refused beyond this many conditions. */
export const MAX_CONDITIONS = 16
export const MAX_ID_CHARACTERS = 256
const MAX_QUESTION_KEYS = 100

const Verdict = Type.Enum(['YES', 'NO'])
export type Verdict = Static<typeof Verdict>

/** Slugs are 12 digits of base58. */
export const SlugParams = Type.Object({
  slug: Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{12}$', description: '12 digits of base58.' }),
})

export const TypedQuestion = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: MAX_QUESTION_KEYS,
  description: `The criteria, at most ${MAX_CONDITIONS}: field → value, or field → {operator: operand}. \`id\` is not a criterion: it names one item.`,
})
export type TypedQuestion = Static<typeof TypedQuestion>

export const TextQuestion = Type.Object(
  {
    id: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS, description: 'Id of one item.' }),
    ),
  },
  {
    additionalProperties: Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'A criterion; if a field is given more than once, any of the values matches.',
    }),
  },
)
export type TextQuestion = Static<typeof TextQuestion>

const answerFields = {
  verdict: Verdict,
  timestamp: DateTime,
  jws: Type.String({
    description:
      'Compact JWS: EdDSA, typ `hv+jws`. Binds the verdict to the route, URL, question and answer of the target.',
  }),
  signature: Type.String({
    description:
      'base64url Ed25519 over "hermes/1\\n" and the canonical JSON of {digest, route, timestamp, verdict}.',
  }),
  proof: Type.String({
    description: 'Groth16 proof of circuit `yesno` and its public signals: `zk1.` and base64url.',
  }),
}

export const TextAnswer = Type.Object(answerFields, { title: 'HermesVerdict' })
export type TextAnswer = Static<typeof TextAnswer>

const Signal = Type.String({ description: 'Canonical decimal.' })

export const TypedAnswer = Type.Object(
  {
    ...answerFields,
    proofId: Type.String({
      description: "`prf_…`, the id of the proof in the proof routes of the route's organisation.",
    }),
    zkProof: Type.Object(
      {
        proof: Type.String({ description: 'The same as the outer `proof`.' }),
        commitment: Type.String({
          description:
            'Commitment to the number of satisfying objects: 32 bytes, lower-case hex. It is never opened.',
        }),
        verificationKey: Type.String({
          description:
            '`yesno:sha256:` and the SHA-256 of the key as returned by GET /api/circuits/yesno/vkey, lower-case hex.',
        }),
        publicInputs: Type.Object({
          verdict: Verdict,
          decision: Signal,
          nullifier: Signal,
          commitment: Signal,
          op: Signal,
          operand: Signal,
          scope: Signal,
          ctx: Signal,
        }),
      },
      {
        description:
          'Proves that the committed number of objects that satisfy the question is, or is not, at least 1. The number itself was counted by this service.',
      },
    ),
  },
  { title: 'HermesVerdictWithProof' },
)
export type TypedAnswer = Static<typeof TypedAnswer>
