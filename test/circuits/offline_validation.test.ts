import { expect } from 'chai'
import fc from 'fast-check'
import { offlineValidation, offlineValidationFits } from '../../src/circuits/mappers/offline_validation.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { shippedCircuit } from '../support/circuits/circuits.ts'
import { offlineValidationValues } from '../support/circuits/inputs/offline_validation.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { satisfies } from '../support/reference/r1cs.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()
const AMOUNTS = 1n << 64n
const TIMES = 1n << 40n

describe('circuit offline_validation', () => {
  const circuit = shippedCircuit('offline_validation')
  const good = () => offlineValidation.witnessInput(offlineValidationValues())
  const hasNone = async (changes: Record<string, bigint>): Promise<void> => {
    expect(
      await rejection(circuit.witness({ ...good(), ...changes })),
      JSON.stringify(changes, (_, value) => String(value)),
    ).to.be.instanceOf(WitnessError)
  }

  it('computes the public signals that the mapper does, for payments within their bounds', async () => {
    const amount = fc.bigInt({ min: 0n, max: AMOUNTS - 1n })
    const time = fc.bigInt({ min: 0n, max: TIMES - 1n })
    await fc.assert(
      fc.asyncProperty(amount, amount, fc.tuple(time, time, time), async (one, other, times) => {
        const [from = 0n, at = 0n, to = 0n] = times.sort((a, b) => Number(a - b))
        const [low, high] = one < other ? [one, other] : [other, one]
        const values = offlineValidationValues({ amount: low, limit: high, from, time: at, to })
        const wires = await circuit.witness(offlineValidation.witnessInput(values))
        expect(satisfies(circuit.system.constraints, wires, R)).to.equal(true)
        expect(wires.slice(1, 8).map(String)).to.deep.equal(offlineValidation.publicSignals(values))
      }),
      { numRuns: 30 },
    )
  })

  it('holds at the bounds themselves', async () => {
    for (const changes of [
      { amount: 5000n, limit: 5000n },
      { amount: 0n, limit: 0n },
      { amount: AMOUNTS - 1n, limit: AMOUNTS - 1n },
      { from: 1_800_000_000n, to: 1_800_000_000n },
      { from: 0n, to: TIMES - 1n },
    ])
      await circuit.witness(offlineValidation.witnessInput(offlineValidationValues(changes)))
  })

  it('commits to card, amount, time, terminal and salt', () => {
    const values = offlineValidationValues()
    const { paymentCommitment, terminalCommitment } = offlineValidation.read(
      offlineValidation.publicSignals(values),
    )
    expect(terminalCommitment).to.equal(poseidon(POSEIDON_TAGS.TERMINAL, [values.terminalSecret]))
    const packed = values.amount * TIMES + values.time
    expect(paymentCommitment).to.equal(
      poseidon(POSEIDON_TAGS.PAYMENT, [values.cardNullifier, packed, terminalCommitment, values.salt]),
    )
  })

  it('has no witness one step outside of a bound, nor far outside', async () => {
    await hasNone({ limit: 1249n })
    await hasNone({ amount: 5001n })
    await hasNone({ amount: R - 1n })
    await hasNone({ limit: 1250n + AMOUNTS })
    await hasNone({ limit: R - 1n })
    await hasNone({ from: 1_800_000_001n })
    await hasNone({ to: 1_799_999_999n })
    await hasNone({ time: 1_799_998_999n })
    await hasNone({ time: 1_800_000_061n })
    await hasNone({ time: R - 1n })
    await hasNone({ to: 1_800_000_000n + TIMES })
    await hasNone({ from: R - 1n })
  })

  it('has no witness for amount and time that only share their packed form', async () => {
    // amount · 2^40 + time is the same, and the bounds would let both pass.
    const { amount, time } = offlineValidationValues()
    await hasNone({ amount: amount - 1n, time: time + TIMES, to: time + TIMES })
    await hasNone({ from: TIMES - 1n, time: TIMES + 5n, to: TIMES + 10n })
    await hasNone({ amount: amount + 1n, time: time - TIMES + R, from: time - TIMES + R, to: time })
  })

  it('has no witness without the secret of the terminal', async () => {
    const { terminalSecret } = offlineValidationValues()
    await hasNone({ terminalSecret })
    await hasNone({ terminalCommitment: 0n })
  })

  it('is refused by its mapper where there is no witness', () => {
    for (const changes of [
      { amount: 5001n },
      { amount: -1n },
      { limit: AMOUNTS },
      { time: 1_799_998_999n },
      { time: 1_800_000_061n },
      { to: TIMES },
      { from: -1n },
      { cardNullifier: R },
    ]) {
      const values = offlineValidationValues(changes)
      expect(() => offlineValidation.publicSignals(values)).to.throw(RangeError)
    }
    expect(offlineValidationFits(offlineValidationValues())).to.equal(true)
    expect(offlineValidationFits(offlineValidationValues({ limit: 1249n }))).to.equal(false)
    expect(offlineValidationFits(offlineValidationValues({ from: 1_800_000_001n }))).to.equal(false)
    expect(offlineValidationFits(offlineValidationValues({ to: 1_799_999_999n }))).to.equal(false)
  })
})
