/** Wire shapes of usage. @module */
import Type, { type Static } from 'typebox'
import { dateTime, orNull } from '../../json/schemas.ts'

/** What a result was made for. */
export const USAGE_CATEGORIES = [
  'verify',
  'batch',
  'pod',
  'hermes',
  'proof',
  'circuit',
  'audit',
  'policy',
  'eligibility',
] as const
export type UsageCategory = (typeof USAGE_CATEGORIES)[number]

const Count = (description: string) => Type.Integer({ minimum: 0, description })

export const Usage = Type.Object(
  {
    proofCounts: Type.Object({
      total: Count('Signed results since the beginning.'),
      today: Count('During this UTC day.'),
      month: Count('During this UTC month.'),
    }),
    avgProofSize: Type.Number({
      minimum: 0,
      description:
        'Average size in bytes of a zero-knowledge proof with its public signals; 0 if there was none.',
    }),
    byCategory: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Signed results by category. Those of POST /verify/batch are `batch`.',
    }),
    free: orNull(
      Type.Object({
        granted: Count('Granted free results that have not expired.'),
        used: Count('Of these.'),
        remaining: Count('Of these.'),
        expiresAt: dateTime('When the next free results expire.'),
      }),
      {
        description:
          'Null if no free results can expire. Free results are not used while the subscription is active.',
      },
    ),
  },
  { title: 'Usage' },
)
export type Usage = Static<typeof Usage>
