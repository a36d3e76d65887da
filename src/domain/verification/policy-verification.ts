/**
 * Verification by policy: identifier and context in; the decision of the organisation's policy for a circuit out,
 * proven with that circuit, signed, and recorded in one commit with its proof.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { AppError, fail } from '../../errors.ts'
import type { Decide } from '../../ledger/decision.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import { defaultPurpose } from '../../rules/encode.ts'
import type { CircuitDecision, PoliciesService } from '../policies/service.ts'
import type { Examined } from '../proofs/checking.ts'
import type { ProofAsk, UncommittedProof } from '../proofs/proof.ts'
import type { LateOf, ProofsService } from '../proofs/service.ts'
import { type Issue, issueResult } from './issue.ts'
import { choosePolicyCircuit, provesPolicies } from './policy-proof.ts'
import type { SignedResult } from './schemas.ts'
import type { PolicyVerification, PolicyVerifyRequest, VerificationContext } from './schemas-v1.ts'
import type { VerificationService } from './service.ts'

/** What the proof of a policy's decision is made for. */
const PURPOSE = 'verify'
/** Reason where the policy permits what the circuit finds untrue. */
const STATEMENT_FALSE = 'STATEMENT_FALSE'

/** Errors that mean that a circuit can't do with what it got. */
const INPUT_FAULTS: readonly string[] = ['validation_failed', 'inputs_insufficient', 'not_found']

interface Deps {
  readonly verification: Pick<VerificationService, 'signer'>
  readonly policies: Pick<PoliciesService, 'forCircuit' | 'commit'>
  readonly proofs: Pick<ProofsService, 'statement' | 'prepare' | 'make' | 'checkMade' | 'lastLook'>
  readonly baseUrl: string
}

/** What the proof binds, and the signature tells, of the facts and of what the policy says about them. */
interface Bound {
  readonly data_commitment: string
  readonly rules_hash: string
  readonly policy_version: number
  /** Of the policy alone: where it is NO, whatever the circuit shows is no YES. */
  readonly policy_verdict: 'YES' | 'NO'
}

const POLICY_NO = 'POLICY_NO'

type Decided = Pick<CircuitDecision, 'decision' | 'reason' | 'reasonCodes'>

/** A decision, and the proof without which it is NO. */
interface Verdict extends Decided {
  readonly standsOn?: Examined
}

/** Of a circuit that proves the policy's decision. */
const samePolicyDecision = (decided: CircuitDecision, { circuitId, decision }: UncommittedProof): Verdict => {
  if ((decided.decision === 'YES') !== (decision === 1))
    throw new Error(`Circuit ${circuitId} and the policy disagree.`)
  return decided
}

/** What is proved, and what its nullifier is scoped to, beside the service itself. */
type Asked = Pick<ProofAsk, 'prepared' | 'purpose'>

const preparePolicy = (circuitId: string, decided: CircuitDecision, bound: Bound): Asked => {
  const { tree, facts, decision, reason } = decided
  const choice = choosePolicyCircuit({ tree, data: facts, decision: { decision, reason } }, circuitId)
  return {
    purpose: PURPOSE,
    prepared: {
      statement: { ...choice.statement, ...bound, commits: choice.commits },
      ...(reason && { reason }),
      signals: (binding) => choice.signals(binding),
    },
  }
}

/** Members of a circuit's inputs that name whom it is about. */
const PERSON_INPUTS: readonly string[] = ['userId', 'subjectId']

/** What is wrong with the inputs of a circuit, told of where they stand here: they lack what it needs. */
const asInsufficient = (error: unknown): unknown => {
  if (!(error instanceof AppError) || !INPUT_FAULTS.includes(error.code)) return error
  const { code, message } = error
  const details = error.details?.map((detail) => ({
    ...detail,
    path: `/context/inputs${detail.path.replace(/^\/inputs(?=\/|$)/, '')}`,
  })) ?? [{ path: '/context/inputs', code, message }]
  return new AppError('inputs_insufficient', { message, details, cause: error })
}

const answerOf = (
  made: UncommittedProof,
  reasonCodes: readonly string[],
  version: number,
  signed: SignedResult,
): PolicyVerification => ({
  verification_id: signed.verificationId,
  decision: signed.success ? 1 : 0,
  verdict: signed.decision as PolicyVerification['verdict'],
  circuit_id: made.circuitId,
  reason_codes: [...reasonCodes],
  policy_version: version,
  digest: made.digest,
  proof_id: made.proofId,
  proof: made.proof as PolicyVerification['proof'],
  public_signals: [...made.publicSignals],
  context: made.context as PolicyVerification['context'],
  salt: signed.salt,
  jws: signed.jws,
  issued_at: signed.timestamp,
  expires_at: signed.expiresAt ?? null,
  ...(signed.log !== undefined && { log: signed.log }),
  merkle_root: signed.merkleRoot,
  merkle_leaf_hash: signed.merkleLeafHash,
})

/** The decision that is committed: NO where what it stands on was revoked or spent at the last moment. */
const unlessOvertaken = <R>(
  verdict: Decided,
  lateOf: LateOf | undefined,
  decide: (decided: Decided) => Decide<R>,
): Decide<R> => {
  const asDecided = decide(verdict)
  /** By reason: a commit may be decided again, and comes to the same then. */
  const refused = new Map<string, Decide<R>>()
  const refuse = (reason: string): Decide<R> => {
    const reasonCodes = [...verdict.reasonCodes, reason]
    const refusal = refused.get(reason) ?? decide({ ...verdict, decision: 'NO', reasonCodes })
    refused.set(reason, refusal)
    return refusal
  }
  return (tx) => {
    const late = lateOf?.(tx)
    return (late === undefined ? asDecided : refuse(late.reason))(tx)
  }
}

/** Rules and data of the caller's own would go unasked, under a signed YES of the policy. @throws AppError validation_failed */
const demandNoInputs = (circuitId: string, inputs: VerificationContext['inputs']): void => {
  if (inputs === undefined) return
  const message = `does not belong to ${circuitId}, which proves the decision of the policy about identifier and context; POST /verify accepts rules`
  fail('validation_failed', { details: [{ path: '/context/inputs', code: 'not_applicable', message }] })
}

/** One result speaks of one person. @throws AppError validation_failed where `inputs` name another one */
const demandSamePerson = (identifier: string, inputs: VerificationContext['inputs'] = {}): void => {
  const other = Object.entries(inputs).find(([name, id]) => PERSON_INPUTS.includes(name) && id !== identifier)
  if (other === undefined) return
  const message = 'must equal the identifier: policy and proof must be about the same person'
  fail('validation_failed', { details: [{ path: `/context/inputs/${other[0]}`, code: 'mismatch', message }] })
}

export type PolicyVerificationService = ReturnType<typeof createPolicyVerification>

export const createPolicyVerification = (deps: Deps) => {
  const { verification, policies, proofs, baseUrl } = deps

  /** The circuit's own statement about what stands in `context.inputs`. @throws AppError inputs_insufficient */
  const prepareInputs = async (
    caller: Caller,
    circuitId: string,
    inputs: VerificationContext['inputs'],
    bound: Bound,
  ): Promise<Asked> => {
    if (inputs === undefined) {
      const details = [{ path: '/context/inputs', code: 'required', message: 'is required for this circuit' }]
      return fail('inputs_insufficient', { details })
    }
    const prepared = await proofs.prepare(caller, circuitId, inputs).catch((error: unknown) => {
      throw asInsufficient(error)
    })
    const { statement } = prepared
    return {
      // Of the circuit's question alone: what is bound with it differs each time, and nothing would be spent twice.
      purpose: defaultPurpose(circuitId, statement),
      prepared: { ...prepared, statement: { ...statement, ...bound } },
    }
  }

  /** What its proof shows has to count as well: it may have been revoked or spent, also while the proof was made. */
  const withStatement = async (
    caller: Caller,
    { decision, reason, reasonCodes }: CircuitDecision,
    made: UncommittedProof,
  ): Promise<Verdict> => {
    const checked = await proofs.checkMade(caller, made)
    // Why the policy says NO is told already.
    const others = checked.reasonCodes.filter((reason) => reason !== POLICY_NO)
    const faults = made.decision === 1 ? others : [STATEMENT_FALSE, ...others]
    return faults.length === 0
      ? { decision, reason, reasonCodes, standsOn: checked }
      : { decision: 'NO', reason, reasonCodes: [...reasonCodes, ...faults] }
  }

  return {
    /**
     * Decides by the organisation's policy for the circuit, proves with that circuit, signs and records. Circuits with
     * a statement of their own need what it is about in `context.inputs`; then YES takes both, policy and statement.
     * @throws AppError not_found for an unknown circuit; validation_failed, inputs_insufficient, not_provable; conflict where the
     *   policy was replaced while the proof was made; subscription_inactive, free_allocation_used; prover_overloaded, proof_service_unavailable, unavailable
     */
    async verify(caller: Caller, request: PolicyVerifyRequest): Promise<PolicyVerification> {
      const { circuit_id: circuitId, identifier, context = {}, ttl, nonce } = request
      proofs.statement(circuitId)
      const { inputs, ...facts } = context
      if (provesPolicies(circuitId)) demandNoInputs(circuitId, inputs)
      else demandSamePerson(identifier, inputs)
      const decided = await policies.forCircuit(caller, circuitId, identifier, facts)
      const salt = randomBytes(COMMITMENT_SALT_BYTES)
      const bound: Bound = {
        data_commitment: dataCommitment(salt, decided.facts),
        rules_hash: decided.hash,
        policy_version: decided.version,
        policy_verdict: decided.decision,
      }
      const asked = provesPolicies(circuitId)
        ? preparePolicy(circuitId, decided, bound)
        : await prepareInputs(caller, circuitId, inputs, bound)
      const { recording, ...made } = await proofs.make(caller, {
        ...asked,
        circuitId,
        category: 'verify',
        nonce,
        ttlSeconds: ttl,
        subject: identifier,
        salt,
      })
      const verdict = provesPolicies(circuitId)
        ? samePolicyDecision(decided, made)
        : await withStatement(caller, decided, made)
      const at = made.createdAt
      const signer = await verification.signer()
      const decide = ({ decision, reason, reasonCodes }: Decided): Decide<PolicyVerification> => {
        const issue: Issue = {
          caller,
          issuer: baseUrl,
          statement: {
            decision,
            reason,
            circuitId,
            digest: made.digest,
            commitment: recording.entry.commitment,
            dataCommitment: bound.data_commitment,
            rulesHash: bound.rules_hash,
            salt,
            at,
            expiresAt: made.expiresAt ?? undefined,
          },
          signer,
          proofId: made.proofId,
          subject: ['subject', identifier],
          signed: {
            policy: circuitId,
            policy_version: decided.version,
            reason_codes: [...reasonCodes],
          },
          reserve: recording.reserve,
          write: (tx, _, index) => recording.write(tx, index),
        }
        return issueResult(issue, (signed) => answerOf(made, reasonCodes, decided.version, signed))
      }
      const lateOf = verdict.standsOn && (await proofs.lastLook(verdict.standsOn))
      const committed = await policies.commit(
        caller,
        decided.successors,
        unlessOvertaken(verdict, lateOf, decide),
      )
      return (
        committed ??
        fail('conflict', {
          message: 'The policy was replaced while the proof of its decision was made; ask again.',
        })
      )
    },
  }
}
