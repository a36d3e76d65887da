/** The circuits as they are built: what mappers, files, keys and documents say of them must be the same. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { CIRCUITS, type CircuitId, findCircuit } from '../../src/circuits/catalogue.ts'
import type { Circuit, WitnessInput } from '../../src/circuits/circuit.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { artifacts, readSymbols, shippedCircuit } from '../support/circuits/circuits.ts'
import { huntIn } from '../support/circuits/hunt.ts'
import { GOOD_INPUTS } from '../support/domain/proofs.ts'
import { randomElement } from '../support/elements.ts'
import { constraintsByWire } from '../support/reference/r1cs.ts'
import { rejection } from '../support/rejection.ts'

const FOLDER = join(import.meta.dirname, '../../circuits')
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.circom'),
)

/** `a, b[8], c` for a, b[0] to b[7], c. */
const inWords = ({ publicNames }: Circuit<CircuitId>): string => {
  const lengths = new Map<string, number | undefined>()
  for (const text of publicNames) {
    const [name = '', index] = text.split(/[[\]]/)
    lengths.set(name, index === undefined ? undefined : Number(index) + 1)
  }
  return [...lengths].map(([name, length]) => (length ? `${name}[${length}]` : name)).join(', ')
}

/** The inputs with one element, named as `name` or `name[i]`, in another value. */
const withElement = (input: WitnessInput, element: string, change: (x: bigint) => bigint): WitnessInput => {
  const [name = '', index] = element.split(/[[\]]/)
  const changed = (text: string) => String(change(BigInt(text)) % R)
  const value = input[name] ?? ''
  return {
    ...input,
    [name]:
      typeof value === 'string'
        ? changed(value)
        : value.map((text, i) => (i === Number(index) ? changed(text) : text)),
  }
}

describe('circuits', () => {
  it('have the tags of the service, and no other', () => {
    const functions = [...read('lib/tags.circom').matchAll(/function TAG_(\w+)\(\) \{ return (\d+); \}/g)]
    expect(Object.fromEntries(functions.map(([, name, tag]) => [name, Number(tag)]))).to.deep.equal({
      ...POSEIDON_TAGS,
    })
  })

  it('are the same in the folder, among the mappers, in the catalogue, in the record of the setup and in the table of README.md', () => {
    const ids = CIRCUITS.map(({ id }) => id).sort()
    const mains = readdirSync(FOLDER).filter((name) => name.endsWith('.circom'))
    expect(mains.map((name) => name.slice(0, -'.circom'.length)).sort()).to.deep.equal(ids)
    const mappers = readdirSync(join(FOLDER, '../src/circuits/mappers')).filter((name) =>
      ids.some((id) => name === `${id}.ts`),
    )
    expect(mappers).to.have.length(ids.length)
    expect(Object.keys(JSON.parse(read('keys/artifacts.json')).circuits).sort()).to.deep.equal(ids)
    const rows = [...read('README.md').matchAll(/^\| (\w+) \| \d+ \|/gm)].map(([, id]) => id)
    expect(rows.sort()).to.deep.equal(ids)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(findCircuit('nothing')).to.equal(undefined)
  })

  it('assign nothing without a constraint, and compare in lib/range.circom only', () => {
    for (const name of sources) {
      const code = read(name).replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
      expect(code, name).to.not.match(/<--|-->/)
      // Those of circomlib are sound in a range only, which that file's own make sure of.
      const compares = /comparators\.circom|\b(Less|Greater)(Eq)?Than\b/.test(code)
      expect(compares, name).to.equal(name === join('lib', 'range.circom'))
    }
  })

  for (const circuit of CIRCUITS) {
    const { id, publicNames, secretNames, domain } = circuit
    describe(id, () => {
      const { system, witness } = shippedCircuit(id)
      const { wires } = readSymbols(id)
      const hunt = huntIn(id)
      const input = GOOD_INPUTS[id]
      let good: bigint[]
      before(async () => {
        good = await witness(input)
      })
      it('has a main of at most 30 lines, which names its public signals in order', () => {
        const text = read(`${id}.circom`)
        expect(text.trimEnd().split('\n').length).to.be.at.most(30)
        expect(text).to.include(`// Public: ${inWords(circuit)}.`)
      })

      it('has the signals that its mapper says, in that order', () => {
        expect(publicNames.map((name) => wires.get(`main.${name}`))).to.deep.equal(
          publicNames.map((_, i) => i + 1),
        )
        const from = publicNames.length + 1
        expect(secretNames.map((name) => wires.get(`main.${name}`))).to.deep.equal(
          secretNames.map((_, i) => from + i),
        )
        expect(system.publicSignals).to.equal(publicNames.length)
        expect(system.privateInputs).to.equal(secretNames.length)
      })

      it('fits its domain, and has the constraints and keys that are recorded', () => {
        const { constraints, verificationKey } = artifacts[id]
        expect(system.constraints.length).to.equal(constraints)
        expect(constraints + publicNames.length + 1).to.be.at.most(domain)
        expect(verificationKey.nPublic).to.equal(publicNames.length)
        expect(verificationKey.IC).to.have.length(publicNames.length + 1)
      })

      it('stands in the table of circuits/README.md as it is', () => {
        const row = `| ${id} | ${system.constraints.length} | ${domain} | ${inWords(circuit)} |`
        expect(read('README.md')).to.include(row)
      })

      it('uses every public signal in a constraint', () => {
        const byWire = constraintsByWire(system)
        const unused = publicNames.filter((_, i) => byWire[i + 1]?.length === 0)
        expect(unused).to.deep.equal([])
      })

      it('lets no private signal be changed by itself, to whatever value', () => {
        expect(hunt.holds(good)).to.equal(true)
        expect(hunt.movable(good)).to.deep.equal([])
      })

      it('lets no public signal be changed by itself', () => {
        expect(hunt.changeable(good)).to.deep.equal([])
      })

      it('leaves its prover nothing to choose once the inputs are given', () => {
        const outputs = publicNames.length + secretNames.length - Object.values(input).flat().length
        expect(hunt.free(good, outputs)).to.deep.equal([])
      })

      it('has no witness with the same public signals for another private input', async () => {
        const signals = good.slice(1, publicNames.length + 1)
        for (const name of secretNames)
          for (const change of [(x: bigint) => x + 1n, randomElement]) {
            const other = await witness(withElement(input, name, change)).catch((error: unknown) => {
              if (error instanceof WitnessError) return undefined
              throw error
            })
            expect(other?.slice(1, publicNames.length + 1), name).to.not.deep.equal(signals)
          }
      })

      it('has no witness for inputs of other names or lengths', async () => {
        const { ctx = '', ...less } = input
        for (const other of [
          { ...input, more: '1' },
          less,
          { ...less, context: ctx },
          { ...input, ctx: [String(ctx), '0'] },
        ])
          expect(await rejection(witness(other))).to.be.instanceOf(WitnessError)
      })
    })
  }
})
