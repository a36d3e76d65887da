/** Signed tokens: issued, validated, used up, revoked. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import type { PassSigners } from '../../config/passes.ts'
import { AppError, fail } from '../../errors.ts'
import type { QrFormat } from '../../http/qr-code.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { Issuer } from '../../keys/issuer.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import { type Decide, type IsOvertaken, isTaken, type Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { TagType } from '../../protocol/ndef.ts'
import { type Facts, unexpected } from '../../rules/expectation.ts'
import { createBatchedLoad } from '../../store/batched-load.ts'
import type { Database } from '../../store/database.ts'
import type { HoldersService, Provable } from '../holders/service.ts'
import type { HybridTokensService } from '../hybrid-tokens/service.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import type { StatusesService } from '../status/service.ts'
import { formUrls, tokenNfc, tokenPass, tokenQr } from './forms.ts'
import { CIRCUIT, issuedRow, issueToken, signForCircuit, tokenCredential, writeToken } from './issue.ts'
import { isTokenId, readPresented } from './presented.ts'
import { revocation } from './revocation.ts'
import {
  AS_ISSUED,
  type NewToken,
  type RevokedToken,
  type TokenIssued,
  type TokenReason,
  type TokenRevoked,
  type TokenStanding,
  type TokenVerdict,
  type ValidateToken,
} from './schemas.ts'
import type { GooglePass, NfcPayload, PassQuery } from './schemas-forms.ts'
import {
  type CircuitToken,
  type CurrentToken,
  isCurrent,
  type OpenedToken,
  openJws,
  openToken,
  sealToken,
  type TokenPayload,
} from './sealed-token.ts'
import * as store from './store.ts'
import { createTokenList, standingOf } from './token-list.ts'
import { faultsOf, refusal, statusOf, tokenFacts, verdictOf } from './verdict.ts'

export interface TokensDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'findClaims'>
  readonly signers: Pick<Signers, 'current' | 'publicKey'>
  readonly issuer: Pick<Issuer, 'current'>
  readonly holders: Pick<HoldersService, 'bearer' | 'recipient' | 'secretOf'>
  readonly sealing: Sealing
  readonly statuses: Pick<StatusesService, 'reserve' | 'referenceTo' | 'referred' | 'set'>
  readonly subjects: SubjectPseudonyms
  readonly clock: Clock
  readonly hybridTokens: Pick<HybridTokensService, 'listed' | 'placeOf' | 'knowsAllSubjects'>
  readonly baseUrl: string
  /** Absent: no passes can be made. */
  readonly passes: PassSigners | undefined
  /** A token that is used up can't be used once more by a proof, nor the other way round; revoked ones by neither. */
  readonly nullifiers: Pick<
    typeof Nullifiers,
    | 'nullifierClaim'
    | 'nullifierSpentAt'
    | 'createNullifierSweep'
    | 'formerNullifier'
    | 'insertIssued'
    | 'issuedNullifierRow'
    | 'revokedNullifierClaim'
  >
}

/** A token as a proof needs it; what was revoked or used up has no values. */
export type TokenForCircuit = { readonly facts: Facts } & (
  | { readonly ended: 'revoked' | 'used' }
  | (Provable<CircuitToken> & { readonly ended?: undefined })
)

const { tokenUsed: USED, tokenRevoked: REVOKED } = CLAIM_KINDS

/** @throws AppError token_used, always */
const failUsed = (usedAt: number): never => {
  throw new AppError('token_used', { reason: 'TOKEN_USED', extras: { consumed_at: iso(usedAt) } })
}

export type TokensService = ReturnType<typeof createTokens>

export const createTokens = (deps: TokensDeps) => {
  const { database, ledger, signers, sealing, statuses, clock, nullifiers, baseUrl, passes } = deps
  const sweepNullifiers = nullifiers.createNullifierSweep(database, clock)

  const opened = (row: store.KnownToken): OpenedToken => openToken(sealing, row.id, row.sealed)

  /** @throws AppError read_only for what its issuing is said to have answered and did not */
  const requireAsIssued = (sent: Partial<TokenIssued>, row: store.KnownToken): void => {
    if (AS_ISSUED.every((name) => sent[name] === undefined)) return
    const { id, type, issued_at, expires_at } = row
    const inside = opened(row)
    const answered: Partial<TokenIssued> = {
      tokenId: id,
      type,
      token: inside.jws,
      issuedAt: iso(issued_at),
      expiresAt: iso(expires_at),
      ...(isCurrent(inside) && { credential: tokenCredential(row.organisation, inside.circuit) }),
      ...formUrls(baseUrl, id, passes),
    }
    requireUnchanged(sent, answered, AS_ISSUED)
  }

  /** What a proof of a token spends; one of version 1 of the circuit spent its nullifier. */
  const spentBy = ({ circuit }: OpenedToken) => ({
    circuitId: CIRCUIT,
    nullifier: 'token' in circuit ? circuit.token.status : nullifiers.formerNullifier(circuit.formerSecret),
  })

  const findStored = createBatchedLoad((ids) => store.findTokens(database, ids))

  const stored = async (organisation: string, id: string): Promise<store.KnownToken | undefined> => {
    const row = await findStored(id)
    return row?.organisation === organisation ? row : undefined
  }

  /** One for a single use may have been used up by a proof. */
  const withUse = async (row: store.KnownToken): Promise<store.KnownToken> => {
    if (!row.single_use || row.used_at !== null) return row
    const spentAt = await nullifiers.nullifierSpentAt(ledger, row.organisation, spentBy(opened(row)))
    return { ...row, used_at: spentAt ?? null }
  }

  /** The same of several tokens of one organisation, by one query. */
  const withUses = async (rows: readonly store.KnownToken[]): Promise<readonly store.KnownToken[]> => {
    const open = rows.filter((row) => row.single_use && row.used_at === null)
    const [first] = open
    if (first === undefined) return rows
    const claims = open.map((row) => nullifiers.nullifierClaim(spentBy(opened(row))))
    const held = await ledger.findClaims(first.organisation, claims)
    const usedAt = new Map(open.map((row, i) => [row.id, held[i]?.at ?? null]))
    return rows.map((row) => ({ ...row, used_at: row.used_at ?? usedAt.get(row.id) ?? null }))
  }

  /**
   * A token that the circuit knows. One that was signed for version 1 is signed anew, for its bearer, when it is first asked for: to
   * do so with all at the start would keep a service waiting for as long as it has tokens.
   */
  const current = async (row: store.KnownToken): Promise<CurrentToken> => {
    const inside = opened(row)
    if (isCurrent(inside)) return inside
    const { organisation, expires_at } = row
    const { jws, payload } = inside
    const circuit = signForCircuit(
      await deps.issuer.current(),
      payload,
      await deps.holders.bearer(organisation),
    )
    await nullifiers.insertIssued(database, issuedRow(nullifiers, circuit, organisation, expires_at))
    await store.replaceSealed(database, row, sealToken(sealing, { jws, payload, circuit }))
    // Another server may have been faster: what is stored counts.
    const again = opened((await stored(organisation, row.id)) ?? fail('not_found'))
    return isCurrent(again) ? again : fail('unavailable')
  }

  const owned = async ({ organisation }: Caller, id: string): Promise<store.KnownToken> =>
    withUse((await stored(organisation, id)) ?? fail('not_found'))

  /** Whoever is handed a form of a token must be able to use it. @throws AppError not_found, token_not_active */
  const active = async (caller: Caller, id: string): Promise<OpenedToken> => {
    const row = await owned(caller, id)
    const status = statusOf(row, clock.now())
    if (status !== 'active')
      fail('token_not_active', { reason: `TOKEN_${status.toUpperCase()}`, extras: { status } })
    return opened(row)
  }

  const draft = async (caller: Caller, input: NewToken): Promise<(tx: Tx) => TokenIssued> => {
    await sweepNullifiers()
    return issueToken(deps, caller, input)
  }

  /** The organisation's token that this text is, or why it is none. */
  const present = async (
    { organisation }: Caller,
    text: string,
  ): Promise<
    { readonly refused: TokenReason } | { readonly row: store.KnownToken; readonly payload: TokenPayload }
  > => {
    const presented = await readPresented(signers, text)
    if ('refused' in presented) return presented
    const { payload, jwsHash, isSigned } = presented
    const row = isTokenId(payload.jti) ? await stored(organisation, payload.jti) : undefined
    const isIssued = row && jwsHash.equals(row.jws_hash) && openJws(sealing, row.id, row.sealed) === text
    if (!isIssued) return { refused: isSigned() ? 'TOKEN_UNKNOWN' : 'SIGNATURE_INVALID' }
    return { row: await withUse(row), payload }
  }

  /** Whether a token was revoked or used up since it was read. */
  const isEnded = async (row: store.KnownToken): Promise<IsOvertaken> => {
    const claims: Claim[] = row.revoked_at === null ? [[REVOKED, row.id]] : []
    if (row.single_use && row.used_at === null) {
      const { circuit } = await current(row)
      // Of every use, by a proof or without one.
      claims.push(nullifiers.nullifierClaim({ circuitId: CIRCUIT, nullifier: circuit.token.status }))
    }
    return isTaken(claims)
  }

  /** Uses a valid token up, unless somebody was faster. */
  const consumption =
    (row: store.KnownToken, status: bigint, verdict: TokenVerdict): Decide<TokenVerdict> =>
    (tx) => {
      if (tx.holder(REVOKED, row.id))
        return { ...verdict, valid: false, reasonCodes: ['TOKEN_REVOKED'], status: 'revoked' }
      const ofNullifier = nullifiers.nullifierClaim({ circuitId: CIRCUIT, nullifier: status })
      const used = tx.holder(USED, row.id) ?? tx.holder(...ofNullifier)
      if (used) return failUsed(used.at)
      tx.claim(USED, row.id)
      tx.claim(...ofNullifier)
      const { index } = tx.append({
        type: 'gate',
        subject: ['token-subject', verdict.subject ?? ''],
        digest: Buffer.from(row.jws_hash).toString('hex'),
        data: { event: USED },
      })
      tx.write(
        store.tokenUses.row({
          token: row.id,
          organisation: row.organisation,
          entry_index: index,
          used_at: tx.at,
        }),
      )
      return { ...verdict, consumed: true, status: 'used' }
    }

  return {
    ...createTokenList({ ...deps, withUses }),

    /**
     * What issues a token, for a caller that does so together with something else: it exists once that is committed.
     * @throws AppError validation_failed for claims that are too large, or for its type; pass_signing_not_configured
     */
    draft,

    /**
     * Whether a token can be made: to be asked before other work for it is done, with claims as long as it will have.
     * @param at JSON pointer of what describes it in the request @throws as `draft`
     */
    async demand(caller: Caller, input: NewToken, at: string): Promise<void> {
      await writeToken(deps, caller, input, at)
    },

    /** Issues a token. @throws as `draft` */
    issue: async (caller: Caller, input: NewToken): Promise<TokenIssued> =>
      ledger.append(caller, await draft(caller, input)),

    /**
     * Whether a token counts now, for this audience; every reason why not. Writes nothing unless it uses the token up.
     * @throws AppError token_used when a token that is otherwise valid was used up before and is to be used again;
     *   read_only for what its issuing is said to have answered and did not
     */
    async validate(caller: Caller, asked: ValidateToken): Promise<TokenVerdict> {
      const { token, audience, consume = false, expect, ...issued } = asked
      const presented = await present(caller, token)
      if ('refused' in presented) return refusal(presented.refused)
      // Its hash is that of the token that was issued, so that what is kept sealed says the same.
      const { row, payload } = presented
      requireAsIssued(issued, row)
      const now = clock.now()
      const faults = [
        ...faultsOf(row, payload, audience, now),
        ...unexpected(expect, tokenFacts(row, payload, now), now),
      ]
      if (consume && faults.join() === 'TOKEN_USED') return failUsed(row.used_at ?? now)
      const verdict = verdictOf(row, payload, faults, now)
      if (!consume || !row.single_use || !verdict.valid) return verdict
      const { circuit } = await current(row)
      return ledger.append(caller, consumption(row, circuit.token.status, verdict))
    },

    /** What `validate` says of a token, for a decision that rests on it. */
    async judged(
      caller: Caller,
      { token, audience }: Pick<ValidateToken, 'token' | 'audience'>,
    ): Promise<{ readonly verdict: TokenVerdict; readonly isOvertaken: IsOvertaken }> {
      const presented = await present(caller, token)
      if ('refused' in presented) return { verdict: refusal(presented.refused), isOvertaken: isTaken([]) }
      const { row, payload } = presented
      const now = clock.now()
      const verdict = verdictOf(row, payload, faultsOf(row, payload, audience, now), now)
      return { verdict, isOvertaken: await isEnded(row) }
    },

    /**
     * Revokes a token for good, and its circuit's nullifier with it. Again: the first answer.
     * @throws AppError not_found, read_only
     */
    async revoke(caller: Caller, { reason, ...issued }: RevokedToken): Promise<TokenRevoked> {
      const { tokenId } = issued
      const row = await owned(caller, tokenId)
      requireAsIssued(issued, row)
      const { payload, circuit } = await current(row)
      return ledger.append(
        caller,
        revocation({
          tokenId,
          event: REVOKED,
          subject: payload.sub,
          digest: row.jws_hash,
          write(tx, place) {
            const { organisation } = row
            statuses.set(tx, Number(circuit.token.status))
            // That of the JWT; older ones have none.
            if (payload.status !== undefined) statuses.set(tx, statuses.referred(payload.status))
            tx.write(
              store.tokenRevocations.row({ organisation, token: tokenId, reason: reason ?? null, ...place }),
            )
          },
        }),
      )
    },

    /**
     * Holds what is said of a token against what its issuing answered; a text that is no token of the organisation has
     * nothing to be held against. @throws AppError not_found, read_only
     */
    async requireIssued(caller: Caller, sent: Partial<TokenIssued>): Promise<void> {
      const { tokenId, token = '' } = sent
      const found =
        tokenId === undefined ? await present(caller, token) : { row: await owned(caller, tokenId) }
      if ('row' in found) requireAsIssued(sent, found.row)
    },

    /** What has become of a token of the caller's organisation. @throws AppError not_found */
    async status(caller: Caller, tokenId: string): Promise<TokenStanding> {
      const row = await owned(caller, tokenId)
      const now = clock.now()
      return { ...standingOf(row, now), checkedAt: iso(now) }
    },

    /** A token's QR code. @throws AppError not_found, token_not_active, token_too_large */
    qrCode: async (caller: Caller, tokenId: string, format: QrFormat): Promise<string | Buffer> =>
      tokenQr(await active(caller, tokenId), format),

    /** What to write on an NFC tag. @throws AppError not_found, token_not_active */
    nfcPayload: async (caller: Caller, tokenId: string, tag: TagType): Promise<NfcPayload> =>
      tokenNfc(baseUrl, await active(caller, tokenId), tag),

    /** A token's pass. @throws AppError not_found, token_not_active, token_too_large, pass_signing_not_configured */
    pass: async (
      caller: Caller,
      tokenId: string,
      format: PassQuery['format'],
    ): Promise<Buffer | GooglePass> => tokenPass(passes, await active(caller, tokenId), format, clock.now()),

    /**
     * A token of the caller's organisation as its circuit takes it, whatever became of it.
     * @param tokenOrId `tok_…` or the compact JWS
     * @throws AppError not_found, also for a JWS that was not issued here; inputs_insufficient, reason HOLDER_BOUND
     */
    async forCircuit(caller: Caller, tokenOrId: string): Promise<TokenForCircuit> {
      const presented = isTokenId(tokenOrId)
        ? { row: await owned(caller, tokenOrId) }
        : await present(caller, tokenOrId)
      if ('refused' in presented) return fail('not_found')
      const { row } = presented
      const now = clock.now()
      const inside = opened(row)
      const [status, facts] = [statusOf(row, now), tokenFacts(row, inside.payload, now)]
      // Nothing is proved of those.
      if (status === 'revoked' || status === 'used') return { ended: status, facts }
      const { secret, ...circuit } = (await current(row)).circuit
      return { ...circuit, secret: deps.holders.secretOf({ secret }), facts }
    },
  }
}
