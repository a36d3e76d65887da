/** Who proposed or decided something: records name accounts, people know each other by address. @module */
import type { Me } from '../../../domain/accounts/schemas.ts'
import type { NamedMember } from '../../../domain/accounts/team/schemas.ts'
import type { PageProps } from '../page.ts'
import { ServiceError } from '../service.ts'
import { ask } from '../session.ts'
import { useWork } from './loaded.tsx'

const NOT_FOUND = 404

/** Asked for once each, and forgotten with whoever asked. */
const asked = new WeakMap<Me, Map<string, Promise<string | undefined>>>()

/** @returns undefined for what is no account of a member any more @throws ServiceError, UnreachableError */
const addressOf = async (account: string): Promise<string | undefined> => {
  try {
    return (await ask<NamedMember>('GET', `/console/api/accounts/${encodeURIComponent(account)}`)).email
  } catch (error) {
    if (error instanceof ServiceError && error.status === NOT_FOUND) return undefined
    throw error
  }
}

const knownTo = (me: Me, account: string): Promise<string | undefined> => {
  const known = asked.get(me) ?? new Map<string, Promise<string | undefined>>()
  asked.set(me, known)
  const address = known.get(account) ?? addressOf(account)
  known.set(account, address)
  address.catch(() => known.delete(account))
  return address
}

const Member = ({ account, me }: PageProps & { readonly account: string }) => {
  const { value, problem } = useWork(account, async () => ({ address: await knownTo(me, account) }))
  if (value?.address !== undefined) return <span class="address">{value.address}</span>
  return (
    <>
      {value !== undefined && 'a former member, '}
      {value !== undefined || problem !== undefined ? <code>{account}</code> : 'another member'}
    </>
  )
}

/** @param account `acc_…`, or `key_…` of an API key; undefined: an API key that is not told */
export const Who = ({ account, me }: PageProps & { readonly account: string | undefined }) => {
  if (account === undefined) return <>an API key</>
  if (account === me.accountId) return <>you</>
  return account.startsWith('acc_') ? <Member account={account} me={me} /> : <code>{account}</code>
}
