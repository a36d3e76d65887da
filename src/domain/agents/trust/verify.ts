/** Recognising agents by what they present: judged, recorded, and answered with a signed verdict. @module */
import { hash } from 'node:crypto'
import type { Caller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { isWritable } from '../../../json/moments.ts'
import type { Signers } from '../../../keys/signers.ts'
import { CLAIM_KINDS, type Claim } from '../../../ledger/claim-kinds.ts'
import type { Json, Tx, WithRoot } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import { agentIdentifier, directoryUrlOf } from '../enrol/key-directory.ts'
import type { AgentRecord, AgentsService } from '../enrol/service.ts'
import type { RegisteredKeysService } from '../keys/service.ts'
import { cardKeyFinder, keyFinder, publishedKeyFinder } from './evidence/agent-keys.ts'
import { readCardEvidence } from './evidence/card-evidence.ts'
import { type Evidence, statusFaults } from './evidence/evidence.ts'
import { readHttpEvidence } from './evidence/http-evidence.ts'
import { PROOF_TYP, readJwsEvidence } from './evidence/jws-evidence.ts'
import { readHttpRequest, refuseField } from './evidence/request-reading.ts'
import type { EvidenceReason } from './reasons.ts'
import { type AgentVerdict, MAX_CARD_BYTES, type VerifyAgent } from './schemas-verify.ts'
import { type AnswerSigner, answerSigner, VERDICT_TYP } from './signed-answers.ts'
import { agentEvents } from './store-events.ts'

const MS_PER_SECOND = 1000

interface Deps {
  readonly ledger: Pick<Ledger, 'append'>
  readonly signers: Pick<Signers, 'current'>
  readonly agents: Pick<AgentsService, 'find' | 'changed' | 'published'>
  readonly registeredKeys: Pick<RegisteredKeysService, 'find'>
  readonly clock: Clock
  readonly baseUrl: string
}

/**
 * The claim on a nonce of a key, for one use.
 * @param use nonces of each use are counted apart
 */
export const nonceClaim = (
  use: (typeof CLAIM_KINDS)['agentNonce' | 'agentAuthorisationNonce'],
  { signer, nonce = '' }: Evidence,
): Claim => [use, hash('sha256', JSON.stringify([signer?.publicKey.kid, nonce]))]

/** @throws AppError validation_failed */
const checkSize = ({ agent_card: card }: VerifyAgent): void => {
  if (card !== undefined && Buffer.byteLength(canonicalJson(card)) > MAX_CARD_BYTES)
    refuseField('/agent_card', 'too_large', `agent_card must have at most ${MAX_CARD_BYTES} bytes`)
}

/** What is said of an agent, before it is signed. */
interface Judged {
  readonly evidence: Evidence
  readonly agent: AgentRecord | undefined
  readonly reasons: readonly EvidenceReason[]
  readonly nonceFresh: boolean | null
}

/** What the verdict is signed with. */
interface Signing {
  readonly caller: Caller
  readonly signer: AnswerSigner
  readonly audience: string | undefined
  /** Unix ms. */
  readonly at: number
}

/** Null for what RFC 3339 can't write. */
const isoOf = (seconds: number | undefined): string | null =>
  seconds !== undefined && isWritable(seconds * MS_PER_SECOND) ? iso(seconds * MS_PER_SECOND) : null

/**
 * The URL that the signer may be known by: where its key was found, now or when its domain was last looked at. What a request
 * merely names is nobody's (draft-ietf-webbotauth-httpsig-protocol §4.4).
 */
const signatureAgentOf = ({ signatureAgent, signer }: Evidence): string | null => {
  if (signatureAgent === undefined || signer === undefined) return null
  const named = agentIdentifier(signatureAgent)
  const { agent, publicKey } = signer
  if (agent === undefined) return named
  const isPublished = agent.trust_level === 'domain_verified' && publicKey.kid === agent.kid
  return isPublished && directoryUrlOf(agent) === named ? named : null
}

const answerOf = ({ evidence, agent, reasons, nonceFresh }: Judged): Omit<AgentVerdict, 'jws'> => ({
  verified: reasons.length === 0 && evidence.signer !== undefined,
  agent_id: agent?.id ?? null,
  kid: evidence.signer?.publicKey.kid ?? null,
  method: evidence.method,
  tag: evidence.tag ?? null,
  signature_agent: signatureAgentOf(evidence),
  trust_level: agent?.trust_level ?? null,
  status: agent?.status ?? null,
  reasons: [...reasons],
  created: isoOf(evidence.created),
  expires: isoOf(evidence.expires),
  nonce_fresh: nonceFresh,
})

export type AgentVerification = ReturnType<typeof createAgentVerification>

export const createAgentVerification = (deps: Deps) => {
  const { ledger, signers, agents, clock, baseUrl } = deps

  const read = (caller: Caller, input: VerifyAgent, agent: AgentRecord | undefined): Promise<Evidence> => {
    const { organisation } = caller
    const audience = input.expected_audience ?? baseUrl
    const now = Math.floor(clock.now() / MS_PER_SECOND)
    if (input.agent_card !== undefined)
      return readCardEvidence(input.agent_card, cardKeyFinder(deps, organisation, agent))
    const findKey = keyFinder(deps, organisation, agent)
    if (input.http === undefined)
      return readJwsEvidence(input.jws ?? '', { typ: PROOF_TYP, audience, now }, findKey)
    const { label } = input.http
    return readHttpEvidence(
      readHttpRequest(input.http),
      { audience, now, label, tag: input.expected_tag },
      findKey,
      input.published_keys === true ? publishedKeyFinder(agents, organisation) : undefined,
    )
  }

  /** Records what was judged, and signs it. */
  const pronounce = (
    tx: Tx,
    judged: Judged,
    { caller, signer, audience, at }: Signing,
  ): WithRoot<AgentVerdict> => {
    const { evidence, agent } = judged
    const answer = answerOf(judged)
    const { reasons } = answer
    const outcome = answer.verified ? 'verified' : 'refused'
    const { index, leafHash } = tx.append({
      type: 'attest',
      ...(agent && { subject: ['agent', agent.id] as const }),
      digest: evidence.digest,
      data: { event: 'agent.verified', method: evidence.method, outcome, reasons },
    })
    if (agent)
      tx.write(
        agentEvents.row({
          agent: agent.id,
          entry_index: index,
          organisation: caller.organisation,
          kind: 'verify',
          outcome,
          reasons,
          authorisation: null,
          action: null,
          amount_minor: null,
          currency: null,
          happened_at: tx.at,
        }),
      )
    return tx.withRoot(() => ({
      ...answer,
      jws: signer.result(VERDICT_TYP, {
        ...(answer as { [member: string]: Json }),
        iss: baseUrl,
        org: caller.organisation,
        iat: Math.floor(at / MS_PER_SECOND),
        audience,
        evidence: evidence.digest,
        leaf_hash: leafHash,
      }),
    }))
  }

  return {
    /**
     * Judges what an agent presents. Fails closed: whatever is not signed by an enrolled key of an active agent, or where the
     * caller takes those by a published one, for this audience, now and for the first time, is not verified, and `reasons` say why.
     * @throws AppError validation_failed; not_found for an agent that is not the organisation's
     */
    async verify(caller: Caller, input: VerifyAgent): Promise<AgentVerdict> {
      checkSize(input)
      const asked =
        input.agent_id === undefined
          ? undefined
          : ((await agents.find(caller.organisation, input.agent_id)) ?? fail('not_found'))
      const evidence = await read(caller, input, asked)
      const agent = evidence.signer?.agent ?? asked
      const reasons = [...evidence.reasons, ...(agent ? statusFaults(agent) : [])]
      const isVerified = reasons.length === 0 && evidence.signer !== undefined
      const hasNonce = isVerified && evidence.nonce !== undefined
      const nonce = hasNonce ? nonceClaim(CLAIM_KINDS.agentNonce, evidence) : undefined
      const changed = isVerified && agent ? agents.changed(agent) : undefined
      const audience = evidence.method === 'agent_card' ? undefined : (input.expected_audience ?? baseUrl)
      const signing = { caller, signer: await answerSigner(signers), audience, at: clock.now() }
      const judged: Judged = { evidence, agent, reasons, nonceFresh: hasNonce ? true : null }
      const stranger = isVerified && !agent ? evidence.signer?.publicKey.kid : undefined
      return ledger.append(caller, (tx) => {
        // Of an agent that was suspended or revoked here: what its directory says of it does not bring it back.
        if (stranger !== undefined && tx.holder(CLAIM_KINDS.registeredKey, stranger)) {
          const { method, digest } = evidence
          const reasons = ['KEY_UNKNOWN'] as const
          return pronounce(
            tx,
            { evidence: { method, reasons, digest }, agent, reasons, nonceFresh: null },
            signing,
          )
        }
        if (nonce && tx.holder(...nonce))
          return pronounce(tx, { ...judged, reasons: ['NONCE_REPLAYED'], nonceFresh: false }, signing)
        if (changed && tx.holder(...changed))
          return pronounce(tx, { ...judged, reasons: ['AGENT_CHANGED'], nonceFresh: null }, signing)
        if (nonce) tx.claim(...nonce)
        return pronounce(tx, judged, signing)
      })
    },
  }
}
