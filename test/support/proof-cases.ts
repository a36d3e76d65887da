/**
 * Good and bad proofs drawn at random, and whether the verifier and other libraries think alike of them. Which ones are drawn
 * follows from a seed.
 * @module
 */
import { createHash } from 'node:crypto'
import { bn254 } from '@noble/curves/bn254.js'
import { packProof } from '../../src/circuits/proof-form.ts'
import type { Proved } from '../../src/circuits/proving/groth16.ts'
import type { VerificationKey } from '../../src/circuits/verifier.ts'
import { createKeyVerifier } from '../../src/circuits/verifying/key-verifier.ts'
import { FIELD_MODULUS } from '../../src/core/field.ts'
import type { SnarkProof } from '../../src/protocol/zk1.ts'
import { acceptedByNoble, g1, g1Json, g2, g2Json, pointOfOrder } from './reference/groth16.ts'

const { G1, G2, fields } = bn254
const { Fr } = fields
const P = fields.Fp.ORDER
const BATCH = 64

export interface ProofCase extends Proved {
  readonly what: string
  readonly isGood: boolean
}

/** Numbers below r that follow from the seed. */
const seeded = (seed: string) => {
  let count = 0
  return (): bigint => {
    const hash = createHash('sha512').update(`${seed}/${count++}`).digest('hex')
    return BigInt(`0x${hash}`) % FIELD_MODULUS
  }
}

const negated = ([x = '', y = '', one = '']: readonly string[]): string[] => [x, String(P - BigInt(y)), one]
const plusOne = (point: readonly string[]): string[] => g1Json(g1(point).add(G1.Point.BASE))
const sum2 = (point: SnarkProof['pi_b'], other: typeof G2.Point.BASE): string[][] =>
  g2Json(g2(point).add(other))

/** Ways to make a good proof bad. */
const SPOIL: Readonly<Record<string, (proof: SnarkProof, random: () => bigint) => Partial<SnarkProof>>> = {
  'another A': ({ pi_a }) => ({ pi_a: plusOne(pi_a) }),
  'A negated': ({ pi_a }) => ({ pi_a: negated(pi_a) }),
  'another B': ({ pi_b }) => ({ pi_b: sum2(pi_b, G2.Point.BASE) }),
  'another C': ({ pi_c }) => ({ pi_c: plusOne(pi_c) }),
  'C negated': ({ pi_c }) => ({ pi_c: negated(pi_c) }),
  'A and C exchanged': ({ pi_a, pi_c }) => ({ pi_a: pi_c, pi_c: pi_a }),
  'B and a point of order 10,069': ({ pi_b }) => ({ pi_b: sum2(pi_b, pointOfOrder(10_069n)) }),
  'B and a point of order 5,864,401': ({ pi_b }) => ({ pi_b: sum2(pi_b, pointOfOrder(5_864_401n)) }),
  'A off its curve': ({ pi_a: [x = '', y = ''] }, random) => ({
    pi_a: [x, String((BigInt(y) + 1n + (random() >> 10n)) % P), '1'],
  }),
  'B off its curve': ({ pi_b: [x = [], y = [], z = []] }) => ({ pi_b: [[...x].reverse(), y, z] }),
  'x of C beyond p': ({ pi_c: [x = '', y = ''] }) => ({ pi_c: [String(BigInt(x) + P), y, '1'] }),
}

/** @param good one proof, of which others of the same signals are made */
export const drawCases = (key: VerificationKey, good: Proved, count: number, seed = '1'): ProofCase[] => {
  const random = seeded(seed)
  const { pi_a, pi_b, pi_c } = good.proof
  const [a, b, c, delta] = [g1(pi_a), g2(pi_b), g1(pi_c), g2(key.vk_delta_2)]
  const spoilers = Object.entries(SPOIL)
  const sums = { a, b }
  return Array.from({ length: count }, (_, i) => {
    // (A, B + sδ, C + sA) is a proof where (A, B, C) is one; every so often A and B get another factor.
    if (i % 16 === 0) {
      const factor = random() + 1n
      sums.a = a.multiply(Fr.inv(factor % FIELD_MODULUS || 1n))
      sums.b = b.multiply(factor % FIELD_MODULUS || 1n)
    }
    const small = (random() & 0xffn) + 1n
    const proof = {
      ...good.proof,
      pi_a: g1Json(sums.a),
      pi_b: g2Json(sums.b.add(delta.multiplyUnsafe(small))),
      pi_c: g1Json(c.add(sums.a.multiplyUnsafe(small))),
    }
    const kind = Number(random() % BigInt(2 * spoilers.length + 1))
    const [what, spoil] = spoilers[kind] ?? []
    const { publicSignals } = good
    if (spoil)
      return { what: what ?? '', isGood: false, proof: { ...proof, ...spoil(proof, random) }, publicSignals }
    if (kind > spoilers.length) return { what: 'good', isGood: true, proof, publicSignals }
    const place = Number(random() % BigInt(publicSignals.length))
    const other = String((BigInt(publicSignals[place] ?? '') + 1n + (random() >> 8n)) % FIELD_MODULUS)
    return { what: 'another signal', isGood: false, proof, publicSignals: publicSignals.with(place, other) }
  })
}

type Holds = (key: VerificationKey, publicSignals: readonly string[], proof: SnarkProof) => boolean

/**
 * What the verifier, alone and in batches of 64, says otherwise than it should, or than mcl and, each so many proofs, noble say.
 * @returns in words
 */
export const disagreements = (
  key: VerificationKey,
  cases: readonly ProofCase[],
  { holdsByMcl, nobleEvery }: { holdsByMcl: Holds; nobleEvery: number },
): string[] => {
  const verifier = createKeyVerifier(key)
  const found: string[] = []
  let batch: { bytes: Uint8Array; one: ProofCase }[] = []
  const check = (who: string, { what, isGood }: ProofCase, said: boolean) => {
    if (said !== isGood) found.push(`${who} says ${said} of: ${what}`)
  }
  const flush = () => {
    const verdicts = verifier.verifyMany(batch.map(({ bytes }) => bytes))
    for (const [i, { one }] of batch.entries()) check('a batch', one, verdicts[i]?.valid === true)
    batch = []
  }
  for (const [i, one] of cases.entries()) {
    const bytes = packProof(key.nPublic, one.proof, one.publicSignals)
    check('the verifier', one, typeof bytes !== 'string' && verifier.verify(bytes).valid)
    check('mcl', one, holdsByMcl(key, one.publicSignals, one.proof))
    if (i % nobleEvery === 0) check('noble', one, acceptedByNoble(key, one.publicSignals, one.proof))
    if (typeof bytes !== 'string') batch.push({ bytes, one })
    if (batch.length === BATCH) flush()
  }
  flush()
  return found
}
