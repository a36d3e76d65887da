/**
 * Zero-knowledge proofs about the log: that some entry of a shard is behind a commitment, and that the shard's root
 * stands in the signed tree. The leaf's own audit path would undo the zero knowledge, so only the root's is shown.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { isCanonicalSignal } from '../../circuits/circuit.ts'
import { auditProof } from '../../circuits/mappers/audit_proof.ts'
import { proofFacts } from '../../circuits/proof-facts.ts'
import type { Verifier } from '../../circuits/verifying/verifier-queue.ts'
import type { Clock } from '../../clock.ts'
import { type ErrorDetail, fail } from '../../errors.ts'
import { failReadOnly, requireUnchanged } from '../../json/read-only.ts'
import type { createCheckpointReader } from '../../ledger/checkpoints/checkpoint-reading.ts'
import type { SignedLog, SignedLogs } from '../../ledger/checkpoints/signed-logs.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import type { Head } from '../../ledger/tree/log.ts'
import { foldInclusion, leafHash } from '../../ledger/tree/merkle.ts'
import { elementBytes } from '../../ledger/tree/poseidon-tree.ts'
import { decodeZk1, proofDigest, type SnarkProof } from '../../protocol/zk1.ts'
import { contextElement } from '../../rules/encode.ts'
import { unexpected } from '../../rules/expectation.ts'
import type { Database } from '../../store/database.ts'
import type { ProofsService } from '../proofs/service.ts'
import type { Prepared } from '../proofs/statement.ts'
import type { EntryName, Member, Membership } from './membership.ts'
import {
  AS_PROVED,
  type PublicInputs,
  type ZkpProof,
  type ZkpProofRequest,
  type ZkpVerified,
  type ZkpVerifyRequest,
} from './schemas-zkp.ts'
import { findEntry } from './store.ts'

const CATEGORY = 'audit'
const MS_PER_SECOND = 1000

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly logs: Pick<Logs, 'of' | 'count'>
  readonly signedLogs: Pick<SignedLogs, 'at'>
  /** Of a log, by its name. */
  readonly checkpointReader: (origin: string) => ReturnType<typeof createCheckpointReader>
  readonly membership: Pick<Membership, 'memberOf'>
  readonly proofs: Pick<ProofsService, 'make' | 'findRecorded'>
  /** The statement that some entry of the member's shard is behind a commitment. */
  readonly prepareMember: (member: Member) => Prepared
  readonly verifier: Pick<Verifier, 'verify'>
  readonly clock: Clock
  readonly baseUrl: string
}

export type AuditProofs = ReturnType<typeof createAuditProofs>

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const refuse = (path: string, code: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code, message } satisfies ErrorDetail] })

/** Sides of a proof that was sent in either form; whether it is one is for the verifier to say. */
const readProof = (proof: unknown): SnarkProof =>
  (typeof proof === 'string' ? decodeZk1(proof)?.proof : proof) as SnarkProof

const signalsOf = ({ leafCommitment, poseidonRoot, ctx }: PublicInputs): string[] => [
  leafCommitment,
  poseidonRoot,
  ctx,
]

const digestOf = (inputs: PublicInputs): string => proofDigest(auditProof.id, signalsOf(inputs))

const factsOf = (inputs: PublicInputs) =>
  proofFacts({ circuitId: auditProof.id, publicSignals: signalsOf(inputs), context: inputs.context })

/** What a logged root is, as its entry says it. */
const isRootEntry = (text: string, { poseidonRoot, context }: PublicInputs): boolean => {
  const { type, data }: { type: string; data: Record<string, unknown> } = JSON.parse(text)
  const { shard, shard_size: size } = context.statement
  const root = isCanonicalSignal(poseidonRoot) && hex(elementBytes(BigInt(poseidonRoot)))
  return type === 'ledger.poseidon_root' && data.shard === shard && data.size === size && data.root === root
}

export const createAuditProofs = (deps: Deps) => {
  const {
    database,
    ledger,
    logs,
    signedLogs,
    checkpointReader,
    membership,
    proofs,
    verifier,
    clock,
    baseUrl,
  } = deps

  const memberOf = async (caller: Caller, name: EntryName, treeSize: number | undefined): Promise<Member> => {
    const { size } = await signedLogs.at(await logs.of(caller.organisation)).tree.head()
    if (treeSize !== undefined && treeSize > size)
      refuse('/treeSize', 'out_of_range', `The log has ${size} entries.`)
    return (
      (await membership.memberOf(caller, name, treeSize)) ??
      refuse('/treeSize', 'out_of_range', 'A tree of that size has no logged root that covers the entry.')
    )
  }

  /** The audit path of an entry, with the root that it leads to. */
  const inclusionOf = async ({ number: log, tree }: SignedLog, index: number, size: number) => {
    const [row, hashes, root] = await Promise.all([
      findEntry(database, { log, index }, undefined),
      tree.inclusion(index, size),
      tree.root(size),
    ])
    return { row, hashes, root }
  }

  /** The first thing that is wrong between the log and what is claimed of it. @param now as it is signed */
  const logFault = async (log: SignedLog, inputs: PublicInputs, now: Head): Promise<string | undefined> => {
    const { root_index: index } = inputs.context.statement
    if (index >= now.size) return 'ROOT_UNKNOWN'
    const { row, hashes, root } = await inclusionOf(log, index, now.size)
    if (row === undefined || !isRootEntry(row.entry, inputs)) return 'ROOT_UNKNOWN'
    const reached = foldInclusion(leafHash(row.entry), index, now.size, hashes)
    if (reached === undefined || Buffer.compare(reached, root) !== 0) return 'INCLUSION_INVALID'
    const { treeSize, treeRoot } = inputs
    if (treeSize <= index || treeSize > now.size) return 'TREE_MISMATCH'
    return hex(await log.tree.root(treeSize)) === treeRoot ? undefined : 'TREE_MISMATCH'
  }

  const checkpointFault = async (
    { origin, tree }: SignedLog,
    note: string,
    inputs: PublicInputs,
    now: Head,
  ): Promise<string | undefined> => {
    const read = await checkpointReader(origin).read(note)
    if ('fault' in read) return read.fault
    if (read.size > now.size) return 'CHECKPOINT_MISMATCH'
    if (read.size <= inputs.context.statement.root_index) return 'CHECKPOINT_TOO_EARLY'
    return Buffer.compare(await tree.root(read.size), read.root) === 0 ? undefined : 'CHECKPOINT_MISMATCH'
  }

  const contextFault = ({ ctx, context }: PublicInputs): string | undefined => {
    const isOurs = context.aud === baseUrl && context.circuit === auditProof.id
    if (!isOurs || ctx !== String(contextElement(context))) return 'CONTEXT_MISMATCH'
    const isOver = context.exp !== undefined && context.exp * MS_PER_SECOND <= clock.now()
    return isOver ? 'EXPIRED' : undefined
  }

  const inclusionJson = async (log: SignedLog, index: number, size: number) => {
    const { row, hashes, root } = await inclusionOf(log, index, size)
    const leaf = row ?? fail('not_found')
    return {
      root,
      inclusion: { ...named(log.number), index, leafHash: hex(leaf.leaf_hash), hashes: hashes.map(hex) },
    }
  }

  /**
   * Holds what is said of a proof that is in order against what its making answered. Of another organisation's the id is
   * not known.
   * @throws AppError read_only
   */
  const requireAsProved = async (caller: Caller, sent: ZkpVerifyRequest): Promise<void> => {
    const { context, treeSize } = sent.publicInputs
    if (sent.proofId !== undefined && context.org === caller.organisation) {
      const made = await proofs.findRecorded(caller, sent.proofId)
      if (made?.digest !== digestOf(sent.publicInputs)) failReadOnly(['proofId'])
    }
    if (sent.inclusion === undefined) return
    const log = signedLogs.at(context.statement.log ?? 0)
    const { inclusion } = await inclusionJson(log, context.statement.root_index, treeSize)
    // Absent, the log is 0.
    const whole = { inclusion: { log: 0, ...inclusion } }
    requireUnchanged({ inclusion: { log: 0, ...sent.inclusion } }, whole, AS_PROVED)
  }

  return {
    /**
     * Proves that one of the caller's entries is in the log, without saying which: entry `prove`.
     * @throws AppError not_found, validation_failed, log_inconsistent, and what making proofs throws
     */
    async prove(caller: Caller, request: ZkpProofRequest): Promise<ZkpProof> {
      const member = await memberOf(caller, request, request.treeSize)
      const { recording, ...made } = await proofs.make(caller, {
        circuitId: auditProof.id,
        prepared: deps.prepareMember(member),
        category: CATEGORY,
      })
      // After the root was logged, so that it covers it.
      const log = signedLogs.at(member.log)
      const checkpoint = await log.checkpoints.latest()
      const { entryIndex: index } = member.root
      const treeSize = request.treeSize ?? checkpoint.size
      const { root, inclusion } = await inclusionJson(log, index, treeSize)
      const [leafCommitment = '', poseidonRoot = '', ctx = ''] = made.publicSignals
      const { aud, org, circuit, nonce } = made.context
      const statement = made.context.statement as PublicInputs['context']['statement']
      const answer: ZkpProof = {
        proofId: made.proofId,
        digest: made.digest,
        proof: made.proof as ZkpProof['proof'],
        publicInputs: {
          leafCommitment,
          poseidonRoot,
          ctx,
          context: { aud, org, circuit, statement, nonce },
          treeSize,
          treeRoot: hex(root),
        },
        inclusion,
        checkpoint: checkpoint.note,
      }
      return ledger.append(caller, (tx) => {
        recording.record(tx)
        return answer
      })
    },

    /**
     * Checks such a proof: pairing, context, that the log holds the root, and the trees that were named.
     * @throws AppError log_inconsistent when the log itself can't be relied on; read_only for what its making is said to
     *   have answered and did not
     */
    async verify(caller: Caller, sent: ZkpVerifyRequest): Promise<ZkpVerified> {
      const { proof, publicInputs, checkpoint, digest, expect } = sent
      const verdict = await verifier.verify(
        auditProof.id,
        readProof(proof),
        signalsOf(publicInputs),
        caller.organisation,
      )
      const number = publicInputs.context.statement.log ?? 0
      const isThere = number < logs.count()
      const log = signedLogs.at(isThere ? number : 0)
      const now = await log.checkpoints.latest()
      const answer = { valid: verdict.valid, integrity_verified: false, treeSize: now.size }
      if (!verdict.valid) return { ...answer, reason: verdict.reason }
      const reason =
        contextFault(publicInputs) ??
        (isThere ? await logFault(log, publicInputs, now) : 'ROOT_UNKNOWN') ??
        (checkpoint === undefined ? undefined : await checkpointFault(log, checkpoint, publicInputs, now)) ??
        (digest === undefined || digest === digestOf(publicInputs) ? undefined : 'DIGEST_MISMATCH') ??
        unexpected(expect, factsOf(publicInputs), clock.now())[0]
      if (reason !== undefined) return { ...answer, reason }
      await requireAsProved(caller, sent)
      return { ...answer, integrity_verified: true }
    },
  }
}
