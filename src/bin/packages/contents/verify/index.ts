/**
 * `assay-verify`: everything that a receiver checks, offline, with what the service published beforehand. Proofs are checked by
 * `assay-verify/proof`, post-quantum signatures by `assay-verify/pq`.
 * @module
 */
import { checkpointReader } from './checkpoint.ts'

export type { Cosigned } from '../../../../protocol/checkpoint/witness-policy.ts'
export type { StatusList, StatusListRead, StatusListReason } from '../../../../protocol/status-list.ts'
export {
  type ReceivedWebhook,
  verifyWebhook,
  type WebhookDelivery,
  type WebhookHeaders,
  type WebhookRefusal,
  type WebhookVerdict,
} from '../../../../protocol/webhook/webhook.ts'
export type { CheckpointRefusal, CheckpointVerdict, ExpectedCheckpoint } from './checkpoint.ts'
export type { PublishedKey } from './keys.ts'
export {
  type Head,
  type Inclusion,
  leafHash,
  type Tree,
  verifyConsistency,
  verifyHead,
  verifyInclusion,
} from './log.ts'
export {
  type ExpectedJws,
  type ExpectedStatusList,
  JWS_TYPES,
  type JwsRefusal,
  type JwsVerdict,
  readStatusList,
  verifyAuthorisation,
  verifyJws,
  verifyReceipt,
  verifyResult,
  verifyTicket,
  verifyToken,
} from './signed.ts'

/**
 * Reads a checkpoint, and checks who signed it, by Ed25519. Keep it: with the next one and `verifyConsistency` it shows that nothing was
 * rewritten.
 * @throws TypeError for keys that are none and policies that can't be read, RangeError for a quorum that can't be met
 */
export const readCheckpoint = checkpointReader()
