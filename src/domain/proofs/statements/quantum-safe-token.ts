/**
 * What the service knows of `quantum_safe_token`: the hybrid tokens whose entries it wrote, after it had verified the
 * signatures that their policy bits stand for.
 * @module
 */

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
import type { HybridTokensService } from '../../hybrid-tokens/service.ts'
import { falseStatement, type IssuerLookup, type Statement } from '../statement.ts'
import { rootReasons, rootStated } from './membership.ts'
import { type HybridTokenQuestion, QuantumInputs, type QuantumSignals } from './schemas-membership.ts'
import { elements, mismatch, numbers } from './signed.ts'

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
    nullifier: 'nullifier',
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

    async check({ publicSignals, statement }) {
      const { root, requiredBits } = quantumSafeToken.read(publicSignals)
      return [
        ...(await rootReasons(membership, statement, root)),
        ...mismatch(statement, { required_bits: requiredBits }, 'REQUIREMENT_MISMATCH'),
      ]
    },
  }
}
