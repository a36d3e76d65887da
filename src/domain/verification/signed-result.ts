/**
 * How results are signed: a compact JWS for whoever relies on them, and a bare signature over the few fields that
 * every result has. Both by the `results` key, Ed25519.
 * @module
 */
import { hash } from 'node:crypto'
import type { CurrentSigner, Signers } from '../../keys/signers.ts'
import type { Json } from '../../ledger/decision.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { writeJws } from '../../protocol/jws.ts'

/** `typ` of each kind of signed result. Every verifier demands the one that it expects (RFC 8725 §3.11). */
export const RESULT_TYPES = { verification: 'vr+jws', hermes: 'hv+jws', policy: 'pd+jws' } as const
export type ResultType = (typeof RESULT_TYPES)[keyof typeof RESULT_TYPES]

/** First line of what a bare signature covers, so that it can be taken for nothing else. */
export type SignatureLabel = 'verification/1' | 'hermes/1'

/** Values that are left out when undefined. */
export type SignedFields = Readonly<Record<string, Json | undefined>>

/** Signs without waiting, so that a result can be signed inside the ledger's commit. Get one per request. */
export interface ResultSigner {
  /** RFC 7638 thumbprint of the key, as in `/.well-known/jwks.json`. */
  readonly kid: string
  /** Compact JWS (RFC 7515 §7.1) with the header `{alg: "EdDSA", kid, typ}` (RFC 8037). The payload is JCS. */
  jws(typ: ResultType, payload: SignedFields): string
  /** base64url Ed25519 (RFC 8032) over `label ‖ "\n" ‖ JCS(fields)`. */
  signature(label: SignatureLabel, fields: SignedFields): string
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

const signerOf = ({ kid, sign }: CurrentSigner): ResultSigner => ({
  kid,
  jws: (typ, payload) => writeJws({ alg: 'EdDSA', kid, typ }, payload, sign),
  signature: (label, fields) => base64url(sign(Buffer.from(`${label}\n${canonicalJson(fields)}`))),
})

/** The signer of results at this moment. */
export const resultSigner = async (signers: Pick<Signers, 'current'>): Promise<ResultSigner> =>
  signerOf(await signers.current('results', 'Ed25519'))

/** SHA-256 of a compact JWS, 32 bytes: what names a result in public without giving it away. */
export const jwsHash = (jws: string): Buffer => hash('sha256', jws, 'buffer')
