/** Status lists: one that somebody gives, and those that others refer to. @module */
import { isObject } from '../../../protocol/json-object.ts'
import { readJws } from '../../../protocol/jws.ts'
import { STATUS_LIST_ENTRIES } from '../../../protocol/status.ts'
import {
  type ExpectedStatusList,
  readStatusList,
  STATUS_LIST_REASONS,
  type StatusList,
} from '../../../protocol/status-list.ts'
import { UnreachableError } from '../../http.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, ended, type Found, lack, leave, pass, refuse, timeWords } from '../report.ts'

const MS_PER_SECOND = 1000
const TITLE = 'Status list'
const STATUS = 'Revocation'

type Json = Readonly<Record<string, unknown>>

const read = async (jwt: string, list: number, service: OwnService, now: number) => {
  if (crypto.subtle === undefined)
    throw new UnreachableError('browsers check ES256 only on pages that came over https.')
  return readStatusList(jwt, {
    keys: { keys: (await service.keys()) as unknown as ExpectedStatusList['keys']['keys'] },
    issuer: await service.issuer(),
    list,
    now: Math.floor(now / MS_PER_SECOND),
  })
}

/** The list as the service publishes it now. @throws UnreachableError also for one that says nothing, which is no fault of what names it */
export const openStatusList = async (list: number, service: OwnService, now: number): Promise<StatusList> => {
  const opened = await read((await service.statusList(list)).trim(), list, service, now)
  if (!('reason' in opened)) return opened.statusList
  const clock = opened.reason === 'STATUS_STALE' ? ' Is the clock of this device right?' : ''
  throw new UnreachableError(
    `the status list that the service publishes can’t be relied on. ${STATUS_LIST_REASONS[opened.reason]}${clock}`,
  )
}

/** The place in a list of the service's own; what else an address says is not followed. */
const placeIn = (
  { status }: Json,
  issuer: string,
): { readonly list: number; readonly index: number } | undefined => {
  const reference = isObject(status) ? status.status_list : undefined
  const { idx, uri } = isObject(reference) ? reference : {}
  const prefix = `${issuer}/status/`
  if (typeof uri !== 'string' || !uri.startsWith(prefix)) return undefined
  const digits = uri.slice(prefix.length)
  const isPlace = Number.isSafeInteger(idx) && Number(idx) >= 0 && Number(idx) < STATUS_LIST_ENTRIES
  return /^\d{1,9}$/.test(digits) && isPlace ? { list: Number(digits), index: Number(idx) } : undefined
}

/** Whether what names its place in a list of the service was revoked. @param now Unix ms @param fault what a revoked one is called */
export const revocationCheck = (
  payload: Json,
  service: OwnService,
  now: number,
  fault = 'TOKEN_REVOKED',
): Promise<Check> =>
  attempt(STATUS, async () => {
    if (payload.status === undefined)
      return lack(
        STATUS,
        'It names no entry of a status list, as tokens of earlier versions don’t. Whether it was revoked, only the service knows: have the organisation validate it.',
      )
    const place = placeIn(payload, await service.issuer())
    if (place === undefined)
      return refuse(STATUS, 'STATUS_LIST_OTHER', 'The status list that it names is none of the service.')
    const list = await openStatusList(place.list, service, now)
    return list.isSet(place.index)
      ? ended(STATUS, 'REVOKED', fault, 'It was revoked, says the published status list.')
      : pass(STATUS, `Not revoked, says the list published at ${timeWords(list.issuedAt)}.`)
  })

/** Which of the issuer's lists it says that it is; 0 where it says nothing of the kind, which the reader then refuses. */
const listIn = (jwt: string, issuer: string): number => {
  const sub = readJws(jwt)?.payload.sub
  const prefix = `${issuer}/status/`
  const digits = typeof sub === 'string' && sub.startsWith(prefix) ? sub.slice(prefix.length) : ''
  return /^\d{1,9}$/.test(digits) ? Number(digits) : 0
}

const countOf = ({ isSet }: StatusList): number => {
  let count = 0
  for (let index = 0; index < STATUS_LIST_ENTRIES; index++) if (isSet(index)) count++
  return count
}

/** @param now Unix ms */
export const checkStatusList = async (jwt: string, service: OwnService, now: number): Promise<Found> => {
  let list: StatusList | undefined
  const check = await attempt(TITLE, async (): Promise<Check> => {
    const opened = await read(jwt, listIn(jwt, await service.issuer()), service, now)
    if ('reason' in opened) {
      const words = STATUS_LIST_REASONS[opened.reason]
      return opened.reason === 'STATUS_STALE'
        ? ended(TITLE, 'EXPIRED', opened.reason, words)
        : refuse(TITLE, opened.reason, words)
    }
    list = opened.statusList
    return pass(
      TITLE,
      'Type, ES256 signature under a published key, issuer, address and time are right, and it holds just 131,072 entries.',
    )
  })
  return {
    what: 'Status list',
    checks: [
      check,
      leave('Entry', 'A list is about nothing by itself: a token or proof says which entry is its own.'),
    ],
    facts: list && [
      ['List', list.uri],
      ['Published at', timeWords(list.issuedAt)],
      ['May be used until', timeWords(list.expiresAt)],
      ['Entries that are set', `${countOf(list)} of ${STATUS_LIST_ENTRIES}`],
    ],
    meaning: {
      word: 'Valid',
      text: 'The service published this list. A set entry is revoked, withdrawn or replaced.',
      isPlain: true,
    },
    notChecked: ['that there is no newer list: readers look for one every minute'],
  }
}
