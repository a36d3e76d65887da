/** KYC: people are checked, what is known of them is kept sealed, can be shown, proven and forgotten. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Issuer } from '../../keys/issuer.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import { attempted } from '../../ledger/attempts.ts'
import type { KnownFacts } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import { bindingOf } from '../../rules/encode.ts'
import type { Database } from '../../store/database.ts'
import type { HoldersService, Provable } from '../holders/service.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import type { ReviewsService } from '../reviews/service.ts'
import type { StatusesService } from '../status/service.ts'
import { dayNumber, dayOf, yearsBetween } from './calendar-date.ts'
import { createCredentials, kycCredential, signalsOf } from './credential.ts'
import { type AskedOfPerson, criteriaOf, type KycCriteria, meansChecked, sentenceOf } from './criteria.ts'
import { erasure } from './erasure.ts'
import { createHttpProviders, type HttpProvidersDeps } from './http-provider.ts'
import { checkPlausibility } from './internal-provider.ts'
import { createPeople } from './people.ts'
import { createPersonAccess, isChanged, openPerson } from './person-access.ts'
import {
  birthDateOf,
  type CheckRecord,
  createPersonKeys,
  currentCredential,
  type IssuedCredential,
} from './person-records.ts'
import type { ProviderResult } from './provider-result.ts'
import { createRecording, issuedRow, type Recorded } from './recording.ts'
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
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer'>
  readonly sealing: Sealing
  readonly issuer: Pick<Issuer, 'current'>
  readonly subjectPseudonyms: SubjectPseudonyms
  readonly holders: Pick<HoldersService, 'bearer' | 'recipient' | 'secretOf'>
  /** Proofs with a credential that was replaced, or whose person is forgotten, don't count any more. */
  readonly statuses: Pick<StatusesService, 'set'>
  readonly clock: Clock
  readonly reviews: Pick<ReviewsService, 'start' | 'find' | 'shown'>
  readonly nullifiers: Pick<typeof Nullifiers, 'insertIssued' | 'issuedNullifierRow'>
}

/** Keeps pseudonyms of KYC apart from those of other records. */
const PSEUDONYM_KIND = 'kyc'
const MAX_CHECKS_SHOWN = 100
const ADULT_YEARS = 18
/** Of several who settle how a person stands while somebody forgets them, at most so many are faster. */
const MAX_ERASURES = 16

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

  const pseudonymOf = ({ organisation }: Caller, userId: string): Promise<string> =>
    subjectPseudonyms.of(organisation, PSEUDONYM_KIND, userId)

  const lastKnown = async (caller: Caller, userId: string): Promise<store.SubjectRow | undefined> =>
    store.findSubject(database, caller.organisation, await pseudonymOf(caller, userId))

  const checkAt = async (row: store.SubjectRow, entry: number): Promise<Known> => {
    const check = await store.findCheck(database, row, entry)
    if (check === undefined) throw new Error(`The check of entry ${entry} is missing.`)
    return { row, check, record: keys.open(row).open(check) }
  }

  /** The check that counts. Undefined for a person who is unknown or was erased. */
  const checkOf = async (row: store.SubjectRow | undefined): Promise<Known | undefined> => {
    const entry = row?.conclusive_entry ?? row?.latest_entry
    if (row === undefined || row.erased_at !== null || entry === null || entry === undefined) return undefined
    return checkAt(row, entry)
  }

  const find = async (caller: Caller, userId: string): Promise<Known | undefined> =>
    checkOf(await lastKnown(caller, userId))

  /**
   * The credential of a check. One that was signed for version 1 of the circuit is signed anew, for its bearer, when it is first asked
   * for: to do so with all at the start would keep a service waiting for as long as it has people.
   */
  const issuedIn = async ({ row, check, record }: Known): Promise<IssuedCredential | undefined> => {
    const issued = currentCredential(record)
    const { expiresAt, country, level } = record
    const birthDate = birthDateOf(record)
    if (issued !== undefined || record.issued === undefined) return issued
    if (expiresAt === null || birthDate === undefined || country === undefined) return undefined
    const attested = { person: row, birthDate, country, level, expiresAt }
    const recipient = await deps.holders.bearer(row.organisation)
    const anew = credentials.issue(await deps.issuer.current(), attested, recipient)
    await deps.nullifiers.insertIssued(
      database,
      issuedRow(deps.nullifiers, anew, row.organisation, expiresAt),
    )
    await store.replaceSealed(database, check, keys.open(row).seal(check.id, { ...record, issued: anew }))
    // Another server may have been faster: what is stored counts.
    return currentCredential((await checkAt(row, check.entry_index)).record)
  }

  /** A person's credential, where the check that settled how they stand gave them one. */
  const credentialOf = async (row: store.SubjectRow): Promise<IssuedCredential | undefined> =>
    row.erased_at !== null || row.conclusive_entry === null
      ? undefined
      : issuedIn(await checkAt(row, row.conclusive_entry))

  const recording = createRecording({ ...deps, keys, credentials, credentialOf })

  /** The credential that a check gave, for whoever repeats the request; null where its person was erased. */
  const issuedBy = async (
    { organisation }: Caller,
    subject: string,
    { leafIndex }: Recorded,
  ): Promise<IssuedCredential | undefined> => {
    const row = await store.findSubject(database, organisation, subject)
    const check = row && (await store.findCheck(database, row, leafIndex))
    return row && check && row.erased_at === null ? currentCredential(keys.open(row).open(check)) : undefined
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

  return {
    /**
     * Has a person checked and records what was found. Nothing is kept unless there is an answer.
     * @throws AppError validation_failed for a provider that there isn't, a level that it can't reach or a holder that is none;
     *   provider_failed, unavailable; conflict when the person is erased meanwhile, or the holder is another person
     */
    async verify(caller: Caller, request: VerifyPerson): Promise<PersonVerified> {
      const { userId, provider = INTERNAL_PROVIDER, data, holder } = request
      const { organisation, idempotency } = caller
      const subject = await pseudonymOf(caller, userId)
      const told = (answer: Recorded, issued: IssuedCredential | undefined): PersonVerified => ({
        ...answer,
        credential: issued ? kycCredential(organisation, issued) : null,
      })
      // Whoever repeats a request is not checked again.
      const stored = idempotency && (await ledger.findAnswer(idempotency))
      if (stored) {
        idempotency.replayed = true
        // The ledger keeps what was recorded.
        const answer = stored.answer as Recorded
        return told(answer, await issuedBy(caller, subject, answer))
      }
      const level = levelFor(request)
      const recipient = await deps.holders.recipient(organisation, userId, holder)
      const reference = newId('kyc', clock.now())
      const result: ProviderResult =
        provider === INTERNAL_PROVIDER
          ? checkPlausibility(data, clock.now())
          : await providers.ask(provider, { reference, level, data })
      const finding = { reference, subject, userId, provider, data, result, recipient }
      const { answer, issued } = await recording.record(caller, finding)
      return told(answer, issued ?? (await issuedBy(caller, subject, answer)))
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
      const log = await deps.logs.of(caller.organisation)
      return { userId, checks: rows.map((check) => recording.shown(check, key.open(check), log)) }
    },

    /**
     * Forgets a person: destroys the key of everything that is known, and revokes the credential. Again: the first answer.
     * @throws AppError not_found for who was never checked; conflict where the person is being checked all the time
     */
    async erase(caller: Caller, userId: string): Promise<PersonErased> {
      const erased = await attempted(caller, MAX_ERASURES, async (asker) => {
        const row = (await lastKnown(caller, userId)) ?? fail('not_found')
        const status = (await credentialOf(row))?.credential.status
        return ledger.append(asker, erasure({ row, status, statuses: deps.statuses }))
      })
      return (
        erased ?? fail('conflict', { message: 'The person is being checked many times at once; try again.' })
      )
    },

    /**
     * What its holder needs in order to prove things of it elsewhere.
     * @throws AppError not_found unless the person is verified and has a credential
     */
    async credential(caller: Caller, userId: string): Promise<PersonCredential> {
      const found = await known(caller, userId)
      const issued = await issuedIn(found)
      const { level, expiresAt, country } = found.record
      if (issued === undefined || expiresAt === null || country === undefined) return fail('not_found')
      return {
        reference: found.check.id,
        country,
        level,
        expiresAt: iso(expiresAt),
        binding: bindingOf(issued.credential.organisation),
        signals: signalsOf(issued),
      }
    },

    /**
     * What the check that counts has found of a person who is verified.
     * @throws AppError not_found for anybody else, and once it has expired
     */
    async attested(caller: Caller, userId: string) {
      const { row, check, record } = await known(caller, userId)
      const { status, source, level } = foundOf(check.id, record, clock.now())
      const { expiresAt } = record
      if (status !== 'verified' || expiresAt === null) return fail('not_found')
      return { row, check, record, level, source, expiresAt }
    },

    /**
     * A person's credential for a proof; undefined where there is none, since the person isn't verified.
     * @throws AppError insufficient_scope, not_found; inputs_insufficient, reason HOLDER_BOUND
     */
    async forCircuit(caller: Caller, userId: string): Promise<Provable<IssuedCredential> | undefined> {
      if (!caller.scopes.has('kyc'))
        fail('insufficient_scope', { message: 'A proof about a person needs a credential with scope "kyc".' })
      const issued = await issuedIn(await known(caller, userId))
      return issued && { ...issued, secret: deps.holders.secretOf(issued) }
    },

    /** What is asked of a person, as the circuit takes it. @throws AppError validation_failed */
    criteria: (asked: AskedOfPerson): KycCriteria => criteriaOf(asked, clock.now()),

    /** What holds of whoever meets these criteria, in a sentence. */
    sentence: sentenceOf,

    /** Whether whoever meets these criteria was checked by a provider, at level `standard` or above. */
    isChecked: meansChecked,

    /** Facts for rules. Who is unknown or was erased has status and level `none`. */
    async factsOf(caller: Caller, userId: string): Promise<KnownFacts> {
      const subject = await pseudonymOf(caller, userId)
      const opened = await openPerson({ database, keys }, caller.organisation, subject)
      const isOvertaken = isChanged(opened)
      const found = await checkOf(opened.row)
      if (found === undefined) return { facts: { status: 'none', level: 'none' }, isOvertaken }
      const now = clock.now()
      const { record, check } = found
      const { status, level, source, verifiedAt, expiresAt } = foundOf(check.id, record, now)
      const { country } = record
      const birthDate = birthDateOf(record)
      const counts = status === 'verified'
      const facts = {
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
      return { facts, isOvertaken }
    },

    /** People as a list, and decisions on their cases. */
    people: createPeople({ ...deps, keys, recording, pseudonymOf }),

    /** The key of a person, for what other domains keep of them until they are forgotten. */
    persons: createPersonAccess({ database, keys, pseudonymOf }),

    /** What screening needs of a person; undefined where no name is known. */
    async nameOf(
      caller: Caller,
      userId: string,
    ): Promise<{ name: string; dateOfBirth?: string; country?: string } | undefined> {
      const found = await find(caller, userId)
      if (found === undefined) return undefined
      const { data, country } = found.record
      const birthDate = birthDateOf(found.record)
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
