/**
 * What the service knows of `quantum_safe_token`: the hybrid tokens whose entries it wrote, after it had verified the
 * signatures that their policy bits stand for.
 * @module
 */
import { hybridTokenCommitment, POLICY_BITS, quantumSafeToken } from '../../../circuits/quantum_safe_token.ts'
import { fail } from '../../../errors.ts'
import type { Membership } from '../../audit/membership.ts'
import { QuantumInputs } from '../schemas-membership.ts'
import { falseStatement, type Statement } from '../statement.ts'
import { rootReasons, rootStated } from './membership.ts'
import { elements, mismatch, numbers } from './signed.ts'

interface Deps {
  readonly membership: Membership
}

/** @throws AppError validation_failed for bits beyond the two that there are */
const policies = (inputs: QuantumInputs): { policyBits: bigint; requiredBits: bigint } => {
  const read = elements(['policyBits', 'requiredBits'], inputs)
  for (const [name, bits] of Object.entries(read))
    if (bits > POLICY_BITS.hybrid)
      fail('validation_failed', {
        details: [{ path: `/inputs/${name}`, code: 'out_of_range', message: 'must be 0 to 3' }],
      })
  return read
}

export const quantumSafeTokenStatement = ({ membership }: Deps): Statement => ({
  circuit: quantumSafeToken,
  decision: 'quantum_safe_valid',
  nullifier: 'nullifier',
  inputs: QuantumInputs,

  async prepare(caller, inputs) {
    // They fit the schema.
    const given = inputs as QuantumInputs
    const token = {
      ...elements(['tokenDigest', 'decision', 'salt'], given),
      ...numbers(['exp'], given),
      ...policies(given),
    }
    const { index } = given
    const member = (await membership.memberOf(caller, { index })) ?? fail('not_found')
    if (member.type !== 'hybrid_token') throw falseStatement(`Entry ${index} is not that of a hybrid token.`)
    if (member.commitment !== hybridTokenCommitment(token))
      throw falseStatement(`Entry ${index} commits to another token.`)
    return {
      statement: { ...rootStated(member.root), required_bits: String(token.requiredBits) },
      signals({ now, ctx }) {
        const values = { ...token, ...member.place, now, ctx }
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
})
