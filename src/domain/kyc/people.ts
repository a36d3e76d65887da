/** People as a list, and decisions on checks that wait for review. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import { hasMoved, isAnyOvertaken, isTaken } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { HoldersService } from '../holders/service.ts'
import type { ReviewsService } from '../reviews/service.ts'
import { earliest } from './calendar-date.ts'
import { entrySubject, erasedClaim } from './erasure.ts'
import { endOfDocument } from './machine-readable-zone.ts'
import { newestCounter } from './person-access.ts'
import { birthDateOf, type CheckRecord, type createPersonKeys } from './person-records.ts'
import { type createRecording, outdated } from './recording.ts'
import {
  DEFAULT_PAGE_PEOPLE,
  type DecidePerson,
  type PeopleQuery,
  type Person,
  type PersonPage,
  type ReviewVerdict,
} from './schemas-list.ts'
import { foundOf } from './standing.ts'
import { findCheckEntry, findPeople, type KnownPerson } from './store-list.ts'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer'>
  readonly clock: Clock
  readonly keys: ReturnType<typeof createPersonKeys>
  readonly recording: Pick<ReturnType<typeof createRecording>, 'record'>
  readonly holders: Pick<HoldersService, 'recipient'>
  readonly reviews: Pick<ReviewsService, 'start' | 'find' | 'shown'>
  pseudonymOf(caller: Caller, userId: string): Promise<string>
}

/** A check of the service's own: what somebody decided. */
const MANUAL_CHECK = 'manual_review'
const { kycReviewed: REVIEWED } = CLAIM_KINDS

const itemOf = (reference: string): string => `kyc/${reference}`

const deciderOf = ({ credential }: Caller): string =>
  credential.kind === 'session' ? credential.accountId : credential.id

const unknownCursor = (): never =>
  fail('invalid_query', {
    details: [{ path: 'query/cursor', code: 'unknown', message: 'No page of yours ended with this cursor.' }],
  })

/** Until when a person who waits for review may be verified: Unix ms; null where neither document nor provider says. */
const endOfReviewed = ({ data, expiresAt }: CheckRecord, now: number): number | null =>
  earliest(expiresAt, endOfDocument(data, now))

/** What the decision found, in place of what the check did. @throws AppError conflict where there is nothing left to approve */
const resultOf = (record: CheckRecord, asked: DecidePerson, now: number) => {
  const { checks, providerReference, country } = record
  const approves = asked.verdict === 'approve'
  const expiresAt = approves ? endOfReviewed(record, now) : null
  if (expiresAt !== null && expiresAt <= now)
    fail('conflict', {
      message: `Document or provider allow a verification until ${iso(expiresAt)}, which is over: reject the check, or check the person again.`,
    })
  return {
    status: approves ? ('verified' as const) : ('rejected' as const),
    level: approves ? ('basic' as const) : ('none' as const),
    checks: [
      ...checks,
      {
        name: MANUAL_CHECK,
        result: approves ? ('passed' as const) : ('failed' as const),
        reason: asked.reason,
      },
    ],
    providerReference,
    expiresAt,
    birthDate: birthDateOf(record),
    country,
  }
}

export const createPeople = (deps: Deps) => {
  const { database, ledger, clock, keys, recording, holders, reviews, pseudonymOf } = deps

  const toPeople = async (organisation: string, rows: readonly KnownPerson[]): Promise<Person[]> => {
    const opened = rows.map((row) => {
      const key = keys.open(row)
      return { row, key, counts: key.open(row.counts), latest: key.open(row.latest) }
    })
    const waiting = opened.filter(({ latest }) => latest.status === 'review')
    const proposed = await reviews.find(
      organisation,
      waiting.map(({ row }) => itemOf(row.latest.id)),
    )
    return opened.map(({ row, key, counts, latest }) => {
      const proposal = proposed.get(itemOf(row.latest.id))
      return {
        userId: counts.userId,
        ...foundOf(row.counts.id, counts, clock.now()),
        checkedAt: iso(counts.checkedAt),
        review:
          latest.status === 'review'
            ? {
                reference: row.latest.id,
                checkedAt: iso(latest.checkedAt),
                checks: [...latest.checks],
                proposal: proposal ? reviews.shown<ReviewVerdict>(proposal, key.sealing) : null,
              }
            : null,
      }
    })
  }

  /** @throws AppError not_found */
  const one = async (caller: Caller, userId: string): Promise<KnownPerson> => {
    const { organisation } = caller
    const subject = await pseudonymOf(caller, userId)
    const [row] = await findPeople(database, { organisation, subject, inReview: false, limit: 1 })
    return row ?? fail('not_found')
  }

  const shown = async (caller: Caller, userId: string): Promise<Person> => {
    const [person] = await toPeople(caller.organisation, [await one(caller, userId)])
    return person ?? fail('not_found')
  }

  return {
    /** A page of the organisation's people, those checked last first. @throws AppError invalid_query */
    async list(caller: Caller, query: PeopleQuery): Promise<PersonPage> {
      const { organisation } = caller
      const { userId, status, cursor, limit = DEFAULT_PAGE_PEOPLE } = query
      const inReview = status === 'review'
      const rows = await findPeople(database, {
        organisation,
        inReview,
        limit: limit + 1,
        ...(userId !== undefined && { subject: await pseudonymOf(caller, userId) }),
        ...(cursor !== undefined && {
          before: (await findCheckEntry(database, organisation, cursor)) ?? unknownCursor(),
        }),
      })
      const page = rows.slice(0, limit)
      return {
        people: await toPeople(organisation, page),
        nextCursor: rows.length > limit ? (page.at(-1)?.latest.id ?? null) : null,
      }
    },

    /**
     * Decides on the newest check of a person, which waits for review; or proposes to, where a second reviewer is wanted.
     * @throws AppError not_found; conflict where nothing waits, somebody decided meanwhile, or document or provider have ended;
     *   insufficient_scope
     */
    async decide(caller: Caller, userId: string, asked: DecidePerson): Promise<Person> {
      const { idempotency } = caller
      // Whoever repeats a request is not told that somebody decided: they did.
      if (idempotency && (await ledger.findAnswer(idempotency))) {
        idempotency.replayed = true
        return shown(caller, userId)
      }
      const row = await one(caller, userId)
      const key = keys.open(row)
      const record = key.open(row.latest)
      const { id: reference } = row.latest
      if (record.status !== 'review')
        fail('conflict', { message: 'No check of this person waits for review.' })
      if (asked.reference !== reference)
        fail('conflict', { message: 'The person was checked again; look at the newest check.' })
      const result = resultOf(record, asked, clock.now())
      const subject = entrySubject(row)
      const review = await reviews.start(caller, {
        item: itemOf(reference),
        scope: 'kyc',
        ...asked,
        subject,
        sealing: key.sealing,
      })
      const once: Parameters<typeof recording.record>[1]['guard'] = (tx) => {
        if (tx.holder(REVIEWED, reference)) fail('conflict', { message: 'Somebody else decided meanwhile.' })
      }
      if (!review.decides) {
        const isOvertaken = isAnyOvertaken([
          isTaken([erasedClaim(row)]),
          hasMoved(newestCounter(row), row.latest_entry ?? 0),
        ])
        await ledger.append(caller, (tx) => {
          once(tx)
          if (isOvertaken(tx)) outdated()
          review.propose(tx)
          return null
        })
        return shown(caller, userId)
      }
      const { proposedBy } = review
      const decidedBy = deciderOf(caller)
      await recording.record(caller, {
        reference: newId('kyc', clock.now()),
        subject: row.subject,
        decidesOn: row,
        userId: record.userId,
        provider: record.provider,
        data: record.data,
        result,
        recipient: await holders.recipient(caller.organisation, record.userId, undefined),
        review: {
          reference,
          reason: asked.reason,
          decidedBy,
          ...(proposedBy !== undefined && { proposedBy }),
        },
        guard(tx) {
          once(tx)
          review.guard(tx)
          tx.claim(REVIEWED, reference)
        },
      })
      return shown(caller, userId)
    },
  }
}
