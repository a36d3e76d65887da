/**
 * What the service knows of `offline_validation`: the payments that it holds, the terminals that are registered, and
 * within which bounds it accepted a payment. Whatever it holds otherwise can't be proved: there is no proof of a NO.
 * @module
 */
import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import { offlineValidation, offlineValidationFits } from '../../../circuits/mappers/offline_validation.ts'
import { cardNullifierElement, terminalCommitment } from '../../../circuits/mappers/terminal-secret.ts'
import { AppError } from '../../../errors.ts'
import { exponentOf } from '../../../protocol/currency.ts'
import { fromMinorUnits, NULLIFIER_FRAGMENT_BYTES } from '../../../protocol/payment-proof.ts'
import { MAX_CLOCK_AHEAD_MS } from '../../../protocol/sync.ts'
import { type Facts, unexpected } from '../../../rules/expectation.ts'
import type { HeldPayment } from '../../payments/held-payments.ts'
import type { PaymentsService } from '../../payments/service.ts'
import type { TerminalsService } from '../../terminals/service.ts'
import { falseStatement, type Prepared, type ReasonCode, type Stated, type Statement } from '../statement.ts'
import { askedIn, circuitQuestion, EXPECTED } from './question.ts'
import { CLOSED, expecting, Signal, signalsForm } from './schemas.ts'
import { elements, mismatch, numbers } from './signed.ts'

/** Longer than any proof of a payment; whatever is wrong with it is told by the payments' own reader. */
const MAX_PROOF_DATA_CHARACTERS = 256

const MS_PER_SECOND = 1000
const H248_HEX_DIGITS = 62
/** No payment is greater, in minor units. */
const GREATEST_AMOUNT = Number.MAX_SAFE_INTEGER

/** A payment as it was presented. */
const PresentedPayment = Type.Object(
  {
    proofData: Type.String({ minLength: 1, maxLength: MAX_PROOF_DATA_CHARACTERS }),
    amount: Type.Number({ exclusiveMinimum: 0, description: 'In major units.' }),
    currency: Type.Optional(Type.String({ description: 'ISO 4217 code; default GBP.' })),
    timestamp: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'As it was presented; omit it if the payment was presented without one.',
      }),
    ),
  },
  { ...CLOSED, title: 'PresentedPayment' },
)
type PresentedPayment = Static<typeof PresentedPayment>

const PaymentSignals = Type.Object(
  {
    cardNullifier: Signal,
    amount: Signal,
    time: Signal,
    salt: Signal,
    terminalSecret: Signal,
    limit: Signal,
    from: Signal,
    to: Signal,
  },
  { title: 'PaymentSignals', description: 'A payment that the service has stored.' },
)
type PaymentSignals = Static<typeof PaymentSignals>

/** The first is closed, so that inputs with a `salt` are signals. */
const PaymentInputs = Type.Union([PresentedPayment, PaymentSignals])
type PaymentInputs = Static<typeof PaymentInputs>

interface Deps {
  readonly payments: Pick<PaymentsService, 'heldAs' | 'heldByNullifier'>
  readonly terminals: Pick<TerminalsService, 'policy' | 'isRegistered' | 'ownProvingSecret'>
}

/** What is proved of a payment besides `salt` and `ctx`. */
interface Proven {
  readonly cardNullifier: bigint
  readonly amount: bigint
  readonly time: bigint
  readonly terminalSecret: bigint
  readonly limit: bigint
  readonly from: bigint
  readonly to: bigint
}

const seconds = (unixMs: number): bigint => BigInt(Math.floor(unixMs / MS_PER_SECOND))

/** By the terminal's clock if it told, Unix ms. */
export const paymentTime = ({ stampedAt, receivedAt }: HeldPayment): number => stampedAt ?? receivedAt

/** Amount and time of a payment as the circuit has them: minor units, Unix seconds by the terminal's clock if it told. */
const measured = (held: HeldPayment) => ({
  amount: BigInt(held.amountMinor),
  time: seconds(paymentTime(held)),
})

/** The greatest amount in minor units that is not above a limit in major units. */
const inMinorUnits = (floorLimit: number, currency: string): number => {
  const near = Math.min(Math.floor(floorLimit * 10 ** exponentOf(currency)), GREATEST_AMOUNT - 1)
  return fromMinorUnits(near + 1, currency) <= floorLimit ? near + 1 : near
}

/** @returns undefined where the payment came in the compact form, which has a fragment of the nullifier only */
const nullifierOf = ({ proof }: HeldPayment): bigint | undefined =>
  proof.nullifier && cardNullifierElement(proof.nullifier)

/** The first 12 bytes of a nullifier, of which the element is the first 31. */
const fragmentOf = (cardNullifier: bigint): Uint8Array =>
  Buffer.from(cardNullifier.toString(16).padStart(H248_HEX_DIGITS, '0'), 'hex').subarray(
    0,
    NULLIFIER_FRAGMENT_BYTES,
  )

/**
 * What `ctx` binds of a payment, and with it its transaction id as the nonce where a terminal proves it itself: both
 * know these without telling each other.
 */
export const paymentContext = ({ currency, merchant, transactionId }: HeldPayment) => ({
  statement: { currency, merchantId: merchant },
  nonce: transactionId,
})

/** The held payment that a proof names, or undefined. */
export const paymentOf = async (
  payments: Pick<PaymentsService, 'heldByNullifier'>,
  caller: Caller,
  cardNullifier: bigint,
): Promise<HeldPayment | undefined> => {
  if (cardNullifier >> BigInt(H248_HEX_DIGITS * 4) > 0n) return undefined
  const held = await payments.heldByNullifier(caller, fragmentOf(cardNullifier))
  return held && nullifierOf(held) === cardNullifier ? held : undefined
}

/** What of a payment can be compared with what is expected. */
const factsOf = (held: HeldPayment, organisation: string): Facts => ({
  issuers: [organisation, held.origin],
  ...paymentContext(held),
  max_age_seconds: paymentTime(held),
})

const prepared = (caller: Caller, held: HeldPayment, proven: Proven, salt?: bigint): Prepared => {
  const { limit, from, to } = proven
  if (!offlineValidationFits(proven)) throw falseStatement('The payment is not within the bounds.')
  return {
    statement: {
      ...paymentContext(held).statement,
      limit: String(limit),
      from: String(from),
      to: String(to),
    },
    differs: (expect, now) => unexpected(expect, factsOf(held, caller.organisation), now),
    subject: [held.origin.startsWith('ter_') ? 'terminal' : 'key', held.origin],
    signals(binding) {
      const values = { ...proven, salt: salt ?? binding.salt, ctx: binding.ctx }
      return {
        publicSignals: offlineValidation.publicSignals(values),
        witness: offlineValidation.witnessInput(values),
      }
    },
  }
}

export const offlineValidationStatement = ({ payments, terminals }: Deps): Statement => {
  /** The bounds within which the service accepts the payment: a floor limit holds for what was not asked beforehand. */
  const bounds = async ({ merchant, origin, channel, currency, receivedAt }: HeldPayment) => {
    const { floorLimit, maxOfflineAgeMs } = await terminals.policy({ merchant, origin })
    const isLimited = channel === 'sync' && floorLimit !== undefined
    return {
      limit: BigInt(isLimited ? inMinorUnits(floorLimit, currency) : GREATEST_AMOUNT),
      from: seconds(Math.max(receivedAt - maxOfflineAgeMs, 0)),
      to: seconds(receivedAt + MAX_CLOCK_AHEAD_MS),
    }
  }

  /** Proved by the service itself. */
  const own = async (caller: Caller, given: PresentedPayment, at: number): Promise<Prepared> => {
    const held = await payments.heldAs(caller, given, at)
    if (held === undefined) throw falseStatement('No such payment was accepted.')
    const cardNullifier = nullifierOf(held)
    if (cardNullifier === undefined) {
      throw new AppError('not_provable', {
        message: 'The payment came in the compact form, which does not hold its whole nullifier.',
      })
    }
    const terminalSecret = terminals.ownProvingSecret(caller.organisation, held.origin)
    return prepared(caller, held, {
      cardNullifier,
      ...measured(held),
      terminalSecret,
      ...(await bounds(held)),
    })
  }

  const raw = async (caller: Caller, given: PaymentSignals): Promise<Prepared> => {
    const { cardNullifier, salt, terminalSecret } = elements(
      ['cardNullifier', 'salt', 'terminalSecret'],
      given,
    )
    const rest = numbers(['amount', 'time', 'limit', 'from', 'to'], given)
    const held = await paymentOf(payments, caller, cardNullifier)
    const isSame =
      held !== undefined && measured(held).amount === rest.amount && measured(held).time === rest.time
    if (!isSame) throw falseStatement('No such payment was accepted.')
    if (!(await terminals.isRegistered(caller.organisation, held, terminalCommitment(terminalSecret))))
      throw falseStatement('The secret is not that of the terminal.')
    return prepared(caller, held, { cardNullifier, terminalSecret, ...rest }, salt)
  }

  /** Bounds that were asked for. A terminal that proves by itself chooses them, so they only have to hold. */
  const boundsReasons = (statement: Stated, shown: Pick<Proven, 'limit' | 'from' | 'to'>): ReasonCode[] =>
    'limit' in statement ? mismatch(statement, shown, 'BOUNDS_MISMATCH') : []

  return {
    circuit: offlineValidation,
    decision: null,
    inputs: PaymentInputs,

    prepare(caller, inputs, at) {
      // They fit the schema.
      const given = inputs as PaymentInputs
      return 'salt' in given ? raw(caller, given) : own(caller, given, at)
    },

    /** A terminal names its payments; two may use one name. */
    async recordedOnce(caller, publicSignals) {
      const held = await paymentOf(payments, caller, offlineValidation.read(publicSignals).cardNullifier)
      return held && `${held.origin}/${held.transactionId}`
    },

    async check({ caller, publicSignals, statement }) {
      const shown = offlineValidation.read(publicSignals)
      const { limit, from, to } = shown
      const held = await paymentOf(payments, caller, shown.cardNullifier)
      if (held === undefined) return ['PAYMENT_UNKNOWN']
      const { currency, merchantId } = paymentContext(held).statement
      const isAsked = statement.currency === currency && statement.merchantId === merchantId
      const isRegistered = await terminals.isRegistered(caller.organisation, held, shown.terminalCommitment)
      return [
        ...(isAsked ? [] : ['PAYMENT_MISMATCH' as const]),
        ...(offlineValidationFits({ ...shown, ...measured(held) }) ? [] : ['PAYMENT_OUT_OF_BOUNDS' as const]),
        ...boundsReasons(statement, { limit, from, to }),
        ...(isRegistered ? [] : ['TERMINAL_UNKNOWN' as const]),
      ]
    },
  }
}

const TerminalProof = Type.Object(
  {
    proof: Type.Unknown({
      description:
        'The proof made by the terminal, in the JSON form of snarkjs, or a text `zk1.…`, which needs no publicInputs.',
    }),
    publicInputs: Type.Optional(
      Type.Array(Type.String(), { description: 'Decimal numbers, in the order of the circuit.' }),
    ),
  },
  CLOSED,
)

export const offlineValidationQuestion = circuitQuestion({
  circuit: offlineValidation.id,
  name: 'validateOfflineByCircuit',
  summary: 'Prove that an accepted payment is within bounds, or verify the proof of its terminal',
  description: `Send \`proof\` with \`publicInputs\` from the terminal, the payment as it was presented (\`proofData\` with \`amount\`), or \`inputs\`. A NO can't be proved. ${EXPECTED}`,
  body: Type.Union([
    expecting(TerminalProof),
    expecting(PresentedPayment),
    expecting(signalsForm(PaymentSignals)),
  ]),
  field: 'offline_valid',
  title: 'OfflineValidation',
  isTrue: 'The payment was accepted and is within the bounds, and its terminal is registered.',
  errors: ['amount_precision', 'currency_invalid', 'pan_not_allowed'],
  example: {
    body: { proofData: '{proofData}', amount: 12.5, currency: 'GBP', timestamp: '{paymentTime}' },
  },
  asked: async (body) => ('proof' in body ? body : askedIn(body)),
})
