/** The members of an organisation: listing them, changing their roles, removing them. @module */
import type { Knex } from 'knex'
import type { Caller, Role, Scope } from '../../../caller.ts'
import { iso } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import { changesOf, requireUnchanged } from '../../../json/read-only.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { Sessions } from '../sessions.ts'
import * as store from '../store.ts'
import { deleteSessions } from '../store-sessions.ts'
import { requireAuthority, scopesOfAccount } from './authority.ts'
import {
  FIXED_OF_MEMBER,
  type Member,
  type MemberChange,
  type MemberPage,
  type MembersQuery,
  type NamedMember,
} from './schemas.ts'
import { deleteInvitationsTo } from './store.ts'

const DEFAULT_LIMIT = 50

/** Counts changes of roles and removals in an organisation: what rests on a role looks whether it moved on. */
const ROLES_COUNTER = 'roles'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly sessions: Pick<Sessions, 'refresh' | 'forget'>
}

export const toMember = (row: store.AccountRow): Member => ({
  accountId: row.id,
  email: row.email,
  role: row.role as Role,
  createdAt: iso(row.created_at),
  lastSignInAt: row.last_sign_in_at === null ? null : iso(row.last_sign_in_at),
})

export type Members = ReturnType<typeof createMembers>

export const createMembers = ({ database, ledger, sessions }: Deps) => {
  /** The member, if the caller may decide over their role. Called within a change. */
  const changeable = async (trx: Knex, caller: Caller, accountId: string): Promise<store.AccountRow> => {
    const row = await store.findAccount(trx, accountId)
    if (row === undefined || row.organisation !== caller.organisation) return fail('not_found')
    await requireAuthority(trx, caller, row.role)
    return row
  }

  /** @throws AppError conflict when nobody could decide over the organisation any more */
  const requireAnotherOwner = async (trx: Knex, row: store.AccountRow): Promise<void> => {
    if (row.role === 'owner' && !(await store.hasOtherOfRole(trx, row))) {
      throw new AppError('conflict', {
        message: 'This is the last owner of the organisation. Make another member an owner first.',
        reason: 'LAST_OWNER',
      })
    }
  }

  return {
    async list(
      { organisation }: Caller,
      { cursor, limit = DEFAULT_LIMIT }: MembersQuery,
    ): Promise<MemberPage> {
      const rows = await store.findAccounts(database, organisation, { before: cursor, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const nextCursor = rows.length > limit ? (shown.at(-1)?.id ?? null) : null
      return { accounts: shown.map(toMember), nextCursor }
    },

    /** @throws AppError not_found, for accounts of other organisations too */
    async named({ organisation }: Caller, accountId: string): Promise<NamedMember> {
      const row = await store.findAccount(database.knex, accountId)
      if (row === undefined || row.organisation !== organisation) return fail('not_found')
      return { accountId, email: row.email }
    },

    /** What counts changes of roles in an organisation: to be read before `may`, and compared by the decision that rests on it. */
    rolesCounter: ROLES_COUNTER,

    /** Whether an account is a member now who may change what needs a scope. */
    may: async ({ organisation }: Pick<Caller, 'organisation'>, accountId: string, scope: Scope) =>
      (await scopesOfAccount(database.knex, accountId, organisation)).has(scope),

    /** @throws AppError not_found, insufficient_scope, read_only; conflict for the last owner */
    async update(caller: Caller, accountId: string, sent: MemberChange): Promise<Member> {
      const answer = await ledger.transact<Member>(caller, async (trx) => {
        const before = await changeable(trx, caller, accountId)
        const current = toMember(before)
        requireUnchanged(sent, current, FIXED_OF_MEMBER)
        const { role } = changesOf(sent, current)
        if (role === undefined) return { result: current }
        await requireAuthority(trx, caller, role)
        await requireAnotherOwner(trx, before)
        await store.updateAccount(trx, accountId, { role })
        const data = { event: 'role.changed', from: before.role, to: role }
        return {
          entry: { type: 'account', subject: ['account', accountId], data },
          advances: [ROLES_COUNTER],
          result: { ...current, role },
        }
      })
      await sessions.refresh(accountId)
      return answer
    },

    /** Deletes the account, its sessions and invitations to its address. @throws AppError not_found, insufficient_scope; conflict for the last owner */
    async remove(caller: Caller, accountId: string): Promise<void> {
      let ended: readonly Uint8Array[] = []
      await ledger.transact(caller, async (trx) => {
        const row = await changeable(trx, caller, accountId)
        await requireAnotherOwner(trx, row)
        await store.deleteAccount(trx, accountId)
        await deleteInvitationsTo(trx, row)
        ended = await deleteSessions(trx, accountId)
        const data = { event: 'account.removed', role: row.role, sessionsEnded: ended.length }
        const entry = { type: 'account', subject: ['account', accountId], data } as const
        return { entry, advances: [ROLES_COUNTER], result: null }
      })
      await sessions.forget(ended)
    },
  }
}
