/**
 * What a holder proves to answer a challenge: the values of its circuit, from a credential and the context that the challenge names.
 * Works in browsers and in Node.
 * @module
 */
import { contextElement, type ProofContext, scopeElement } from '../rules/encode.ts'
import { isCanonicalSignal, type Provable } from './circuit.ts'
import { type Credential, type CredentialCircuit, credentialValues } from './credential.ts'
import { consentVerification } from './mappers/consent_verification.ts'
import { kyc } from './mappers/kyc.ts'
import { tokenValidation } from './mappers/token_validation.ts'

/** `context` of a challenge. */
export interface AskedContext extends ProofContext {
  /** The question, as text and lists of text, with `purpose`. */
  readonly statement: Readonly<Record<string, unknown>>
}

/** What `proveAnswer` takes. Its `witness` holds the secret, its `publicSignals` are all that a proof of it may show. */
export interface Answer extends Provable {
  readonly circuit: CredentialCircuit
  /** Whether the answer is YES: known before anything is proved. */
  readonly decision: boolean
}

const elementOf = (name: string, text: unknown): bigint => {
  if (!isCanonicalSignal(text)) throw new RangeError(`${name} of the statement is no decimal of the field`)
  return BigInt(text)
}

const textOf = (name: string, text: unknown): string => {
  if (typeof text !== 'string') throw new RangeError(`${name} of the statement is no text`)
  return text
}

/** Of the statement's countries: none where any is accepted. */
const countriesOf = (countries: unknown): bigint[] => {
  if (!Array.isArray(countries)) throw new RangeError('countries of the statement are no list')
  const elements = countries.map((country) => elementOf('countries', country))
  return elements.every((country) => country === 0n) ? [] : elements
}

/**
 * Answers what a challenge asks.
 * @param secret of the holder; a bearer credential brings its own
 * @param now Unix seconds; the service takes what is within 120 seconds of its clock
 * @throws RangeError for a question that is none of this credential's circuit, and where no witness exists
 */
export const answerOf = (
  credential: Credential,
  secret: bigint | undefined,
  context: AskedContext,
  now: bigint,
): Answer => {
  const { circuit } = credential
  const { aud, org, statement } = context
  if (context.circuit !== circuit) throw new RangeError(`the question is one of ${context.circuit}`)
  const asked = (name: string): bigint => elementOf(name, statement[name])
  const isAsked = (name: string): boolean => asked(name) === 1n
  const disclose = isAsked('disclose')
  const ctx = contextElement(context)
  const scope = scopeElement({ aud, org, purpose: textOf('purpose', statement.purpose) })
  const held = credentialValues(credential, secret)
  if ('credential' in held) {
    const [minLevel, latestBirthDate] = [asked('minLevel'), asked('latestBirthDate')]
    const question = { minLevel, latestBirthDate, countries: countriesOf(statement.countries) }
    const values = { ...held, ...question, now, unique: isAsked('unique'), disclose, scope, ctx }
    const publicSignals = kyc.publicSignals(values)
    const { decision } = kyc.read(publicSignals)
    return { circuit, decision: decision === 1n, witness: kyc.witnessInput(values), publicSignals }
  }
  if ('token' in held) {
    const values = { ...held, now, audience: asked('audience'), disclose, ctx }
    const publicSignals = tokenValidation.publicSignals(values)
    const { token_valid } = tokenValidation.read(publicSignals)
    const witness = tokenValidation.witnessInput(values)
    return { circuit, decision: token_valid === 1n, witness, publicSignals }
  }
  const question = { controller: asked('controller'), purpose: asked('purpose_element') }
  const values = { ...held, ...question, now, disclose, scope, ctx }
  const publicSignals = consentVerification.publicSignals(values)
  const { consent_verified } = consentVerification.read(publicSignals)
  const witness = consentVerification.witnessInput(values)
  return { circuit, decision: consent_verified === 1n, witness, publicSignals }
}
