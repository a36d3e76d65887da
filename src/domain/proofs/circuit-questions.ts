/**
 * Questions that a circuit answers: made into a proof, checked as anybody's proof would be, and only then recorded. What
 * isn't so and can't be proved is an answer as well, without a proof.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { isCanonicalSignal } from '../../circuits/circuit.ts'
import { offlineValidation } from '../../circuits/mappers/offline_validation.ts'
import { type Clock, iso } from '../../clock.ts'
import type { Entry } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { decodeZk1, type SnarkProof } from '../../protocol/zk1.ts'
import { type Expectation, unexpected } from '../../rules/expectation.ts'
import type { CircuitAnswer } from '../circuits/schemas-questions.ts'
import type { PaymentsService } from '../payments/service.ts'
import { PROOF_CREATED } from '../webhooks/events.ts'
import type { AdoptedProof, CheckedProof, UncommittedProof } from './proof.ts'
import { recordedId } from './recording.ts'
import { isVerified, type ProofsService } from './service.ts'
import { isFalseStatement, type ReasonCode } from './statement.ts'
import { paymentContext, paymentOf, paymentTime } from './statements/offline_validation.ts'

const CATEGORY = 'circuit'
const DECISION_NO = 'DECISION_NO'

interface Deps {
  readonly proofs: Pick<ProofsService, 'prepare' | 'make' | 'checkMade' | 'lastLook' | 'adopt' | 'recorded'>
  readonly payments: Pick<PaymentsService, 'heldByNullifier'>
  readonly ledger: Pick<Ledger, 'append'>
  readonly clock: Clock
}

/** Whether it is so, and the rest of the answer. */
export interface Answered extends CircuitAnswer {
  readonly holds: boolean
}

/** What a circuit is asked. */
export interface Question {
  readonly inputs: unknown
  /** What else has to be so of what the inputs present; what differs is not proved. */
  readonly expect?: Expectation
}

/** What a terminal sends. */
export interface Presented {
  readonly proof: unknown
  readonly expect?: Expectation
  readonly publicInputs?: readonly string[]
}

interface Read {
  readonly proof: unknown
  readonly publicSignals: readonly string[]
}

/** No `ctx` is of this: nothing can be verified under it, but what is wrong can be told. */
const NO_CONTEXT = { statement: {}, nonce: '' } as const

/** Signals that the text of the proof holds count only where no others are told; the check compares them. */
const readPresented = ({ proof, publicInputs }: Presented): Read => {
  const read = publicInputs === undefined && typeof proof === 'string' ? decodeZk1(proof) : undefined
  return read ?? { proof, publicSignals: publicInputs ?? [] }
}

/** @returns undefined where these can't be the circuit's signals */
const cardNullifierOf = (publicSignals: readonly string[]): bigint | undefined => {
  const fits = publicSignals.length === offlineValidation.publicNames.length
  return fits && publicSignals.every(isCanonicalSignal)
    ? offlineValidation.read(publicSignals).cardNullifier
    : undefined
}

/** A proof that is verified, in JSON, without whatever else was sent in it. */
const toJson = ({ pi_a, pi_b, pi_c }: SnarkProof): NonNullable<CircuitAnswer['proof']> => ({
  pi_a: [...pi_a],
  pi_b: pi_b.map((pair) => [...pair]),
  pi_c: [...pi_c],
  protocol: 'groth16',
  curve: 'bn128',
})

/** What was made here was verified as well: one entry says both. */
const madeAndVerified = (entry: Entry): Entry => ({
  ...entry,
  type: 'verify',
  data: { ...entry.data, event: PROOF_CREATED },
})

export type CircuitQuestions = ReturnType<typeof createCircuitQuestions>

export const createCircuitQuestions = ({ proofs, payments, ledger, clock }: Deps) => {
  const unproven = (circuitId: string, reasonCodes: readonly ReasonCode[], message?: string): Answered => ({
    success: true,
    holds: false,
    circuit_id: circuitId,
    proofId: null,
    proof: null,
    publicInputs: null,
    digest: null,
    verifiedAt: iso(clock.now()),
    reasonCodes: [...reasonCodes],
    ...(message !== undefined && { message }),
  })

  const ask = async <R>(
    caller: Caller,
    circuitId: string,
    { inputs, expect }: Question,
    present: (answered: Answered) => R,
  ): Promise<R> => {
    const prepared = await proofs.prepare(caller, circuitId, inputs)
    const now = clock.now()
    const differing =
      expect && (prepared.differs ? prepared.differs(expect, now) : unexpected(expect, {}, now))
    if (differing && differing.length > 0) return present(unproven(circuitId, differing))
    try {
      const { recording, ...made } = await proofs.make(caller, { circuitId, prepared, category: CATEGORY })
      const checked = await proofs.checkMade(caller, made)
      const answered = answerOf(checked, made)
      if (!isVerified(checked)) return present(answered)
      const refused = unproven(circuitId, [])
      const lateOf = await proofs.lastLook(checked)
      return await ledger.append(caller, (tx) => {
        const late = lateOf(tx)
        if (late) return present({ ...refused, reasonCodes: [late.reason] })
        recording.record(tx, madeAndVerified(recording.entry))
        return present(answered)
      })
    } catch (error) {
      const first = await proofs.recorded(caller, recordedId(error))
      return present(answerOf(await proofs.checkMade(caller, first), first))
    }
  }

  /** The answer that a proof gives, if it is verified. */
  const answerOf = ({ verified, reasonCodes }: CheckedProof, made: UncommittedProof): Answered => {
    const { circuitId } = made
    if (!verified) return unproven(circuitId, reasonCodes)
    // An aggregate of proofs that hold is one, whatever they say.
    const holds = made.decision === 1 || circuitId === 'proof_aggregation'
    return {
      success: true,
      holds,
      circuit_id: circuitId,
      proofId: made.proofId,
      proof: toJson(made.proof),
      publicInputs: [...made.publicSignals],
      digest: made.digest,
      verifiedAt: iso(clock.now()),
      reasonCodes: holds ? [] : [DECISION_NO],
    }
  }

  const adoptedAnswer = ({ recorded, reasonCodes }: AdoptedProof, verifiedAt: string): Answered =>
    recorded === null
      ? { ...unproven(offlineValidation.id, reasonCodes), verifiedAt }
      : {
          success: true,
          holds: true,
          circuit_id: offlineValidation.id,
          proofId: recorded.proofId,
          proof: toJson(recorded.proof),
          publicInputs: [...recorded.publicSignals],
          digest: recorded.digest,
          verifiedAt,
          reasonCodes: [],
        }

  return {
    /**
     * Proves what is asked of a circuit, and records the proof if everything holds that can be checked.
     * @param present the answer; it is what a repeated Idempotency-Key gets
     * @throws AppError as `prepare` and `make` of the proofs, but for statements that are false; validation_failed for what can't
     *   be expected
     */
    async ask<R>(
      caller: Caller,
      circuitId: string,
      question: Question,
      present: (answered: Answered) => R,
    ): Promise<R> {
      try {
        return await ask(caller, circuitId, question, present)
      } catch (error) {
        if (!isFalseStatement(error)) throw error
        return present(unproven(circuitId, ['STATEMENT_FALSE'], error.message))
      }
    },

    /**
     * Checks a proof that a terminal made of a payment which the service holds, and records it if it is verified.
     * @param presented anything: what is wrong with it is told by reason codes
     * @param present as above
     */
    async adopt<R>(caller: Caller, presented: Presented, present: (answered: Answered) => R): Promise<R> {
      const read = readPresented(presented)
      const cardNullifier = cardNullifierOf(read.publicSignals)
      const held = cardNullifier === undefined ? undefined : await paymentOf(payments, caller, cardNullifier)
      if (cardNullifier !== undefined && held === undefined)
        return present(unproven(offlineValidation.id, ['PAYMENT_UNKNOWN']))
      const context = held === undefined ? NO_CONTEXT : paymentContext(held)
      const foreign = {
        circuitId: offlineValidation.id,
        ...read,
        context,
        category: CATEGORY,
        expect: presented.expect,
        createdAt: held && paymentTime(held),
      } as const
      const verifiedAt = iso(clock.now())
      return proofs.adopt(caller, foreign, (adopted) => present(adoptedAnswer(adopted, verifiedAt)))
    },
  }
}
