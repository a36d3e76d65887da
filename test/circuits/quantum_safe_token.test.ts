/** Hybrid tokens in the ledger: the mapper of quantum_safe_token against the circuit, and what has no witness. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  hybridTokenCommitment,
  hybridTokenNullifier,
  POLICY_BITS,
  quantumSafeToken,
} from '../../src/circuits/mappers/quantum_safe_token.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { typeNumber } from '../../src/ledger/tree/poseidon-tree.ts'
import { type Inputs, shippedCircuit } from '../support/circuits/circuits.ts'
import { randomPath } from '../support/circuits/inputs/audit_proof.ts'
import { quantumSafeTokenValues } from '../support/circuits/inputs/quantum_safe_token.ts'
import { randomElement } from '../support/elements.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { createPoseidonReference } from '../support/reference/poseidon-tree.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()
const circuit = shippedCircuit('quantum_safe_token')
const MAX = (1n << 64n) - 1n
const { classical, pq, hybrid } = POLICY_BITS
const sets = [0n, classical, pq, hybrid]

describe('mapper of quantum_safe_token', () => {
  it('computes the public signals that the circuit has', async () => {
    const { fold } = await createPoseidonReference()
    const time = fc.oneof(fc.bigInt({ min: 0n, max: MAX }), fc.constantFrom(0n, 1n, MAX - 1n, MAX))
    const bits = fc.constantFrom(...sets)
    // At the end of the field the sum of salt and terms begins anew.
    const salt = fc.oneof(fc.bigInt({ min: 0n, max: R - 1n }), fc.constant(R - 1n))
    await fc.assert(
      fc.asyncProperty(
        time,
        time,
        bits,
        bits,
        fc.constantFrom(0n, 1n),
        salt,
        async (exp, now, policyBits, requiredBits, decision, secret) => {
          const values = quantumSafeTokenValues({
            exp,
            now,
            policyBits,
            requiredBits,
            decision,
            salt: secret,
          })
          const wires = await circuit.witness(quantumSafeToken.witnessInput(values))
          const signals = quantumSafeToken.publicSignals(values)
          expect(signals).to.deep.equal(wires.slice(1, 7).map(String))
          const { tokenDigest, leafHash, position, path } = values
          const nullifier = poseidon(POSEIDON_TAGS.NULLIFIER, [secret, tokenDigest])
          const sum = (secret + decision + 2n * policyBits + 8n * exp) % R
          const commitment = poseidon(POSEIDON_TAGS.HYBRID_TOKEN, [nullifier, sum])
          const type = BigInt(typeNumber('hybrid_token'))
          const leaf = poseidon(POSEIDON_TAGS.LEAF, [type, leafHash, commitment])
          const read = quantumSafeToken.read(signals)
          expect(read.nullifier).to.equal(nullifier)
          expect(read.root).to.equal(fold(leaf, position, path))
        },
      ),
      { numRuns: 25 },
    )
  })

  it('is valid only with a YES, before its expiry, signed post-quantum and as required', async () => {
    const now = 1_800_000_000n
    for (const policyBits of sets)
      for (const requiredBits of sets)
        for (const decision of [0n, 1n])
          for (const exp of [now - 1n, now, now + 1n]) {
            const values = quantumSafeTokenValues({ policyBits, requiredBits, decision, now, exp })
            const isSigned = policyBits >= pq && (requiredBits % 2n === 0n || policyBits === hybrid)
            const wanted = isSigned && decision === 1n && exp > now
            const said = quantumSafeToken.read(quantumSafeToken.publicSignals(values)).quantum_safe_valid
            const what = `policy ${policyBits}, required ${requiredBits}, decision ${decision}, exp ${exp}`
            expect(said, what).to.equal(wanted ? 1n : 0n)
            const wires = await circuit.witness(quantumSafeToken.witnessInput(values))
            expect(wires[1], what).to.equal(said)
          }
  })

  it('has no witness for a token that is not the one in the ledger', async () => {
    const values = quantumSafeTokenValues()
    const good = quantumSafeToken.witnessInput(values)
    await circuit.witness(good)
    const { exp, salt, tokenDigest, path, position } = values
    const changes: readonly [string, Inputs][] = [
      ['another decision', { decision: 0n }],
      ['a later expiry', { exp: exp + 1n }],
      ['another policy', { policyBits: pq }],
      ['terms and salt that add up the same', { exp: exp + 1n, salt: salt - 8n }],
      ['another token', { tokenDigest: tokenDigest + 1n }],
      ['another salt', { salt: randomElement() }],
      ['another leaf hash', { leafHash: randomElement() }],
      ['another position', { position: BigInt(position ^ 8) }],
      ['a position beyond the shard', { position: BigInt(position) + 4096n }],
      ['another path', { path: randomPath() }],
      ['a path in another order', { path: path.toReversed() }],
      ['another root', { root: randomElement() }],
      ['a required set of three bits', { requiredBits: 4n }],
      ['a time beyond 64 bits', { now: MAX + 1n }],
      ['a time before 0', { now: R - 1n }],
    ]
    for (const [what, change] of changes)
      expect(await rejection(circuit.witness({ ...good, ...change })), what).to.be.instanceOf(WitnessError)
  })

  it('has no witness for terms out of range, though the ledger held them', async () => {
    const values = quantumSafeTokenValues()
    const good = quantumSafeToken.witnessInput(values)
    const { fold } = await createPoseidonReference()
    const { tokenDigest, salt, leafHash, position, path } = values
    const nullifier = poseidon(POSEIDON_TAGS.NULLIFIER, [salt, tokenDigest])
    /** With the root of a shard that holds such a token. */
    const inputOf = (terms: { decision?: bigint; policyBits?: bigint; exp?: bigint }): Inputs => {
      const { decision, policyBits, exp } = { ...values, ...terms }
      const sum = (salt + decision + 2n * policyBits + 8n * exp) % R
      const commitment = poseidon(POSEIDON_TAGS.HYBRID_TOKEN, [nullifier, sum])
      const leaf = poseidon(POSEIDON_TAGS.LEAF, [11n, leafHash, commitment])
      return { ...good, ...terms, root: fold(leaf, position, path) }
    }
    await circuit.witness(inputOf({ decision: 0n, policyBits: classical, exp: MAX }))
    for (const [what, terms] of [
      ['a decision that is no bit', { decision: 2n }],
      ['a negative decision', { decision: R - 1n }],
      ['a policy of three bits', { policyBits: 7n }],
      ['a policy that makes up for the expiry', { policyBits: hybrid + 4n, exp: values.exp - 1n }],
      ['an expiry beyond 64 bits', { exp: MAX + 1n }],
      ['an expiry before 0', { exp: R - 1n }],
    ] as const)
      expect(await rejection(circuit.witness(inputOf(terms))), what).to.be.instanceOf(WitnessError)
  })

  it('has no witness for an entry of another type with the same commitment', async () => {
    const values = quantumSafeTokenValues()
    const good = quantumSafeToken.witnessInput(values)
    const { fold } = await createPoseidonReference()
    const rootOf = (type: bigint) => {
      const leaf = poseidon(POSEIDON_TAGS.LEAF, [type, values.leafHash, hybridTokenCommitment(values)])
      return fold(leaf, values.position, values.path)
    }
    await circuit.witness({ ...good, root: rootOf(11n) })
    for (const type of [0n, 1n, 2n, 10n, 12n])
      expect(await rejection(circuit.witness({ ...good, root: rootOf(type) }))).to.be.instanceOf(WitnessError)
  })

  it('has one nullifier for a token, whatever else is asked, and none that the log leads to', () => {
    const values = quantumSafeTokenValues()
    const nullifier = hybridTokenNullifier(values)
    const of = (changes: object) =>
      quantumSafeToken.read(quantumSafeToken.publicSignals({ ...values, ...changes })).nullifier
    expect(of({ ctx: 1n, now: 1n, requiredBits: 0n, position: 1, path: randomPath() })).to.equal(nullifier)
    expect(of({ tokenDigest: 1n })).to.not.equal(nullifier)
    // Whoever knows nullifier and terms can't compute the commitment: the salt is in it once more.
    const terms = values.decision + 2n * values.policyBits + 8n * values.exp
    expect(hybridTokenCommitment(values)).to.not.equal(
      poseidon(POSEIDON_TAGS.HYBRID_TOKEN, [nullifier, terms]),
    )
  })

  it('refuses terms that no witness exists for', () => {
    for (const change of [
      { decision: 2n },
      { decision: -1n },
      { policyBits: 4n },
      { requiredBits: 4n },
      { exp: MAX + 1n },
      { now: MAX + 1n },
      { now: -1n },
      { position: 4096 },
    ])
      expect(() => quantumSafeToken.publicSignals(quantumSafeTokenValues(change))).to.throw(RangeError)
  })
})
