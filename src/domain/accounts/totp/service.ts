/** Setting up the second factor of an account, and switching it off. @module */
import type { Knex } from 'knex'
import type { SessionCaller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { drawQrCode } from '../../../http/qr-code.ts'
import type { Entry } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import { deleteIdentities } from '../oidc/store.ts'
import type { Passwords } from '../passwords.ts'
import { type AccountRow, findAccount, hasPassword } from '../store.ts'
import { deleteSessions } from '../store-sessions.ts'
import { newRecoveryCodes, newTotpSecret, recoveryCodeDigest, totpSecretText, totpUri } from './codes.ts'
import type {
  RecoveryCodes,
  TotpChange,
  TotpConfirmation,
  TotpStart,
  TotpStarted,
  TotpState,
} from './schemas.ts'
import type { SecondFactor } from './second-factor.ts'
import * as store from './store.ts'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
  readonly passwords: Pick<Passwords, 'confirm'>
  readonly secondFactor: SecondFactor
  /** What authenticator apps show above the code. */
  readonly issuer: string
  /** Has sessions refused, once their end is committed. */
  forget(digests: readonly Uint8Array[]): Promise<void>
}

const alreadyOn = (): never => fail('conflict', { message: 'The second factor is on already.' })
const notOn = (): never => fail('conflict', { message: 'The second factor is not on.' })
const notStarted = (): never =>
  fail('conflict', { message: 'There is no second factor to confirm: start one first.' })

export type Totp = ReturnType<typeof createTotp>

export const createTotp = ({ database, ledger, clock, passwords, secondFactor, issuer, forget }: Deps) => {
  const subjectOf = ({ credential }: SessionCaller) => ['account', credential.accountId] as const

  const requireOn = async (knex: Knex, account: string): Promise<void> => {
    const row = await store.findTotp(knex, account)
    if (row === undefined || row.confirmed_at === null) notOn()
  }

  /** Password and code, then the change that needs both. */
  const withBoth = async <T>(
    caller: SessionCaller,
    { password, code }: TotpChange,
    ip: string,
    change: (trx: Knex, account: AccountRow) => Promise<{ data: Entry['data']; result: T }>,
  ): Promise<T> => {
    const account = await passwords.confirm(caller, password, ip)
    await requireOn(database.knex, account.id)
    const at = clock.now()
    return secondFactor.guard(account, ip, () =>
      ledger.transact<T>(caller, async (trx) => {
        if ((await secondFactor.pass(trx, account.id, code, at)) === 'none') return notOn()
        const { data, result } = await change(trx, account)
        return { entry: { type: 'account', subject: [...subjectOf(caller)], data }, result }
      }),
    )
  }

  return {
    async state({ credential: { accountId } }: SessionCaller): Promise<TotpState> {
      const row = await store.findTotp(database.knex, accountId)
      const at = row?.confirmed_at ?? null
      const recoveryCodesLeft = at === null ? 0 : await store.countRecoveryCodes(database.knex, accountId)
      return { enabled: at !== null, enabledAt: at === null ? null : iso(at), recoveryCodesLeft }
    },

    /**
     * Makes a secret, which counts once it is confirmed. A new one takes the place of one that waits.
     * @throws AppError conflict where one is on; invalid_credentials, rate_limited, unavailable as sign-in
     */
    async start(caller: SessionCaller, { password }: TotpStart, ip: string): Promise<TotpStarted> {
      const account = await passwords.confirm(caller, password, ip)
      const secret = newTotpSecret()
      const uri = totpUri(secret, { issuer, label: account.email })
      const started = { secret: totpSecretText(secret), uri, qr: String(await drawQrCode(uri, 'svg')) }
      const row: store.TotpRow = {
        account: account.id,
        sealed_secret: secondFactor.seal(account.id, secret),
        created_at: clock.now(),
        confirmed_at: null,
        last_step: null,
      }
      return ledger.transact<TotpStarted>(caller, async (trx) => {
        // What a changed password deletes must not come after it.
        if (!(await hasPassword(trx, account))) fail('invalid_credentials')
        const before = await store.findTotp(trx, account.id)
        if (before !== undefined && before.confirmed_at !== null) alreadyOn()
        await store.replaceTotp(trx, row)
        const data = { event: 'totp.started' }
        return { entry: { type: 'account', subject: [...subjectOf(caller)], data }, result: started }
      })
    },

    /**
     * Switches the second factor on, by the first code. Ends the other sessions, which only a password opened, and unlinks identities.
     * @throws AppError totp_invalid, rate_limited; conflict where nothing waits to be confirmed
     */
    async confirm(caller: SessionCaller, { code }: TotpConfirmation, ip: string): Promise<RecoveryCodes> {
      const { accountId, id: sessionId } = caller.credential
      const account = (await findAccount(database.knex, accountId)) ?? fail('unauthorized')
      const codes = newRecoveryCodes()
      const at = clock.now()
      let ended: readonly Uint8Array[] = []
      const answer = await secondFactor.guard(account, ip, () =>
        ledger.transact<RecoveryCodes>(caller, async (trx) => {
          const row = (await store.findTotp(trx, accountId)) ?? notStarted()
          if (row.confirmed_at !== null) alreadyOn()
          await secondFactor.useOneTimeCode(trx, row, code, at)
          await store.updateTotp(trx, accountId, { confirmed_at: at })
          await store.replaceRecoveryCodes(trx, accountId, codes.map(recoveryCodeDigest))
          ended = await deleteSessions(trx, accountId, sessionId)
          // They sign in without a code, and may be those of whoever knew the password.
          const identitiesUnlinked = await deleteIdentities(trx, accountId)
          const data = { event: 'totp.enabled', sessionsEnded: ended.length, identitiesUnlinked }
          return {
            entry: { type: 'account', subject: [...subjectOf(caller)], data },
            result: { recoveryCodes: codes },
          }
        }),
      )
      await forget(ended)
      return answer
    },

    /**
     * Makes new recovery codes in the place of all earlier ones.
     * @throws AppError conflict where the second factor is off; totp_invalid, invalid_credentials, rate_limited, unavailable
     */
    async replaceRecoveryCodes(
      caller: SessionCaller,
      change: TotpChange,
      ip: string,
    ): Promise<RecoveryCodes> {
      const recoveryCodes = newRecoveryCodes()
      return withBoth(caller, change, ip, async (trx, { id }) => {
        await store.replaceRecoveryCodes(trx, id, recoveryCodes.map(recoveryCodeDigest))
        return { data: { event: 'recovery_codes.replaced' }, result: { recoveryCodes } }
      })
    },

    /**
     * Switches the second factor off, and ends the other sessions.
     * @throws AppError conflict where it is off; totp_invalid, invalid_credentials, rate_limited, unavailable
     */
    async disable(caller: SessionCaller, change: TotpChange, ip: string): Promise<void> {
      let ended: readonly Uint8Array[] = []
      await withBoth(caller, change, ip, async (trx, { id }) => {
        await store.deleteTotp(trx, id)
        ended = await deleteSessions(trx, id, caller.credential.id)
        return { data: { event: 'totp.disabled', sessionsEnded: ended.length }, result: null }
      })
      await forget(ended)
    },
  }
}
