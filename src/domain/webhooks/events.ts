/** Every webhook event, and which entries of the ledger announce it. @module */
import type { EntryType } from '../../ledger/decision.ts'

/** What an endpoint may subscribe to. */
export const WEBHOOK_EVENTS = [
  'proof.created',
  'proof.verified',
  'proof.spent',
  'merkle.leaf_appended',
  'key.revoked',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** What an endpoint gets when it is tested, whatever it subscribes to; no entry announces it. */
export const TEST_EVENT = 'webhook.test'

/** Entry type → the event that it announces beside `merkle.leaf_appended`, which every entry announces. */
const OWN_EVENTS: Readonly<Partial<Record<EntryType, WebhookEvent>>> = {
  prove: 'proof.created',
  verify: 'proof.verified',
  spend: 'proof.spent',
  'key.revoked': 'key.revoked',
}

/** What the data of a `verify` entry names as `event` where the proof was made and recorded with it. */
export const PROOF_CREATED = 'proof.created'

/** The events that an entry announces. @param event of its data */
export const eventsOf = (type: EntryType, event: unknown): readonly WebhookEvent[] => {
  const own = OWN_EVENTS[type]
  const made = type === 'verify' && event === PROOF_CREATED ? ([PROOF_CREATED] as const) : []
  return [...made, ...(own === undefined ? [] : [own]), 'merkle.leaf_appended']
}
