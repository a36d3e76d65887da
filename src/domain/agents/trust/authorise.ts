/**
 * Deciding whether an agent may do something: it must have signed exactly that, be active, and stay within its limits. What
 * it may spend in a day is a counter of the ledger, so no two decisions anywhere share what is left.
 * @module
 */
import { hash } from 'node:crypto'
import type { Caller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { newId } from '../../../ids.ts'
import type { Signers } from '../../../keys/signers.ts'
import { CLAIM_KINDS } from '../../../ledger/claim-kinds.ts'
import type { Place, Tx, WithRoot } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import type { toWireLimits } from '../enrol/limits.ts'
import type { AgentRecord, AgentsService } from '../enrol/service.ts'
import type { RegisteredKeysService } from '../keys/service.ts'
import { keyFinder } from './evidence/agent-keys.ts'
import { type Evidence, statusFaults } from './evidence/evidence.ts'
import { readHttpEvidence } from './evidence/http-evidence.ts'
import { REQUEST_TYP, readJwsEvidence } from './evidence/jws-evidence.ts'
import { readHttpRequest, refuseField } from './evidence/request-reading.ts'
import type { Reason } from './reasons.ts'
import { isSigned, limitFaults, type Money, readMoney, remainingOf } from './requested-action.ts'
import {
  type AgentAuthorisation,
  type AuthoriseAgent,
  type Decision,
  MAX_CONTEXT_BYTES,
  MAX_MANDATE_BYTES,
} from './schemas-authorise.ts'
import { type AnswerSigner, answerSigner, RECEIPT_TYP } from './signed-answers.ts'
import { agentEvents } from './store-events.ts'
import { nonceClaim } from './verify.ts'

const MS_PER_SECOND = 1000
/** How long what was allowed may be begun. */
const TOKEN_VALID_SECONDS = 300

interface Deps {
  readonly ledger: Pick<Ledger, 'append' | 'findCounter'>
  readonly signers: Pick<Signers, 'current'>
  readonly agents: Pick<AgentsService, 'find' | 'changed'>
  readonly registeredKeys: Pick<RegisteredKeysService, 'find'>
  readonly toWireLimits: typeof toWireLimits
  readonly clock: Clock
  readonly baseUrl: string
}

/** A question with all that its answers need. */
interface Question {
  readonly caller: Caller
  readonly input: AuthoriseAgent
  readonly agent: AgentRecord
  readonly money: Money | undefined
  readonly evidence: Evidence | undefined
  readonly signer: AnswerSigner
  readonly id: string
  /** Unix ms. */
  readonly at: number
  /** BASE_URL. */
  readonly issuer: string
}

/** SHA-256 of canonical JSON, lower-case hex. @throws AppError validation_failed */
const digestOf = (name: string, value: unknown, maxBytes: number): string | undefined => {
  if (value === undefined) return undefined
  const text = canonicalJson(value)
  if (Buffer.byteLength(text) > maxBytes)
    refuseField(`/${name}`, 'too_large', `${name} must have at most ${maxBytes} bytes of canonical JSON`)
  return hash('sha256', text)
}

/** What both signed texts say of the question. */
const termsOf = ({ input, evidence }: Question) => ({
  action: input.action,
  resource: input.resource,
  amount: input.amount,
  currency: input.currency,
  payee: input.payee,
  mandate_digest: digestOf('mandate', input.mandate, MAX_MANDATE_BYTES),
  context_digest: digestOf('context', input.context, MAX_CONTEXT_BYTES),
  evidence: evidence?.digest,
})

const spentToday = (agent: AgentRecord, at: number): string =>
  `agent.spent/${agent.id}/${iso(at).slice(0, 'yyyy-mm-dd'.length)}`

/** What is to be spent of the limit of the day, in minor units; undefined without such a limit in its currency, or where nothing is spent. */
const spendingOf = ({
  agent,
  money,
}: Question): { readonly amount: number; readonly limit: number } | undefined =>
  money === undefined || agent.limits?.perDayMinor === undefined || money.currency !== agent.limits.currency
    ? undefined
    : { amount: money.minor, limit: agent.limits.perDayMinor }

/** Unix seconds at which an authorisation ends, no later than the agent. */
const endOf = ({ agent, at }: Question): number =>
  Math.floor(
    Math.min(at / MS_PER_SECOND + TOKEN_VALID_SECONDS, (agent.limits?.expiresAt ?? Infinity) / MS_PER_SECOND),
  )

interface Decided {
  readonly decision: Decision
  readonly reasons: readonly Reason[]
  /** Minor units, of the day; as it was read before, for those who spend nothing. */
  readonly spent: number
}

const tokenOf = (question: Question, exp: number): string => {
  const { caller, agent, signer, id, at, issuer, input } = question
  return signer.token({
    iss: issuer,
    org: caller.organisation,
    sub: agent.id,
    aud: input.payee,
    jti: id,
    iat: Math.floor(at / MS_PER_SECOND),
    exp,
    // The key that the agent proves itself with when it uses the token (RFC 7800).
    cnf: { jkt: agent.kid },
    ...termsOf(question),
  })
}

const eventRow = (question: Question, { decision, reasons }: Decided, { index, at }: Place) => {
  const { caller, agent, input, money, id } = question
  return agentEvents.row({
    agent: agent.id,
    entry_index: index,
    organisation: caller.organisation,
    kind: 'authorise',
    outcome: decision,
    reasons,
    authorisation: id,
    action: input.action,
    amount_minor: money?.minor ?? null,
    currency: money?.currency ?? null,
    happened_at: at,
  })
}

export type AgentAuthorisations = ReturnType<typeof createAgentAuthorisations>

export const createAgentAuthorisations = (deps: Deps) => {
  const { ledger, signers, agents, clock, baseUrl, toWireLimits } = deps

  const readEvidence = async (
    { organisation }: Caller,
    input: AuthoriseAgent,
    agent: AgentRecord,
  ): Promise<Evidence | undefined> => {
    const { http, jws, amount } = input
    if (http !== undefined && jws !== undefined) refuseField('/jws', 'conflict', 'send http or jws, not both')
    const audience = input.expected_audience ?? baseUrl
    const now = Math.floor(clock.now() / MS_PER_SECOND)
    const findKey = keyFinder(deps, organisation, agent)
    if (jws !== undefined) return readJwsEvidence(jws, { typ: REQUEST_TYP, audience, now }, findKey)
    if (http === undefined) return undefined
    const tag = amount === undefined ? undefined : 'agent-payer-auth'
    return readHttpEvidence(readHttpRequest(http), { audience, now, tag, label: http.label }, findKey)
  }

  const answerOf = (question: Question, decided: Decided, leafHash: string): AgentAuthorisation => {
    const { caller, agent, signer, id, at, issuer } = question
    const { decision, reasons } = decided
    const exp = decision === 'ALLOW' ? endOf(question) : undefined
    const constraints = agent.limits && toWireLimits(agent.limits)
    const remaining = { per_day: remainingOf(agent.limits, decided.spent) }
    return {
      decision,
      authorisation_id: id,
      reasons: [...reasons],
      constraints,
      remaining,
      expires_at: exp === undefined ? null : iso(exp * MS_PER_SECOND),
      token: exp === undefined ? null : tokenOf(question, exp),
      receipt: signer.result(RECEIPT_TYP, {
        iss: issuer,
        org: caller.organisation,
        sub: agent.id,
        jti: id,
        iat: Math.floor(at / MS_PER_SECOND),
        exp,
        decision,
        reasons: [...reasons],
        trust_level: agent.trust_level,
        status: agent.status,
        remaining,
        leaf_hash: leafHash,
        ...termsOf(question),
      }),
    }
  }

  /** Records what was decided, and signs it. */
  const pronounce = (tx: Tx, question: Question, decided: Decided): WithRoot<AgentAuthorisation> => {
    const { agent, evidence, id } = question
    const { decision, reasons } = decided
    const place = tx.append({
      type: 'gate',
      subject: ['agent', agent.id],
      ...(evidence && { digest: evidence.digest }),
      data: {
        event: 'agent.authorised',
        agentId: agent.id,
        authorisationId: id,
        decision,
        reasons: [...reasons],
      },
    })
    tx.write(eventRow(question, decided, place))
    return tx.withRoot(() => answerOf(question, decided, place.leafHash))
  }

  /** Allows what the agent signed, if it is the first time, nobody changed the agent, and the day's limit has room. */
  const allow = (
    tx: Tx,
    question: Question,
    evidence: Evidence,
    spentBefore: number,
  ): WithRoot<AgentAuthorisation> => {
    const deny = (reason: Reason, spent = spentBefore) =>
      pronounce(tx, question, { decision: 'DENY', reasons: [reason], spent })
    const nonce = nonceClaim(CLAIM_KINDS.agentAuthorisationNonce, evidence)
    if (tx.holder(...nonce)) return deny('NONCE_REPLAYED')
    if (tx.holder(...agents.changed(question.agent))) return deny('AGENT_CHANGED')
    const spending = spendingOf(question)
    const counter = spentToday(question.agent, question.at)
    const spent = spending ? tx.counter(counter) : spentBefore
    if (spending && spent + spending.amount > spending.limit) return deny('PER_DAY_EXCEEDED', spent)
    tx.claim(...nonce)
    const spentThen = spending ? tx.add(counter, spending.amount) : spent
    return pronounce(tx, question, { decision: 'ALLOW', reasons: [], spent: spentThen })
  }

  return {
    /**
     * Decides; signed and recorded whatever the answer. Only what the agent signed itself is allowed, once.
     * @throws AppError validation_failed; not_found for an agent that is not the organisation's
     */
    async authorise(caller: Caller, input: AuthoriseAgent): Promise<AgentAuthorisation> {
      const { organisation } = caller
      const agent = (await agents.find(organisation, input.agent_id)) ?? fail('not_found')
      const money = readMoney(input)
      const evidence = await readEvidence(caller, input, agent)
      const at = clock.now()
      const question: Question = {
        caller,
        input,
        agent,
        money,
        evidence,
        signer: await answerSigner(signers),
        id: newId('aut', at),
        at,
        issuer: baseUrl,
      }
      // Made here for the sake of their limits: what is too large is refused before anything is decided.
      termsOf(question)
      const faults: Reason[] = [...statusFaults(agent), ...(evidence?.reasons ?? [])]
      if (evidence?.reasons.length === 0 && !isSigned(evidence.signed, input, money))
        faults.push('REQUEST_NOT_SIGNED')
      faults.push(...limitFaults(agent.limits, input, money))
      const spent = await ledger.findCounter(organisation, spentToday(agent, at))
      // Whoever is asked to agree in the agent's stead is not to be asked for nothing.
      const spending = spendingOf(question)
      const isTooMuch = spending !== undefined && spent + spending.amount > spending.limit
      if (evidence === undefined && isTooMuch) faults.push('PER_DAY_EXCEEDED')
      return ledger.append(caller, (tx) => {
        if (faults.length > 0) return pronounce(tx, question, { decision: 'DENY', reasons: faults, spent })
        if (evidence === undefined)
          return pronounce(tx, question, { decision: 'STEP_UP', reasons: ['SIGNATURE_REQUIRED'], spent })
        return allow(tx, question, evidence, spent)
      })
    },
  }
}
