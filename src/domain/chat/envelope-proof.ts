/** The proof that may come in an envelope: made for this envelope, and checked as everybody's proofs are. @module */
import { systemCaller } from '../../caller.ts'
import { AppError, fail } from '../../errors.ts'
import { type EnvelopeProof, proofNonce } from '../../protocol/envelope.ts'
import { h248 } from '../../rules/encode.ts'
import type { ProofsService } from '../proofs/service.ts'
import type { Stated } from '../proofs/statement.ts'
import { isRecord } from './envelope-form.ts'

/** They say something of whoever holds what this service's issuer has signed. */
const PERSON_CIRCUITS = ['kyc', 'token_validation']
/** Circuits whose checks need nothing that belongs to an organisation, so that a stranger's proof can be judged. */
const ACCEPTED_CIRCUITS = [
  ...PERSON_CIRCUITS,
  'consent_verification',
  'eligibility',
  'composite',
  'yesno',
  'simple_yesno',
]
/** Each holds up the thread for some 20 ms, and others wait for it too. */
const MAX_WAITING_PROOFS = 8
const RETRY_AFTER_SECONDS = 1
const MS_PER_SECOND = 1000
const ORGANISATION = /^[\w-]{0,64}$/

/** What an envelope's proof shows. */
export interface ProofFindings {
  /** There was one, and it holds. */
  readonly proofChecked: boolean
  /** It is of `kyc` or `token_validation`, under an issuer key of this service. */
  readonly provesPerson: boolean
}

export interface ProofCheckDeps {
  readonly proofs: Pick<ProofsService, 'checkForeign'>
  readonly baseUrl: string
}

interface Presented {
  readonly fingerprint: string
  readonly id: string
  readonly proof: EnvelopeProof | undefined
}

interface StatedContext {
  readonly org: string
  readonly statement: Stated
  /** Unix ms. */
  readonly expiresAt: number | null
}

const NOTHING: ProofFindings = { proofChecked: false, provesPerson: false }

const refuse: (message: string, reason?: string) => never = (message, reason) =>
  fail('envelope_proof_invalid', { message, reason })

const isScalar = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value)

/** What statements consist of; deeper values are none of ours. */
const isStatement = (value: unknown): value is Stated =>
  isRecord(value) &&
  Object.values(value).every((one) => isScalar(one) || (Array.isArray(one) && one.every(isScalar)))

export const createProofCheck = ({ proofs, baseUrl }: ProofCheckDeps) => {
  let waiting = 0
  const anyone = '0'
  const forUs = String(h248(new URL(baseUrl).host))

  /** What the proof is said to be made for; that `ctx` is the hash of it is checked with the proof. */
  const readContext = ({ circuit_id, context }: EnvelopeProof, nonce: string): StatedContext => {
    if (!isRecord(context)) refuse('envelope.proof.context must be an object.')
    const { org, circuit, statement, exp } = context
    const demand = (name: string, value: string): void => {
      if (context[name] !== value) refuse(`envelope.proof.context.${name} must be "${value}".`)
    }
    demand('aud', baseUrl)
    demand('circuit', circuit_id)
    demand('nonce', nonce)
    if (typeof org !== 'string' || !ORGANISATION.test(org))
      refuse('envelope.proof.context.org must be the id of the organisation that had the proof made.')
    if (!isStatement(statement)) refuse('envelope.proof.context.statement must be an object of plain values.')
    if (exp !== undefined && !Number.isSafeInteger(exp))
      refuse('envelope.proof.context.exp must be whole Unix seconds.')
    if (circuit === 'token_validation' && ![anyone, forUs].includes(String(statement.audience)))
      refuse('The token is for another audience.', 'AUDIENCE_MISMATCH')
    return { org, statement, expiresAt: exp === undefined ? null : Number(exp) * MS_PER_SECOND }
  }

  const check = async (proof: EnvelopeProof, nonce: string): Promise<ProofFindings> => {
    const { circuit_id: circuitId, public_signals: publicSignals } = proof
    if (!ACCEPTED_CIRCUITS.includes(circuitId))
      refuse(`envelope.proof.circuit_id must be one of ${ACCEPTED_CIRCUITS.join(', ')}.`)
    const { org, statement, expiresAt } = readContext(proof, nonce)
    const foreign = { circuitId, proof: proof.proof, publicSignals, context: { statement, nonce } }
    const caller = systemCaller(org, 'chat')
    const { verified, decision, reasonCodes } = await proofs.checkForeign(caller, foreign, { expiresAt })
    if (!verified) refuse(`The proof is not verified: ${reasonCodes.join(', ')}.`, reasonCodes[0])
    if (decision !== 1) refuse('The proof shows a NO.', 'DECISION_NO')
    return { proofChecked: true, provesPerson: PERSON_CIRCUITS.includes(circuitId) }
  }

  /** @throws AppError envelope_proof_invalid; proof_service_unavailable when it can't be told, or too many wait */
  return async ({ fingerprint, id, proof }: Presented): Promise<ProofFindings> => {
    if (proof === undefined) return NOTHING
    if (waiting >= MAX_WAITING_PROOFS)
      return fail('proof_service_unavailable', { retryAfter: RETRY_AFTER_SECONDS })
    waiting++
    try {
      return await check(proof, proofNonce(fingerprint, id))
    } catch (error) {
      if (error instanceof AppError && error.code === 'envelope_proof_invalid') throw error
      return fail('proof_service_unavailable', { retryAfter: RETRY_AFTER_SECONDS, cause: error })
    } finally {
      waiting--
    }
  }
}
