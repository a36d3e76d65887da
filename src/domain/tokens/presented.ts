/**
 * A token as somebody presents it. Nothing that it says of itself is believed before it is seen to be, byte for byte, what
 * one of our own keys for tokens signed when it was issued (RFC 8725).
 * @module
 */
import { hash, verify } from 'node:crypto'
import { ownPublicKey } from '../../keys/own-keys.ts'
import type { Signers } from '../../keys/signers.ts'
import { readJws } from '../../protocol/jws.ts'
import type { TokenReason } from './schemas.ts'
import type { TokenPayload } from './sealed-token.ts'

/** Explicit typing (RFC 8725 §3.11): tells a token from every other thing that is signed here. */
export const TOKEN_TYP = 'vt+jwt'

const TOKEN_ID = /^tok_[0-9a-z]{26}$/
export const isTokenId = (value: unknown): value is string =>
  typeof value === 'string' && TOKEN_ID.test(value)

/** SHA-256 of a compact JWS, 32 bytes. */
export const jwsHash = (jws: string): Buffer => hash('sha256', jws, 'buffer')

/** What a presented text says: that it is no token, or which one it claims to be. Nothing of it is to be believed yet. */
export type Presented =
  | { readonly refused: TokenReason }
  | {
      readonly payload: TokenPayload
      readonly jwsHash: Buffer
      /** Whether the key that it names signed it. */
      isSigned(): boolean
    }

const refuse = (refused: TokenReason): Presented => ({ refused })

const HEADER_MEMBERS: ReadonlySet<string> = new Set(['alg', 'kid', 'typ'])

/** Other members, such as `jku`, `jwk`, `x5u` or `crit`, would ask for something that is not done here. */
const isHeader = (
  header: Readonly<Record<string, unknown>>,
): header is { alg: 'EdDSA'; kid: string; typ: string } =>
  header.alg === 'EdDSA' &&
  header.typ === TOKEN_TYP &&
  typeof header.kid === 'string' &&
  Object.keys(header).every((name) => HEADER_MEMBERS.has(name))

/** Reads a compact JWS that names one of our keys for tokens. Fails closed, with a reason. */
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
  return {
    // What was signed under this typ has the shape that was signed.
    payload: payload as unknown as TokenPayload,
    jwsHash: jwsHash(text),
    isSigned: () => verify(null, covered, ownPublicKey(jwk), signature),
  }
}
