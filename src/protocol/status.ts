/**
 * Statuses of what is issued: one bit each, in lists that anybody may read (draft-ietf-oauth-status-list-20). A status is one
 * number, which names list and index; credentials for circuits carry it, JWTs carry index and address of the list.
 * @module
 */

/** Entries of a list, one bit each. */
export const STATUS_LIST_ENTRIES = 2 ** 17
/** Lists lie this far apart in the numbers of statuses. */
const LIST_STRIDE = 2 ** 20

export interface StatusPlace {
  /** From 0. */
  readonly list: number
  /** 0 to 131,071. */
  readonly index: number
}

/** The number of the status at a place: list · 2^20 + index + 1, so that none is 0. */
export const statusNumber = ({ list, index }: StatusPlace): number => list * LIST_STRIDE + index + 1

/** Where a status stands. @returns undefined for what is no number of a status: whoever signs a credential may put any into it */
export const findStatusPlace = (status: number): StatusPlace | undefined => {
  const list = Math.floor((status - 1) / LIST_STRIDE)
  const index = (status - 1) % LIST_STRIDE
  const isNumber = Number.isSafeInteger(status) && list >= 0 && index >= 0 && index < STATUS_LIST_ENTRIES
  return isNumber ? { list, index } : undefined
}

/** Where a status stands. @throws RangeError for what is no number of a status */
export const statusPlace = (status: number): StatusPlace => {
  const place = findStatusPlace(status)
  if (place === undefined) throw new RangeError(`${status} is no number of a status`)
  return place
}

/** Where a list is published. @param issuer BASE_URL of the service that issued what the list is about */
export const statusListUri = (issuer: string, list: number): string => `${issuer}/status/${list}`
