/**
 * What the service knows of `proof_aggregation`: it is the attestor itself. Before it signs, it verifies each inner
 * proof again; the aggregate shows that it did, not the proofs themselves.
 * @module
 */
import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import { aggregateMessage } from '../../../circuits/issuer-signature.ts'
import {
  AGGREGATE_MEMBERS,
  type AggregateMember,
  aggregateChain,
  proofAggregation,
} from '../../../circuits/mappers/proof_aggregation.ts'
import { askedId } from '../../../json/schemas.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { unexpected } from '../../../rules/expectation.ts'
import { earliest, toSeconds } from '../binding.ts'
import {
  areDistinct,
  type Examined,
  inside,
  MAX_INSIDE_PROOFS,
  memberReason,
  type ValidProof,
} from '../checking.ts'
import { falseStatement, type Stated, type StatedMember, type Statement } from '../statement.ts'
import { askedIn, circuitQuestion, EXPECTED } from './question.ts'
import { expecting, signalsForm } from './schemas.ts'
import { keyReasons } from './signed.ts'

/** Hexadecimal digits of the 31 bytes of a digest that fit into an element. */
const ELEMENT_HEX_DIGITS = 62
const DIGEST = /^[0-9a-f]{64}$/

const AggregationInputs = Type.Object(
  {
    proofIds: Type.Array(askedId('prf'), {
      minItems: 1,
      maxItems: AGGREGATE_MEMBERS,
      uniqueItems: true,
      description: 'Proofs of your organisation. Each is verified again before the aggregate is signed.',
    }),
  },
  { title: 'AggregationInputs' },
)
type AggregationInputs = Static<typeof AggregationInputs>

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
  /** Verifies a stored proof again. @throws AppError not_found */
  readonly verifyStored: (caller: Caller, proofId: string) => Promise<Examined>
}

const elementsOf = (members: readonly StatedMember[]): AggregateMember[] =>
  members.map(({ digest, decision }) => ({
    digest: BigInt(`0x${digest.slice(0, ELEMENT_HEX_DIGITS)}`),
    decision: BigInt(decision),
  }))

const isMember = (member: unknown): member is StatedMember => {
  if (!isObject(member)) return false
  const { digest, decision } = member
  return typeof digest === 'string' && DIGEST.test(digest) && (decision === 0 || decision === 1)
}

/** The members that a statement names: whoever presents the proof of another may have written it. @returns undefined for what names none */
const membersOf = ({ members }: Stated): readonly StatedMember[] | undefined => {
  const named: unknown = members
  return Array.isArray(named) && named.every(isMember) ? named : undefined
}

const haveOwnDigests = (members: readonly StatedMember[]): boolean =>
  new Set(members.map(({ digest }) => digest)).size === members.length

export const proofAggregationStatement = ({ issuer, verifyStored }: Deps): Statement => {
  /** @throws AppError not_found, STATEMENT_FALSE */
  const attested = async (caller: Caller, proofId: string): Promise<ValidProof & StatedMember> => {
    const examined = await verifyStored(caller, proofId)
    const { reasonCodes } = examined
    if (!examined.valid || !examined.verified)
      throw falseStatement(`The proof ${proofId} is not verified: ${reasonCodes.join(', ')}.`)
    const { decision } = examined
    if (decision === null) throw falseStatement(`The proof ${proofId} answers no question.`)
    return { ...examined, decision }
  }

  return {
    circuit: proofAggregation,
    decision: 'all',
    inputs: AggregationInputs,

    members: (statement) => membersOf(statement) ?? [],

    async prepare(caller, inputs, at) {
      // They fit the schema.
      const { proofIds } = inputs as AggregationInputs
      const proofs = await Promise.all(proofIds.map((proofId) => attested(caller, proofId)))
      if (!areDistinct(proofs))
        throw falseStatement(
          'Two of the proofs, or of those that they stand for, show the same, or spend the same nullifier.',
        )
      if (inside(proofs).length > MAX_INSIDE_PROOFS)
        throw falseStatement(
          `An aggregate stands for at most ${MAX_INSIDE_PROOFS} proofs, with those inside its members.`,
        )
      const members = proofs.map(({ digest, decision }) => ({ digest, decision }))
      const { point, sign } = await issuer.current()
      const elements = elementsOf(members)
      const chain = aggregateChain(elements)
      const count = BigInt(members.length)
      return {
        statement: { members, attested_at: toSeconds(at) },
        differs: (expect, now) =>
          proofs.flatMap((proof, index) =>
            unexpected(expect, proof.facts(), now).map((reason) => memberReason(index, reason)),
          ),
        expiresAt: earliest(proofs.map((proof) => proof.expiresAt)),
        signals({ ctx }) {
          const signature = sign(aggregateMessage({ count, ctx, chain }))
          const values = { members: elements, signature, attestor: point, ctx }
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
        members !== undefined &&
        BigInt(members.length) === count &&
        count > 0n &&
        chain === aggregateChain(elementsOf(members))
      return [
        ...(await keyReasons(issuer, { x: attestorX, y: attestorY }, now, 'ATTESTOR_UNKNOWN')),
        ...(isTheirs ? [] : (['MEMBERS_MISMATCH'] as const)),
        ...(haveOwnDigests(members ?? []) ? [] : (['MEMBERS_NOT_DISTINCT'] as const)),
      ]
    },
  }
}

export const proofAggregationQuestion = circuitQuestion({
  circuit: proofAggregation.id,
  name: 'aggregateProofs',
  summary: 'Attest up to eight proofs with one proof',
  description: `The service verifies each proof again and signs that it did: attested, not recursive. Their decisions are in the public inputs \`count\`, \`yes_count\` and \`all\`. Send \`proofIds\`, or \`inputs\` with them. ${EXPECTED}`,
  body: Type.Union([expecting(AggregationInputs), expecting(signalsForm(AggregationInputs))]),
  field: 'aggregation_valid',
  title: 'ProofAggregation',
  isTrue:
    'All of the proofs were verified again. The public signal `all` says whether all of them are a YES.',
  errors: [],
  example: { body: { proofIds: ['{proofId}'], expect: { circuit_id: 'yesno', decision: 1 } } },
  asked: async (body) => askedIn(body),
})
