/**
 * The key of a person, opened: for checks, and for what other domains keep of somebody until they are forgotten. Whoever
 * keeps something first makes the key.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { fail } from '../../errors.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import { hasMoved, type IsOvertaken, isAnyOvertaken, isTaken, type Tx } from '../../ledger/decision.ts'
import type { Database } from '../../store/database.ts'
import { entrySubject, erasedClaim } from './erasure.ts'
import type { createPersonKeys, PersonKey } from './person-records.ts'
import { findSubject, type SubjectRow, subjects } from './store.ts'

/** Somebody from one erasure to the next. */
export type Person = Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>

/** A person whose data is about to be written. */
export interface Opened {
  readonly person: Person
  readonly key: PersonKey
  readonly sealedKey: string
  /** As it is stored; undefined where the key is new. */
  readonly row: SubjectRow | undefined
  readonly isNew: boolean
}

interface Deps {
  readonly database: Database
  readonly keys: ReturnType<typeof createPersonKeys>
}

/** Held from the moment on at which a person has a key. */
export const openedClaim = ({ subject, generation }: Person): Claim => [
  CLAIM_KINDS.kycOpened,
  `${subject}/${generation}`,
]

/** Holds the entry of a person's newest check; 0 where there was none since it is kept. */
export const newestCounter = ({ subject, generation }: Person): string =>
  `kyc.newest/${subject}/${generation}`

/** Whether somebody was checked or forgotten since they were read, or is known by now who was not. */
export const isChanged = ({ person, row, isNew }: Opened): IsOvertaken =>
  isAnyOvertaken([
    isTaken([isNew ? openedClaim(person) : erasedClaim(person)]),
    hasMoved(newestCounter(person), row?.latest_entry ?? 0),
  ])

/** The person as they are, or with a fresh key where there is none. */
export const openPerson = async (
  { database, keys }: Deps,
  organisation: string,
  subject: string,
): Promise<Opened> => {
  const row = await findSubject(database, organisation, subject)
  if (row !== undefined && row.erased_at === null)
    return { person: row, key: keys.open(row), sealedKey: row.sealed_key, row, isNew: false }
  const person = { organisation, subject, generation: (row?.generation ?? 0) + 1 }
  return { person, ...keys.create(person), row: undefined, isNew: true }
}

/** A person about whom another domain keeps something. */
export interface HeldPerson {
  readonly person: Person
  /** Under the person's key: nothing that it sealed opens once they are forgotten. */
  readonly sealing: Sealing
  /** Whether the key is new: whatever is stored of them by now was sealed under another one, which was faster. */
  readonly isNew: boolean
  /**
   * Part of the decision that writes what was sealed.
   * @returns false where another decision made the person's key first: open the person again
   * @throws AppError conflict where they were erased meanwhile
   */
  hold(tx: Tx): boolean
}

export const createPersonAccess = ({
  database,
  keys,
  pseudonymOf,
}: Deps & { pseudonymOf(caller: Caller, userId: string): Promise<string> }) => ({
  /** Somebody whose key there is; undefined where nothing is kept of them. */
  async find(caller: Caller, userId: string): Promise<HeldPerson | undefined> {
    const opened = await openPerson(
      { database, keys },
      caller.organisation,
      await pseudonymOf(caller, userId),
    )
    return opened.isNew ? undefined : heldPerson(opened)
  },

  /** Somebody with their key, which is made where there is none. */
  async open(caller: Caller, userId: string): Promise<HeldPerson> {
    return heldPerson(
      await openPerson({ database, keys }, caller.organisation, await pseudonymOf(caller, userId)),
    )
  },

  /** @throws SealingError when the key was destroyed or altered */
  sealingOf: (row: Person & Pick<SubjectRow, 'sealed_key'>): Sealing => keys.open(row).sealing,

  /** Whether they were forgotten; part of a decision. */
  isErased: (tx: Tx, person: Person): boolean => tx.holder(...erasedClaim(person)) !== undefined,

  /** Whom an entry is about. */
  entrySubject,
})

export type PersonAccess = ReturnType<typeof createPersonAccess>

const heldPerson = ({ person, key, sealedKey, isNew }: Opened): HeldPerson => {
  const { organisation, subject, generation } = person
  return {
    person: { organisation, subject, generation },
    sealing: key.sealing,
    isNew,
    hold(tx) {
      if (tx.holder(...erasedClaim(person)))
        fail('conflict', { message: 'The person was erased meanwhile; try again.' })
      if (!isNew) return true
      const opening = openedClaim(person)
      if (tx.holder(...opening)) return false
      tx.claim(...opening)
      tx.write(
        subjects.row({
          organisation,
          subject,
          generation,
          sealed_key: sealedKey,
          latest_entry: null,
          conclusive_entry: null,
          erased_at: null,
          review_entry: null,
        }),
      )
      return true
    },
  }
}
