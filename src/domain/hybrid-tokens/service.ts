/** Hybrid tokens: issued, validated, revoked. @module */
import type { Caller } from '../../caller.ts'
import {
  type HybridTokenTerms,
  hybridTokenNullifier,
  POLICY_BITS,
} from '../../circuits/mappers/quantum_safe_token.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { failReadOnly, requireUnchanged } from '../../json/read-only.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import { knowsAllSubjects } from '../../keys/unread-subjects.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import { type IsOvertaken, isTaken } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import {
  HYBRID_TOKEN_SCHEMA,
  type HybridContent,
  hybridSigningBytes,
  readHybridToken,
  type VerificationPolicy,
} from '../../protocol/hybrid-token.ts'
import { type Facts, unexpected } from '../../rules/expectation.ts'
import { findPlace, type PageOf } from '../../store/pages.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import type { revocation } from '../tokens/revocation.ts'
import type { RevokedToken } from '../tokens/schemas.ts'
import { readTokenCookies } from './cookies.ts'
import {
  CIRCUIT,
  type IssueDeps,
  isSignedByCaller,
  issuing,
  prepareContent,
  signByService,
  verifySignedByCaller,
} from './issue.ts'
import { digestOf, type Judgement, type JudgementDeps, judge } from './judgement.ts'
import type {
  HybridReason,
  HybridTokenIssued,
  HybridTokenPrepared,
  HybridTokenVerdict,
  NewHybridToken,
  ValidateHybridToken,
} from './schemas.ts'
import { HYBRID_TOKEN_SUBJECT, openTerms } from './sealed-terms.ts'
import { findListed, standingOf, statusOf } from './standing.ts'
import { findHybridToken, hybridTokenRevocations, type KnownHybridToken } from './store.ts'
import { HYBRID_TOKENS, type HybridTokenFilter } from './store-list.ts'

interface Deps extends IssueDeps, JudgementDeps {
  readonly signers: IssueDeps['signers']
  readonly ledger: Pick<Ledger, 'append'>
  readonly nullifiers: IssueDeps['nullifiers'] &
    Pick<typeof Nullifiers, 'revokedNullifierClaim' | 'revokedNullifierRow'>
  readonly revocation: typeof revocation
  readonly subjects: SubjectPseudonyms
}

const REVOKED = CLAIM_KINDS.hybridTokenRevoked
const MS_PER_SECOND = 1000
/** Signed members that are not kept by themselves. */
const SIGNED_OTHERS = [
  'claims',
  'alg_classical',
  'alg_pq',
  'verification_policy',
  'kid_classical',
  'kid_pq',
] as const

/** How a token is asked about. */
interface AskedToken {
  readonly token?: unknown
  readonly required_policy?: VerificationPolicy
  readonly accept_signers?: readonly string[]
}

/** What the circuit takes of a token. */
interface CircuitToken {
  readonly terms: HybridTokenTerms
  /** Place of the token's entry in the log. */
  readonly index: number
  /** {@link POLICY_BITS} of what was verified: a post-quantum signature and what either policy demands. */
  readonly requiredBits: bigint
  /** What of the token can be compared with what is expected. */
  readonly facts: Facts
}

/** What the circuit shows is a post-quantum signature, so that one has to hold whatever else is demanded. */
const withPq = (required: VerificationPolicy | undefined): VerificationPolicy =>
  required === undefined || required === 'pq_only' ? 'pq_only' : 'hybrid_required'

const BITS = [0, 1] as const

/** What both signatures cover. */
const whatIsSigned = (content: HybridContent): Pick<HybridTokenPrepared, 'signing_input' | 'context'> => ({
  signing_input: Buffer.from(hybridSigningBytes(content)).toString('base64url'),
  context: HYBRID_TOKEN_SCHEMA,
})

/** @throws AppError read_only for what only the service sets, where a request has another value than the answer to it */
const requireAsSet = (sent: NewHybridToken, set: HybridContent): void =>
  requireUnchanged(sent, { ...set, ...whatIsSigned(set) }, ['token_id', 'iat', 'signing_input', 'context'])

/** What of a token can be compared with what is expected; nothing is known of one that was not issued here. @param now Unix ms */
const tokenFacts = (
  { claims, signer }: HybridTokenVerdict,
  row: KnownHybridToken | undefined,
  now: number,
): Facts => ({
  issuers: row ? [row.organisation, ...(signer ? [signer.id] : [])] : null,
  statement: claims,
  decision: BITS.find((bit) => bit === claims?.decision) ?? null,
  status: row ? statusOf(row, now) : null,
  max_age_seconds: row?.issued_at ?? null,
})

/**
 * The token of a request: under `token`, else the body itself, else what the cookies hold. Whoever presents a token may
 * have written a body that is one, so that such a body accepts no signers.
 */
const askedOf = (body: ValidateHybridToken, cookies: string | undefined): AskedToken => {
  const { token, required_policy, accept_signers, expect: _, ...rest } = body
  if (token !== undefined && token !== null) return { token, required_policy, accept_signers }
  if (Object.keys(rest).length > 0) return { token: rest, required_policy }
  return { token: readTokenCookies(cookies ?? ''), required_policy, accept_signers }
}

export type HybridTokensService = ReturnType<typeof createHybridTokens>

export const createHybridTokens = (deps: Deps) => {
  const { database, ledger, sealing, clock, nullifiers } = deps
  const sweepNullifiers = nullifiers.createNullifierSweep(database, clock)

  const judgeFor = ({ organisation }: Caller, asked: AskedToken): Promise<Judgement> =>
    judge(deps, organisation, asked.token, {
      requiredPolicy: asked.required_policy,
      acceptSigners: asked.accept_signers ?? [],
    })

  const owned = async ({ organisation }: Caller, id: string): Promise<KnownHybridToken> =>
    (await findHybridToken(database, organisation, id)) ?? fail('not_found')

  const revocationOf = (row: KnownHybridToken, reason: string | undefined) => {
    const { organisation, digest, id } = row
    const { terms, subject } = openTerms(sealing, row)
    const revoked = { circuitId: CIRCUIT, nullifier: hybridTokenNullifier(terms) }
    return deps.revocation({
      tokenId: id,
      event: REVOKED,
      subject,
      digest,
      write(tx, place) {
        tx.claim(...nullifiers.revokedNullifierClaim(revoked))
        tx.write(nullifiers.revokedNullifierRow({ ...revoked, organisation, at: place.revoked_at }))
        tx.write(hybridTokenRevocations.row({ organisation, token: id, reason: reason ?? null, ...place }))
      },
    })
  }

  /** @throws AppError read_only for what else than the token that was issued */
  const requireIssued = (token: HybridTokenIssued, row: KnownHybridToken): void => {
    const { subject } = openTerms(sealing, row)
    const seconds = (at: number) => Math.floor(at / MS_PER_SECOND)
    const kept = { subject, iat: seconds(row.issued_at), exp: seconds(row.expires_at) }
    requireUnchanged(token, kept, ['subject', 'iat', 'exp'])
    const read = readHybridToken(token)
    // Of the rest only what it amounts to is kept: what was signed.
    const isIssued = 'token' in read && digestOf(hybridSigningBytes(read.token)).equals(row.digest)
    if (!isIssued) failReadOnly(SIGNED_OTHERS)
  }

  return {
    /**
     * Issues a token, signed by the service or by keys of the caller's.
     * @throws AppError validation_failed, signature_invalid, conflict for a token_id that was issued before;
     *   read_only for a token_id, iat, signing_input or context of something else
     */
    async generate(caller: Caller, input: NewHybridToken): Promise<HybridTokenIssued> {
      const made = isSignedByCaller(input)
        ? await verifySignedByCaller(deps, caller, input)
        : await signByService(deps, input)
      requireAsSet(input, made.token)
      await sweepNullifiers()
      const pseudonym = await deps.subjects.of(caller.organisation, HYBRID_TOKEN_SUBJECT, made.token.subject)
      return ledger.append(caller, issuing(deps, caller, made, pseudonym))
    },

    /** What keys of the caller's have to sign. Issues nothing. @throws AppError validation_failed, read_only */
    async prepare(caller: Caller, input: NewHybridToken): Promise<HybridTokenPrepared> {
      const content = await prepareContent(deps, caller, input)
      requireAsSet(input, content)
      return {
        ...content,
        claims: { ...content.claims },
        ...whatIsSigned(content),
      }
    },

    /**
     * Whether a token counts now, with every reason why not. Writes nothing, remembers nothing.
     * @param cookies the Cookie header, read where the body holds no token
     */
    async validate(
      caller: Caller,
      body: ValidateHybridToken,
      cookies: string | undefined,
    ): Promise<HybridTokenVerdict> {
      const { verdict, row } = await judgeFor(caller, askedOf(body, cookies))
      const now = clock.now()
      const differing = unexpected(body.expect, tokenFacts(verdict, row, now), now)
      if (differing.length === 0) return verdict
      return { ...verdict, valid: false, reason_codes: [...verdict.reason_codes, ...differing] }
    },

    /** What `validate` says of a token alone, for a decision that rests on it. */
    async judged(
      caller: Caller,
      token: unknown,
    ): Promise<{ readonly verdict: HybridTokenVerdict; readonly isOvertaken: IsOvertaken }> {
      const { verdict, row } = await judgeFor(caller, { token })
      const claims: Claim[] = row && !verdict.revoked ? [[REVOKED, row.id]] : []
      return { verdict, isOvertaken: isTaken(claims) }
    },

    /**
     * A token of the caller's organisation as its circuit takes it, its post-quantum signature verified. That it has
     * expired, the circuit shows by itself.
     * @returns why it is none whose signatures count, or what the circuit takes
     */
    async forCircuit(
      caller: Caller,
      asked: AskedToken,
    ): Promise<CircuitToken | { readonly refused: readonly HybridReason[] }> {
      const required_policy = withPq(asked.required_policy)
      const { verdict, row, demanded } = await judgeFor(caller, { ...asked, required_policy })
      const faults = verdict.reason_codes.filter((reason) => reason !== 'TOKEN_EXPIRED')
      if (row === undefined || faults.length > 0) return { refused: faults }
      const { terms } = openTerms(sealing, row)
      const requiredBits =
        (demanded.classical ? POLICY_BITS.classical : 0n) + (demanded.pq ? POLICY_BITS.pq : 0n)
      return { terms, index: row.entry_index, requiredBits, facts: tokenFacts(verdict, row, clock.now()) }
    },

    /**
     * Revokes a token for good, and its circuit's nullifier with it. Again: the first answer.
     * @throws AppError not_found; read_only for what only tokens of another kind have
     */
    async revoke(caller: Caller, { tokenId, reason, ...others }: RevokedToken) {
      if (Object.keys(others).length > 0) failReadOnly(Object.keys(others))
      return ledger.append(caller, revocationOf(await owned(caller, tokenId), reason))
    },

    /**
     * The same, of a token as it was issued; its signatures are not kept, and not compared.
     * @throws AppError not_found, read_only
     */
    async revokeIssued(
      caller: Caller,
      { reason, ...token }: HybridTokenIssued & { readonly reason?: string },
    ) {
      const row = await owned(caller, token.token_id)
      requireIssued(token, row)
      return ledger.append(caller, revocationOf(row, reason))
    },

    /** A page of an organisation's tokens as they are listed, newest first. */
    listed: (filter: HybridTokenFilter, page: PageOf) => findListed(deps, filter, page),

    /** Where in that list a token stands. @throws AppError invalid_query */
    placeOf: (organisation: string, tokenId: string) =>
      findPlace(database, HYBRID_TOKENS, organisation, tokenId),

    /** Whether all of an organisation's tokens are found by subject. */
    knowsAllSubjects: (organisation: string) => knowsAllSubjects(database, HYBRID_TOKENS.table, organisation),

    /** What has become of a token of the caller's organisation. @throws AppError not_found */
    async status(caller: Caller, tokenId: string) {
      const row = await owned(caller, tokenId)
      const now = clock.now()
      return { ...standingOf(row, now), checkedAt: iso(now) }
    },
  }
}
