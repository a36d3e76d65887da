/**
 * Zero-knowledge proofs about the log: that some entry of a shard is behind a commitment, and that the shard's root
 * stands in the signed tree. The leaf's own audit path would undo the zero knowledge, so only the root's is shown.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { auditProof } from '../../circuits/audit_proof.ts'
import { isCanonicalSignal } from '../../circuits/circuit.ts'
import { proofFacts } from '../../circuits/proof-facts.ts'
import type { Verifier } from '../../circuits/verifier.ts'
import type { Clock } from '../../clock.ts'
import { type ErrorDetail, fail } from '../../errors.ts'
import type { Checkpoints } from '../../ledger/checkpoint.ts'
import type { createCheckpointReader } from '../../ledger/checkpoint-reading.ts'
import { foldInclusion } from '../../ledger/inclusion.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Head, Log } from '../../ledger/log.ts'
import { leafHash } from '../../ledger/merkle.ts'
import { elementBytes } from '../../ledger/poseidon-tree.ts'
import { decodeZk1, type SnarkProof } from '../../protocol/zk1.ts'
import { contextElement } from '../../rules/encode.ts'
import { unexpected } from '../../rules/expectation.ts'
import type { Database } from '../../store/database.ts'
import type { ProofsService } from '../proofs/service.ts'
import type { Prepared } from '../proofs/statement.ts'
import type { EntryName, Member, Membership } from './membership.ts'
import type { PublicInputs, ZkpProof, ZkpProofRequest, ZkpVerified, ZkpVerifyRequest } from './schemas-zkp.ts'
import { findEntry } from './store.ts'

const CATEGORY = 'audit'
const MS_PER_SECOND = 1000

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly log: Log
  readonly checkpoints: Pick<Checkpoints, 'latest'>
  readonly checkpointReader: ReturnType<typeof createCheckpointReader>
  readonly membership: Pick<Membership, 'memberOf'>
  readonly proofs: Pick<ProofsService, 'make'>
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
    log,
    checkpoints,
    checkpointReader,
    membership,
    proofs,
    verifier,
    clock,
    baseUrl,
  } = deps

  const memberOf = async (caller: Caller, name: EntryName, treeSize: number | undefined): Promise<Member> => {
    const { size } = await log.head()
    if (treeSize !== undefined && treeSize > size)
      refuse('/treeSize', 'out_of_range', `The log has ${size} entries.`)
    return (
      (await membership.memberOf(caller, name, treeSize)) ??
      refuse('/treeSize', 'out_of_range', 'A tree of that size holds no root over the entry.')
    )
  }

  /** The audit path of an entry, with the root that it leads to. */
  const inclusionOf = async (index: number, size: number) => {
    const [row, hashes, root] = await Promise.all([
      findEntry(database, index, undefined),
      log.inclusion(index, size),
      log.root(size),
    ])
    return { row, hashes, root }
  }

  /** The first thing that is wrong between the log and what is claimed of it. @param now as it is signed */
  const logFault = async (inputs: PublicInputs, now: Head): Promise<string | undefined> => {
    const { root_index: index } = inputs.context.statement
    if (index >= now.size) return 'ROOT_UNKNOWN'
    const { row, hashes, root } = await inclusionOf(index, now.size)
    if (row === undefined || !isRootEntry(row.entry, inputs)) return 'ROOT_UNKNOWN'
    const reached = foldInclusion(leafHash(row.entry), index, now.size, hashes)
    if (reached === undefined || Buffer.compare(reached, root) !== 0) return 'INCLUSION_INVALID'
    const { treeSize, treeRoot } = inputs
    if (treeSize <= index || treeSize > now.size) return 'TREE_MISMATCH'
    return hex(await log.root(treeSize)) === treeRoot ? undefined : 'TREE_MISMATCH'
  }

  const checkpointFault = async (
    note: string,
    inputs: PublicInputs,
    now: Head,
  ): Promise<string | undefined> => {
    const read = await checkpointReader.read(note)
    if ('fault' in read) return read.fault
    if (read.size > now.size) return 'CHECKPOINT_MISMATCH'
    if (read.size <= inputs.context.statement.root_index) return 'CHECKPOINT_TOO_EARLY'
    return Buffer.compare(await log.root(read.size), read.root) === 0 ? undefined : 'CHECKPOINT_MISMATCH'
  }

  const contextFault = ({ ctx, context }: PublicInputs): string | undefined => {
    const isOurs = context.aud === baseUrl && context.circuit === auditProof.id
    if (!isOurs || ctx !== String(contextElement(context))) return 'CONTEXT_MISMATCH'
    const isOver = context.exp !== undefined && context.exp * MS_PER_SECOND <= clock.now()
    return isOver ? 'EXPIRED' : undefined
  }

  return {
    /**
     * Proves that one of the caller's entries is in the log, without saying which: entry `prove`.
     * @throws AppError not_found, validation_failed, log_inconsistent, and what making proofs throws
     */
    async prove(caller: Caller, request: ZkpProofRequest): Promise<ZkpProof> {
      const member = await memberOf(caller, request, request.treeSize)
      const { item, ...made } = await proofs.make(caller, {
        circuitId: auditProof.id,
        prepared: deps.prepareMember(member),
        category: CATEGORY,
      })
      // After the root was logged, so that it covers it.
      const checkpoint = await checkpoints.latest()
      const { entryIndex: index } = member.root
      const treeSize = request.treeSize ?? checkpoint.size
      const { row, hashes, root } = await inclusionOf(index, treeSize)
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
        inclusion: { index, leafHash: hex((row ?? fail('not_found')).leaf_hash), hashes: hashes.map(hex) },
        checkpoint: checkpoint.note,
      }
      return ledger.append(caller, { ...item, result: () => answer })
    },

    /**
     * Checks such a proof: pairing, context, that the log holds the root, and the trees that were named.
     * @throws AppError log_inconsistent when the log itself can't be relied on
     */
    async verify({ proof, publicInputs, checkpoint, expect }: ZkpVerifyRequest): Promise<ZkpVerified> {
      const verdict = await verifier.verify(auditProof.id, readProof(proof), signalsOf(publicInputs))
      const now = await checkpoints.latest()
      const answer = { valid: verdict.valid, integrity_verified: false, treeSize: now.size }
      if (!verdict.valid) return { ...answer, reason: verdict.reason }
      const reason =
        contextFault(publicInputs) ??
        (await logFault(publicInputs, now)) ??
        (checkpoint === undefined ? undefined : await checkpointFault(checkpoint, publicInputs, now)) ??
        unexpected(expect, factsOf(publicInputs), clock.now())[0]
      return reason === undefined ? { ...answer, integrity_verified: true } : { ...answer, reason }
    },
  }
}
