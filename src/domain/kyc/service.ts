/** KYC: people are checked, what is known of them is kept sealed, can be shown, proven and forgotten. @module */
import type { Caller } from '../../caller.ts'
import { type KycCredential, kycMessage } from '../../circuits/issuer-signature.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Issuer } from '../../keys/issuer.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import { dayNumber, dayOf, yearsBetween } from './calendar-date.ts'
import { createCredentials, signalsOf } from './credential.ts'
import { type AskedOfPerson, criteriaOf, type KycCriteria, meansChecked, sentenceOf } from './criteria.ts'
import { erasure } from './erasure.ts'
import { createHttpProviders, type HttpProvidersDeps } from './http-provider.ts'
import { checkPlausibility } from './internal-provider.ts'
import { type CheckRecord, createPersonKeys, type IssuedCredential } from './person-records.ts'
import type { ProviderResult } from './provider-result.ts'
import { createRecording } from './recording.ts'
import {
  type AskableLevel,
  INTERNAL_PROVIDER,
  type PersonCredential,
  type PersonErased,
  type PersonHeld,
  type PersonStanding,
  type PersonVerified,
  type VerifyPerson,
} from './schemas.ts'
import { foundOf } from './standing.ts'
import * as store from './store.ts'

export interface KycDeps extends HttpProvidersDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly sealing: Sealing
  readonly issuer: Pick<Issuer, 'current'>
  readonly subjectPseudonyms: SubjectPseudonyms
  readonly clock: Clock
  readonly baseUrl: string
  /** Proofs of somebody who is forgotten don't count any more, those that are being checked included. */
  readonly nullifiers: Pick<typeof Nullifiers, 'revokedNullifierClaim' | 'revokedNullifierRow'>
}

/** Keeps pseudonyms of KYC apart from those of other records. */
const PSEUDONYM_KIND = 'kyc'
const MAX_CHECKS_SHOWN = 100
const ADULT_YEARS = 18

/** A credential as a proof needs it. */
export interface CircuitCredential extends IssuedCredential {
  /** For the statement of the proof. */
  readonly reference: string
}

/** A person whose data can be read. */
interface Known {
  readonly row: store.SubjectRow
  readonly record: CheckRecord
  readonly check: store.CheckRow
}

const refuse = (path: string, code: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code, message }] })

export type KycService = ReturnType<typeof createKyc>

export const createKyc = (deps: KycDeps) => {
  const { database, ledger, sealing, clock, subjectPseudonyms } = deps
  const providers = createHttpProviders(deps)
  const keys = createPersonKeys(sealing)
  const credentials = createCredentials(sealing)
  const recording = createRecording({ ...deps, keys, credentials })

  const pseudonymOf = ({ organisation }: Caller, userId: string): Promise<string> =>
    subjectPseudonyms.of(organisation, PSEUDONYM_KIND, userId)

  const lastKnown = async (caller: Caller, userId: string): Promise<store.SubjectRow | undefined> =>
    store.findSubject(database, caller.organisation, await pseudonymOf(caller, userId))

  /** The check that counts. Undefined for a person who is unknown or was erased. */
  const find = async (caller: Caller, userId: string): Promise<Known | undefined> => {
    const row = await lastKnown(caller, userId)
    const entry = row?.conclusive_entry ?? row?.latest_entry
    if (row === undefined || row.erased_at !== null || entry === null || entry === undefined) return undefined
    const check = await store.findCheck(database, row, entry)
    if (check === undefined) throw new Error(`The check of entry ${entry} is missing.`)
    return { row, check, record: keys.open(row).open(check) }
  }

  const known = async (caller: Caller, userId: string): Promise<Known> =>
    (await find(caller, userId)) ?? fail('not_found')

  const levelFor = ({ provider = INTERNAL_PROVIDER, level }: VerifyPerson): AskableLevel => {
    if (provider !== INTERNAL_PROVIDER) {
      if (!providers.has(provider)) refuse('/provider', 'unknown', 'is not a configured provider')
      return level ?? 'standard'
    }
    if (level !== undefined && level !== 'basic')
      refuse('/level', 'provider_required', 'requires a provider; internal reaches only basic')
    return 'basic'
  }

  const credentialOf = ({ record: { issued } }: Known): CircuitCredential | undefined => {
    if (issued === undefined) return undefined
    const digest = credentials.digestOf(kycMessage(issued.credential))
    return { ...issued, reference: credentials.referenceTo(digest) }
  }

  return {
    /**
     * Has a person checked and records what was found. Nothing is kept unless there is an answer.
     * @throws AppError validation_failed for a provider that there isn't or a level that it can't reach; provider_failed,
     *   unavailable; conflict when the person is erased meanwhile
     */
    async verify(caller: Caller, request: VerifyPerson): Promise<PersonVerified> {
      const { userId, provider = INTERNAL_PROVIDER, data } = request
      const level = levelFor(request)
      const reference = newId('kyc', clock.now())
      const result: ProviderResult =
        provider === INTERNAL_PROVIDER
          ? checkPlausibility(data, clock.now())
          : await providers.ask(provider, { reference, level, data })
      const subject = await pseudonymOf(caller, userId)
      return recording.record(caller, { reference, subject, userId, provider, data, result })
    },

    /** How a person stands. @throws AppError not_found for who is unknown or was erased */
    async standing(caller: Caller, userId: string): Promise<PersonStanding> {
      const { check, record } = await known(caller, userId)
      const { status, ...found } = foundOf(check.id, record, clock.now())
      return { status, ...found, checkedAt: iso(record.checkedAt) }
    },

    /** Everything that is held of a person, for whoever must tell them. @throws AppError not_found */
    async held(caller: Caller, userId: string): Promise<PersonHeld> {
      const { row } = await known(caller, userId)
      const key = keys.open(row)
      const rows = await store.findChecks(database, row, MAX_CHECKS_SHOWN)
      return { userId, checks: rows.map((check) => recording.shown(check, key.open(check))) }
    },

    /**
     * Forgets a person: destroys the key of everything that is known, and revokes the credential. Again: the first answer.
     * @throws AppError not_found for who was never checked
     */
    async erase(caller: Caller, userId: string): Promise<PersonErased> {
      const row = (await lastKnown(caller, userId)) ?? fail('not_found')
      const element = credentials.elementOf(row)
      return ledger.append(caller, erasure({ row, element, ...deps }))
    },

    /**
     * What its holder needs in order to prove things of it elsewhere.
     * @throws AppError not_found unless the person is verified and has a credential
     */
    async credential(caller: Caller, userId: string): Promise<PersonCredential> {
      const found = await known(caller, userId)
      const issued = credentialOf(found)
      const { level, expiresAt, country } = found.record
      if (issued === undefined || expiresAt === null || country === undefined) return fail('not_found')
      return {
        reference: found.check.id,
        country,
        level,
        expiresAt: iso(expiresAt),
        signals: signalsOf(issued),
        statement: { credential: issued.reference },
      }
    },

    /**
     * A person's credential for a proof; undefined where there is none, since the person isn't verified.
     * @throws AppError insufficient_scope, not_found
     */
    async forCircuit(caller: Caller, userId: string): Promise<CircuitCredential | undefined> {
      if (!caller.scopes.has('kyc'))
        fail('insufficient_scope', { message: 'A proof about a person needs a credential with scope "kyc".' })
      return credentialOf(await known(caller, userId))
    },

    /** What is asked of a person, as the circuit takes it. @throws AppError validation_failed */
    criteria: (asked: AskedOfPerson): KycCriteria => criteriaOf(asked, clock.now()),

    /** What holds of whoever meets these criteria, in a sentence. */
    sentence: sentenceOf,

    /** Whether whoever meets these criteria was checked by a provider, at level `standard` or above. */
    isChecked: meansChecked,

    /** A credential that was issued here, whoever holds it; undefined for any other. */
    async issued(credential: KycCredential): Promise<{ reference: string; isCurrent: boolean } | undefined> {
      const digest = credentials.digestOf(kycMessage(credential))
      const row = await store.findCredential(database, digest)
      return row && { reference: credentials.referenceTo(digest), isCurrent: row.is_current }
    },

    /**
     * The credential that a proof's statement names, and who issued it; undefined where it names none that was issued here.
     * @returns `current`: what it says, unless it was replaced or its person erased
     */
    async referenced(
      reference: unknown,
    ): Promise<{ organisation: string; subject: bigint; current: KycCredential | undefined } | undefined> {
      const digest = credentials.readReference(reference)
      const row = digest === undefined ? undefined : await store.findCredential(database, digest)
      if (row === undefined) return undefined
      const check = row.is_current ? await store.findCheck(database, row, row.entry_index) : undefined
      const record = check && keys.open(row).open(check)
      const { organisation, element } = row
      return { organisation, subject: BigInt(element), current: record?.issued?.credential }
    },

    /** Facts for rules. Who is unknown or was erased has status and level `none`. */
    async factsOf(caller: Caller, userId: string): Promise<Record<string, unknown>> {
      const found = await find(caller, userId)
      if (found === undefined) return { status: 'none', level: 'none' }
      const now = clock.now()
      const { record, check } = found
      const { status, level, source, verifiedAt, expiresAt } = foundOf(check.id, record, now)
      const { birthDate, country } = record
      const counts = status === 'verified'
      return {
        status,
        level,
        source,
        expired: status === 'expired',
        ...(verifiedAt !== null && { verified_at: verifiedAt }),
        ...(expiresAt !== null && { expires_at: expiresAt }),
        ...(counts &&
          birthDate !== undefined && {
            age_over_18: yearsBetween(dayNumber(birthDate), dayNumber(dayOf(now))) >= ADULT_YEARS,
          }),
        ...(counts && country !== undefined && { country }),
      }
    },

    /** What screening needs of a person; undefined where no name is known. */
    async nameOf(
      caller: Caller,
      userId: string,
    ): Promise<{ name: string; dateOfBirth?: string; country?: string } | undefined> {
      const found = await find(caller, userId)
      if (found === undefined) return undefined
      const { data, birthDate, country } = found.record
      const name = [data.givenName, data.familyName].filter((part) => part !== undefined).join(' ')
      if (name === '') return undefined
      return {
        name,
        ...(birthDate !== undefined && { dateOfBirth: birthDate }),
        ...(country !== undefined && { country }),
      }
    },
  }
}
