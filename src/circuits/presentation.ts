/**
 * How a proof is judged that somebody else made: a context that it comes with can be recomputed, which shows only that whoever
 * presents it knows it. So it counts by what whoever asks has said beforehand: a challenge of theirs, or what they expect, and
 * by who issued what is proved of. The same here and in the service.
 * @module
 */
import { isObject } from '../protocol/json-object.ts'
import {
  type Binding,
  bindingOf,
  contextElement,
  h248,
  idElement,
  type ProofContext,
} from '../rules/encode.ts'
import { type Expectation, type ExpectationReason, unexpected } from '../rules/expectation.ts'
import { findCircuit } from './catalogue.ts'
import { kyc } from './mappers/kyc.ts'
import { proofFacts } from './proof-facts.ts'

/** A proof whose pairing holds, with what it is said to be made for. */
export interface Presentation {
  readonly circuitId: string
  /** Canonical decimals, as many as the circuit has. */
  readonly publicSignals: readonly string[]
  readonly context: ProofContext
}

/** What whoever asks has said before they look at it. */
export interface AskedBefore {
  /** Ids of organisations; one of them must have issued what is proved of. */
  readonly issuers: readonly string[]
  /** Who asks: `org` of the context. */
  readonly organisation: string | undefined
  /** The context of their own challenge, which it must be an answer to. */
  readonly challenge?: ProofContext
  /**
   * Without a challenge at least `audience`, `purpose` and `nonce`, beside who asks; beside one it only asks for more. `issuers` in it
   * do not count: see above.
   */
  readonly expect?: Expectation
}

export type PresentationReason =
  | 'CONTEXT_MISMATCH'
  | 'CHALLENGE_MISMATCH'
  | 'EXPECTATION_MISSING'
  | 'ISSUER_NOT_ACCEPTED'
  | 'STATUS_UNDISCLOSED'
  | ExpectationReason

const signalOf = (
  { circuitId, publicSignals }: Pick<Presentation, 'circuitId' | 'publicSignals'>,
  name: string,
) => publicSignals[findCircuit(circuitId)?.publicNames.indexOf(name) ?? -1]

/**
 * Which of these organisations issued what is proved of, and how it is bound.
 * @returns undefined for none of them, and for circuits whose proofs nobody vouches for
 */
export const issuerAmong = (
  proof: Pick<Presentation, 'circuitId' | 'publicSignals'>,
  issuers: readonly string[],
): { readonly issuer: string; readonly binding: Binding } | undefined => {
  const signal = signalOf(proof, 'organisation')
  if (signal === undefined) return undefined
  const organisation = BigInt(signal)
  const issuer = issuers.find((id) => h248(id) === idElement(organisation))
  return issuer === undefined ? undefined : { issuer, binding: bindingOf(organisation) }
}

/** The token of a proof must be one for who asks, or for anybody. */
const isForAudience = (proof: Presentation): boolean => {
  const audience = signalOf(proof, 'audience')
  return audience === undefined || audience === '0' || audience === String(h248(proof.context.aud))
}

/** What a context says for itself counts only where the signal `ctx` is that of it. */
const isBoundTo = (proof: Presentation, context: ProofContext): boolean =>
  context.circuit === proof.circuitId && String(contextElement(context)) === signalOf(proof, 'ctx')

const asksForStatus = ({ statement }: ProofContext): boolean =>
  !(isObject(statement) && statement.disclose === '0')

/**
 * What is expected can ask for more than the challenge, never for less. Only of kyc can it be done without: a token or a consent is spent
 * by its status, so that one which hides it could be shown again and again.
 */
const isStatusRequired = ({ circuitId }: Presentation, { challenge, expect }: AskedBefore): boolean =>
  circuitId !== kyc.id ||
  expect?.status === 'required' ||
  (challenge ? asksForStatus(challenge) : expect?.status !== 'not_required')

const differing = (
  proof: Presentation,
  { organisation, challenge, expect = {} }: AskedBefore,
  now: number,
): PresentationReason[] => {
  const needed = [organisation, expect.audience, expect.purpose, expect.nonce]
  if (challenge === undefined && needed.includes(undefined)) return ['EXPECTATION_MISSING']
  const { issuers: _, ...others } = expect
  const facts = proofFacts(proof)
  const audience = isForAudience(proof) && proof.context.aud
  const told = { ...facts, audience: facts.organisation === null || !audience ? null : audience }
  return unexpected({ organisation, ...others }, told, now)
}

/**
 * Why a proof is no answer to what was asked; none where it is one. That signals fit the statement, that keys count, times,
 * revocation and spending are not looked at here.
 * @param now Unix ms
 * @throws AppError validation_failed for what can't be expected of such a proof
 */
export const presentationReasons = (
  proof: Presentation,
  asked: AskedBefore,
  now: number,
): PresentationReason[] => {
  const { challenge, issuers } = asked
  if (challenge !== undefined && !isBoundTo(proof, challenge)) return ['CHALLENGE_MISMATCH']
  if (!isBoundTo(proof, proof.context)) return ['CONTEXT_MISMATCH']
  const isUndisclosed = signalOf(proof, 'disclose') === '0' && isStatusRequired(proof, asked)
  return [
    // What is undisclosed differs from any status, and is told once.
    ...differing(proof, asked, now).filter((reason) => !(isUndisclosed && reason === 'EXPECTATION_STATUS')),
    ...(issuerAmong(proof, issuers) === undefined ? (['ISSUER_NOT_ACCEPTED'] as const) : []),
    ...(isUndisclosed ? (['STATUS_UNDISCLOSED'] as const) : []),
  ]
}
