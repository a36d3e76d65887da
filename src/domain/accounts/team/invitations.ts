/** Invitations to join an organisation: each makes one account, once. @module */
import type { Knex } from 'knex'
import { type Caller, type Role, systemCaller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { newId } from '../../../ids.ts'
import { newSecret, secretDigest } from '../../../keys/api-keys.ts'
import { type Cost, hashPassword } from '../../../keys/passwords.ts'
import { actorOf } from '../../../ledger/entry.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import { normaliseEmail } from '../organisations.ts'
import { findAccountByEmail, insertAccount } from '../store.ts'
import { hasAuthority, requireAuthority } from './authority.ts'
import { toMember } from './members.ts'
import type {
  Acceptance,
  Invitation,
  InvitationCreated,
  InvitationPage,
  InvitationsQuery,
  Member,
  NewInvitation,
} from './schemas.ts'
import * as store from './store.ts'

const DEFAULT_LIMIT = 50
/** Open at a time in one organisation. */
const MAX_OPEN = 1000
const DEFAULT_VALID_SECONDS = 7 * 24 * 3600

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
  readonly passwordCost: Cost
}

const toInvitation = (row: store.InvitationRow): Invitation => ({
  invitationId: row.id,
  email: row.email,
  role: row.role as Role,
  createdAt: iso(row.created_at),
  expiresAt: iso(row.expires_at),
})

export type Invitations = ReturnType<typeof createInvitations>

export const createInvitations = ({ database, ledger, clock, passwordCost }: Deps) => {
  /** The open invitation of a text. What is wrong with any other is not told. @throws AppError invitation_invalid */
  const find = async (knex: Knex, digest: Uint8Array, at: number): Promise<store.InvitationRow> => {
    const row = await store.findInvitation(knex, digest, at)
    return row !== undefined && (await hasAuthority(knex, row, at)) ? row : fail('invitation_invalid')
  }

  return {
    /** @throws AppError insufficient_scope for a role that may do more than the caller; limit_reached */
    async create(caller: Caller, { email, role, expiresIn }: NewInvitation): Promise<InvitationCreated> {
      const at = clock.now()
      const invitation = newSecret()
      const [, inviter] = actorOf(caller.credential)
      const row: store.InvitationRow = {
        id: newId('inv', at),
        organisation: caller.organisation,
        digest: secretDigest(invitation),
        email: normaliseEmail(email),
        role,
        inviter,
        created_at: at,
        expires_at: at + (expiresIn ?? DEFAULT_VALID_SECONDS) * 1000,
      }
      return ledger.transact<InvitationCreated>(caller, async (trx) => {
        await requireAuthority(trx, caller, role)
        await store.deleteExpiredInvitations(trx, at)
        const count = await store.countInvitations(trx, caller.organisation)
        if (count >= MAX_OPEN) fail('limit_reached', { extras: { limit: MAX_OPEN } })
        await store.insertInvitation(trx, row)
        const data = { event: 'invitation.created', invitationId: row.id, role }
        return {
          entry: { type: 'account', subject: ['invitation', row.id], data },
          result: { ...toInvitation(row), invitation },
        }
      })
    },

    /** Those that are open. */
    async list(
      { organisation }: Caller,
      { cursor, limit = DEFAULT_LIMIT }: InvitationsQuery,
    ): Promise<InvitationPage> {
      const page = { now: clock.now(), before: cursor, limit: limit + 1 }
      const rows = await store.findInvitations(database, organisation, page)
      const shown = rows.slice(0, limit)
      const nextCursor = rows.length > limit ? (shown.at(-1)?.id ?? null) : null
      return { invitations: shown.map(toInvitation), nextCursor }
    },

    /** @throws AppError not_found, insufficient_scope */
    async revoke(caller: Caller, id: string): Promise<void> {
      const at = clock.now()
      await ledger.transact(caller, async (trx) => {
        const { organisation } = caller
        const row = (await store.findInvitationById(trx, { id, organisation }, at)) ?? fail('not_found')
        await requireAuthority(trx, caller, row.role)
        await store.deleteInvitation(trx, id)
        const data = { event: 'invitation.revoked', invitationId: id }
        return { entry: { type: 'account', subject: ['invitation', id], data }, result: null }
      })
    },

    /**
     * Makes the account of an invitation, and ends all others to its address.
     * @throws AppError invitation_invalid, email_taken; unavailable when too many passwords are being hashed
     */
    async accept({ invitation, password }: Acceptance, requestId: string): Promise<Member> {
      const at = clock.now()
      const digest = secretDigest(invitation)
      // Before a password is hashed for nothing.
      const { organisation } = await find(database.knex, digest, at)
      const passwordHash = await hashPassword(password, passwordCost)
      const caller = { ...systemCaller(organisation, 'invitation'), requestId }
      return ledger.transact<Member>(caller, async (trx) => {
        const { id: invitationId, email, role } = await find(trx, digest, at)
        if (await findAccountByEmail(trx, email)) fail('email_taken')
        const account = {
          id: newId('acc', at),
          organisation,
          email,
          password_hash: passwordHash,
          role,
          created_at: at,
          last_sign_in_at: null,
        }
        await insertAccount(trx, account)
        await store.deleteInvitationsTo(trx, account)
        const data = { event: 'invitation.accepted', invitationId, role }
        return {
          entry: { type: 'account', subject: ['account', account.id], data },
          result: toMember(account),
        }
      })
    },
  }
}
