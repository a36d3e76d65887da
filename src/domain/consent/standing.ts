/** What a consent is worth at a moment: its status, what became of it, and whether it answers a question. @module */
import { iso } from '../../clock.ts'
import type { ConsentEvent, ConsentReason, ConsentStatus, ConsentVerdict } from './schemas.ts'
import { nameHash, type OpenedConsent } from './sealed-consent.ts'
import type { KnownConsent, Supersession } from './store.ts'

/** A consent with everything that is known of it. */
export interface Standing {
  readonly row: KnownConsent
  readonly inside: OpenedConsent
  readonly supersessions: readonly Supersession[]
  /** Why it was withdrawn, where that was told. */
  readonly withdrawalReason: string | undefined
}

/** What is asked of a consent. Undefined: not asked. */
export interface Asked {
  /** Permanent pseudonym. */
  readonly subject: string | undefined
  readonly purpose: string | undefined
  readonly controller: string | undefined
  readonly dataCategories: readonly string[] | undefined
  /** Unix ms. */
  readonly at: number
}

/**
 * The moment as of which a question without one is answered: everything that is committed counts, also where this
 * server's clock is behind that of the one that recorded it. @param now Unix ms
 */
export const presentOf = ({ row, supersessions }: Standing, now: number): number =>
  Math.max(now, row.recorded_at, row.withdrawn_at ?? now, ...supersessions.map((one) => one.recorded_at))

const passed = (time: number | null, at: number): time is number => time !== null && time <= at

export const purposesOf = ({ inside }: Pick<Standing, 'inside'>): string[] =>
  inside.payload.pii_processing.purposes.map(({ purpose }) => purpose)

export const categoriesOf = ({ inside }: Standing): string[] =>
  inside.payload.pii_processing.pii_information?.map(({ pii_type }) => pii_type) ?? []

export const controllerOf = ({ inside }: Standing): string =>
  inside.payload.pii_processing.pii_controllers[0] ?? ''

const supersessionOf = ({ supersessions }: Standing, purpose: string): Supersession | undefined => {
  const wanted = nameHash(purpose)
  return supersessions.find(({ purpose_hash }) => wanted.equals(purpose_hash))
}

/** Those of its purposes about which a later record decides. @param at Unix ms */
export const supersededPurposes = (standing: Standing, at: number): string[] =>
  purposesOf(standing).filter((purpose) => {
    const by = supersessionOf(standing, purpose)
    return by !== undefined && by.recorded_at <= at
  })

/** @param at Unix ms, not before it was recorded */
export const statusAt = (standing: Standing, at: number): ConsentStatus => {
  const { withdrawn_at, expires_at, answer } = standing.row
  if (passed(withdrawn_at, at)) return 'withdrawn'
  if (supersededPurposes(standing, at).length === purposesOf(standing).length) return 'superseded'
  return passed(expires_at, at) ? 'expired' : answer
}

/** Why a consent that is the asked one's does not cover what is asked, or undefined. */
const gapOf = (
  standing: Standing,
  { purpose, controller, dataCategories, at }: Asked,
): ConsentReason | undefined => {
  if (controller !== undefined && controller !== controllerOf(standing)) return 'controller_mismatch'
  if (purpose !== undefined && !purposesOf(standing).includes(purpose)) return 'purpose_mismatch'
  const superseded = supersededPurposes(standing, at)
  if (purpose === undefined && superseded.length > 0) return 'purpose_required'
  if (purpose !== undefined && superseded.includes(purpose)) return 'superseded'
  const named = categoriesOf(standing)
  const isCovered = dataCategories?.every((category) => named.includes(category)) ?? true
  return isCovered ? undefined : 'data_category_mismatch'
}

/** Of a question that no consent answers. */
export const noConsent = (
  reason: ConsentReason,
  purpose: string | undefined,
  id?: string,
): ConsentVerdict => ({
  valid: false,
  consentId: id ?? null,
  status: null,
  purpose: purpose ?? null,
  expiresAt: null,
  reason,
})

/** Whether this consent holds for what is asked. */
export const verdictOf = (standing: Standing, asked: Asked): ConsentVerdict => {
  const { row } = standing
  if (asked.subject !== undefined && asked.subject !== row.subject)
    return noConsent('subject_mismatch', asked.purpose, row.id)
  if (row.recorded_at > asked.at) return noConsent('no_consent', asked.purpose, row.id)
  const status = statusAt(standing, asked.at)
  const reason = status === 'given' ? gapOf(standing, asked) : status
  const [only, ...others] = purposesOf(standing)
  return {
    valid: reason === undefined,
    consentId: row.id,
    status,
    purpose: asked.purpose ?? (others.length === 0 ? (only ?? null) : null),
    expiresAt: row.expires_at === null ? null : iso(row.expires_at),
    ...(reason && { reason }),
  }
}

interface Happened extends Omit<ConsentEvent, 'at'> {
  /** Unix ms. */
  readonly time: number
}

/** What became of it until a moment, the oldest first. @param at Unix ms */
export const historyOf = (standing: Standing, at: number): ConsentEvent[] => {
  const { answer, recorded_at, expires_at, withdrawn_at } = standing.row
  const reason = standing.withdrawalReason
  const purposes = purposesOf(standing)
  const superseded: Happened[] = []
  for (const purpose of purposes) {
    const by = supersessionOf(standing, purpose)
    if (by === undefined) continue
    const known = superseded.find(({ supersededBy }) => supersededBy === by.consent)
    if (known) known.purposes.push(purpose)
    else
      superseded.push({
        status: 'superseded',
        time: by.recorded_at,
        purposes: [purpose],
        supersededBy: by.consent,
      })
  }
  const events: Happened[] = [...superseded]
  if (withdrawn_at !== null)
    events.push({
      status: 'withdrawn',
      time: withdrawn_at,
      purposes,
      ...(reason !== undefined && { reason }),
    })
  const isOver = events.some(
    ({ time }) => expires_at !== null && time <= expires_at && statusAt(standing, time) !== answer,
  )
  if (expires_at !== null && !isOver) events.push({ status: 'expired', time: expires_at, purposes })
  const later = events.filter(({ time }) => time <= at).sort((a, b) => a.time - b.time)
  return [{ status: answer, time: recorded_at, purposes }, ...later].map(({ time, ...event }) => ({
    ...event,
    at: iso(time),
  }))
}
