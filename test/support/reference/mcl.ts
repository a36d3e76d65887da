/**
 * Groth16 verification by mcl-wasm, independent of noble and snarkjs, as fast as it can: prepared points of the key, one final
 * exponentiation. It checks that points are canonical, on their curves and of the order r.
 * @module
 */
import mcl from 'mcl-wasm'
import type { VerificationKey } from '../../../src/circuits/verifier.ts'
import type { SnarkProof } from '../../../src/protocol/zk1.ts'

type G1 = InstanceType<typeof mcl.G1>
type G2 = InstanceType<typeof mcl.G2>

const point1 = ([x = '', y = '']: readonly string[]): G1 => {
  const point = new mcl.G1()
  point.setStr(`1 ${x} ${y}`)
  return point
}

const point2 = (coordinates: readonly (readonly string[])[]): G2 => {
  const point = new mcl.G2()
  point.setStr(`1 ${coordinates.slice(0, 2).flat().join(' ')}`)
  return point
}

const scalar = (text: string) => {
  const element = new mcl.Fr()
  element.setStr(text)
  return element
}

const prepare = (key: VerificationKey) => ({
  bases: key.IC.map(point1),
  gamma: new mcl.PrecomputedG2(point2(key.vk_gamma_2)),
  delta: new mcl.PrecomputedG2(point2(key.vk_delta_2)),
  target: mcl.pairing(point1(key.vk_alpha_1), point2(key.vk_beta_2)),
})

const prepared = new WeakMap<VerificationKey, ReturnType<typeof prepare>>()

const holds = (key: VerificationKey, publicSignals: readonly string[], proof: SnarkProof): boolean => {
  const own = prepared.get(key) ?? prepare(key)
  prepared.set(key, own)
  const { bases, gamma, delta, target } = own
  const [first, ...others] = bases
  if (!first) throw new Error('the key has no IC')
  const inputs = others.length > 0 ? mcl.add(mcl.mulVec(others, publicSignals.map(scalar)), first) : first
  const product = mcl.mul(
    mcl.precomputedMillerLoop2mixed(
      point1(proof.pi_a),
      point2(proof.pi_b),
      mcl.neg(point1(proof.pi_c)),
      delta,
    ),
    mcl.precomputedMillerLoop(mcl.neg(inputs), gamma),
  )
  return mcl.finalExp(product).isEqual(target)
}

/** @returns a function that says whether a proof holds; what mcl can't read does not */
export const loadMcl = async () => {
  await mcl.init(mcl.BN_SNARK1)
  mcl.verifyOrderG2(true)
  return (key: VerificationKey, publicSignals: readonly string[], proof: SnarkProof): boolean => {
    try {
      return holds(key, publicSignals, proof)
    } catch (error) {
      // What its parser says of points that are none.
      if (error instanceof Error && error.message.startsWith('err callSet')) return false
      throw error
    }
  }
}
