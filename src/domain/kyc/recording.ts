/** Records what was found of a person: the entry, the sealed record, and the credential of whoever is verified. @module */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { kycMessage } from '../../circuits/issuer-signature.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import type { createCredentials } from './credential.ts'
import { entrySubject, erasedClaim } from './erasure.ts'
import type { CheckRecord, createPersonKeys, PersonKey } from './person-records.ts'
import type { ProviderResult } from './provider-result.ts'
import type { KycData, KycStatus, PersonHeld, PersonVerified } from './schemas.ts'
import type { KycDeps } from './service.ts'
import { foundOf } from './standing.ts'
import * as store from './store.ts'

const OPENED = CLAIM_KINDS.kycOpened
/** Of several first checks of a person one makes the key; the others find it at their second attempt. */
const MAX_ATTEMPTS = 3
const DAY_MS = 86_400_000
/** Shorter than what a replaced key of the issuer counts. */
const MAX_VALID_MS = 365 * DAY_MS
/** What settles how a person stands; other answers only wait for one that does. */
const CONCLUSIVE: readonly KycStatus[] = ['verified', 'rejected']

interface RecordingDeps extends Pick<KycDeps, 'database' | 'ledger' | 'issuer' | 'clock'> {
  readonly keys: ReturnType<typeof createPersonKeys>
  readonly credentials: ReturnType<typeof createCredentials>
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
}

/** A person whose data is about to be written. */
interface Opened {
  readonly person: Pick<store.SubjectRow, 'organisation' | 'subject' | 'generation'>
  readonly key: PersonKey
  readonly sealedKey: string
  readonly isNew: boolean
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

export const createRecording = ({ database, ledger, issuer, clock, keys, credentials }: RecordingDeps) => {
  const open = async (organisation: string, subject: string): Promise<Opened> => {
    const row = await store.findSubject(database, organisation, subject)
    if (row !== undefined && row.erased_at === null)
      return { person: row, key: keys.open(row), sealedKey: row.sealed_key, isNew: false }
    const person = { organisation, subject, generation: (row?.generation ?? 0) + 1 }
    return { person, ...keys.create(person), isNew: true }
  }

  const recordOf = async (
    { person }: Opened,
    { userId, provider, data, result }: Finding,
  ): Promise<CheckRecord> => {
    const { status, level, checks, providerReference, birthDate, country } = result
    const now = clock.now()
    const longest = now + MAX_VALID_MS
    const expiresAt = status === 'verified' ? Math.min(result.expiresAt ?? longest, longest) : null
    const attested = expiresAt !== null && birthDate !== undefined && country !== undefined
    return {
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
      issued: attested
        ? credentials.issue(await issuer.current(), { person, birthDate, country, level, expiresAt })
        : undefined,
    }
  }

  /** @returns what records a check; it answers undefined where somebody else made the person's key first */
  const recordingOf = (
    { person, key, sealedKey, isNew }: Opened,
    id: string,
    record: CheckRecord,
  ): Decide<PersonVerified | undefined> => {
    const { organisation, subject, generation } = person
    const { issued, status, checkedAt } = record
    const digest = digestOf(id, record)
    const names = { organisation, subject, generation }
    const opening = `${subject}/${generation}`
    const sealed = key.seal(id, record)
    return (tx) => {
      if (tx.holder(...erasedClaim(person)))
        fail('conflict', { message: 'The person was erased while being checked; try again.' })
      if (isNew && tx.holder(OPENED, opening)) return undefined
      if (isNew) tx.claim(OPENED, opening)
      const { index: entry_index, leafHash } = tx.append({
        type: 'attest',
        subject: entrySubject(person),
        digest,
        data: { event: 'kyc.checked' },
      })
      tx.write(
        store.subjects.row({
          ...names,
          sealed_key: sealedKey,
          latest_entry: entry_index,
          conclusive_entry: CONCLUSIVE.includes(status) ? entry_index : null,
          erased_at: null,
        }),
      )
      tx.write(store.checks.row({ id, ...names, entry_index, sealed, checked_at: checkedAt }))
      if (issued !== undefined)
        tx.write(
          store.credentials.row({
            digest: credentials.digestOf(kycMessage(issued.credential)),
            ...names,
            entry_index,
            element: String(issued.credential.subject),
          }),
        )
      return {
        ...foundOf(id, record, checkedAt),
        status,
        checkedAt: iso(checkedAt),
        digest,
        leafHash,
        leafIndex: entry_index,
      }
    }
  }

  const record = async (caller: Caller, finding: Finding): Promise<PersonVerified> => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const opened = await open(caller.organisation, finding.subject)
      const recorded = recordingOf(opened, finding.reference, await recordOf(opened, finding))
      const answer = await ledger.append(caller, recorded)
      if (answer !== undefined) return answer
    }
    throw new Error('The key of a person was made by others, and could not be found.')
  }

  return {
    /** @throws AppError conflict when the person is erased meanwhile */
    record,

    /** A check as it is told to whoever may see everything. */
    shown: (row: store.CheckRow, kept: CheckRecord): PersonHeld['checks'][number] => ({
      committed: committedOf(row.id, kept),
      salt: kept.salt,
      digest: digestOf(row.id, kept),
      leafIndex: row.entry_index,
      credentialIssued: kept.issued !== undefined,
    }),
  }
}
