/** What checking a signature needs, whoever does it. @module */

export const PUBLIC_KEY_BYTES = 32

/** Bytes as WebCrypto takes them. */
export type Bytes = Uint8Array<ArrayBuffer>

export interface PageCrypto {
  /** Whose work it is, for people. */
  readonly name: string
  sha256(data: Bytes): Promise<Uint8Array>
  /** Ed25519 (RFC 8032 §5.1.7). A key or signature that is none is not valid. */
  verifyEd25519(publicKey: Bytes, message: Bytes, signature: Bytes): Promise<boolean>
}
