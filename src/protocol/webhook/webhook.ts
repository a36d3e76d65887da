/** Signatures of webhook deliveries, made and verified with the core's HMAC, see `signature.ts`; and what a receiver missed. @module */
import { createCore } from '../../core/index.ts'
import { createWebhookSignatures, type WebhookSignatures } from './signature.ts'

export { type CatchUpOptions, catchUp, type MissedEvent } from './catch-up.ts'
export type {
  ReceivedWebhook,
  WebhookDelivery,
  WebhookHeaders,
  WebhookRefusal,
  WebhookVerdict,
} from './signature.ts'

const core = createCore()

const signatures = createWebhookSignatures((key, message) => core.hmac(core.hmacMidstate(key), message))

/** The headers of one attempt to deliver. */
export const signWebhook: WebhookSignatures['signWebhook'] = signatures.signWebhook
/** Whether a delivery is the service's own, fresh and unaltered; see {@link WebhookSignatures}. */
export const verifyWebhook: WebhookSignatures['verifyWebhook'] = signatures.verifyWebhook
