/** Records what was found of a person: the entry, the sealed record, and the credential of whoever is verified. @module */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { attempted } from '../../ledger/attempts.ts'
import type { Decide, Tx } from '../../ledger/decision.ts'
import { named } from '../../ledger/logs.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import type { Recipient } from '../holders/service.ts'
import { CIRCUIT, type createCredentials } from './credential.ts'
import { entrySubject, erasedClaim, succession } from './erasure.ts'
import { newestCounter, type Opened, openedClaim, openPerson } from './person-access.ts'
import type { CheckRecord, createPersonKeys, IssuedCredential } from './person-records.ts'
import type { ProviderResult } from './provider-result.ts'
import type { KycData, KycStatus, PersonHeld, PersonVerified } from './schemas.ts'
import type { KycDeps } from './service.ts'
import { foundOf as standingOf } from './standing.ts'
import * as store from './store.ts'

/** Of several checks of a person at a time one replaces the credential that there was; the others then replace that one's. */
const MAX_ATTEMPTS = 16
const DAY_MS = 86_400_000
/** Shorter than what a replaced key of the issuer counts. */
const MAX_VALID_MS = 365 * DAY_MS
/** What settles how a person stands; other answers only wait for one that does. */
const CONCLUSIVE: readonly KycStatus[] = ['verified', 'rejected']

interface RecordingDeps
  extends Pick<KycDeps, 'database' | 'ledger' | 'issuer' | 'clock' | 'nullifiers' | 'statuses'> {
  readonly keys: ReturnType<typeof createPersonKeys>
  readonly credentials: ReturnType<typeof createCredentials>
  /** The credential of a person, where there is one. */
  readonly credentialOf: (row: store.SubjectRow) => Promise<IssuedCredential | undefined>
}

interface Finding {
  /** `kyc_…` */
  readonly reference: string
  /** Pseudonym. */
  readonly subject: string
  readonly userId: string
  readonly provider: string
  readonly data: KycData
  readonly result: ProviderResult
  /** Whom a credential is for. */
  readonly recipient: Recipient
  /** Where it is somebody's decision. */
  readonly review?: CheckRecord['review']
  /** What that decision is about: nothing is recorded once another check was, or the person was erased. */
  readonly decidesOn?: Pick<store.SubjectRow, 'generation' | 'latest_entry'>
  /** Part of the decision; may throw. */
  readonly guard?: (tx: Tx) => void
}

/** What a check answers, whoever asks again; the credential is kept under the person's key alone. */
export type Recorded = Omit<PersonVerified, 'credential'>

/** A check that was recorded, and what this very call issued. */
export interface RecordedCheck {
  readonly answer: Recorded
  readonly issued: IssuedCredential | undefined
}

/** A person whose check is about to be written. */
interface OpenedForCheck extends Opened {
  /** Entry of the check that settled how the person stands. */
  readonly settledBy: number | null
  /** The credential that there is. */
  readonly issued: IssuedCredential | undefined
}

/** What the ledger's digest commits to: everything that was found and what it was found of. */
const committedOf = (
  id: string,
  { issued: _, salt: __, ...record }: CheckRecord,
): Record<string, unknown> => ({
  ...record,
  reference: id,
  checkedAt: iso(record.checkedAt),
  expiresAt: record.expiresAt === null ? null : iso(record.expiresAt),
})

const digestOf = (id: string, record: CheckRecord): string =>
  dataCommitment(Buffer.from(record.salt, 'base64url'), committedOf(id, record))

/** @throws AppError conflict, always */
export const outdated = (): never =>
  fail('conflict', { message: 'The person was checked or erased meanwhile; look at them again.' })

/** @throws AppError conflict where a decision is about something else than the person as they are */
const requireSame = ({ row }: OpenedForCheck, read: Finding['decidesOn']): void => {
  if (read && (row?.generation !== read.generation || row.latest_entry !== read.latest_entry)) outdated()
}

/** What becomes of a person's check: the record, and the credential that is in it. */
interface Found {
  readonly record: CheckRecord
  readonly issued: IssuedCredential | undefined
}

/** The row by which proofs of a credential lead to its organisation. @param expiresAt Unix ms */
export const issuedRow = (
  nullifiers: Pick<KycDeps['nullifiers'], 'issuedNullifierRow'>,
  { credential }: IssuedCredential,
  organisation: string,
  expiresAt: number | null,
) =>
  nullifiers.issuedNullifierRow({
    circuitId: CIRCUIT,
    nullifier: credential.status,
    organisation,
    ...(expiresAt !== null && { expiresAt }),
  })

export const createRecording = (deps: RecordingDeps) => {
  const { database, ledger, issuer, clock, keys, credentials, credentialOf, nullifiers, statuses } = deps

  const open = async (organisation: string, subject: string): Promise<OpenedForCheck> => {
    const opened = await openPerson({ database, keys }, organisation, subject)
    const { row } = opened
    return { ...opened, settledBy: row?.conclusive_entry ?? null, issued: row && (await credentialOf(row)) }
  }

  const foundOf = async (
    { person }: OpenedForCheck,
    { userId, provider, data, result, recipient, review }: Finding,
  ): Promise<Found> => {
    const { status, level, checks, providerReference, birthDate, country } = result
    const now = clock.now()
    const longest = now + MAX_VALID_MS
    const isVerified = status === 'verified'
    const expiresAt = isVerified ? Math.min(result.expiresAt ?? longest, longest) : result.expiresAt
    const attested = isVerified && expiresAt !== null && birthDate !== undefined && country !== undefined
    const issued = attested
      ? credentials.issue(await issuer.current(), { person, birthDate, country, level, expiresAt }, recipient)
      : undefined
    const record: CheckRecord = {
      userId,
      provider,
      status,
      level,
      checks,
      providerReference,
      checkedAt: now,
      expiresAt,
      data,
      birthDate,
      country,
      salt: randomBytes(COMMITMENT_SALT_BYTES).toString('base64url'),
      issued,
      ...(review && { review }),
    }
    return { record, issued }
  }

  /** @returns what records a check; it answers undefined where somebody else settled how the person stands, or made the key */
  const recordingOf = (
    { person, key, sealedKey, isNew, settledBy, issued: former }: OpenedForCheck,
    id: string,
    { record, issued }: Found,
    { recipient, guard, decidesOn }: Pick<Finding, 'recipient' | 'guard' | 'decidesOn'>,
  ): Decide<Recorded | undefined> => {
    const { organisation, subject, generation } = person
    const { status, checkedAt, expiresAt } = record
    const settles = CONCLUSIVE.includes(status)
    const succeeded = succession(person, settledBy)
    const digest = digestOf(id, record)
    const names = { organisation, subject, generation }
    const sealed = key.seal(id, record)
    return (tx) => {
      if (tx.holder(...erasedClaim(person)))
        fail('conflict', { message: 'The person was erased while being checked; try again.' })
      const opening = openedClaim(person)
      if (isNew && tx.holder(...opening)) return undefined
      if (settles && tx.holder(...succeeded)) return undefined
      const newest = tx.counter(newestCounter(person))
      if (decidesOn && newest > (decidesOn.latest_entry ?? 0)) outdated()
      guard?.(tx)
      if (isNew) tx.claim(...opening)
      if (settles) tx.claim(...succeeded)
      if (settles && former) statuses.set(tx, Number(former.credential.status))
      if (issued) recipient.bind(tx)
      const {
        log,
        index: entry_index,
        leafHash,
      } = tx.append({
        type: 'attest',
        subject: entrySubject(person),
        digest,
        data: { event: record.review ? 'kyc.reviewed' : 'kyc.checked' },
      })
      tx.add(newestCounter(person), entry_index - newest)
      tx.write(
        store.subjects.row({
          ...names,
          sealed_key: sealedKey,
          latest_entry: entry_index,
          conclusive_entry: settles ? entry_index : null,
          erased_at: null,
          review_entry: status === 'review' ? entry_index : null,
        }),
      )
      tx.write(store.checks.row({ id, ...names, entry_index, sealed, checked_at: checkedAt }))
      if (issued !== undefined) tx.write(issuedRow(nullifiers, issued, organisation, expiresAt))
      return {
        ...standingOf(id, record, checkedAt),
        status,
        checkedAt: iso(checkedAt),
        digest,
        leafHash,
        ...named(log),
        leafIndex: entry_index,
      }
    }
  }

  const record = async (caller: Caller, finding: Finding): Promise<RecordedCheck> => {
    const recorded = await attempted(
      caller,
      MAX_ATTEMPTS,
      async (asker): Promise<RecordedCheck | undefined> => {
        const opened = await open(caller.organisation, finding.subject)
        requireSame(opened, finding.decidesOn)
        const found = await foundOf(opened, finding)
        const answer = await ledger.append(asker, recordingOf(opened, finding.reference, found, finding))
        return answer && { answer, issued: answer.reference === finding.reference ? found.issued : undefined }
      },
    )
    return (
      recorded ?? fail('conflict', { message: 'The person is being checked many times at once; try again.' })
    )
  }

  return {
    /** @throws AppError conflict when the person is erased meanwhile, or what was decided on is not their newest check */
    record,

    /** A check as it is told to whoever may see everything. */
    shown: (row: store.CheckRow, kept: CheckRecord, log: number): PersonHeld['checks'][number] => ({
      committed: committedOf(row.id, kept),
      salt: kept.salt,
      digest: digestOf(row.id, kept),
      ...named(log),
      leafIndex: row.entry_index,
      credentialIssued: kept.issued !== undefined,
    }),
  }
}
