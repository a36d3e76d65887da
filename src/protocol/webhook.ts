/** Signatures of webhook deliveries, made and verified with the core's HMAC; see `webhook-signature.ts`. @module */
import { createCore } from '../core/index.ts'
import { createWebhookSignatures } from './webhook-signature.ts'

export type {
  ReceivedWebhook,
  WebhookDelivery,
  WebhookHeaders,
  WebhookRefusal,
  WebhookVerdict,
} from './webhook-signature.ts'

const core = createCore()

export const { signWebhook, verifyWebhook } = createWebhookSignatures((key, message) =>
  core.hmac(core.hmacMidstate(key), message),
)
