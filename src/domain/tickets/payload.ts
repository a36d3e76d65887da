/**
 * What a ticket's QR code holds: a compact JWS (RFC 7515 §7.1) of at most 300 bytes, so that the code stays coarse. It is
 * checked with a key of the published set and nothing else, so it says whose it is and until when.
 * @module
 */
import { hash, verify } from 'node:crypto'
import { fail } from '../../errors.ts'
import { ownPublicKey } from '../../keys/own-keys.ts'
import type { CurrentSigner, Signers } from '../../keys/signers.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { readJws, writeJws } from '../../protocol/jws.ts'

/** Explicit typing (RFC 8725 §3.11): tells a ticket from every other thing that is signed here. */
export const TICKET_TYP = 'qt+jwt'
/** Version 13 of a QR code at level M, 69 modules a side, holds 331. */
export const MAX_PAYLOAD_BYTES = 300
/** Of the ids of ticket and organisation: 50 of their 80 random bits. */
const ID_TAIL_CHARACTERS = 10

/** What a ticket says. */
export interface TicketFacts {
  readonly ticketId: string
  readonly organisation: string
  readonly claims: Readonly<Record<string, unknown>> | undefined
  readonly singleUse: boolean
  /** Unix seconds. */
  readonly exp: number
}

const tail = (id: string): string => id.slice(-ID_TAIL_CHARACTERS)

const write = (
  { kid, sign }: CurrentSigner,
  { ticketId, organisation, claims, singleUse, exp }: TicketFacts,
): string =>
  writeJws(
    { alg: 'EdDSA', kid, typ: TICKET_TYP },
    { c: claims, exp, jti: tail(ticketId), m: singleUse ? undefined : 1, o: tail(organisation) },
    sign,
  )

const bytesOf = (claims: TicketFacts['claims']): number => Buffer.byteLength(canonicalJson(claims))

/** Bytes of canonical JSON that claims may take beside everything else; base64url turns three bytes into four. */
const roomForClaims = (signer: CurrentSigner, facts: TicketFacts): number => {
  const [header = '', payload = '', signature = ''] = write(signer, { ...facts, claims: {} }).split('.')
  const room = MAX_PAYLOAD_BYTES - header.length - signature.length - 2
  const taken = Buffer.from(payload, 'base64url').length - bytesOf({})
  return Math.floor((room * 3) / 4) - taken
}

/** The text of a ticket. @throws AppError validation_failed for claims that leave no room for the rest */
export const writePayload = (signer: CurrentSigner, facts: TicketFacts): string => {
  const text = write(signer, facts)
  if (text.length <= MAX_PAYLOAD_BYTES) return text
  const room = roomForClaims(signer, facts)
  const message = `claims have ${bytesOf(facts.claims)} bytes of canonical JSON; a ticket of ${MAX_PAYLOAD_BYTES} bytes has room for ${room}`
  return fail('validation_failed', { details: [{ path: '/claims', code: 'too_large', message }] })
}

/** SHA-256 of a ticket's text, 32 bytes: what is spent. */
export const ticketDigest = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Whether this text was signed here as a ticket. Fails closed; whether it still counts isn't asked. */
export const isSigned = async (signers: Pick<Signers, 'publicKey'>, text: string): Promise<boolean> => {
  if (text.length > MAX_PAYLOAD_BYTES) return false
  const read = readJws(text)
  if (read === undefined) return false
  const { alg, kid, typ } = read.header
  // Other members, such as `jku` or `crit`, would ask for something that is not done here.
  if (Object.keys(read.header).sort().join() !== 'alg,kid,typ') return false
  if (alg !== 'EdDSA' || typ !== TICKET_TYP || typeof kid !== 'string') return false
  const jwk = await signers.publicKey('tickets', 'Ed25519', kid)
  if (jwk === undefined) return false
  return verify(null, read.covered, ownPublicKey(jwk), read.signature)
}
