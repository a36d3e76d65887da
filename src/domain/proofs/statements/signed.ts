/** What statements about signed things share: raw signals, the issuer's signature and its key. @module */
import type { Caller } from '../../../caller.ts'
import { holderCommitment } from '../../../circuits/holder-commitment.ts'
import {
  type Issued,
  type IssuerPoint,
  type IssuerSignature,
  issuerSignatureHolds,
} from '../../../circuits/issuer-signature.ts'
import { FIELD_MODULUS } from '../../../core/field.ts'
import { fail } from '../../../errors.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { plainText } from '../../../protocol/json-object.ts'
import { h248, idElement } from '../../../rules/encode.ts'
import { falseStatement, type IssuerLookup, type ReasonCode } from '../statement.ts'
import type { IssuedSignals, SignatureSignals } from './schemas.ts'

/** The numbers that circuits compare have so many bits. */
const NUMBER_BITS = 64n

const outOfRange = (name: string, message: string): never =>
  fail('validation_failed', { details: [{ path: `/inputs/${name}`, code: 'out_of_range', message }] })

/** @param name where it stands in the inputs @throws AppError validation_failed unless it is an element of the field */
export const element = (name: string, text: string): bigint => {
  const value = BigInt(text)
  return value < FIELD_MODULUS ? value : outOfRange(name, 'must be below the order of the BN254 scalar field')
}

/** Elements by the names of their signals. @throws AppError validation_failed */
export const elements = <const Name extends string>(
  names: readonly Name[],
  inputs: Readonly<Record<Name, string>>,
): Record<Name, bigint> =>
  // The keys are the names.
  Object.fromEntries(names.map((name) => [name, element(name, inputs[name])])) as Record<Name, bigint>

/** Numbers that the circuit compares, by the names of their signals. @throws AppError validation_failed */
export const numbers = <const Name extends string>(
  names: readonly Name[],
  inputs: Readonly<Record<Name, string>>,
): Record<Name, bigint> => {
  const read = elements(names, inputs)
  for (const name of names) if (read[name] >> NUMBER_BITS > 0n) outOfRange(name, 'must be below 2^64')
  return read
}

/** Whom a thing was issued to: whoever knows the secret among the inputs. @throws AppError validation_failed */
export const recipientOf = (inputs: IssuedSignals): Issued => {
  const { secret, organisation, status } = elements(['secret', 'organisation', 'status'], inputs)
  return { holder: holderCommitment(secret, organisation), organisation, status }
}

/** A thing's signature and the key that is said to have made it. */
export interface Signed {
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
}

/**
 * The signature among the inputs. Without a key it is taken for one of the key that signs now.
 * @throws AppError validation_failed, for half a key too
 */
export const signatureOf = async (
  issuer: Pick<Issuer, 'current'>,
  { issuerX, issuerY, ...signature }: SignatureSignals,
): Promise<Signed> => {
  if ((issuerX === undefined) !== (issuerY === undefined))
    fail('validation_failed', {
      details: [
        {
          path: issuerX === undefined ? '/inputs/issuerX' : '/inputs/issuerY',
          code: 'required',
          message: 'is required beside the other',
        },
      ],
    })
  return {
    signature: elements(['r8x', 'r8y', 's'], signature),
    issuer:
      issuerX === undefined || issuerY === undefined
        ? (await issuer.current()).point
        : { x: element('issuerX', issuerX), y: element('issuerY', issuerY) },
  }
}

/**
 * Signatures are no bits inside the circuits: nothing can be proved of what isn't signed, and nothing is proved under a
 * key that isn't this service's. Every organisation's things are signed with that one key, so that whose they are is looked at too.
 * @param at Unix ms @throws AppError STATEMENT_FALSE
 */
export const demandIssued = async (
  issuer: Pick<Issuer, 'isValid'>,
  caller: Caller,
  { organisation }: Pick<Issued, 'organisation'>,
  message: bigint,
  { signature, issuer: point }: Signed,
  at: number,
): Promise<void> => {
  if (!(await issuer.isValid(point, at)))
    throw falseStatement("The issuer key is not one of this service's that counts now.")
  if (!issuerSignatureHolds(message, signature, point))
    throw falseStatement('The issuer key did not sign these fields.')
  if (idElement(organisation) !== h248(caller.organisation))
    throw falseStatement(
      'Another organisation issued this. Ask for a proof of it by a challenge that names the organisation among its issuers.',
    )
}

/** Whether the key behind a proof is one of this service's and counts now. @param now Unix ms */
export const keyReasons = async (
  issuer: Pick<Issuer, 'isValid'>,
  point: IssuerPoint,
  now: number,
  code: ReasonCode,
): Promise<ReasonCode[]> => ((await issuer.isValid(point, now)) ? [] : [code])

/**
 * Whether what was issued is over: the row that leads to it tells when, and is there for a day longer.
 * @param spent what leads to it; 0 where the proof doesn't tell @param now Unix ms
 */
export const isIssuedOver = async (
  issuerOf: IssuerLookup,
  circuitId: string,
  spent: bigint,
  now: number,
): Promise<boolean> => {
  if (spent === 0n) return false
  const issued = await issuerOf(circuitId, spent)
  return issued === undefined || (issued.expiresAt !== null && issued.expiresAt <= now)
}

/** The code where the public signals are not those of the statement that was asked. */
export const mismatch = (
  asked: Readonly<Record<string, unknown>>,
  shown: Readonly<Record<string, bigint | readonly bigint[]>>,
  code: ReasonCode,
): ReasonCode[] => {
  const isSame = Object.entries(shown).every(([name, value]) => plainText(asked[name]) === String(value))
  return isSame ? [] : [code]
}
