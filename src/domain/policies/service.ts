/** Policies of organisations: what decides, version by version, and the decisions themselves. @module */
import { hash, randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import { attempted } from '../../ledger/attempts.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { COMMITMENT_SALT_BYTES, canonicalCommitment } from '../../protocol/commitment.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { UsageService } from '../usage/service.ts'
import type { VerificationService } from '../verification/service.ts'
import { commitDecision, commitDecisions, type Decided } from './decision.ts'
import {
  areOfCircuit,
  type CircuitFacts,
  circuitFacts,
  FALLBACK_POLICY,
  seededRules,
  trialFacts,
} from './defaults.ts'
import {
  type CheckEvaluation,
  countExpanded,
  isFailed,
  isLast,
  readDefaults,
  readEvaluation,
} from './evaluations.ts'
import { decideByPolicy, type Policy, type PolicyDecision, REASONS, readPolicy } from './policy.ts'
import {
  AS_STORED,
  DEFAULT_PAGE_POLICIES,
  POLICY_NAME,
  type PoliciesQuery,
  type PolicyChange,
  type PolicyPage,
  type PolicyRules,
  type PolicyTrial,
  type PolicyTried,
  type StoredPolicy,
} from './schemas.ts'
import type {
  AuthzenConfiguration,
  DecisionAnswer,
  DecisionRequest,
  EvaluationsAnswer,
  EvaluationsRequest,
  FailedEvaluation,
} from './schemas-decisions.ts'
import * as store from './store.ts'

/** How long a policy may go on deciding where nobody was told that it was replaced. */
const POLICY_CACHE_MS = 1000
const MAX_CACHED_POLICIES = 10_000
/** Of several that replace a policy at a time one does; the others look again, and so does who decides by it. */
const MAX_ATTEMPTS = 10

const IS_NAME = new RegExp(POLICY_NAME)

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly verification: Pick<VerificationService, 'signer'>
  readonly usage: Pick<UsageService, 'allowance' | 'meterRow'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly baseUrl: string
  readonly checkEvaluation: CheckEvaluation
}

/** A policy as it is in force. */
interface Standing {
  readonly name: string
  /** 0: seeded. */
  readonly version: number
  readonly rules: PolicyRules
  /** Unix ms; undefined where it is seeded. */
  readonly updatedAt?: number
}

type PolicyVersion = Pick<Standing, 'name' | 'version'>

/** What a policy says about a verification, and all that the proof of it needs. */
export interface CircuitDecision extends PolicyDecision {
  readonly facts: CircuitFacts
  readonly tree: Policy['tree']
  readonly version: number
  /** Versions of which any, once it is written, decides in place of the one that did. */
  readonly successors: readonly PolicyVersion[]
  /** Lower-case hex SHA-256 of the policy's rules. */
  readonly hash: string
}

const hashOf = (rules: PolicyRules): string => hash('sha256', canonicalJson(rules))

const toStored = ({ name, version, rules, updatedAt }: Standing): StoredPolicy => ({
  policyId: name,
  version,
  seeded: version === 0,
  rules: [...rules],
  hash: hashOf(rules),
  updatedAt: updatedAt === undefined ? null : iso(updatedAt),
})

const seeded = (name: string): Standing | undefined => {
  const rules = seededRules(name)
  return rules && { name, version: 0, rules }
}

const standingOf = ({ name, version, rules, created_at }: store.PolicyRow): Standing => ({
  name,
  version,
  rules: rules as PolicyRules,
  updatedAt: created_at,
})

/** Held from the moment on at which the version is written. */
const versionClaim = ({ name, version }: PolicyVersion): Claim => [
  CLAIM_KINDS.policyVersion,
  `${name}/${version}`,
]

/** @param asked the name that the policy was looked up under: one of that name goes before the one for all others */
const successorsOf = ({ name, version }: Standing, asked: string): PolicyVersion[] => [
  { name, version: version + 1 },
  ...(name !== asked && IS_NAME.test(asked) ? [{ name: asked, version: 1 }] : []),
]

const decideBy = ({ version }: Standing, policy: Policy, facts: unknown): PolicyDecision => {
  const decided = decideByPolicy(policy, facts)
  return version > 0 ? decided : { ...decided, reasonCodes: [REASONS.seeded, ...decided.reasonCodes] }
}

export type PoliciesService = ReturnType<typeof createPolicies>

export const createPolicies = (deps: Deps) => {
  const { database, ledger, verification, usage, clock, openRecent, baseUrl, checkEvaluation } = deps
  const newest = openRecent<store.PolicyRow | undefined>({
    name: 'policy',
    ttlMs: POLICY_CACHE_MS,
    maxEntries: MAX_CACHED_POLICIES,
    load: (key) => {
      const [organisation = '', name = ''] = key.split('/')
      return store.findPolicy(database, organisation, name)
    },
  })

  const standing = async (organisation: string, name: string): Promise<Standing | undefined> => {
    if (!IS_NAME.test(name)) return undefined
    const row = await newest.get(`${organisation}/${name}`)
    if (row === undefined) return seeded(name)
    return standingOf(row)
  }

  /** The policy for whatever has none of its own. */
  const fallback = async (organisation: string): Promise<Standing> => {
    const found = await standing(organisation, FALLBACK_POLICY)
    if (found === undefined) throw new Error('There is no default policy.')
    return found
  }

  /** The policy of a name, or the one for all others. */
  const named = async (organisation: string, name: string): Promise<Standing> =>
    (await standing(organisation, name)) ?? fallback(organisation)

  /** The policy that was written for a resource's type, or the one for all others. What circuits have from the start is about verifications. */
  const forResource = async (organisation: string, type: string): Promise<Standing> => {
    const found = await standing(organisation, type)
    return found !== undefined && found.version > 0 ? found : fallback(organisation)
  }

  /** Decides a question, and commits to it; nothing is written yet. @param count told its bytes; what it throws ends all */
  const judge = async (
    { organisation }: Caller,
    request: DecisionRequest,
    count?: (bytes: number) => void,
  ) => {
    const { subject, action, resource, context } = request
    const asked: DecisionRequest = { subject, action, resource, ...(context !== undefined && { context }) }
    const content = Buffer.from(canonicalJson(asked))
    count?.(content.length)
    const salt = randomBytes(COMMITMENT_SALT_BYTES)
    const commitment = canonicalCommitment(salt, content)
    const found = await forResource(organisation, resource.type)
    const { name: policy, version } = found
    const decided = decideBy(found, readPolicy(found.rules), asked)
    const successors = successorsOf(found, resource.type)
    return { ...decided, request: asked, salt, commitment, policy, version, successors }
  }
  type Judged = Awaited<ReturnType<typeof judge>>

  /** All that committing decisions needs besides them. */
  const committing = async (caller: Caller): Promise<(judged: Judged) => Decided> => {
    const { organisation } = caller
    const at = clock.now()
    const allowance = await usage.allowance(organisation)
    const signer = await verification.signer()
    const meter = usage.meterRow({ organisation, at, category: 'policy', proofs: 0, proofBytes: 0 })
    return (judged) => ({ ...judged, caller, issuer: baseUrl, signer, allowance, rows: [meter], at })
  }

  /**
   * Commits what policies decided, as long as they are in force.
   * @returns undefined where one of them was replaced meanwhile: nothing is written then, and the next look-up finds what is in force
   */
  const commit = async <R>(
    caller: Caller,
    successors: readonly PolicyVersion[],
    decide: Decide<R>,
  ): Promise<R | undefined> => {
    const committed = await ledger.append<R | undefined>(caller, (tx) =>
      successors.some((version) => tx.holder(...versionClaim(version))) ? undefined : decide(tx),
    )
    if (committed === undefined)
      await Promise.all(successors.map(({ name }) => newest.forget(`${caller.organisation}/${name}`)))
    return committed
  }

  /** Has questions judged anew where a policy was replaced before the decision was committed. @throws AppError unavailable */
  const judging = async <R>(caller: Caller, attempt: (asker: Caller) => Promise<R | undefined>): Promise<R> =>
    (await attempted(caller, MAX_ATTEMPTS, attempt)) ??
    fail('unavailable', { message: 'The policy is being replaced many times at once; try again.' })

  /** @throws AppError subscription_inactive, free_allocation_used, unavailable */
  const decide = (caller: Caller, request: DecisionRequest): Promise<DecisionAnswer> =>
    judging(caller, async (asker) => {
      const judged = await judge(asker, request)
      return commit(asker, judged.successors, commitDecision((await committing(asker))(judged)))
    })

  /** @returns undefined where a policy was replaced meanwhile */
  const decideEach = async (
    caller: Caller,
    request: EvaluationsRequest,
    evaluations: readonly unknown[],
  ): Promise<EvaluationsAnswer | undefined> => {
    const count = countExpanded()
    const read: (Judged | FailedEvaluation)[] = []
    for (const evaluation of evaluations) {
      // Patterns in rules may take milliseconds, and so may the commitment to a large question.
      if (read.length > 0) await turn()
      const asked = readEvaluation(request, evaluation, checkEvaluation)
      const judged = isFailed(asked) ? asked : await judge(caller, asked, count)
      read.push(judged)
      if (isLast(request, judged.decision === 'YES')) break
    }
    const judgements = read.filter((item): item is Judged => 'request' in item)
    const present = (answers: readonly DecisionAnswer[]): EvaluationsAnswer => {
      const next = answers.values()
      return {
        evaluations: read.map((item) => ('request' in item ? (next.next().value ?? fail('internal')) : item)),
      }
    }
    if (judgements.length === 0) return present([])
    const toDecided = await committing(caller)
    const successors = judgements.flatMap((judged) => judged.successors)
    return commit(caller, successors, commitDecisions(judgements.map(toDecided), present))
  }

  /** @returns undefined where somebody else wrote the next version first @throws AppError not_found, conflict, read_only */
  const replace = async (
    caller: Caller,
    policyId: string,
    change: PolicyChange,
  ): Promise<StoredPolicy | undefined> => {
    const { rules, version } = change
    const { organisation } = caller
    const row = await store.findPolicy(database, organisation, policyId)
    const current = row?.version ?? 0
    if (row === undefined && version !== undefined && version > 0) fail('not_found')
    const rulesHash = hashOf(rules)
    const isRepeated =
      row !== undefined &&
      rulesHash === hashOf(standingOf(row).rules) &&
      (version === undefined || version === current - 1)
    if (version !== undefined && version !== current && !isRepeated)
      fail('conflict', {
        message: `The current version of the policy is ${current}.`,
        extras: { version: current },
      })
    const replaced =
      version === undefined || version === current
        ? row
        : await store.findPolicy(database, organisation, policyId, version)
    const before = replaced ? standingOf(replaced) : seeded(policyId)
    requireUnchanged(change, before ? toStored(before) : { policyId }, AS_STORED)
    if (isRepeated) {
      // It may have been committed unknown to this server.
      await newest.forget(`${organisation}/${policyId}`)
      return toStored(standingOf(row))
    }
    const next = current + 1
    const written = await ledger.append(caller, (tx) => {
      const claimed = versionClaim({ name: policyId, version: next })
      if (tx.holder(...claimed)) return undefined
      tx.claim(...claimed)
      const { index } = tx.append({
        type: 'account',
        subject: ['policy', policyId],
        data: { event: 'policy.replaced', policy: policyId, version: next, hash: rulesHash },
      })
      const made = {
        organisation,
        name: policyId,
        version: next,
        rules,
        entry_index: index,
        created_at: tx.at,
      }
      tx.write(store.policies.row(made))
      return toStored(standingOf(made))
    })
    await newest.forget(`${organisation}/${policyId}`)
    return written
  }

  return {
    /** A page of the policies that the organisation has written, by name. */
    async list(
      { organisation }: Caller,
      { cursor, limit = DEFAULT_PAGE_POLICIES }: PoliciesQuery,
    ): Promise<PolicyPage> {
      const rows = await store.findPolicies(database, organisation, { after: cursor, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      return {
        policies: shown.map(({ name, version, rule_count, created_at }) => ({
          policyId: name,
          version,
          ruleCount: rule_count,
          updatedAt: iso(created_at),
        })),
        nextCursor: rows.length > limit ? (shown.at(-1)?.name ?? null) : null,
      }
    },

    /** The policy in force. @throws AppError not_found */
    async find({ organisation }: Caller, policyId: string): Promise<StoredPolicy> {
      return toStored((await standing(organisation, policyId)) ?? fail('not_found'))
    },

    /**
     * Replaces a policy, or writes the first one of a name. Nothing is decided by the one before from then on; other servers show
     * the new one within a second. Again, as long as
     * nobody else replaced it: the first answer.
     * @throws AppError validation_failed, tree_too_large; not_found for a version of a policy that was never written;
     *   conflict when another version is in force than the one to be replaced, or many others replace it; read_only
     */
    async replace(caller: Caller, policyId: string, change: PolicyChange): Promise<StoredPolicy> {
      readPolicy(change.rules)
      const replaced = await attempted(caller, MAX_ATTEMPTS, (asker) => replace(asker, policyId, change))
      return replaced ?? fail('conflict')
    },

    /**
     * What a policy, or rules that might become it, say of sample facts, by whichever policy would decide about such facts.
     * @throws AppError validation_failed, tree_too_large, unknown_member
     */
    async try(
      { organisation }: Caller,
      policyId: string,
      { rules, facts: sent }: PolicyTrial,
    ): Promise<PolicyTried> {
      const ofCircuit = areOfCircuit(policyId, sent)
      const facts = trialFacts(sent, ofCircuit)
      const inForce = ofCircuit ? named : forResource
      const found = rules === undefined ? await inForce(organisation, policyId) : undefined
      const policy = readPolicy(rules ?? found?.rules ?? [])
      const { decision, reasonCodes, obligations } = found
        ? decideBy(found, policy, facts)
        : decideByPolicy(policy, facts)
      return {
        decision,
        reasonCodes: [...reasonCodes],
        obligations: [...obligations],
        policyId: found?.name ?? policyId,
        version: found?.version ?? null,
      }
    },

    /** What the organisation's policy for a circuit says about a verification. */
    async forCircuit(
      { organisation }: Caller,
      circuitId: string,
      identifier: string,
      context: Readonly<Record<string, unknown>>,
    ): Promise<CircuitDecision> {
      const found = await named(organisation, circuitId)
      const policy = readPolicy(found.rules)
      const facts = circuitFacts(identifier, context)
      const decided = decideBy(found, policy, facts)
      return {
        ...decided,
        facts,
        tree: policy.tree,
        version: found.version,
        successors: successorsOf(found, circuitId),
        hash: hashOf(found.rules),
      }
    },

    commit,

    /**
     * Decides whether a subject may act on a resource; signed and recorded. No and yes cost the same.
     * @throws AppError subscription_inactive, free_allocation_used, unavailable
     */
    decide,

    /**
     * Decides several questions in their order, as far as the semantic goes, and records these decisions in one commit. A
     * question that can't be one is denied, recorded nowhere and free. Without evaluations it is {@link decide}.
     * @throws AppError validation_failed, batch_too_large; subscription_inactive, free_allocation_used where not all of them can be paid;
     *   unavailable
     */
    async decideAll(
      caller: Caller,
      request: EvaluationsRequest,
    ): Promise<DecisionAnswer | EvaluationsAnswer> {
      const { evaluations = [] } = request
      if (evaluations.length === 0) return decide(caller, readDefaults(request, checkEvaluation))
      return judging(caller, (asker) => decideEach(asker, request, evaluations))
    },

    /** Where others' tools find these decisions (AuthZEN Authorization API 1.0 §9). */
    configuration: (): AuthzenConfiguration => ({
      policy_decision_point: baseUrl,
      access_evaluation_endpoint: `${baseUrl}/access/v1/evaluation`,
      access_evaluations_endpoint: `${baseUrl}/access/v1/evaluations`,
    }),
  }
}
