/** Verifies deliveries of webhooks, without the core's WebAssembly. @module */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { createWebhookSignatures, type WebhookSignatures } from '../../../../protocol/webhook/signature.ts'

export type { WebhookDelivery, WebhookVerdict } from '../../../../protocol/webhook/signature.ts'

const signatures = createWebhookSignatures((key, message) =>
  hmac(sha256, typeof key === 'string' ? new TextEncoder().encode(key) : key, message),
)

/** Whether a delivery is the service's own, fresh and unaltered. */
export const verifyWebhook: WebhookSignatures['verifyWebhook'] = signatures.verifyWebhook
