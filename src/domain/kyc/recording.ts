/** Records what was found of a person: the entry, the sealed record, and the credential of whoever is verified. @module */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { kycMessage } from '../../circuits/issuer-signature.ts'
import { iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Item } from '../../ledger/item.ts'
import { COMMITMENT_SALT_BYTES, dataCommitment } from '../../protocol/commitment.ts'
import type { createCredentials } from './credential.ts'
import { entrySubject, erasedClaim } from './erasure.ts'
import type { CheckRecord, createPersonKeys, PersonKey } from './person-records.ts'
import type { ProviderResult } from './provider-result.ts'
import type { KycData, KycStatus, PersonHeld, PersonVerified } from './schemas.ts'
import type { KycDeps } from './service.ts'
import { foundOf } from './standing.ts'
import * as store from './store.ts'

const OPENED = 'kyc.opened'
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

/** Somebody else made the person's key first. */
class OpenedMeanwhile extends Error {}

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

  const itemOf = (
    { person, key, sealedKey, isNew }: Opened,
    id: string,
    record: CheckRecord,
  ): Item<PersonVerified> => {
    const { organisation, subject, generation } = person
    const { issued, status, checkedAt } = record
    const digest = digestOf(id, record)
    const names = { organisation, subject, generation }
    return {
      claims: [
        { ...erasedClaim(person), look: true },
        ...(isNew ? [{ kind: OPENED, key: `${subject}/${generation}`, code: 'conflict' as const }] : []),
      ],
      entry: {
        type: 'attest',
        subject: entrySubject(person),
        digest,
        data: { event: 'kyc.checked' },
      },
      rows: ({ index }) => [
        store.subjects.row({
          ...names,
          sealed_key: sealedKey,
          latest_entry: index,
          conclusive_entry: CONCLUSIVE.includes(status) ? index : null,
          erased_at: null,
        }),
        store.checks.row({
          id,
          ...names,
          entry_index: index,
          sealed: key.seal(id, record),
          checked_at: checkedAt,
        }),
        ...(issued === undefined
          ? []
          : [
              store.credentials.row({
                digest: credentials.digestOf(kycMessage(issued.credential)),
                ...names,
                entry_index: index,
                element: String(issued.credential.subject),
              }),
            ]),
      ],
      result: ({ index, leafHash }) => ({
        ...foundOf(id, record, checkedAt),
        status,
        checkedAt: iso(checkedAt),
        digest,
        leafHash,
        leafIndex: index,
      }),
      lost: ({ claim }) => {
        if (claim.kind === OPENED) throw new OpenedMeanwhile()
        throw new AppError('conflict', { message: 'The person was erased while being checked; try again.' })
      },
    }
  }

  const record = async (caller: Caller, finding: Finding, attempt = 1): Promise<PersonVerified> => {
    const opened = await open(caller.organisation, finding.subject)
    const item = itemOf(opened, finding.reference, await recordOf(opened, finding))
    try {
      return await ledger.append(caller, item)
    } catch (error) {
      if (!(error instanceof OpenedMeanwhile) || attempt === MAX_ATTEMPTS) throw error
      return record(caller, finding, attempt + 1)
    }
  }

  return {
    /** @throws AppError conflict when the person is erased meanwhile */
    record: (caller: Caller, finding: Finding): Promise<PersonVerified> => record(caller, finding),

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
