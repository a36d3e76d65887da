/** What a consent receipt (ISO/IEC TS 27560) says of its consent by itself: what the person answered, and until when that holds. @module */
import { isObject } from '../json-object.ts'

export interface ReceiptAnswer {
  readonly answer: 'given' | 'refused'
  /** Unix ms from which it no longer holds; undefined: no end was recorded. */
  readonly endsAt: number | undefined
}

const ANSWERS = new Map<unknown, ReceiptAnswer['answer']>([
  ['consent_given', 'given'],
  ['consent_refused', 'refused'],
])
/** As receipts write it: seconds, to the millisecond. */
const DURATION = /^PT(\d{1,12}(?:\.\d{1,3})?)S$/
const MS_PER_SECOND = 1000

/** @param payload of the JWS @returns undefined where it does not say both in the form of this service */
export const readReceiptAnswer = ({
  events,
}: Readonly<Record<string, unknown>>): ReceiptAnswer | undefined => {
  const [event, ...others] = Array.isArray(events) ? events : []
  if (!isObject(event) || others.length > 0) return undefined
  const { event_time: time, event_state: state, validity_duration: duration } = event
  const answer = ANSWERS.get(state)
  if (answer === undefined) return undefined
  if (duration === undefined) return { answer, endsAt: undefined }
  const [, seconds] = (typeof duration === 'string' && DURATION.exec(duration)) || []
  const endsAt =
    typeof time === 'string' ? Date.parse(time) + Math.round(Number(seconds) * MS_PER_SECOND) : Number.NaN
  // Beyond all dates there is none either.
  return Number.isNaN(new Date(endsAt).getTime()) ? undefined : { answer, endsAt }
}
