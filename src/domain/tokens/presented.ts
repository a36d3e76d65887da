/**
 * A token as somebody presents it. Nothing that it says of itself is believed before one of our own keys for tokens is
 * seen to have signed it, and it is then compared with what was issued (RFC 8725).
 * @module
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import type { Signers } from '../../keys/signers.ts'
import { readJws } from '../../protocol/jws.ts'
import type { TokenReason } from './schemas.ts'

/** Explicit typing (RFC 8725 §3.11): tells a token from every other thing that is signed here. */
export const TOKEN_TYP = 'vt+jwt'

const TOKEN_ID = /^tok_[0-9a-z]{26}$/
export const isTokenId = (value: unknown): value is string =>
  typeof value === 'string' && TOKEN_ID.test(value)

/** SHA-256 of a compact JWS, 32 bytes. */
export const jwsHash = (jws: string): Buffer => hash('sha256', jws, 'buffer')

/** What is known of a presented text: why it is no token of ours, or the id of the one that it claims to be. */
export type Presented = { readonly refused: TokenReason } | { readonly id: string; readonly jwsHash: Buffer }

const refuse = (refused: TokenReason): Presented => ({ refused })

/** Other members, such as `jku`, `jwk`, `x5u` or `crit`, would ask for something that is not done here. */
const isHeader = (
  header: Readonly<Record<string, unknown>>,
): header is { alg: 'EdDSA'; kid: string; typ: string } =>
  Object.keys(header).sort().join() === 'alg,kid,typ' &&
  header.alg === 'EdDSA' &&
  header.typ === TOKEN_TYP &&
  typeof header.kid === 'string'

/** Reads a compact JWS and checks its signature. Fails closed, with a reason; whether it still counts isn't asked. */
export const readPresented = async (
  signers: Pick<Signers, 'publicKey'>,
  text: string,
): Promise<Presented> => {
  const read = readJws(text)
  if (read === undefined) return refuse('TOKEN_MALFORMED')
  const { header, payload, covered, signature } = read
  if (!isHeader(header)) return refuse('HEADER_REFUSED')
  const jwk = await signers.publicKey('tokens', 'Ed25519', header.kid)
  if (jwk === undefined) return refuse('KEY_UNKNOWN')
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  if (!verify(null, covered, key, signature)) return refuse('SIGNATURE_INVALID')
  if (!isTokenId(payload.jti)) return refuse('TOKEN_UNKNOWN')
  return { id: payload.jti, jwsHash: jwsHash(text) }
}
