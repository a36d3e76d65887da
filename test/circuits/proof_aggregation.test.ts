/** The mapper of proof_aggregation against the circuit. */
import { expect } from 'chai'
import { aggregateMessage } from '../../src/circuits/issuer-signature.ts'
import { aggregateChain, proofAggregation } from '../../src/circuits/mappers/proof_aggregation.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { members, proofAggregationValues } from '../support/circuits/inputs/proof_aggregation.ts'
import { testIssuer } from '../support/circuits/issuer.ts'
import { type Changes, mapped } from '../support/circuits/mappers.ts'
import { createReferenceField } from '../support/reference/field.ts'

const { poseidon } = createReferenceField()
const { signals, hasNoWitness } = mapped(proofAggregation)

const places = (...digests: readonly bigint[]) => Array.from({ length: 8 }, (_, i) => digests[i] ?? 0n)

/** What the circuit would take for such places, signed: so that only the places can be what is wrong. */
const signedPlaces = (digests: readonly bigint[], decisions: bigint, count: bigint, ctx: bigint) => {
  const chain = poseidon(POSEIDON_TAGS.AGGREGATE_CHAIN, [...digests, decisions])
  return { digests, decisions, ctx, ...testIssuer.sign(aggregateMessage({ count, ctx, chain })) }
}

describe('mapper of proof_aggregation', () => {
  it('counts proofs and those that say YES, for one to eight of them', async () => {
    for (const decisions of [
      [1n],
      [0n],
      [1n, 0n],
      [1n, 1n, 1n],
      [0n, 0n, 0n, 0n, 0n, 0n, 0n],
      [1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n],
      [1n, 0n, 1n, 1n, 1n, 1n, 1n, 1n],
      [1n, 1n, 1n, 1n, 1n, 1n, 1n, 0n],
    ]) {
      const values = proofAggregationValues({ members: members(...decisions) })
      const { count, yes_count, all, chain } = await signals(values)
      const yes = decisions.filter((decision) => decision === 1n).length
      expect([count, yes_count, all]).to.deep.equal([
        BigInt(decisions.length),
        BigInt(yes),
        yes === decisions.length ? 1n : 0n,
      ])
      const bits = decisions.reduce((sum, decision, i) => sum + (decision << BigInt(i)), 0n)
      const digests = places(...values.members.map(({ digest }) => digest))
      expect(chain).to.equal(poseidon(POSEIDON_TAGS.AGGREGATE_CHAIN, [...digests, bits]))
    }
  })

  it('has no witness for proofs, decisions or a context that were not signed', async () => {
    const values = proofAggregationValues({ members: members(1n, 0n, 1n) })
    const [a = 0n, b = 0n, c = 0n] = values.members.map(({ digest }) => digest)
    for (const changes of [
      { digests: places(a, b, c + 1n) },
      { digests: places(b, a, c) },
      { digests: places(a, b), decisions: 1n },
      { digests: places(a, b, c, 5n) },
      { decisions: 0b111n },
      { decisions: 0b011n },
      { ctx: values.ctx + 1n },
    ] as Changes[])
      await hasNoWitness(values, changes)
    const altered = values.members.map((member) => ({ ...member, decision: 1n }))
    expect(() => proofAggregation.publicSignals({ ...values, members: altered })).to.throw(
      RangeError,
      'signature',
    )
  })

  it('has no witness for places that are no list of proofs, even where they were signed', async () => {
    const values = proofAggregationValues()
    const { ctx } = values
    // The first row is a list: what is refused below is refused for its places.
    const good = signedPlaces(places(5n, 6n), 0b01n, 2n, ctx)
    expect(() =>
      proofAggregation.publicSignals({
        ...values,
        members: [
          { digest: 5n, decision: 1n },
          { digest: 6n, decision: 0n },
        ],
        signature: good,
      }),
    ).to.not.throw()
    for (const [what, digests, decisions, count] of [
      ['a gap', places(5n, 0n, 6n), 0b101n, 2n],
      ['a gap at the beginning', places(0n, 5n), 0b10n, 1n],
      ['nothing', places(), 0n, 0n],
      ['a YES in an unused place', places(5n, 6n), 0b101n, 2n],
      ['a YES in a ninth place', places(5n, 6n), 0b1_0000_0001n, 2n],
      ['a NO signed as another number of proofs', places(5n, 6n), 0b01n, 3n],
    ] as const)
      await hasNoWitness(values, signedPlaces(digests, decisions, count, ctx), what)
  })

  it('refuses no proofs, nine of them, a digest of 0, and decisions that are no bits', () => {
    const [one] = members(1n)
    if (one === undefined) throw new Error('no member')
    for (const [reason, list] of [
      ['members', []],
      ['members', members(...Array(9).fill(1n))],
      ['digest', [{ ...one, digest: 0n }]],
      ['decision', [{ ...one, decision: 2n }]],
      ['decision', [{ ...one, decision: -1n }]],
    ] as const) {
      expect(() => aggregateChain(list), reason).to.throw(RangeError, reason)
      const values = { ...proofAggregationValues(), members: list }
      expect(() => proofAggregation.publicSignals(values), reason).to.throw(RangeError, reason)
    }
  })
})
