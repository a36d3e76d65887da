/** Challenges: asked with a key, answered by whoever keeps a credential, told to the asker alone. @module */
import { type Caller, keyBehind, systemCaller } from '../../../caller.ts'
import { findCircuit } from '../../../circuits/catalogue.ts'
import { type Clock, iso } from '../../../clock.ts'
import { AppError, fail, type Misfit } from '../../../errors.ts'
import { drawQrCode } from '../../../http/qr-code.ts'
import { newId } from '../../../ids.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { KycService } from '../../kyc/service.ts'
import { newNonce, toSeconds } from '../binding.ts'
import type { ProofsService } from '../service.ts'
import { createQuestions, type Question } from '../statements/asked.ts'
import {
  type ChallengeState,
  contextOfChallenge,
  newChallengeId,
  type OpenChallenges,
  standing,
  stateOf,
} from './challenge.ts'
import type {
  ChallengeAnswer,
  ChallengeMade,
  ChallengeTold,
  NewChallenge,
  PublicChallenge,
} from './schemas.ts'
import * as store from './store.ts'

/** Of one organisation. */
const MAX_OPEN_CHALLENGES = 1000
/** How many have ever been made, so that those that wait can be bounded in the commit. */
const MADE_COUNTER = 'proof.challenges'
const DEFAULT_TTL_SECONDS = 300
const MS_PER_SECOND = 1000

/** Answers that may wait to be verified on this server; about a second's worth. */
const MAX_WAITING_ANSWERS = 32
/** Whose turn they take there: all of them that of one, so that they hold up nobody else's checks. */
const ANSWERS = 'challenge-answers'
const RETRY_AFTER_SECONDS = 1

/** Whoever asked can read what became of it for so long after its end. */
const KEPT_MS = 86_400_000
const SWEEP_PAUSE_MS = 3_600_000
const SWEEP_ROWS = 500

/** Whom somebody is asked by. */
export interface Asker {
  readonly name: string
  /** One that the organisation has proven to be its own; null: none. */
  readonly domain: string | null
}

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly proofs: Pick<ProofsService, 'verify' | 'findRecorded'>
  readonly kyc: Pick<KycService, 'criteria' | 'sentence'>
  readonly checkInputs: (schema: Question['inputs']) => (inputs: unknown) => Misfit | undefined
  readonly asker: (organisation: string) => Promise<Asker>
  readonly clock: Clock
  readonly baseUrl: string
}

export type ChallengesService = ReturnType<typeof createChallenges>

/** The challenges that proofs are held against. */
export const createOpenChallenges = (database: Database): OpenChallenges => ({
  async byNonce(organisation, nonce) {
    const row = await store.findByNonce(database, organisation, nonce)
    return row && standing(row, row.is_answered)
  },
})

const notApplicable = (name: string): never =>
  fail('validation_failed', {
    details: [{ path: `/${name}`, code: 'not_applicable', message: 'does not apply to this circuit' }],
  })

const statusOf = ({ statement }: store.ChallengeRow): ChallengeTold['status'] =>
  statement.disclose === '0' ? 'not_required' : 'required'

const CLOSED_REASONS: Readonly<Record<Exclude<ChallengeState, 'open'>, string>> = {
  verified: 'CHALLENGE_ANSWERED',
  failed: 'CHALLENGE_TRIES_OVER',
  expired: 'CHALLENGE_EXPIRED',
}

/** First status of the errors that are not the caller's. */
const SERVER_ERROR = 500

/** Whether it couldn't be told what the proof is. That something is wrong with one is no error, but a reason. */
const isUndecided = (error: unknown): boolean => !(error instanceof AppError) || error.status >= SERVER_ERROR

export const createChallenges = (deps: Deps) => {
  const { database, ledger, proofs, asker, clock, baseUrl } = deps
  const questions = new Map(
    [...createQuestions(deps.kyc)].map(([id, question]) => [
      id,
      { question, check: deps.checkInputs(question.inputs) },
    ]),
  )
  let waiting = 0
  let sweepAfter = 0

  /** @throws AppError not_found for an unknown circuit, proof_not_accepted for one whose proofs nobody vouches for */
  const questionOf = (circuitId: string) =>
    questions.get(circuitId) ??
    (findCircuit(circuitId)
      ? fail('proof_not_accepted')
      : fail('not_found', { message: `There is no circuit ${circuitId}.` }))

  const statementOf = ({ circuit_id, inputs, status, unique, purpose }: NewChallenge) => {
    const { question, check } = questionOf(circuit_id)
    if (!question.hasChoice && status === 'not_required') notApplicable('status')
    if (!question.hasChoice && unique !== undefined) notApplicable('unique')
    const misfit = check(inputs)
    if (misfit)
      fail(misfit.code, {
        details: misfit.details.map((detail) => ({ ...detail, path: `/inputs${detail.path}` })),
      })
    const demands = { disclose: status !== 'not_required', unique: unique !== false }
    // They fit the schema.
    return { ...question.statement(inputs as never, demands), purpose }
  }

  /** Deletes what ended a day ago, from time to time. */
  const sweep = async (now: number): Promise<void> => {
    if (now < sweepAfter) return
    sweepAfter = now + SWEEP_PAUSE_MS
    const swept = await store.deleteEnded(database, now - KEPT_MS, SWEEP_ROWS)
    // There are more.
    if (swept === SWEEP_ROWS) sweepAfter = now
  }

  const requestUrl = (id: string): string => `${baseUrl}/challenge/${id}`
  const answerUrl = (id: string): string => `${baseUrl}/v1/proofs/challenge/${id}/answer`

  const findOwn = async ({ organisation }: Caller, id: string): Promise<store.FoundChallenge> => {
    const row = await store.findChallenge(database, id)
    return row?.organisation === organisation ? row : fail('not_found')
  }

  const resultOf = async (caller: Caller, row: store.FoundChallenge): Promise<ChallengeTold['result']> => {
    const made = row.is_answered ? await proofs.findRecorded(caller, row.proof_id) : undefined
    if (made?.elsewhere === undefined) return null
    return {
      verified: true,
      decision: made.decision,
      digest: made.digest,
      issuer: made.elsewhere.issuer,
      binding: made.elsewhere.binding,
      made_by: 'elsewhere',
      proof: made.proof as NonNullable<ChallengeTold['result']>['proof'],
      public_signals: [...made.publicSignals],
      verified_at: iso(made.createdAt),
    }
  }

  return {
    /**
     * Asks for a proof.
     * @throws AppError not_found, proof_not_accepted, validation_failed, unknown_member; limit_reached
     */
    async create(caller: Caller, input: NewChallenge): Promise<ChallengeMade> {
      const { organisation, credential } = caller
      const { circuit_id: circuitId, issuers = [organisation], ttl = DEFAULT_TTL_SECONDS } = input
      const statement = statementOf(input)
      const now = clock.now()
      await sweep(now)
      const id = newChallengeId()
      const row: store.ChallengeRow = {
        id,
        organisation,
        key_id: keyBehind(credential),
        proof_id: newId('prf', now),
        circuit_id: circuitId,
        nonce: newNonce(),
        audience: baseUrl,
        statement,
        issuers: [...new Set(issuers)],
        tries: 0,
        reason_codes: [],
        created_at: now,
        expires_at: (toSeconds(now) + ttl) * MS_PER_SECOND,
      }
      const request_url = requestUrl(id)
      const answer: ChallengeMade = {
        challenge_id: id,
        proof_id: row.proof_id,
        nonce: row.nonce,
        context: contextOfChallenge(row) as ChallengeMade['context'],
        expires_at: iso(row.expires_at),
        request_url,
        qr: String(await drawQrCode(request_url, 'svg')),
      }
      const { made, open } = await store.countChallenges(database, {
        organisation,
        counter: MADE_COUNTER,
        now,
      })
      return ledger.append(caller, (tx) => {
        // Whatever was made since the two were counted.
        const since = tx.counter(MADE_COUNTER) - made
        if (open + since >= MAX_OPEN_CHALLENGES)
          fail('limit_reached', { extras: { limit: MAX_OPEN_CHALLENGES } })
        tx.add(MADE_COUNTER, 1)
        tx.write(store.proofChallenges.row(row))
        return answer
      })
    },

    /** What became of a challenge, for whoever asked. @throws AppError not_found */
    async find(caller: Caller, id: string): Promise<ChallengeTold> {
      const row = await findOwn(caller, id)
      return {
        challenge_id: id,
        proof_id: row.proof_id,
        circuit_id: row.circuit_id,
        state: stateOf(row, row.is_answered, clock.now()),
        attempts: row.tries,
        reason_codes: [...row.reason_codes],
        nonce: row.nonce,
        context: contextOfChallenge(row) as ChallengeTold['context'],
        issuers: [...row.issuers],
        status: statusOf(row),
        expires_at: iso(row.expires_at),
        request_url: requestUrl(id),
        result: await resultOf(caller, row),
      }
    },

    /** What is asked, for whoever has the address. @throws AppError not_found */
    async request(id: string): Promise<PublicChallenge> {
      const row = (await store.findChallenge(database, id)) ?? fail('not_found')
      const state = stateOf(row, row.is_answered, clock.now())
      const { name, domain } = await asker(row.organisation)
      return {
        challenge_id: id,
        state: state === 'open' || state === 'expired' ? state : 'closed',
        asker: { organisation: row.organisation, name, domain },
        circuit_id: row.circuit_id,
        question: questionOf(row.circuit_id).question.sentence(row.statement),
        context: contextOfChallenge(row) as PublicChallenge['context'],
        issuers: [...row.issuers],
        status: statusOf(row),
        expires_at: iso(row.expires_at),
        answer_url: answerUrl(id),
      }
    },

    isKnown: async (id: string): Promise<boolean> => (await store.findChallenge(database, id)) !== undefined,

    /**
     * Takes an answer, of whomever: each that is judged costs a try, which is taken before, and what comes of it only the asker is told.
     * @throws AppError not_found, challenge_closed, proof_service_unavailable
     */
    async answer(id: string, { proof, public_signals }: ChallengeAnswer): Promise<void> {
      if (waiting >= MAX_WAITING_ANSWERS)
        fail('proof_service_unavailable', { retryAfter: RETRY_AFTER_SECONDS })
      waiting += 1
      try {
        const row = await store.takeTry(database, id, clock.now())
        if (row === undefined) return await refuseClosed(id)
        const presented = {
          circuitId: row.circuit_id,
          proof,
          publicSignals: public_signals,
          context: contextOfChallenge(row),
        }
        const caller = systemCaller(row.organisation, 'challenge')
        const checked = proofs.verify(caller, presented, (told) => told, ANSWERS)
        const { verified, reasonCodes } = await checked.catch(async (error) => {
          // Where that fails as well, the try is lost.
          if (isUndecided(error)) await store.giveTryBack(database, id).catch(() => undefined)
          throw error
        })
        if (!verified) await store.noteRefusal(database, id, reasonCodes)
      } finally {
        waiting -= 1
      }
    },
  }

  async function refuseClosed(id: string): Promise<never> {
    const row = (await store.findChallenge(database, id)) ?? fail('not_found')
    const state = stateOf(row, row.is_answered, clock.now())
    // It was answered, or ended, between the two looks.
    return fail('challenge_closed', { reason: CLOSED_REASONS[state === 'open' ? 'expired' : state] })
  }
}
