/**
 * From data and rules to a statement: what was decided, which circuit can prove it, and the public signals of that proof.
 * All of it follows from the request, the salt and the time; nothing here is signed or stored yet.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { chooseCircuit, type ProvableId } from '../../circuits/choice.ts'
import type { Provable } from '../../circuits/circuit.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment as commitData } from '../../protocol/commitment.ts'
import { proofDigest } from '../../protocol/zk1.ts'
import { contextElement, h248, scopeElement } from '../../rules/encode.ts'
import { type Decision, decide } from '../../rules/evaluate.ts'
import { hashRules } from '../../rules/hash.ts'
import type { Tree } from '../../rules/rule.ts'
import { parseRules } from '../../rules/tree.ts'
import type { StoredContext } from '../proofs/statement.ts'
import { type Asked, shownQuestion } from './asked.ts'
import type { VerifyData, VerifyOptions } from './schemas.ts'

const MS_PER_SECOND = 1000

/** What a nullifier of a verification is scoped to, beside the service itself. */
const PURPOSE = 'verify'

export interface DataStatement extends Pick<Decision, 'reason'>, Provable {
  /** Null where nothing was asked: then the data is attested, and nothing decided. */
  readonly decision: Decision['decision'] | null
  readonly circuitId: ProvableId
  /** Lower-case hex; see {@link proofDigest}. */
  readonly digest: string
  /** The circuit's commitment as 32 bytes, lower-case hex. */
  readonly commitment: string
  /** Lower-case hex SHA-256("commitment/1" ‖ salt ‖ JCS(data)). */
  readonly dataCommitment: string
  /** What `ctx` binds, as it is kept with the proof. */
  readonly context: StoredContext
  /** As bound by `ctx`: lower-case hex SHA-256(JCS({rules, logic})); null without rules. */
  readonly rulesHash: string | null
  /** What may be shown of the rules; absent where nothing was asked. */
  readonly asked?: Asked
  /** 32 random bytes: opens both commitments. */
  readonly salt: Uint8Array
  /** Unix ms: when the data was looked at. */
  readonly at: number
  /** Unix ms. */
  readonly expiresAt?: number
}

const elementHex = (element: bigint): string => element.toString(16).padStart(64, '0')

/** Whether the rules hold; without rules what is proved is that the data was submitted. */
const judge = (tree: Tree | undefined, data: VerifyData): Decision =>
  tree === undefined ? { decision: 'YES' } : decide(tree, data)

/**
 * Decides and encodes.
 * @param issuer BASE_URL @param at Unix ms
 * @throws AppError validation_failed, tree_too_large for rules that can't be read or a circuit that does not fit them;
 *   not_provable when the circuit that was asked for can't hold the value
 */
export const makeStatement = (
  caller: Pick<Caller, 'organisation'>,
  issuer: string,
  data: VerifyData,
  options: VerifyOptions,
  at: number,
): DataStatement => {
  const { rules, logic, ttl, nonce = '', circuit_id } = options
  const tree = rules === undefined && logic === undefined ? undefined : parseRules(rules, logic, '/options')
  const judged = judge(tree, data)
  const choice = chooseCircuit({ tree, data, decision: judged }, circuit_id)
  const salt = randomBytes(COMMITMENT_SALT_BYTES)
  const dataCommitment = commitData(salt, data)
  const rulesHash = hashRules(options)
  const expiresAt = ttl === undefined ? undefined : at + ttl * MS_PER_SECOND
  const statement = { data_commitment: dataCommitment, rules_hash: rulesHash }
  const context = { statement, nonce, purpose: PURPOSE }
  const ctx = contextElement({
    aud: issuer,
    org: caller.organisation,
    circuit: choice.id,
    statement,
    nonce,
    ...(expiresAt !== undefined && { exp: Math.floor(expiresAt / MS_PER_SECOND) }),
  })
  const { publicSignals, witness, commitment, holds } = choice.signals({
    // One secret opens both commitments, and neither tells anything of the other.
    salt: h248(Buffer.concat([Buffer.from('circuit-salt/1'), salt])),
    ctx,
    scope: scopeElement({ aud: issuer, org: caller.organisation, purpose: PURPOSE }),
  })
  if (holds !== (judged.decision === 'YES')) {
    throw new Error(`Circuit ${choice.id} and the rules disagree.`)
  }
  return {
    ...judged,
    decision: tree === undefined ? null : judged.decision,
    circuitId: choice.id,
    publicSignals,
    witness,
    digest: proofDigest(choice.id, publicSignals),
    commitment: elementHex(commitment),
    dataCommitment,
    context,
    rulesHash,
    asked: shownQuestion(options),
    salt,
    at,
    expiresAt,
  }
}
