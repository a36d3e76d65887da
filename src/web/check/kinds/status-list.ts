/** Status lists: one that somebody gives, and those that others refer to. @module */
import { readJws } from '../../../protocol/jws.ts'
import { STATUS_LIST_ENTRIES } from '../../../protocol/status.ts'
import {
  type ExpectedStatusList,
  readStatusList,
  STATUS_LIST_REASONS,
  type StatusList,
  type StatusListReason,
} from '../../../protocol/status-list.ts'
import { UnreachableError } from '../../http.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, ended, type Found, leave, pass, refuse, timeWords } from '../report.ts'

const MS_PER_SECOND = 1000
const TITLE = 'Status list'

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

/** The list as the service publishes it now. @returns why it says nothing @throws UnreachableError */
export const openStatusList = async (
  list: number,
  service: OwnService,
  now: number,
): Promise<StatusList | StatusListReason> => {
  const opened = await read((await service.statusList(list)).trim(), list, service, now)
  return 'reason' in opened ? opened.reason : opened.statusList
}

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
