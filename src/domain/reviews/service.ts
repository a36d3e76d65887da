/**
 * A second pair of eyes: where an organisation asks for it, what somebody decides on a case waits until the account of
 * another member decides the same.
 * @module
 */
import { hash } from 'node:crypto'
import type { Caller, Scope } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Entry, Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { Members } from '../accounts/team/members.ts'
import type { ReviewSettings } from './schemas.ts'
import * as store from './store.ts'

const PURPOSE = 'review-proposal'
const COUNTER = 'review/'
/** Counts changes of the setting. */
const SETTING_COUNTER = 'review-setting'
const place = (item: string) => ({ table: 'review_proposals', column: 'sealed_reason', row: item })

/** A decision that waits, as it is shown. */
export interface Proposal<V extends string> {
  readonly verdict: V
  readonly reason: string
  readonly proposedAt: string
  readonly proposedBy: string
}

/** What is decided. */
interface Asked {
  /** Names the case, and its state: what was proposed about another state counts no more. */
  readonly item: string
  /** Who loses it before a proposal is confirmed has proposed nothing. */
  readonly scope: Scope
  readonly verdict: string
  readonly reason: string
  /** Whom it is about. */
  readonly subject: Entry['subject']
  /** Under the key of that person. */
  readonly sealing: Sealing
}

/** What is to be done with a decision. */
export type Review =
  | {
      readonly decides: true
      /** Who proposed it, where somebody had to. */
      readonly proposedBy: string | undefined
      /**
       * Part of the decision. @throws AppError conflict where another proposal was made, the setting changed, or a role of
       * a member, since this was asked
       */
      guard(tx: Tx): void
    }
  | {
      readonly decides: false
      /** Records the proposal. @throws AppError conflict as above */
      propose(tx: Tx): void
    }

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'findCounter'>
  readonly clock: Clock
  readonly members: Pick<Members, 'may' | 'rolesCounter'>
}

export type ReviewsService = ReturnType<typeof createReviews>

export const createReviews = ({ database, ledger, clock, members }: Deps) => {
  const settings = async ({ organisation }: Pick<Caller, 'organisation'>): Promise<ReviewSettings> => ({
    secondReviewer: await store.wantsSecond(database, organisation),
  })

  /**
   * What everything that is looked up from now on rests on: the setting, and who may do what.
   * @returns part of a decision, which throws AppError conflict where either changed since
   */
  const watch = async (organisation: string): Promise<(tx: Tx) => void> => {
    const watched = [SETTING_COUNTER, members.rolesCounter]
    const stood = await Promise.all(watched.map((counter) => ledger.findCounter(organisation, counter)))
    return (tx) => {
      // All are read before anything is thrown, so that the first run names every one.
      const stands = watched.map((counter) => tx.counter(counter))
      if (stands.some((value, place) => value !== stood[place]))
        fail('conflict', { message: 'Roles or the setting of reviews were changed meanwhile; decide again.' })
    }
  }

  return {
    settings,

    /** Says whether decisions need a second reviewer. Nothing happens where that is so already. */
    async change(caller: Caller, { secondReviewer }: ReviewSettings): Promise<ReviewSettings> {
      if ((await settings(caller)).secondReviewer === secondReviewer) return { secondReviewer }
      const { organisation } = caller
      return ledger.append(caller, (tx) => {
        tx.add(SETTING_COUNTER, 1)
        const data = { event: 'review.settings_changed', secondReviewer }
        tx.append({ type: 'account', subject: ['organisation', organisation], data })
        tx.write(store.settings.row({ organisation, second_reviewer: secondReviewer, changed_at: tx.at }))
        return { secondReviewer }
      })
    },

    /** What waits about some items of an organisation, by item. */
    find: (organisation: string, items: readonly string[]) =>
      store.findProposals(database, organisation, items),

    /** @param sealing of the person whom it is about @throws SealingError once they are forgotten */
    shown: <V extends string>(row: store.ProposalRow, sealing: Sealing): Proposal<V> => ({
      // It was checked when it was proposed.
      verdict: row.verdict as V,
      reason: Buffer.from(sealing.open(PURPOSE, place(row.item), row.sealed_reason)).toString(),
      proposedAt: iso(row.proposed_at),
      proposedBy: row.proposed_by,
    }),

    /**
     * Whether a decision counts, or waits for somebody else.
     * @throws AppError insufficient_scope for who may not decide any more, and for an API key where a second reviewer is wanted
     */
    async start(caller: Caller, { item, scope, verdict, reason, subject, sealing }: Asked): Promise<Review> {
      const { organisation, credential } = caller
      const unchanged = await watch(organisation)
      // The session told what its member might do when the request came.
      if (credential.kind === 'session' && !(await members.may(caller, credential.accountId, scope)))
        return fail('insufficient_scope')
      if (!(await store.wantsSecond(database, organisation)))
        return { decides: true, proposedBy: undefined, guard: unchanged }
      if (credential.kind !== 'session')
        return fail('insufficient_scope', {
          message: 'Your organisation wants a second reviewer: decisions need the session of a member.',
        })
      const by = credential.accountId
      const former = (await store.findProposals(database, organisation, [item])).get(item)
      const counter = `${COUNTER}${item}`
      const advance = (tx: Tx): number => {
        const stands = tx.counter(counter)
        unchanged(tx)
        if (stands !== (former?.number ?? 0))
          fail('conflict', { message: 'Somebody else decided meanwhile; look at it again.' })
        return tx.add(counter, 1)
      }
      const confirms = former?.verdict === verdict && former.proposed_by !== by
      // Who was removed may be back as another account: nobody confirms their own.
      if (confirms && (await members.may(caller, former.proposed_by, scope)))
        return { decides: true, proposedBy: former.proposed_by, guard: advance }
      const sealed = sealing.seal(PURPOSE, place(item), Buffer.from(reason))
      const proposedAt = clock.now()
      return {
        decides: false,
        propose(tx) {
          const number = advance(tx)
          const { index } = tx.append({
            type: 'attest',
            subject,
            digest: hash('sha256', sealed),
            data: { event: 'review.proposed' },
          })
          tx.write(
            store.proposals.row({
              organisation,
              item,
              number,
              entry_index: index,
              verdict,
              sealed_reason: sealed,
              proposed_by: by,
              proposed_at: proposedAt,
            }),
          )
        },
      }
    },
  }
}
