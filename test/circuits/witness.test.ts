/** Witness programs that are kept: each witness is that of a new instance, and nothing of it stays behind. */
import { expect } from 'chai'
import fc from 'fast-check'
import { CIRCUITS, type CircuitId } from '../../src/circuits/catalogue.ts'
import type { WitnessInput } from '../../src/circuits/circuit.ts'
import { type ComputeWires, createWitnessProgram } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../support/domain/proofs.ts'

interface Program {
  readonly computeWires: ComputeWires
  readonly memory: WebAssembly.Memory
}

/** An instance, and its memory, which is its own and seen only where it is instantiated. */
const newProgram = async (module: WebAssembly.Module): Promise<Program> => {
  const { instantiate } = WebAssembly
  let memory: unknown
  WebAssembly.instantiate = (async (given: WebAssembly.Module, imports: WebAssembly.Imports) => {
    const instance = await instantiate(given, imports)
    memory = instance.exports.memory
    return instance
  }) as typeof instantiate
  try {
    const computeWires = await createWitnessProgram(module)
    if (!(memory instanceof WebAssembly.Memory)) throw new Error('the program has no memory')
    return { computeWires, memory }
  } finally {
    WebAssembly.instantiate = instantiate
  }
}

const compile = (id: CircuitId) => WebAssembly.compile(new Uint8Array(artifacts[id].wasm))
const image = ({ memory }: Program): Buffer => Buffer.from(new Uint8Array(memory.buffer))

/** The witness, or why there is none. */
const outcome = (computeWires: ComputeWires, input: WitnessInput): string => {
  try {
    return Buffer.from(computeWires(input)).toString('hex')
  } catch (error) {
    return String(error)
  }
}

const element = fc.oneof(
  fc.constantFrom('0', '1', String(R - 1n), String(R), 'no number'),
  fc.bigInt({ min: 0n, max: R - 1n }).map(String),
)

/** The good input as it is, with one element in another value, with one element too many, or with a name more. */
const inputOf = (good: WitnessInput): fc.Arbitrary<WitnessInput> => {
  const names = fc.constantFrom(...Object.keys(good))
  const changed = fc.tuple(names, fc.nat(), element).map(([name, place, text]) => {
    const value = good[name] ?? ''
    const list = typeof value === 'string' ? [] : value
    return { ...good, [name]: typeof value === 'string' ? text : list.with(place % list.length, text) }
  })
  return fc.oneof(
    fc.constant(good),
    changed,
    fc.tuple(names, element).map(([name, text]) => ({ ...good, [name]: [good[name] ?? '', text].flat() })),
    fc.constant({ ...good, other: '1' }),
  )
}

describe('a witness program that is kept', function () {
  this.timeout(120_000)

  for (const { id } of CIRCUITS)
    it(`computes of ${id} what a new one does, whatever it was told before, and forgets it`, async () => {
      const module = await compile(id)
      const kept = await newProgram(module)
      const before = image(kept)
      const runs = fc.array(inputOf(GOOD_INPUTS[id]), { minLength: 2, maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(runs, async (inputs) => {
          for (const input of inputs) {
            const fresh = await createWitnessProgram(module)
            expect(outcome(kept.computeWires, input)).to.equal(outcome(fresh, input))
            expect(image(kept).equals(before)).to.equal(true)
          }
        }),
        { numRuns: 4, examples: [[[GOOD_INPUTS[id], GOOD_INPUTS[id]]]] },
      )
    })

  it('has nothing but its memory that a witness could stay in', async () => {
    for (const { id } of CIRCUITS) {
      const exports = WebAssembly.Module.exports(await compile(id))
      expect(exports.filter(({ kind }) => kind !== 'function').map(({ name }) => name)).to.deep.equal([
        'memory',
      ])
      expect(sectionsOf(artifacts[id].wasm)).to.not.include(GLOBAL_SECTION)
    }
  })
})

const GLOBAL_SECTION = 6
const FIRST_SECTION_OFFSET = 8

/** The numbers of a module's sections. */
const sectionsOf = (module: Uint8Array): number[] => {
  const ids: number[] = []
  for (let at = FIRST_SECTION_OFFSET; at < module.length; ) {
    ids.push(module[at++] ?? 0)
    let size = 0
    for (let shift = 0, byte = 0x80; byte & 0x80; shift += 7) {
      byte = module[at++] ?? 0
      size += (byte & 0x7f) * 2 ** shift
    }
    at += size
  }
  return ids
}
