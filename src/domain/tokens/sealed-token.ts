/**
 * A token inside: the JWT's claims, the fields that its circuit knows of it, and what is kept, sealed, of both.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { IssuerPoint, IssuerSignature, TokenFields } from '../../circuits/issuer-signature.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { readJws } from '../../protocol/jws.ts'
import { h248 } from '../../rules/encode.ts'

/** Payload of the JWT (RFC 7519 §4). What callers claim stays below `claims`, so that it can't be taken for ours. */
export interface TokenPayload {
  /** BASE_URL. */
  readonly iss: string
  readonly org: string
  readonly jti: string
  readonly sub: string
  readonly aud: string | undefined
  /** Unix seconds, as `exp`. */
  readonly iat: number
  readonly exp: number
  readonly single_use: true | undefined
  readonly claims: Readonly<Record<string, unknown>> | undefined
}

/** What the circuit token_validation takes of a token. */
export interface CircuitToken {
  readonly token: TokenFields
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

const SECRET_BYTES = 31
const PURPOSE = 'token'
const place = (id: string) => ({ table: 'tokens', column: 'sealed', row: id })

/** A fresh secret, which makes the token's nullifier one that nobody can guess: below 2^248. */
export const newSecret = (): bigint => BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`)

/**
 * Texts as the first 31 bytes of their SHA-256; claims as those of their canonical JSON (RFC 8785); no audience as 0.
 */
export const tokenFields = (
  { jti, sub, aud, claims = {}, iat, exp }: TokenPayload,
  secret: bigint,
): TokenFields => ({
  tokenId: h248(jti),
  subject: h248(sub),
  audience: aud === undefined ? 0n : h248(aud),
  claims: h248(canonicalJson(claims)),
  issuedAt: BigInt(iat),
  expiresAt: BigInt(exp),
  secret,
})

/** A token as its issuer knows it. */
export interface OpenedToken extends CircuitToken {
  /** Compact JWS. */
  readonly jws: string
  readonly payload: TokenPayload
}

/** As sealed: elements of the field as decimals. */
interface Kept {
  readonly jws: string
  readonly secret: string
  readonly signature: { readonly r8x: string; readonly r8y: string; readonly s: string }
  readonly issuer: { readonly x: string; readonly y: string }
}

export const sealToken = (
  sealing: Sealing,
  { jws, payload, token, signature, issuer }: OpenedToken,
): Uint8Array => {
  const kept: Kept = {
    jws,
    secret: String(token.secret),
    signature: { r8x: String(signature.r8x), r8y: String(signature.r8y), s: String(signature.s) },
    issuer: { x: String(issuer.x), y: String(issuer.y) },
  }
  return sealing.seal(PURPOSE, place(payload.jti), Buffer.from(JSON.stringify(kept)))
}

/** @throws SealingError when it was altered, moved, or sealed under another master key */
export const openToken = (sealing: Sealing, id: string, sealed: Uint8Array): OpenedToken => {
  const opened = Buffer.from(sealing.open(PURPOSE, place(id), sealed)).toString()
  const { jws, secret, signature, issuer } = JSON.parse(opened) as Kept
  const read = readJws(jws)
  if (read === undefined) throw new Error('A sealed token is no JWS.')
  // The type is the writer's: what was sealed was signed here.
  const payload = read.payload as unknown as TokenPayload
  return {
    jws,
    payload,
    token: tokenFields(payload, BigInt(secret)),
    signature: { r8x: BigInt(signature.r8x), r8y: BigInt(signature.r8y), s: BigInt(signature.s) },
    issuer: { x: BigInt(issuer.x), y: BigInt(issuer.y) },
  }
}
