/** Proofs of our own prover: what they are made of, whom they convince, and what stays behind. */
import { expect } from 'chai'
import { createProofMaker, type Proved } from '../../src/circuits/proving/groth16.ts'
import { createProvingCore } from '../../src/circuits/proving/proving-core.ts'
import { joinBases, type Matrix, readProvingKey } from '../../src/circuits/proving/proving-key.ts'
import { inverse, power, rootOfUnity, scalarBytes, scalarOf } from '../../src/circuits/proving/scalars.ts'
import { createWitnessProgram } from '../../src/circuits/proving/witness.ts'
import { verifyPairing } from '../../src/circuits/verifier.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { PROVERS, type ProverBuild } from '../support/circuits/prover-builds.ts'
import { GOOD_INPUTS, goodProof } from '../support/domain/proofs.ts'
import { randomElement } from '../support/elements.ts'
import { rejection } from '../support/rejection.ts'

const modulo = (x: bigint): bigint => ((x % R) + R) % R
const sum = (terms: readonly bigint[]): bigint => terms.reduce((total, term) => modulo(total + term), 0n)

/** Values on the odd roots of twice the domain of the polynomial that has these on the domain: by definition. */
const onOddRoots = (values: readonly bigint[]): bigint[] => {
  const size = values.length
  const [root, odd] = [rootOfUnity(size), rootOfUnity(2 * size)]
  const back = inverse(root)
  const coefficients = values.map((_, k) =>
    modulo(sum(values.map((value, i) => value * power(back, BigInt(i * k)))) * inverse(BigInt(size))),
  )
  return values.map((_, i) => sum(coefficients.map((c, k) => c * power(odd, BigInt((2 * i + 1) * k)))))
}

/** A matrix with up to three terms in most rows, and none in others. */
const randomRows = (rows: number, wires: number): { wire: number; value: bigint }[][] =>
  Array.from({ length: rows }, (_, row) =>
    Array.from({ length: row % 4 }, (_, i) => ({ wire: (5 * row + i) % wires, value: randomElement() })),
  )

const words = (values: readonly number[]) => new Uint8Array(Uint32Array.from(values).buffer)

const quotientOf = (
  { instance: { call, memory }, allocator }: ProverBuild,
  matrices: ReturnType<typeof randomRows>[],
  witness: readonly bigint[],
): bigint[] => {
  const size = matrices[0]?.length ?? 0
  let result: bigint[] = []
  allocator.briefly(() => {
    const { put, reserve } = allocator
    const limbs = reserve(36 * witness.length)
    call.readScalars(limbs, put(Buffer.concat(witness.map(scalarBytes))), witness.length)
    const values = reserve(4 * 36 * size)
    matrices.forEach((rows, i) => {
      const terms = rows.flat()
      const bounds = put(words([0, ...rows.map((_, row) => rows.slice(0, row + 1).flat().length)]))
      const coefficients = reserve(36 * terms.length)
      const numbers = put(Buffer.concat(terms.map(({ value }) => scalarBytes(value))))
      call.readProducts(coefficients, numbers, terms.length, put(scalarBytes(power(2n, 3n * 261n))))
      const signals = put(words(terms.map(({ wire }) => wire)))
      call.evaluateRows(values + 36 * size * i, size, bounds, coefficients, signals, limbs)
    })
    const roots = reserve(72 * size)
    const root = rootOfUnity(size)
    const numbers = [root, inverse(root), rootOfUnity(2 * size), inverse(BigInt(size))]
    call.prepareRoots(roots, put(Buffer.concat(numbers.map(scalarBytes))), size)
    const scalars = reserve(32 * size)
    call.quotient(scalars, values, size, roots)
    const bytes = new Uint8Array(memory.buffer)
    result = Array.from({ length: size }, (_, i) =>
      scalarOf(bytes.subarray(scalars + 32 * i, scalars + 32 * i + 32)),
    )
  })
  return result
}

for (const prover of PROVERS)
  describe(`the quotient, ${prover.name}`, () => {
    for (const size of [16, 32, 64])
      it(`is A · B − C on the odd roots for a domain of ${size}`, () => {
        const witness = [1n, 0n, R - 1n, ...Array.from({ length: 6 }, randomElement)]
        const matrices = [randomRows(size, witness.length), randomRows(size, witness.length)]
        const [a = [], b = []] = matrices.map((rows) =>
          rows.map((terms) => sum(terms.map(({ wire, value }) => value * (witness[wire] ?? 0n)))),
        )
        const c = a.map((value, i) => modulo(value * (b[i] ?? 0n)))
        const [oddA, oddB, oddC] = [a, b, c].map(onOddRoots) as [bigint[], bigint[], bigint[]]
        const expected = oddA.map((value, i) => modulo(value * (oddB[i] ?? 0n) - (oddC[i] ?? 0n)))
        expect(quotientOf(prover, matrices, witness)).to.deep.equal(expected)
      })
  })

describe('a proof', function () {
  this.timeout(60_000)
  const { yesno } = artifacts
  const input = GOOD_INPUTS.yesno
  const goodWitness = async () =>
    (await createWitnessProgram(await WebAssembly.compile(new Uint8Array(yesno.wasm))))(input)
  const verdict = ({ proof, publicSignals }: Proved) =>
    verifyPairing(artifacts.yesno.verificationKey, proof, publicSignals)

  it('holds however little memory the tables may take', async () => {
    for (const tableBytes of [0, 2 ** 20, 2 ** 26]) {
      const make = await createProofMaker(yesno, tableBytes)
      expect(await verdict(await make(input)), `${tableBytes}`).to.deep.equal({ valid: true })
    }
    const key = readProvingKey(yesno.zkey)
    for (const tableBytes of [2 ** 20, 2 ** 22])
      expect(createProvingCore(key, tableBytes).tableBytes).to.be.at.most(tableBytes)
  })

  it('is another one each time, of the same statement', async () => {
    const make = await createProofMaker(yesno)
    const [first, second] = [await make(input), await make(input)]
    expect(first.publicSignals).to.deep.equal(second.publicSignals)
    for (const part of ['pi_a', 'pi_b', 'pi_c'] as const)
      expect(first.proof[part]).to.not.deep.equal(second.proof[part])
    expect(await verdict(second)).to.deep.equal({ valid: true })
  })

  it('of a witness that breaks one constraint is none', async () => {
    const key = readProvingKey(yesno.zkey)
    const core = createProvingCore(key, 0)
    const good = await goodWitness()
    const { publicSignals } = await goodProof('yesno')
    const verify = ({ a, b, c }: ReturnType<typeof core.prove>) => {
      const [x0 = 0n, x1 = 0n, y0 = 0n, y1 = 0n] = b
      const pi_b = [[x0, x1].map(String), [y0, y1].map(String), ['1', '0']]
      const [pi_a, pi_c] = [a, c].map((point) => [...point.map(String), '1']) as [string[], string[]]
      return verifyPairing(
        artifacts.yesno.verificationKey,
        { pi_a, pi_b, pi_c, protocol: 'groth16', curve: 'bn128' },
        publicSignals,
      )
    }
    expect(await verify(core.prove(good))).to.deep.equal({ valid: true })
    for (const wire of [key.publicSignals + 1, 200, key.wires - 1]) {
      const bad = good.slice()
      bad.set(scalarBytes(modulo(scalarOf(good.subarray(32 * wire, 32 * wire + 32)) + 1n)), 32 * wire)
      expect(await verify(core.prove(bad)), `${wire}`).to.deep.equal({
        valid: false,
        reason: 'PROOF_INVALID',
      })
    }
    expect(() => core.prove(good.subarray(32))).to.throw(RangeError, 'bytes')
  })

  /** What `use` gets of each WebAssembly memory that is made meanwhile. */
  const watchingMemories = async (use: (memories: WebAssembly.Memory[]) => Promise<void>): Promise<void> => {
    const { Memory } = WebAssembly
    const memories: WebAssembly.Memory[] = []
    WebAssembly.Memory = class extends Memory {
      constructor(descriptor: WebAssembly.MemoryDescriptor) {
        super(descriptor)
        memories.push(this)
      }
    }
    try {
      await use(memories)
    } finally {
      WebAssembly.Memory = Memory
    }
  }
  /** How many bytes of two images differ, and the first place. */
  const differences = (left: Uint8Array, right: Uint8Array) => {
    let count = left.length === right.length ? 0 : Number.POSITIVE_INFINITY
    let first = -1
    left.forEach((byte, i) => {
      if (byte === right[i]) return
      if (count++ === 0) first = i
    })
    return { count, first }
  }

  for (const tableBytes of [0, 2 ** 20])
    it(`leave no byte in the memory of the prover that depends on their witness, with ${tableBytes} bytes of tables`, () =>
      watchingMemories(async (memories) => {
        const witness = await goodWitness()
        const other = witness.slice().fill(7, 64)
        const core = createProvingCore(readProvingKey(yesno.zkey), tableBytes)
        const image = () => new Uint8Array(memories[0]?.buffer ?? new ArrayBuffer(0)).slice()
        core.prove(witness)
        const first = image()
        core.prove(other)
        expect(memories).to.have.length(1)
        expect(differences(first, image())).to.deep.equal({ count: 0, first: -1 })
        // Nor in one that made no proof of this witness, nor after one that failed.
        expect(() => core.prove(other.subarray(32))).to.throw(RangeError)
        expect(differences(first, image())).to.deep.equal({ count: 0, first: -1 })
        createProvingCore(readProvingKey(yesno.zkey), tableBytes).prove(other)
        const elsewhere = new Uint8Array(memories[1]?.buffer ?? new ArrayBuffer(0))
        expect(differences(first, elsewhere)).to.deep.equal({ count: 0, first: -1 })
      }))

  it('needs a whole proving key of this curve', async () => {
    const bytes = new Uint8Array(yesno.zkey)
    const cut = bytes.slice(0, -1)
    expect(await rejection(createProofMaker({ ...yesno, zkey: cut }))).to.be.instanceOf(RangeError)
    const other = bytes.slice()
    // The scalar field's modulus ends the header's second number.
    const modulus = Buffer.from(scalarBytes(R))
    const at = Buffer.from(bytes).indexOf(modulus)
    other[at] = 2
    expect((await rejection(createProofMaker({ ...yesno, zkey: other }))).message).to.include('another curve')
    const empty = bytes.slice(0, 12)
    expect((await rejection(createProofMaker({ ...yesno, zkey: empty }))).message).to.include('no section')
    const key = readProvingKey(yesno.zkey)
    expect(() => createProvingCore({ ...key, domain: 8 }, 0)).to.throw(RangeError, 'below 16')
  })
})

describe('a proving key', () => {
  it('is read without the points at infinity, each with the number of its scalar', () => {
    for (const id of ['yesno', 'kyc'] as const) {
      const key = readProvingKey(artifacts[id].zkey)
      for (const [bases, bytes] of [
        [key.a, 64],
        [key.b1, 64],
        [key.b2, 128],
        [key.c, 64],
        [key.h, 64],
      ] as const) {
        expect(bases.points.length).to.equal(bases.numbers.length * bytes)
        expect(Math.max(...bases.numbers)).to.be.below(Math.max(key.wires, key.domain))
      }
      expect(key.b1.numbers).to.deep.equal(key.b2.numbers)
      expect(key.b1.numbers.length).to.be.below(key.wires)
      expect(Math.min(...key.c.numbers)).to.be.above(key.publicSignals)
      expect(key.h.numbers).to.have.length(key.domain)
      for (const { bounds, wires, numbers } of key.matrices as readonly Matrix[]) {
        expect(bounds.at(-1)).to.equal(wires.length)
        expect(numbers.length).to.equal(32 * wires.length)
      }
      expect(joinBases([key.a, key.c]).numbers).to.deep.equal([...key.a.numbers, ...key.c.numbers])
    }
  })
})
