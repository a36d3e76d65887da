/**
 * What the service knows of `quantum_safe_token`: the hybrid tokens whose entries it wrote, after it had verified the
 * signatures that their policy bits stand for.
 * @module
 */

import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import {
  type HybridTokenTerms,
  hybridTokenCommitment,
  POLICY_BITS,
  quantumSafeToken,
} from '../../../circuits/mappers/quantum_safe_token.ts'
import { fail } from '../../../errors.ts'
import { type Facts, unexpected } from '../../../rules/expectation.ts'
import type { Membership } from '../../audit/membership.ts'
import { AcceptedSigners, HYBRID_TOKEN_EXAMPLE, RequiredPolicy } from '../../hybrid-tokens/schemas.ts'
import type { HybridTokensService } from '../../hybrid-tokens/service.ts'
import { falseStatement, type IssuerLookup, type Statement } from '../statement.ts'
import { rootReasons, rootStated } from './logged-root.ts'
import { askedIn, circuitQuestion, EXPECTED } from './question.ts'
import { CLOSED, EntryIndex, expecting, Signal, signalsForm } from './schemas.ts'
import { elements, isIssuedOver, mismatch, numbers } from './signed.ts'

const QuantumSignals = Type.Object(
  {
    index: EntryIndex,
    tokenDigest: Signal,
    decision: Type.Enum(['0', '1']),
    exp: Signal,
    policyBits: Signal,
    salt: Signal,
    requiredBits: Signal,
  },
  {
    title: 'HybridTokenSignals',
    description:
      'A hybrid token as committed to in its entry, and the required signatures: 1 classical, 2 post-quantum, 3 both.',
    ...CLOSED,
  },
)
type QuantumSignals = Static<typeof QuantumSignals>

const HybridTokenQuestion = Type.Object(
  {
    token: Type.Object(
      {},
      {
        additionalProperties: Type.Unknown(),
        description: 'As issued to your organisation by POST /v1/tokens/generate-quantum-safe.',
      },
    ),
    required_policy: Type.Optional(RequiredPolicy),
    accept_signers: Type.Optional(AcceptedSigners),
  },
  CLOSED,
)
type HybridTokenQuestion = Static<typeof HybridTokenQuestion>

const QuantumInputs = Type.Union([HybridTokenQuestion, QuantumSignals])
type QuantumInputs = Static<typeof QuantumInputs>

interface Deps {
  readonly membership: Membership
  readonly hybridTokens: Pick<HybridTokensService, 'forCircuit'>
  readonly issuerOf: IssuerLookup
}

interface Asked {
  readonly index: number
  readonly terms: HybridTokenTerms
  readonly requiredBits: bigint
  /** Of the token, where that was presented. */
  readonly facts?: Facts
}

/** @throws AppError validation_failed for bits beyond the two that there are */
const policies = (inputs: QuantumSignals): { policyBits: bigint; requiredBits: bigint } => {
  const read = elements(['policyBits', 'requiredBits'], inputs)
  for (const [name, bits] of Object.entries(read))
    if (bits > POLICY_BITS.hybrid)
      fail('validation_failed', {
        details: [{ path: `/inputs/${name}`, code: 'out_of_range', message: 'must be 0 to 3' }],
      })
  return read
}

const raw = (given: QuantumSignals): Asked => {
  const { policyBits, requiredBits } = policies(given)
  const { tokenDigest, decision, salt } = elements(['tokenDigest', 'decision', 'salt'], given)
  const { exp } = numbers(['exp'], given)
  return { index: given.index, requiredBits, terms: { tokenDigest, decision, exp, policyBits, salt } }
}

export const quantumSafeTokenStatement = ({ membership, hybridTokens, issuerOf }: Deps): Statement => {
  const issued = async (caller: Caller, given: HybridTokenQuestion): Promise<Asked> => {
    const found = await hybridTokens.forCircuit(caller, given)
    if ('refused' in found) throw falseStatement(`The token is not valid: ${found.refused.join(', ')}.`)
    return found
  }

  return {
    circuit: quantumSafeToken,
    decision: 'quantum_safe_valid',
    spends: 'nullifier',
    inputs: QuantumInputs,
    vouched: {
      issuer: async ({ publicSignals }) =>
        (await issuerOf(quantumSafeToken.id, quantumSafeToken.read(publicSignals).nullifier))?.organisation,
      sentence: () => 'Holds a valid token with a post-quantum signature, which stands in the log.',
      isPerson: () => false,
    },

    async prepare(caller, inputs) {
      // They fit the schema.
      const given = inputs as QuantumInputs
      const asked: Asked = 'token' in given ? await issued(caller, given) : raw(given)
      const { index, terms, requiredBits, facts } = asked
      const member = (await membership.memberOf(caller, { index })) ?? fail('not_found')
      if (member.type !== 'hybrid_token')
        throw falseStatement(`Entry ${index} is not that of a hybrid token.`)
      if (member.commitment !== hybridTokenCommitment(terms))
        throw falseStatement(`Entry ${index} commits to another token.`)
      return {
        statement: { ...rootStated(member.root), required_bits: String(requiredBits) },
        ...(facts && { differs: (expect, now) => unexpected(expect, facts, now) }),
        signals({ now, ctx }) {
          const values = { ...terms, requiredBits, ...member.place, now, ctx }
          return {
            publicSignals: quantumSafeToken.publicSignals(values),
            witness: quantumSafeToken.witnessInput(values),
          }
        },
      }
    },

    isOver: (publicSignals, now) =>
      isIssuedOver(issuerOf, quantumSafeToken.id, quantumSafeToken.read(publicSignals).nullifier, now),

    async check({ publicSignals, statement }) {
      const { root, requiredBits } = quantumSafeToken.read(publicSignals)
      return [
        ...(await rootReasons(membership, statement, root)),
        ...mismatch(statement, { required_bits: requiredBits }, 'REQUIREMENT_MISMATCH'),
      ]
    },
  }
}

export const quantumSafeTokenQuestion = circuitQuestion({
  circuit: quantumSafeToken.id,
  name: 'validateQuantumSafeByCircuit',
  summary: 'Prove that a logged hybrid token has a post-quantum signature',
  description: `Send \`token\` or \`inputs\`. The signatures are verified by the service, not inside the proof; the statement rests on hashes, and the proof system itself is not post-quantum. ${EXPECTED}`,
  body: Type.Union([expecting(HybridTokenQuestion), expecting(signalsForm(QuantumSignals))]),
  field: 'quantum_safe_valid',
  title: 'QuantumSafeValidation',
  isTrue:
    'The logged token has a post-quantum signature and the required signatures, has not expired, and its decision is 1.',
  errors: [],
  example: {
    body: {
      token: HYBRID_TOKEN_EXAMPLE,
      required_policy: 'pq_only',
    },
  },
  asked: async (body) => askedIn(body),
})
