/** Circuit `offline_validation`: a terminal stands for a payment within an amount and a time. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { terminalCommitment } from './terminal-secret.ts'

export interface OfflineValidationValues {
  /** `cardNullifierElement` of terminal-secret.ts. */
  readonly cardNullifier: bigint
  /** Minor units, below 2^64. */
  readonly amount: bigint
  /** Unix seconds, below 2^40. */
  readonly time: bigint
  /** Secret, at least 128 random bits: it is what hides amount and time. */
  readonly salt: bigint
  /** `terminalSecretElement` of terminal-secret.ts. */
  readonly terminalSecret: bigint
  /** The amount is this at most, below 2^64. */
  readonly limit: bigint
  /** The time is this at least. */
  readonly from: bigint
  /** The time is this at most. */
  readonly to: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

const AMOUNT_LIMIT = 1n << 64n
const TIME_BITS = 40n
const TIME_LIMIT = 1n << TIME_BITS

const assertWithin = (name: string, value: bigint, least: bigint, most: bigint): void => {
  if (value < least || value > most) throw new RangeError(`${name} must be from ${least} to ${most}`)
}

/** Whether a proof can exist: there is none of a payment outside of its bounds. */
export const offlineValidationFits = ({
  amount,
  time,
  limit,
  from,
  to,
}: Pick<OfflineValidationValues, 'amount' | 'time' | 'limit' | 'from' | 'to'>): boolean =>
  amount >= 0n && amount <= limit && from <= time && time <= to

/** Poseidon[PAYMENT](card nullifier, amount · 2^40 + time, terminal commitment, salt). */
export const paymentCommitment = ({
  cardNullifier,
  amount,
  time,
  terminalSecret,
  salt,
}: Pick<OfflineValidationValues, 'cardNullifier' | 'amount' | 'time' | 'terminalSecret' | 'salt'>): bigint =>
  poseidon(POSEIDON_TAGS.PAYMENT, [
    cardNullifier,
    (amount << TIME_BITS) + time,
    terminalCommitment(terminalSecret),
    salt,
  ])

export const offlineValidation = defineCircuit({
  id: 'offline_validation',
  name: 'Offline validation',
  description: 'That a terminal knows a payment of a card, of at most a limit and within a span of time.',
  version: '1.0.0',
  domain: 1024,
  proves:
    'The prover knows the secret behind the terminal commitment, and amount, time and salt behind the payment ' +
    'commitment, which is of this card nullifier and this terminal; the amount is at most limit and the time from ' +
    '`from` to `to`. There is no proof of a NO. That the card exists, that its token is genuine or that the payment was ' +
    'made or is good is not proven.',
  checks: [
    'terminalCommitment is that of a registered terminal',
    'cardNullifier and ctx are recomputed from the payment that the service holds',
    'limit, from and to are the bounds that were asked for; a terminal that proves by itself chooses them',
    'the payment that the service holds under this card nullifier is within the bounds; its amount and time are not ' +
      'compared with those inside the commitment, which nobody sees',
  ],
  selfAsserted: false,
  outputs: ['paymentCommitment'],
  inputs: ['cardNullifier', 'limit', 'from', 'to', 'terminalCommitment', 'ctx'],
  secrets: ['amount', 'time', 'salt', 'terminalSecret'],
  assign(values: OfflineValidationValues) {
    const { amount, time, limit, from, to } = values
    assertWithin('limit', limit, 0n, AMOUNT_LIMIT - 1n)
    assertWithin('amount', amount, 0n, limit)
    for (const [name, one] of Object.entries({ time, from, to })) assertWithin(name, one, 0n, TIME_LIMIT - 1n)
    assertWithin('time', time, from, to)
    return {
      ...values,
      paymentCommitment: paymentCommitment(values),
      terminalCommitment: terminalCommitment(values.terminalSecret),
    }
  },
})
