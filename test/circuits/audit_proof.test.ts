/** Membership in a shard of the ledger: the mapper of audit_proof against the circuit, and what has no witness. */
import { expect } from 'chai'
import fc from 'fast-check'
import { auditProof } from '../../src/circuits/mappers/audit_proof.ts'
import { SHARD_DEPTH, shardLeaf } from '../../src/circuits/mappers/shard-member.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { createField, FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { createShards, elementBytes, elementOf, SHARD_LEAVES } from '../../src/ledger/tree/poseidon-tree.ts'
import { type Inputs, shippedCircuit } from '../support/circuits/circuits.ts'
import { auditProofValues, randomPath } from '../support/circuits/inputs/audit_proof.ts'
import { anyElement, randomElement } from '../support/elements.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { createPoseidonReference } from '../support/reference/poseidon-tree.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()
const circuit = shippedCircuit('audit_proof')

const hasNoWitness = async (input: Inputs, what: string) =>
  expect(await rejection(circuit.witness(input)), what).to.be.instanceOf(WitnessError)

describe('mapper of audit_proof', () => {
  it('computes the public signals that the circuit has, at every kind of position', async () => {
    const { fold } = await createPoseidonReference()
    const position = fc.oneof(fc.nat(SHARD_LEAVES - 1), fc.constantFrom(0, 1, SHARD_LEAVES / 2, 4095))
    const path = fc.array(anyElement, { minLength: SHARD_DEPTH, maxLength: SHARD_DEPTH })
    await fc.assert(
      fc.asyncProperty(
        position,
        path,
        anyElement,
        anyElement,
        anyElement,
        async (place, siblings, a, b, c) => {
          const values = auditProofValues({
            position: place,
            path: siblings,
            leafHash: a,
            commitment: b,
            salt: c,
          })
          const wires = await circuit.witness(auditProof.witnessInput(values))
          const signals = auditProof.publicSignals(values)
          expect(signals).to.deep.equal(wires.slice(1, 4).map(String))
          const leaf = poseidon(POSEIDON_TAGS.LEAF, [values.entryType, a, b])
          const { leafCommitment, root } = auditProof.read(signals)
          expect(root).to.equal(fold(leaf, place, siblings))
          expect(leafCommitment).to.equal(poseidon(POSEIDON_TAGS.COMMITMENT, [leaf, c]))
        },
      ),
      { numRuns: 15 },
    )
  })

  it('has the depth, the leaves and the roots of the ledger', () => {
    expect(2 ** SHARD_DEPTH).to.equal(SHARD_LEAVES)
    const shard = createShards(createField())()
    const values = [1, 2, 3].map((i) => auditProofValues({ entryType: BigInt(i) }))
    const leaves = values.map(({ entryType, leafHash, commitment }) =>
      shardLeaf(entryType, leafHash, commitment),
    )
    shard.append(leaves.map(elementBytes))
    for (const [position, one] of values.entries()) {
      const path = shard.path(position).map(elementOf)
      const { root } = auditProof.read(auditProof.publicSignals({ ...one, position, path }))
      expect(root).to.equal(elementOf(shard.root()))
    }
  })

  it('has no witness for an entry that does not stand there', async () => {
    const values = auditProofValues()
    const good = auditProof.witnessInput(values)
    const { position, path } = values
    await circuit.witness(good)
    const changes: readonly [string, Inputs][] = [
      ['another position', { position: String(position ^ 1) }],
      ['a position beyond the shard', { position: String(position + SHARD_LEAVES) }],
      ['a position modulo the field', { position: String(BigInt(position) + R - 1n) }],
      ['another type', { entryType: '2' }],
      ['another leaf hash', { leafHash: String(randomElement()) }],
      ['another commitment', { commitment: String(values.commitment + 1n) }],
      ['no commitment', { commitment: '0' }],
      ['another path', { path: randomPath() }],
      ['a path in another order', { path: path.toReversed() }],
      ['another root', { root: String(randomElement()) }],
      ...path.map((_, i): [string, Inputs] => [
        `another sibling at height ${i}`,
        { path: path.with(i, randomElement()) },
      ]),
    ]
    for (const [what, change] of changes) await hasNoWitness({ ...good, ...change }, what)
  })

  it('has no witness for a place of the shard that is empty', async () => {
    const shard = createShards(createField())()
    shard.append([elementBytes(7n)])
    const root = elementOf(shard.root())
    // The second place is empty: its sibling is the only leaf.
    const path = [7n, ...shard.path(0).slice(1).map(elementOf)]
    const empty = { entryType: 0n, leafHash: 0n, commitment: 0n, position: 1 }
    const input = auditProof.witnessInput(auditProofValues({ ...empty, path }))
    await hasNoWitness({ ...input, root }, 'an empty place')
  })

  it('refuses what is no place, and what is no element', () => {
    for (const position of [-1, SHARD_LEAVES, 1.5, Number.NaN])
      expect(() => auditProof.publicSignals(auditProofValues({ position })), String(position)).to.throw(
        RangeError,
      )
    for (const path of [[], randomPath().slice(1), [...randomPath(), 1n]])
      expect(() => auditProof.publicSignals(auditProofValues({ path }))).to.throw(RangeError)
    for (const bad of [-1n, R])
      for (const name of ['entryType', 'leafHash', 'commitment', 'salt', 'ctx'] as const)
        expect(() => auditProof.publicSignals(auditProofValues({ [name]: bad })), name).to.throw(RangeError)
  })

  it('hides which entry it is: another salt gives another commitment to the same leaf', () => {
    const values = auditProofValues()
    const of = (changes: object) => auditProof.read(auditProof.publicSignals({ ...values, ...changes }))
    expect(of({ salt: 1n }).leafCommitment).to.not.equal(of({ salt: 2n }).leafCommitment)
    expect(of({ salt: 1n }).root).to.equal(of({ salt: 2n }).root)
  })
})
