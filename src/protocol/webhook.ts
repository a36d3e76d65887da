/** Signatures of webhook deliveries, made and verified with the core's HMAC; see `webhook-signature.ts`. @module */
import { createCore } from '../core/index.ts'
import { createWebhookSignatures, type WebhookSignatures } from './webhook-signature.ts'

export type {
  ReceivedWebhook,
  WebhookDelivery,
  WebhookHeaders,
  WebhookRefusal,
  WebhookVerdict,
} from './webhook-signature.ts'

const core = createCore()

const signatures = createWebhookSignatures((key, message) => core.hmac(core.hmacMidstate(key), message))

/** The headers of one attempt to deliver. */
export const signWebhook: WebhookSignatures['signWebhook'] = signatures.signWebhook
/** Whether a delivery is the service's own, fresh and unaltered; see {@link WebhookSignatures}. */
export const verifyWebhook: WebhookSignatures['verifyWebhook'] = signatures.verifyWebhook
