/** A new token: signed as a JWT for everybody, and for its circuit. @module */

import type { Caller } from '../../caller.ts'
import { writeCredential } from '../../circuits/credential.ts'
import { tokenMessage } from '../../circuits/issuer-signature.ts'
import type { IssuedTo } from '../../circuits/kept-recipient.ts'
import { iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { CurrentIssuer } from '../../keys/issuer.ts'
import type { Tx } from '../../ledger/decision.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { writeJws } from '../../protocol/jws.ts'
import { checkForm, demandSigner, formUrls } from './forms.ts'
import { jwsHash, TOKEN_TYP } from './presented.ts'
import { DEFAULT_TTL_SECONDS, MAX_CLAIMS_BYTES, type NewToken, type TokenIssued } from './schemas.ts'
import { type CircuitToken, sealToken, type TokenPayload, tokenFields } from './sealed-token.ts'
import type { TokensDeps } from './service.ts'
import { tokens } from './store.ts'

/** Whose proofs tokens can have. */
export const CIRCUIT = 'token_validation'
const MS_PER_SECOND = 1000

/** @throws AppError validation_failed */
const checkClaims = (claims: NewToken['claims']): void => {
  if (claims === undefined || Buffer.byteLength(canonicalJson(claims)) <= MAX_CLAIMS_BYTES) return
  const message = `claims must have at most ${MAX_CLAIMS_BYTES} bytes of canonical JSON`
  throw new AppError('validation_failed', { details: [{ path: '/claims', code: 'too_large', message }] })
}

const payloadOf = (
  baseUrl: string,
  { organisation }: Caller,
  input: NewToken,
  { id, iat, status }: { readonly id: string; readonly iat: number; readonly status: TokenPayload['status'] },
): TokenPayload => ({
  iss: baseUrl,
  org: organisation,
  jti: id,
  sub: input.subject,
  aud: input.audience,
  iat,
  exp: iat + (input.ttl ?? DEFAULT_TTL_SECONDS),
  single_use: input.singleUse ? true : undefined,
  status,
  claims: input.claims,
})

/**
 * A token's JWT, which nobody is given yet.
 * @param at JSON pointer of what describes the token in the request
 * @throws AppError validation_failed for claims that are too large, or for the token's type; pass_signing_not_configured
 */
export const writeToken = async (
  { signers, statuses, clock, baseUrl, passes }: TokensDeps,
  caller: Caller,
  input: NewToken,
  at = '',
): Promise<{ readonly payload: TokenPayload; readonly jws: string }> => {
  checkClaims(input.claims)
  const { type = 'jwt' } = input
  const now = clock.now()
  demandSigner(type, passes, now)
  const id = newId('tok', now)
  const status = statuses.referenceTo(await statuses.reserve())
  const payload = payloadOf(baseUrl, caller, input, { id, iat: Math.floor(now / MS_PER_SECOND), status })
  const { kid, sign } = await signers.current('tokens', 'Ed25519')
  const jws = writeJws({ alg: 'EdDSA', kid, typ: TOKEN_TYP }, { ...payload }, sign)
  checkForm(type, at, baseUrl, id, jws)
  return { payload, jws }
}

/** Keeps the pseudonyms of subjects apart from those of other records; tickets have the same. */
export const TOKEN_SUBJECT = 'token-subject'

/** What the circuit takes of a token, signed. */
export const signForCircuit = (
  signer: CurrentIssuer,
  payload: TokenPayload,
  { issued, secret }: IssuedTo,
): CircuitToken => {
  const token = tokenFields(payload, issued)
  return {
    token,
    secret,
    signature: signer.sign(tokenMessage(token)),
    issuer: signer.point,
  }
}

/** What the issuing of a token answers as `credential`. */
export const tokenCredential = (organisation: string, { token, secret, ...signed }: CircuitToken) =>
  writeCredential(CIRCUIT, organisation, token, signed, secret)

/** The row by which proofs of a token lead to its organisation. */
export const issuedRow = (
  nullifiers: Pick<TokensDeps['nullifiers'], 'issuedNullifierRow'>,
  { token }: CircuitToken,
  organisation: string,
  expiresAt: number,
) => nullifiers.issuedNullifierRow({ circuitId: CIRCUIT, nullifier: token.status, organisation, expiresAt })

/** @returns what issues the token @throws as `writeToken`; validation_failed for a holder that is none */
export const issueToken = async (
  deps: TokensDeps,
  caller: Caller,
  input: NewToken,
): Promise<(tx: Tx) => TokenIssued> => {
  const { issuer, holders, sealing, baseUrl, passes, nullifiers, subjects } = deps
  const { organisation } = caller
  const { type = 'jwt', singleUse = false } = input
  const recipient = await holders.recipient(organisation, input.subject, input.holder)
  const { payload, jws } = await writeToken(deps, caller, input)
  const id = payload.jti
  const circuit = signForCircuit(await issuer.current(), payload, recipient)
  const sealed = sealToken(sealing, { jws, payload, circuit })
  const hash = jwsHash(jws)
  const subject = await subjects.of(organisation, TOKEN_SUBJECT, payload.sub)
  const [issuedAt, expiresAt] = [payload.iat * MS_PER_SECOND, payload.exp * MS_PER_SECOND]
  const credential = tokenCredential(organisation, circuit)
  return (tx) => {
    recipient.bind(tx)
    const { index } = tx.append({
      type: 'attest',
      subject: ['token-subject', payload.sub],
      digest: hash.toString('hex'),
      data: { event: 'token.issued', token_type: type, single_use: singleUse },
    })
    tx.write(
      tokens.row({
        id,
        organisation,
        entry_index: index,
        type,
        single_use: singleUse,
        jws_hash: hash,
        sealed,
        issued_at: issuedAt,
        expires_at: expiresAt,
        subject,
      }),
    )
    tx.write(issuedRow(nullifiers, circuit, organisation, expiresAt))
    return {
      tokenId: id,
      type,
      token: jws,
      issuedAt: iso(issuedAt),
      expiresAt: iso(expiresAt),
      credential,
      ...formUrls(baseUrl, id, passes),
    }
  }
}
