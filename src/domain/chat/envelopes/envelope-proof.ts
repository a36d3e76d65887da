/** The proof that may come in an envelope: made for this envelope, and checked as everybody's proofs are. @module */
import { type Clock, iso } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import { type EnvelopeProof, proofNonce } from '../../../protocol/envelope.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { h248 } from '../../../rules/encode.ts'
import type { ProofsService } from '../../proofs/service.ts'
import type { Stated } from '../../proofs/statement.ts'
import type { MessageProof } from '../schemas.ts'

/** What proofs for the chat are made for, so that their nullifiers are of no use elsewhere. */
const PURPOSE = 'chat'
/** Each holds up the thread for some 20 ms, and others wait for it too. */
const MAX_WAITING_PROOFS = 8
const RETRY_AFTER_SECONDS = 1
const MS_PER_SECOND = 1000
const ORGANISATION = /^[\w-]{0,64}$/

/** What an envelope's proof shows. */
export interface ProofFindings {
  readonly shown: MessageProof
  /** Circuit and nullifier: what speaks for one key at a time. */
  readonly nullifier: string
  /** Somebody was checked, by an issuer that the operator trusts. */
  readonly provesPerson: boolean
}

export interface ProofCheckDeps {
  readonly proofs: Pick<ProofsService, 'checkVouched' | 'vouchedCircuits'>
  readonly clock: Clock
  readonly baseUrl: string
  /** Organisations whose word on people counts. */
  readonly trustedIssuers: ReadonlySet<string>
  /** How readers know an organisation. */
  readonly nameIssuer: (organisation: string) => string
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

const REFUSALS: readonly string[] = ['proof_not_accepted', 'envelope_proof_invalid']

const refuse: (message: string, reason?: string) => never = (message, reason) =>
  fail('envelope_proof_invalid', { message, reason })

const isScalar = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value)

/** What statements consist of; deeper values are none of ours. */
const isStatement = (value: unknown): value is Stated =>
  isObject(value) &&
  Object.values(value).every((one) => isScalar(one) || (Array.isArray(one) && one.every(isScalar)))

export const createProofCheck = (deps: ProofCheckDeps) => {
  const { proofs, clock, baseUrl, trustedIssuers, nameIssuer } = deps
  const accepted = proofs.vouchedCircuits()
  let waiting = 0
  const anyone = '0'
  const forUs = String(h248(new URL(baseUrl).host))

  /** What the proof is said to be made for; that `ctx` is the hash of it is checked with the proof. */
  const readContext = ({ circuit_id, context }: EnvelopeProof, nonce: string): StatedContext => {
    if (!isObject(context)) refuse('envelope.proof.context must be an object.')
    const { org, circuit, statement, exp } = context
    const demand = (name: string, value: string): void => {
      if (context[name] !== value) refuse(`envelope.proof.context.${name} must be "${value}".`)
    }
    demand('aud', baseUrl)
    demand('circuit', circuit_id)
    demand('nonce', nonce)
    if (typeof org !== 'string' || !ORGANISATION.test(org))
      refuse('envelope.proof.context.org must be the id of the organisation that requested the proof.')
    if (!isStatement(statement)) refuse('envelope.proof.context.statement must be an object of plain values.')
    if (statement.purpose !== PURPOSE)
      refuse(`envelope.proof.context.statement.purpose must be "${PURPOSE}".`, 'PURPOSE_MISMATCH')
    if (exp !== undefined && !Number.isSafeInteger(exp))
      refuse('envelope.proof.context.exp must be whole Unix seconds.')
    if (circuit === 'token_validation' && ![anyone, forUs].includes(String(statement.audience)))
      refuse('The token is for another audience.', 'AUDIENCE_MISMATCH')
    return { org, statement, expiresAt: exp === undefined ? null : Number(exp) * MS_PER_SECOND }
  }

  const check = async (proof: EnvelopeProof, nonce: string): Promise<ProofFindings> => {
    const { circuit_id: circuitId, public_signals: publicSignals } = proof
    if (!accepted.includes(circuitId))
      fail('proof_not_accepted', {
        message: `envelope.proof.circuit_id must be one of ${accepted.join(', ')}: no issuer confirms what proofs of other circuits state.`,
      })
    const { org, statement, expiresAt } = readContext(proof, nonce)
    const context = { statement, nonce }
    const foreign = { circuitId, proof: proof.proof, publicSignals, context, organisation: org }
    const checked = await proofs.checkVouched(foreign, { by: 'chat', expiresAt })
    if ('refused' in checked) {
      const [first] = checked.refused
      const message = first === 'DECISION_NO' ? 'The decision of the proof is NO.' : undefined
      return refuse(message ?? `The proof is not verified: ${checked.refused.join(', ')}.`, first)
    }
    const { issuer, nullifier, sentence, isPerson } = checked
    return {
      shown: {
        circuit_id: circuitId,
        statement: sentence,
        issuer: nameIssuer(issuer),
        checked_at: iso(clock.now()),
      },
      nullifier: `${circuitId}/${nullifier}`,
      provesPerson: isPerson && trustedIssuers.has(issuer),
    }
  }

  /**
   * @returns undefined where there is none
   * @throws AppError proof_not_accepted, envelope_proof_invalid; proof_service_unavailable when it can't be told, or too many wait
   */
  return async ({ fingerprint, id, proof }: Presented): Promise<ProofFindings | undefined> => {
    if (proof === undefined) return undefined
    if (waiting >= MAX_WAITING_PROOFS)
      return fail('proof_service_unavailable', { retryAfter: RETRY_AFTER_SECONDS })
    waiting++
    try {
      return await check(proof, proofNonce(fingerprint, id))
    } catch (error) {
      if (error instanceof AppError && REFUSALS.includes(error.code)) throw error
      return fail('proof_service_unavailable', { retryAfter: RETRY_AFTER_SECONDS, cause: error })
    } finally {
      waiting--
    }
  }
}
