/** Who may decide over roles: nobody gives or takes one that may do more than they may themselves. @module */
import type { Knex } from 'knex'
import type { Caller, Scope } from '../../../caller.ts'
import { AppError } from '../../../errors.ts'
import { endOfKey } from '../keys.ts'
import { isRole, rightsOf } from '../roles.ts'
import * as store from '../store.ts'

const NOTHING: ReadonlySet<Scope> = new Set()

/** Whether somebody with these scopes decides over a role. */
const covers = (scopes: ReadonlySet<Scope>, role: string, organisation: string): boolean =>
  scopes.has('keys') &&
  isRole(role) &&
  [...rightsOf(role, organisation).reads].every((scope) => scopes.has(scope))

/** What an account may do in an organisation now. */
export const scopesOfAccount = async (
  trx: Knex,
  id: string,
  organisation: string,
): Promise<ReadonlySet<Scope>> => {
  const account = await store.findAccount(trx, id)
  if (account === undefined || account.organisation !== organisation || !isRole(account.role)) return NOTHING
  return rightsOf(account.role, organisation).writes
}

/**
 * Within a change, so that a role counts that was taken from the caller since they asked.
 * @throws AppError insufficient_scope
 */
export const requireAuthority = async (
  trx: Knex,
  { credential, organisation, scopes }: Caller,
  role: string,
): Promise<void> => {
  const now =
    credential.kind === 'session' ? await scopesOfAccount(trx, credential.accountId, organisation) : scopes
  if (covers(now, role, organisation)) return
  throw new AppError('insufficient_scope', {
    message: `This credential can't decide over the role "${role}", which may do more than it may itself.`,
  })
}

/** Whether whoever invited somebody may still do so. @param at Unix ms */
export const hasAuthority = async (
  trx: Knex,
  { inviter, organisation, role }: { inviter: string; organisation: string; role: string },
  at: number,
): Promise<boolean> => {
  if (inviter.startsWith('acc_'))
    return covers(await scopesOfAccount(trx, inviter, organisation), role, organisation)
  const key = await store.findKey(trx, inviter)
  const isInUse = key !== undefined && (endOfKey(key) ?? Number.POSITIVE_INFINITY) > at
  return isInUse && covers(new Set(key.scopes as Scope[]), role, organisation)
}
