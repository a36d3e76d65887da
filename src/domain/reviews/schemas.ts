/** Wire shapes of reviews: their setting, and decisions that wait for a second reviewer. @module */
import Type, { type Static } from 'typebox'
import { dateTime } from '../../json/schemas.ts'

export const ReviewSettings = Type.Object(
  {
    secondReviewer: Type.Boolean({
      description:
        'Whether a decision on a case of KYC or AML waits as `proposal` until the account of another member confirms it. API keys then decide nothing.',
    }),
  },
  { title: 'ReviewSettings' },
)
export type ReviewSettings = Static<typeof ReviewSettings>

/** A decision that waits. @param verdict what may be decided */
export const proposalOf = <const V extends readonly string[]>(verdicts: V) =>
  Type.Object({
    verdict: Type.Enum([...verdicts] as V[number][]),
    reason: Type.String(),
    proposedAt: dateTime('When it was proposed.'),
    proposedBy: Type.String({ description: 'The account, which can not confirm it.' }),
  })
