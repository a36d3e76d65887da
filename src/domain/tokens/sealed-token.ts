/**
 * A token inside: the JWT's claims, the fields that its circuit knows of it, and what is kept, sealed, of both.
 * @module
 */
import type { Issued, IssuerPoint, IssuerSignature, TokenFields } from '../../circuits/issuer-signature.ts'
import { type KeptRecipient, keepRecipient, readRecipient } from '../../circuits/kept-recipient.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { readJws } from '../../protocol/jws.ts'
import { h248 } from '../../rules/encode.ts'
import type { StatusReference } from '../status/service.ts'

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
  /** Tokens of earlier versions have none. */
  readonly status: StatusReference | undefined
  readonly claims: Readonly<Record<string, unknown>> | undefined
}

/** What the circuit token_validation takes of a token. */
export interface CircuitToken {
  readonly token: TokenFields
  /** Undefined: only the holder knows it. */
  readonly secret: bigint | undefined
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

const PURPOSE = 'token'
const place = (id: string) => ({ table: 'tokens', column: 'sealed', row: id })

/**
 * Texts as the first 31 bytes of their SHA-256; claims as those of their canonical JSON (RFC 8785); no audience as 0.
 */
export const tokenFields = (
  { jti, sub, aud, claims = {}, iat, exp }: TokenPayload,
  issued: Issued,
): TokenFields => ({
  tokenId: h248(jti),
  subject: h248(sub),
  audience: aud === undefined ? 0n : h248(aud),
  claims: h248(canonicalJson(claims)),
  issuedAt: BigInt(iat),
  expiresAt: BigInt(exp),
  ...issued,
})

/** A token as its issuer knows it. */
export interface OpenedToken {
  /** Compact JWS. */
  readonly jws: string
  readonly payload: TokenPayload
  /** A token that was signed for version 1 of the circuit has only the secret of its nullifier there. */
  readonly circuit: CircuitToken | { readonly formerSecret: bigint }
}

/** A token that the circuit knows. */
export type CurrentToken = OpenedToken & { readonly circuit: CircuitToken }

export const isCurrent = (opened: OpenedToken): opened is CurrentToken => 'token' in opened.circuit

/** As sealed: elements of the field as decimals. */
interface Kept {
  readonly jws: string
  readonly recipient: KeptRecipient
  readonly signature: { readonly r8x: string; readonly r8y: string; readonly s: string }
  readonly issuer: { readonly x: string; readonly y: string }
}

/** What version 1 sealed: it signed the secret itself. */
interface FormerlyKept extends Pick<Kept, 'jws'> {
  readonly secret: string
}

export const sealToken = (sealing: Sealing, { jws, payload, circuit }: CurrentToken): Uint8Array => {
  const { token, secret, signature, issuer } = circuit
  const kept: Kept = {
    jws,
    recipient: keepRecipient({ issued: token, secret }),
    signature: { r8x: String(signature.r8x), r8y: String(signature.r8y), s: String(signature.s) },
    issuer: { x: String(issuer.x), y: String(issuer.y) },
  }
  return sealing.seal(PURPOSE, place(payload.jti), Buffer.from(JSON.stringify(kept)))
}

const readCircuit = (kept: Kept | FormerlyKept, payload: TokenPayload): OpenedToken['circuit'] => {
  if (!('recipient' in kept)) return { formerSecret: BigInt(kept.secret) }
  const { recipient, signature, issuer } = kept
  const { issued, secret } = readRecipient(payload.org, recipient)
  return {
    token: tokenFields(payload, issued),
    secret,
    signature: { r8x: BigInt(signature.r8x), r8y: BigInt(signature.r8y), s: BigInt(signature.s) },
    issuer: { x: BigInt(issuer.x), y: BigInt(issuer.y) },
  }
}

const openKept = (sealing: Sealing, id: string, sealed: Uint8Array): Kept | FormerlyKept =>
  JSON.parse(Buffer.from(sealing.open(PURPOSE, place(id), sealed)).toString())

/**
 * The JWS alone. Nobody but this service could have sealed it, and it did so when it had signed it: a text that equals it has
 * our signature, and needn't be verified.
 * @throws as `openToken`
 */
export const openJws = (sealing: Sealing, id: string, sealed: Uint8Array): string =>
  openKept(sealing, id, sealed).jws

/** @throws SealingError when it was altered, moved, or sealed under another master key */
export const openToken = (sealing: Sealing, id: string, sealed: Uint8Array): OpenedToken => {
  const kept = openKept(sealing, id, sealed)
  const read = readJws(kept.jws)
  if (read === undefined) throw new Error('A sealed token is no JWS.')
  // The type is the writer's: what was sealed was signed here.
  const payload = read.payload as unknown as TokenPayload
  return { jws: kept.jws, payload, circuit: readCircuit(kept, payload) }
}
