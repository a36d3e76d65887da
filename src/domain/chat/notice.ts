/** What goes with the answer to a post: the warning, and which members of it meant nothing. @module */
import { isObject } from '../../protocol/json-object.ts'
import { MessageFields, UNTRUSTED_NOTICE } from './schemas.ts'

/** At most so many are named, and so much of each name: whoever sent them chose them. */
const MAX_NAMED = 10
const NAME_MAX_CHARACTERS = 64

const FIELDS: ReadonlySet<string> = new Set(Object.keys(MessageFields.properties))

/** Names of members that nobody read: those that no message has, and whatever stands beside an envelope. */
const ignoredIn = (input: unknown): string[] => {
  if (!isObject(input)) return []
  const { envelope, ...fields } = input
  const isUnknown = (name: string): boolean => !FIELDS.has(name)
  if (!isObject(envelope)) return Object.keys(fields).filter(isUnknown)
  const { params } = envelope
  const inside = isObject(params) ? Object.keys(params).filter(isUnknown) : []
  return [...Object.keys(fields), ...inside.map((name) => `envelope.params.${name}`)]
}

/** @param input a post that was accepted, as it came */
export const noticeOf = (input: unknown): string => {
  const ignored = ignoredIn(input)
  if (ignored.length === 0) return UNTRUSTED_NOTICE
  const named = ignored
    .slice(0, MAX_NAMED)
    .map((name) => JSON.stringify(name.slice(0, NAME_MAX_CHARACTERS)))
    .join(', ')
  const more = ignored.length - MAX_NAMED
  return `${UNTRUSTED_NOTICE} Ignored in your post: ${named}${more > 0 ? ` and ${more} more` : ''}.`
}
