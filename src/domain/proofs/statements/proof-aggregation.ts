/**
 * What the service knows of `proof_aggregation`: it is the attestor itself. Before it signs, it verifies each inner
 * proof again; the aggregate shows that it did, not the proofs themselves.
 * @module
 */
import type { Caller } from '../../../caller.ts'
import { aggregateMessage } from '../../../circuits/issuer-signature.ts'
import {
  type AggregateMember,
  aggregateChain,
  proofAggregation,
} from '../../../circuits/proof_aggregation.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import type { CheckedProof } from '../proof.ts'
import { AggregationInputs } from '../schemas-inputs.ts'
import { falseStatement, type Stated, type Statement } from '../statement.ts'
import { keyReasons } from './signed.ts'

/** Hexadecimal digits of the 31 bytes of a digest that fit into an element. */
const ELEMENT_HEX_DIGITS = 62

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
  /** Verifies a stored proof again. @throws AppError not_found */
  readonly verifyStored: (caller: Caller, proofId: string) => Promise<CheckedProof>
}

/** A proof that was verified: lower-case hex, and what it says. */
interface Member {
  readonly digest: string
  readonly decision: number
}

const elementsOf = (members: readonly Member[]): AggregateMember[] =>
  members.map(({ digest, decision }) => ({
    digest: BigInt(`0x${digest.slice(0, ELEMENT_HEX_DIGITS)}`),
    decision: BigInt(decision),
  }))

/** The members that a stored statement names, as this module wrote them. */
const membersOf = ({ members }: Stated): Member[] =>
  Array.isArray(members) ? members.map((member) => member as unknown as Member) : []

const areDistinct = (members: readonly Member[]): boolean =>
  new Set(members.map(({ digest }) => digest)).size === members.length

export const proofAggregationStatement = ({ issuer, verifyStored }: Deps): Statement => {
  /** @throws AppError not_found, STATEMENT_FALSE */
  const verified = async (caller: Caller, proofId: string): Promise<Member> => {
    const { verified: holds, digest, decision, reasonCodes } = await verifyStored(caller, proofId)
    if (!holds || digest === null || decision === null)
      throw falseStatement(`The proof ${proofId} is not verified: ${reasonCodes.join(', ')}.`)
    return { digest, decision }
  }

  return {
    circuit: proofAggregation,
    decision: 'all',
    inputs: AggregationInputs,

    async prepare(caller, inputs) {
      // They fit the schema.
      const { proofIds } = inputs as AggregationInputs
      const members = await Promise.all(proofIds.map((proofId) => verified(caller, proofId)))
      if (!areDistinct(members)) throw falseStatement('Two of the proofs show the same.')
      const { point, sign } = await issuer.current()
      const inside = elementsOf(members)
      const chain = aggregateChain(inside)
      const count = BigInt(members.length)
      return {
        statement: { members: members.map((member) => ({ ...member })) },
        signals({ ctx }) {
          const signature = sign(aggregateMessage({ count, ctx, chain }))
          const values = { members: inside, signature, attestor: point, ctx }
          return {
            publicSignals: proofAggregation.publicSignals(values),
            witness: proofAggregation.witnessInput(values),
          }
        },
      }
    },

    async check({ publicSignals, statement, now }) {
      const { attestorX, attestorY, chain, count } = proofAggregation.read(publicSignals)
      const members = membersOf(statement)
      const isTheirs =
        BigInt(members.length) === count && count > 0n && chain === aggregateChain(elementsOf(members))
      return [
        ...(await keyReasons(issuer, { x: attestorX, y: attestorY }, now, 'ATTESTOR_UNKNOWN')),
        ...(isTheirs ? [] : (['MEMBERS_MISMATCH'] as const)),
        ...(areDistinct(members) ? [] : (['MEMBERS_NOT_DISTINCT'] as const)),
      ]
    },
  }
}
