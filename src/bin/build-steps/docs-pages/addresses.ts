/** Where things are shown: one place for each, which links and the search lead to. @module */

/** A tag, a guide or an event as part of an address: `Status lists` → `status-lists`. */
export const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

export const addressOfPage = (name: string): string => `/docs/${name}`

/** Tags share names with guides. */
export const pageOfTag = (tag: string): string => `api-${slug(tag)}`

export const ERRORS_PAGE = 'errors'
export const EVENTS_PAGE = 'webhook-events'

export const addressOfError = (code: string): string => `${addressOfPage(ERRORS_PAGE)}#${code}`

export const addressOfOperation = ({
  operationId,
  tags,
}: {
  operationId: string
  tags: readonly [string]
}): string => `${addressOfPage(pageOfTag(tags[0]))}#${operationId}`
