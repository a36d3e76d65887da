/** A new token: signed as a JWT for everybody, and for its circuit. @module */

import type { Caller } from '../../caller.ts'
import { tokenMessage } from '../../circuits/issuer-signature.ts'
import { tokenNullifier } from '../../circuits/mappers/token_validation.ts'
import { iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Tx } from '../../ledger/decision.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { writeJws } from '../../protocol/jws.ts'
import { checkForm, demandSigner, formUrls } from './forms.ts'
import { jwsHash, TOKEN_TYP } from './presented.ts'
import { DEFAULT_TTL_SECONDS, MAX_CLAIMS_BYTES, type NewToken, type TokenIssued } from './schemas.ts'
import { newSecret, sealToken, type TokenPayload, tokenFields } from './sealed-token.ts'
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
  issuer: string,
  { organisation }: Caller,
  input: NewToken,
  id: string,
  iat: number,
): TokenPayload => ({
  iss: issuer,
  org: organisation,
  jti: id,
  sub: input.subject,
  aud: input.audience,
  iat,
  exp: iat + (input.ttl ?? DEFAULT_TTL_SECONDS),
  single_use: input.singleUse ? true : undefined,
  claims: input.claims,
})

/**
 * A token's JWT, which nobody is given yet.
 * @param at JSON pointer of what describes the token in the request
 * @throws AppError validation_failed for claims that are too large, or for the token's type; pass_signing_not_configured
 */
export const writeToken = async (
  { signers, clock, baseUrl, passes }: TokensDeps,
  caller: Caller,
  input: NewToken,
  at = '',
): Promise<{ readonly payload: TokenPayload; readonly jws: string }> => {
  checkClaims(input.claims)
  const { type = 'jwt' } = input
  const now = clock.now()
  demandSigner(type, passes, now)
  const id = newId('tok', now)
  const payload = payloadOf(baseUrl, caller, input, id, Math.floor(now / MS_PER_SECOND))
  const { kid, sign } = await signers.current('tokens', 'Ed25519')
  const jws = writeJws({ alg: 'EdDSA', kid, typ: TOKEN_TYP }, { ...payload }, sign)
  checkForm(type, at, baseUrl, id, jws)
  return { payload, jws }
}

/** @returns what issues the token @throws as `writeToken` */
export const issueToken = async (
  deps: TokensDeps,
  caller: Caller,
  input: NewToken,
): Promise<(tx: Tx) => TokenIssued> => {
  const { issuer, sealing, baseUrl, passes, nullifiers } = deps
  const { organisation } = caller
  const { type = 'jwt', singleUse = false } = input
  const { payload, jws } = await writeToken(deps, caller, input)
  const id = payload.jti
  const token = tokenFields(payload, newSecret())
  const circuitSigner = await issuer.current()
  const sealed = sealToken(sealing, {
    jws,
    payload,
    token,
    signature: circuitSigner.sign(tokenMessage(token)),
    issuer: circuitSigner.point,
  })
  const hash = jwsHash(jws)
  const [issuedAt, expiresAt] = [payload.iat * MS_PER_SECOND, payload.exp * MS_PER_SECOND]
  const nullifier = tokenNullifier(token)
  return (tx) => {
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
      }),
    )
    tx.write(nullifiers.issuedNullifierRow({ circuitId: CIRCUIT, nullifier, organisation, expiresAt }))
    return {
      tokenId: id,
      type,
      token: jws,
      issuedAt: iso(issuedAt),
      expiresAt: iso(expiresAt),
      ...formUrls(baseUrl, id, passes),
    }
  }
}
