/** What a wallet shows of a token. @module */

/** Neither subject nor claims: whoever sees the phone sees it, and wallets keep copies of it on servers of theirs. */
export interface PassFace {
  readonly tokenId: string
  /** Compact JWS: what the QR code holds. */
  readonly token: string
  readonly title: string
  /** Unix ms. */
  readonly issuedAt: number
  readonly expiresAt: number
  readonly singleUse: boolean
}
