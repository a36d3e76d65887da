/** Signatures of the issuer: natively and in a circuit the same ones hold, and they are those of circomlibjs. */
import { randomBytes } from 'node:crypto'
import { babyjubjub } from '@noble/curves/misc.js'
import { expect } from 'chai'
import { buildEddsa } from 'circomlibjs'
import {
  type IssuerPoint,
  type IssuerSignature,
  issuerSignatureHolds,
  signatureChallenge,
  tokenMessage,
} from '../../src/circuits/issuer-signature.ts'
import { tokenValidation } from '../../src/circuits/mappers/token_validation.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { eddsaKey } from '../../src/keys/eddsa-poseidon.ts'
import { compileUnmixed, readSymbols, shippedCircuit } from '../support/circuits/circuits.ts'
import { tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { testIssuer } from '../support/circuits/issuer.ts'
import { randomElement } from '../support/elements.ts'
import { freeWires } from '../support/reference/determined.ts'
import { satisfies } from '../support/reference/r1cs.ts'

const { Point } = babyjubjub
/** The verifier is larger than what else is compiled in tests. */
const COMPILE_MS = 120_000
const ORDER = Point.Fn.ORDER
const circuit = shippedCircuit('token_validation')
const values = tokenValidationValues()
const message = tokenMessage(values.token)
const good = values.signature
const issuer = values.issuer

/** Whether the circuit has a witness for this signature of the good token. */
const circuitAccepts = (signature: IssuerSignature, key: IssuerPoint): Promise<boolean> => {
  const input = tokenValidation.witnessInput(values)
  const { r8x, r8y, s } = signature
  return circuit.witness({ ...input, issuerX: key.x, issuerY: key.y, r8x, r8y, s }).then(
    () => true,
    (error: unknown) => {
      if ((error as Error).name === 'WitnessError') return false
      throw error
    },
  )
}

/** A point of order 8, which is what the cofactor leaves of a point. */
const SMALL_ORDER = (() => {
  const { Fp } = Point
  for (let y = 2n; y < 1000n; y++) {
    const square = Fp.div(Fp.sub(1n, Fp.sqr(y)), Fp.sub(168700n, Fp.mul(168696n, Fp.sqr(y))))
    // Euler's criterion: not every y is that of a point.
    if (Fp.pow(square, (R - 1n) / 2n) !== 1n) continue
    const point = Point.fromAffine({ x: Fp.sqrt(square), y })
    const rest = point.multiplyUnsafe(ORDER - 1n).add(point)
    if (!rest.double().double().is0()) return rest
  }
  throw new Error('no point of order 8')
})()

const shifted = ({ x, y }: IssuerPoint) => Point.fromAffine({ x, y }).add(SMALL_ORDER).toAffine()

describe('a signature of the issuer', () => {
  it('is what circomlibjs makes of the same seed and message, and takes', async () => {
    const eddsa = await buildEddsa()
    const { F } = eddsa
    for (const signed of [0n, 1n, R - 1n, randomElement()]) {
      const seed = new Uint8Array(randomBytes(32))
      const key = eddsaKey(seed)
      const [x, y] = eddsa.prv2pub(seed)
      expect(key.point).to.deep.equal({ x: F.toObject(x), y: F.toObject(y) })
      const { R8, S } = eddsa.signPoseidon(seed, F.e(signed))
      const made = key.sign(signed)
      expect(made).to.deep.equal({ r8x: F.toObject(R8[0]), r8y: F.toObject(R8[1]), s: S })
      expect(eddsa.verifyPoseidon(F.e(signed), { R8, S: made.s }, [x, y])).to.equal(true)
      expect(issuerSignatureHolds(signed, made, key.point)).to.equal(true)
    }
  })

  it('is refused for another message, key or signature, by mapper and circuit alike', async () => {
    expect(await circuitAccepts(good, issuer)).to.equal(true)
    expect(issuerSignatureHolds(message, good, issuer)).to.equal(true)
    const stranger = eddsaKey(new Uint8Array(randomBytes(32)))
    const other = testIssuer.sign(message + 1n)
    const moved = shifted({ x: good.r8x, y: good.r8y })
    const cases: [string, IssuerSignature, IssuerPoint][] = [
      ['of another message', other, issuer],
      ['of another key', good, stranger.point],
      ['by another key', stranger.sign(message), issuer],
      ['s + 1', { ...good, s: good.s + 1n }, issuer],
      ['s with another multiple of the order', { ...good, s: good.s + ORDER }, issuer],
      ['the negative of s', { ...good, s: ORDER - good.s }, issuer],
      ['R8 of another', { ...other, s: good.s }, issuer],
      ['R8 mirrored', { ...good, r8x: R - good.r8x }, issuer],
      ['R8 with its coordinates in each other’s place', { r8x: good.r8y, r8y: good.r8x, s: good.s }, issuer],
      ['R8 moved by a point of small order', { r8x: moved.x, r8y: moved.y, s: good.s }, issuer],
      ['R8 off the curve', { ...good, r8x: good.r8x + 1n }, issuer],
      ['the key off the curve', good, { ...issuer, y: issuer.y + 1n }],
      ['the key mirrored', good, { ...issuer, x: R - issuer.x }],
    ]
    for (const [what, signature, key] of cases) {
      expect(issuerSignatureHolds(message, signature, key), what).to.equal(false)
      expect(await circuitAccepts(signature, key), what).to.equal(false)
    }
  })

  it('is refused under a key of small order, for which anybody could sign', async () => {
    // 8 · A is zero, so that S · B8 = R8 holds whatever the message is.
    const { x: r8x, y: r8y } = Point.BASE.multiply(5n).toAffine()
    let point = SMALL_ORDER
    for (const order of [8, 4, 2, 1]) {
      const key = point.toAffine()
      expect(issuerSignatureHolds(message, { r8x, r8y, s: 5n }, key), `order ${order}`).to.equal(false)
      expect(await circuitAccepts({ r8x, r8y, s: 5n }, key), `order ${order}`).to.equal(false)
      point = point.double()
    }
    expect(point.is0()).to.equal(true)
  })

  it('is refused natively under a key outside of the subgroup, which circuits take: keys are for native checks', async () => {
    const scalar = 11n
    const key = shifted(Point.BASE.multiply(scalar).toAffine())
    const sign = (nonce: bigint) => {
      const r8 = Point.BASE.multiply(nonce).toAffine()
      const factor = (8n * signatureChallenge(r8, key, message)) % ORDER
      return { r8x: r8.x, r8y: r8.y, s: (nonce + factor * scalar) % ORDER, factor }
    }
    // Such a one that the part of small order vanishes however the factor is reduced.
    let signature = sign(1n)
    for (let nonce = 2n; signature.factor % 8n !== 0n; nonce++) signature = sign(nonce)
    expect(await circuitAccepts(signature, key)).to.equal(true)
    expect(issuerSignatureHolds(message, signature, key)).to.equal(false)
  })

  it('is refused natively where a coordinate or s has a second form', () => {
    for (const [signature, key] of [
      [{ ...good, r8x: good.r8x + R }, issuer],
      [{ ...good, r8y: good.r8y - R }, issuer],
      [{ ...good, s: good.s - ORDER }, issuer],
      [good, { ...issuer, x: issuer.x + R }],
      [good, { ...issuer, y: -issuer.y }],
    ] as const)
      expect(issuerSignatureHolds(message, signature, key)).to.equal(false)
  })

  it('stands on points that the constraints hold on the curve', async () => {
    const { system } = circuit
    const wires = await circuit.witness(tokenValidation.witnessInput(values))
    const names = readSymbols('token_validation').wires
    const wireOf = (pattern: RegExp): number[] =>
      [...names].filter(([name]) => pattern.test(name)).map(([, wire]) => wire)
    const squares = { x: wireOf(/BabyCheck\w*\.x2$/), y: wireOf(/BabyCheck\w*\.y2$/) }
    const points = [
      ['issuerX', 'issuerY'],
      ['r8x', 'r8y'],
    ].map((pair) => pair.map((name) => names.get(`main.${name}`) ?? -1))
    expect(squares.x).to.have.length(points.length)
    for (const [i, [x = -1, y = -1]] of points.entries()) {
      const [x2 = -1, y2 = -1] = [squares.x[i], squares.y[i]]
      const own = system.constraints.filter((sides) =>
        sides.flat().every(([wire]) => [0, x, y, x2, y2].includes(wire)),
      )
      const at = (point: IssuerPoint) =>
        wires
          .with(x, point.x)
          .with(y, point.y)
          .with(x2, (point.x * point.x) % R)
          .with(y2, (point.y * point.y) % R)
      expect(satisfies(own, at(Point.BASE.toAffine()), R)).to.equal(true)
      expect(satisfies(own, at({ x: 2n, y: 3n }), R)).to.equal(false)
    }
  })

  it('leaves its prover nothing to choose in the verifier but two inverses that nothing depends on', async () => {
    const { system, witness, symbols } = await compileUnmixed('eddsa')
    const { r8x, r8y, s } = good
    const wires = await witness({ message, keyX: issuer.x, keyY: issuer.y, r8x, r8y, s })
    const free = freeWires(system, 0, wires, symbols.belowPrime)
    expect(free.filter((wire) => !symbols.idleInverses.has(wire))).to.deep.equal([])
    expect(free).to.have.length.at.most(2)
  }).timeout(COMPILE_MS)
})
