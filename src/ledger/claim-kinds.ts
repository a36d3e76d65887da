/** What can be claimed: every kind of key in the ledger, under the name that its domain uses. @module */

/** The texts stand in the database beside each claim, so that they stay as they were first written. */
export const CLAIM_KINDS = {
  agentAuthorisationNonce: 'agent.authorisation-nonce',
  agentFreeProofs: 'agent-free-proofs',
  agentNonce: 'agent.nonce',
  agentState: 'agent-state',
  amlDecided: 'aml.decided',
  amlFinding: 'aml.finding',
  amlFindingVoid: 'aml.finding-void',
  challengeAnswered: 'challenge.answered',
  consentWithdrawn: 'consent.withdrawn',
  deviceRevoked: 'device-revoked',
  holderBound: 'holder.bound',
  hybridTokenIssued: 'hybrid_token.issued',
  hybridTokenRevoked: 'hybrid_token.revoked',
  kycCredentialNonce: 'kyc.credential-nonce',
  kycErased: 'kyc.erased',
  kycOpened: 'kyc.opened',
  kycReviewed: 'kyc.reviewed',
  kycSucceeded: 'kyc.succeeded',
  paymentDecided: 'payment-acceptance',
  paymentNullifier: 'nullifier',
  paymentTransaction: 'transaction',
  policyVersion: 'policy.version',
  poseidonRoot: 'poseidon_root',
  proofAdopted: 'proof.adopted',
  proofDigestRevoked: 'proof.revoked.digest',
  proofDigestSpent: 'proof.spent.digest',
  proofNullifierRevoked: 'proof.revoked.nullifier',
  proofNullifierSpent: 'proof.spent.nullifier',
  proofSynced: 'proof.synced',
  registeredKey: 'registered-key',
  routeDeleted: 'route.deleted',
  statusRevoked: 'status.revoked',
  ticketRevoked: 'ticket.revoked',
  ticketSpent: 'ticket.spent',
  tokenRevoked: 'token.revoked',
  tokenUsed: 'token.used',
  verificationRevoked: 'verification.revoked',
} as const

/** What is proved has one record for each circuit. */
export const proofRecordedKind = (circuitId: string) => `proof.recorded.${circuitId}` as const

export type ClaimKind = (typeof CLAIM_KINDS)[keyof typeof CLAIM_KINDS] | ReturnType<typeof proofRecordedKind>

/** A key that one may hold in an organisation: what `holder` and `claim` of a decision take. */
export type Claim = readonly [kind: ClaimKind, key: string]
