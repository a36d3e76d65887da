/** Checking and changing passwords: what sign-in and the change of a password count together. @module */
import type { SessionCaller } from '../../caller.ts'
import { AppError, fail } from '../../errors.ts'
import { secretDigest } from '../../keys/api-keys.ts'
import { type Cost, hashPassword, verifyPassword } from '../../keys/passwords.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { AttemptBudget } from '../security/attempts.ts'
import type { SecurityService } from '../security/service.ts'
import { DEFAULT_ORGANISATION } from './defaults.ts'
import { deleteIdentities } from './oidc/store.ts'
import { normaliseEmail } from './organisations.ts'
import type { PasswordChange, SignIn } from './schemas.ts'
import * as store from './store.ts'
import { deleteSessions } from './store-sessions.ts'
import { deletePendingTotp } from './totp/store.ts'

/** Wrong passwords in 15 minutes. */
const MAX_PER_ACCOUNT_AND_ADDRESS = 10
/** From all addresses together, so that many of them guess no faster, and one of them locks nobody else out. */
const MAX_PER_ACCOUNT = 100
/** For all accounts together, so that one password is not tried on every account. */
const MAX_PER_ADDRESS = 100

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly security: Pick<SecurityService, 'guardAttempts'>
  addressBlock(ip: string): string
  readonly passwordCost: Cost
}

export type Passwords = ReturnType<typeof createPasswords>

export const createPasswords = ({ database, ledger, security, addressBlock, passwordCost }: Deps) => {
  /** An unknown account is counted like a known one, and takes as long. */
  const budgetsOf = (email: string, account: store.AccountRow | undefined, ip: string): AttemptBudget[] => {
    const block = addressBlock(ip)
    const name = secretDigest(email).toString('hex')
    const owner = {
      organisation: account?.organisation ?? DEFAULT_ORGANISATION,
      subject: account?.id ?? block,
    }
    return [
      { bucket: `account:${name}/${block}`, limit: MAX_PER_ACCOUNT_AND_ADDRESS, ...owner },
      { bucket: `account:${name}`, limit: MAX_PER_ACCOUNT, ...owner },
      {
        bucket: `address:${block}`,
        limit: MAX_PER_ADDRESS,
        organisation: DEFAULT_ORGANISATION,
        subject: block,
      },
    ]
  }

  const checkAccount = async (
    email: string,
    account: store.AccountRow | undefined,
    password: string,
    ip: string,
  ): Promise<store.AccountRow> => {
    const checked = await security.guardAttempts(budgetsOf(email, account, ip), async () =>
      (await verifyPassword(password, account?.password_hash, passwordCost)) ? account : undefined,
    )
    return checked ?? fail('invalid_credentials')
  }

  /** The account of a session whose password it is; counted with sign-ins. @throws AppError as `check`, unauthorized */
  const confirm = async (
    { credential }: SessionCaller,
    password: string,
    ip: string,
  ): Promise<store.AccountRow> => {
    const known = (await store.findAccount(database.knex, credential.accountId)) ?? fail('unauthorized')
    return checkAccount(known.email, known, password, ip)
  }

  return {
    confirm,

    /**
     * The account of an e-mail address and its password. An unknown address and a wrong password can't be told apart,
     * by the answer or by its time. At most 10 wrong passwords in 15 minutes per account and client address, and 100
     * per account and per address; what is refused then was not compared with anything.
     * @throws AppError invalid_credentials, rate_limited, unavailable
     */
    async check({ email, password }: SignIn, ip: string): Promise<store.AccountRow> {
      const address = normaliseEmail(email)
      return checkAccount(address, await store.findAccountByEmail(database.knex, address), password, ip)
    },

    /**
     * Changes the password of the caller's account, ends its other sessions, unlinks its identities and drops a second
     * factor that waits to be confirmed. The current password counts as a sign-in.
     * @returns digests of the sessions that it ended
     * @throws AppError invalid_credentials, rate_limited, unavailable
     */
    async change(
      caller: SessionCaller,
      { currentPassword, newPassword }: PasswordChange,
      ip: string,
    ): Promise<readonly Uint8Array[]> {
      const { id: sessionId, accountId } = caller.credential
      const account = await confirm(caller, currentPassword, ip)
      const passwordHash = await hashPassword(newPassword, passwordCost)
      let ended: readonly Uint8Array[] = []
      await ledger.transact(caller, async (trx) => {
        const change = { from: account.password_hash, to: passwordHash }
        // Of two changes at once, the second no longer knows the current password.
        if (!(await store.replacePassword(trx, accountId, change))) throw new AppError('invalid_credentials')
        ended = await deleteSessions(trx, accountId, sessionId)
        // Whoever knew the old password may have linked an identity of their own, or begun to set up a second factor.
        const identitiesUnlinked = await deleteIdentities(trx, accountId)
        await deletePendingTotp(trx, accountId)
        const data = { event: 'password.changed', sessionsEnded: ended.length, identitiesUnlinked }
        return { entry: { type: 'account', subject: ['account', accountId], data }, result: null }
      })
      return ended
    },
  }
}
