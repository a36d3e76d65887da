/** Presentations of credentials: whether they answer what whoever checks had asked, and when they were made. @module */
import type { Asked } from '../messages.ts'
import { type Check, leaveOpen, pass, refuse, timeWords, visible } from '../report.ts'

/** What the JWT of the holder says of it; the holder's signature was checked before. */
export interface Shown {
  readonly aud: string
  readonly nonce: string
  /** Unix seconds, by the clock of the wallet. */
  readonly iat: number
}

const MS_PER_SECOND = 1000
/** What is older may be too old for whoever checks (RFC 9901 §7.3). */
const MAX_RECENT_SECONDS = 3600

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Such as “3 minutes ago”. */
const agoWords = (seconds: number): string => {
  const words = new Intl.RelativeTimeFormat('en')
  const [unit, size] = UNITS.find((one) => Math.abs(seconds) >= one[1]) ?? (['second', 1] as const)
  return words.format(-Math.trunc(seconds / size), unit)
}

/** When it was made, for people. @param now Unix ms */
export const madeWords = ({ iat }: Shown, now: number): string =>
  `${timeWords(iat)} (${agoWords(now / MS_PER_SECOND - iat)}, by the clock of this device)`

const isGiven = (text: string | undefined): text is string => text !== undefined && text !== ''

/** Whether it names the audience and the nonce that were given: only then was it shown to whoever checks. */
export const isAnswer = ({ aud, nonce }: Shown, asked: Asked | undefined): boolean =>
  isGiven(asked?.audience) && isGiven(asked?.nonce) && aud === asked.audience && nonce === asked.nonce

const audienceCheck = ({ aud }: Shown, audience: string): Check =>
  aud === audience
    ? pass('Audience', `The holder showed it to ${visible(aud)}, as you had asked.`)
    : refuse(
        'Audience',
        'AUDIENCE_MISMATCH',
        `The holder showed it to “${visible(aud)}”, and you had asked as “${visible(audience)}”: what somebody else was shown says nothing to you. Every character counts.`,
      )

const nonceCheck = ({ nonce }: Shown, expected: string): Check =>
  nonce === expected
    ? pass('Nonce', `It answers the nonce ${visible(nonce)}, as you had asked.`)
    : refuse(
        'Nonce',
        'NONCE_MISMATCH',
        `It answers the nonce “${visible(nonce)}”, and you had asked with “${visible(expected)}”: it was made for another occasion. Every character counts.`,
      )

const freshness = (shown: Shown, now: number): Check => {
  const made = `The holder made it at ${madeWords(shown, now)}.`
  return now / MS_PER_SECOND - shown.iat <= MAX_RECENT_SECONDS
    ? pass('Freshness', made)
    : leaveOpen('Freshness', 'whether it is recent enough', `${made} Whether that will do, you decide.`)
}

/** Compares exactly, and only with what was given: of itself, what is shown would say anything. @param now Unix ms */
export const shownChecks = (shown: Shown, asked: Asked | undefined, now: number): readonly Check[] => {
  const { audience, nonce } = asked ?? {}
  const said = `The holder showed it to ${visible(shown.aud)} under the nonce ${visible(shown.nonce)} at ${timeWords(shown.iat)}`
  if (!isGiven(audience) && !isGiven(nonce))
    return [
      leaveOpen(
        'Audience and nonce',
        'whether it was shown to you',
        `${said}: compare both with yours, or say above what you had asked for. It may be a copy of what somebody else was shown.`,
      ),
    ]
  return [
    isGiven(audience)
      ? audienceCheck(shown, audience)
      : leaveOpen(
          'Audience',
          'whether it was shown to you',
          `${said}: compare the audience with yours, or it may be a copy of what somebody else was shown.`,
        ),
    isGiven(nonce)
      ? nonceCheck(shown, nonce)
      : leaveOpen(
          'Nonce',
          'whether it was shown before',
          `${said}: compare the nonce with yours, or it may be a copy of what you were shown before.`,
        ),
    freshness(shown, now),
  ]
}
