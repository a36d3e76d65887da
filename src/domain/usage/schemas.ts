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

export const UsageDaysQuery = Type.Object({
  from: Type.Optional(
    Type.String({
      format: 'date',
      description: 'First UTC day (2026-01-01); default: 29 days before the last.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      format: 'date',
      description: 'Last UTC day, included; default: today. At most 366 days in all.',
    }),
  ),
})
export type UsageDaysQuery = Static<typeof UsageDaysQuery>

const Charge = Type.Object(
  {
    currency: Type.String(),
    amount: Type.Number({ minimum: 0, description: 'In major units.' }),
  },
  { title: 'UsageCharge' },
)

const UsageDay = Type.Object(
  {
    day: Type.String({ format: 'date' }),
    results: Count('Signed results.'),
    proofs: Count('Of these, with a zero-knowledge proof.'),
    byCategory: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Signed results by category; those of which there were any.',
    }),
    charges: Type.Array(Charge, { description: 'What pods charged, by currency.' }),
  },
  { title: 'UsageDay' },
)
export type UsageDay = Static<typeof UsageDay>

export const UsageDays = Type.Object(
  {
    days: Type.Array(UsageDay, {
      description: 'Each day of the window, the last one first, those without results too.',
    }),
  },
  { title: 'UsageDays' },
)
export type UsageDays = Static<typeof UsageDays>
