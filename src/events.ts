/** Every webhook event, and which entries of the ledger announce it. @module */
import type { EntryType } from './ledger/item.ts'

/** What an endpoint may subscribe to. */
export const WEBHOOK_EVENTS = [
  'proof.created',
  'proof.verified',
  'proof.spent',
  'merkle.leaf_appended',
  'key.revoked',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Entry type → the event that it announces beside `merkle.leaf_appended`, which every entry announces. */
const OWN_EVENTS: Readonly<Partial<Record<EntryType, WebhookEvent>>> = {
  prove: 'proof.created',
  verify: 'proof.verified',
  spend: 'proof.spent',
  'key.revoked': 'key.revoked',
}

/** The events that an entry announces. */
export const eventsOf = (type: EntryType): readonly WebhookEvent[] => {
  const own = OWN_EVENTS[type]
  return own === undefined ? ['merkle.leaf_appended'] : [own, 'merkle.leaf_appended']
}

export const isWebhookEvent = (name: string): name is WebhookEvent =>
  WEBHOOK_EVENTS.some((event) => event === name)
