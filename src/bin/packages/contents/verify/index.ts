/**
 * `assay-verify`: everything that a receiver checks, offline, with what the service published beforehand. Proofs are checked by
 * `assay-verify/proof`.
 * @module
 */
export type { StatusList, StatusListRead, StatusListReason } from '../../../../protocol/status-list.ts'
export {
  type ReceivedWebhook,
  verifyWebhook,
  type WebhookDelivery,
  type WebhookHeaders,
  type WebhookRefusal,
  type WebhookVerdict,
} from '../../../../protocol/webhook.ts'
export {
  type CheckpointRefusal,
  type CheckpointVerdict,
  type Cosigned,
  type ExpectedCheckpoint,
  type Inclusion,
  leafHash,
  readCheckpoint,
  type Tree,
  verifyConsistency,
  verifyInclusion,
} from './log.ts'
export {
  type ExpectedJws,
  type ExpectedStatusList,
  JWS_TYPES,
  type JwsRefusal,
  type JwsVerdict,
  type PublishedKey,
  readStatusList,
  verifyJws,
  verifyReceipt,
  verifyResult,
  verifyTicket,
  verifyToken,
} from './signed.ts'
