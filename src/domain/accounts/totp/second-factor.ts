/** The second factor of an account at the moment when it is asked for: each code works once, and guesses are braked. @module */
import type { Knex } from 'knex'
import { AppError, fail } from '../../../errors.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { Database } from '../../../store/database.ts'
import type { SecurityService } from '../../security/service.ts'
import type { AccountRow } from '../store.ts'
import { isOneTimeCode, normaliseCode, recoveryCodeDigest, stepOfCode } from './codes.ts'
import * as store from './store.ts'

/** Wrong codes in 15 minutes. Whoever tries them has the password already. */
const MAX_PER_ACCOUNT_AND_ADDRESS = 10
/** From all addresses together: a code is one of a million, of which three are right at a time. */
const MAX_PER_ACCOUNT = 20
const PURPOSE = 'totp'

/** What was shown besides the password. */
export type Factor = 'none' | 'totp' | 'recovery_code'

interface Deps {
  readonly database: Database
  readonly sealing: Pick<Sealing, 'seal' | 'open'>
  readonly security: Pick<SecurityService, 'guardAttempts'>
  addressBlock(ip: string): string
}

type Subject = Pick<AccountRow, 'id' | 'organisation'>

export type SecondFactor = ReturnType<typeof createSecondFactor>

export const createSecondFactor = ({ database, sealing, security, addressBlock }: Deps) => {
  const place = (account: string) => ({ table: 'account_totp', column: 'sealed_secret', row: account })
  const open = ({ account, sealed_secret }: store.TotpRow): Uint8Array =>
    sealing.open(PURPOSE, place(account), sealed_secret)

  /** @throws AppError totp_invalid */
  const useOneTimeCode = async (trx: Knex, row: store.TotpRow, code: string, at: number): Promise<void> => {
    const step = stepOfCode(open(row), code, at)
    if (step === undefined || step <= (row.last_step ?? -1)) return fail('totp_invalid')
    await store.updateTotp(trx, row.account, { last_step: step })
  }

  return {
    /** Whether an account needs more than its password. */
    async isOn(account: string): Promise<boolean> {
      return typeof (await store.findTotp(database.knex, account))?.confirmed_at === 'number'
    },

    seal: (account: string, secret: Uint8Array): Uint8Array => sealing.seal(PURPOSE, place(account), secret),

    /** Uses up a code of an app. To be called within a change, of which there is one at a time. @throws AppError totp_invalid */
    useOneTimeCode: (trx: Knex, row: store.TotpRow, code: string, at: number): Promise<void> => {
      const normalised = normaliseCode(code)
      return isOneTimeCode(normalised) ? useOneTimeCode(trx, row, normalised, at) : fail('totp_invalid')
    },

    /**
     * Uses up the code that an account needs, if it needs one. To be called within a change, of which there is one at a time.
     * @param at Unix ms
     * @throws AppError totp_required without a code, totp_invalid
     */
    async pass(trx: Knex, account: string, code: string | undefined, at: number): Promise<Factor> {
      const row = await store.findTotp(trx, account)
      if (row === undefined || row.confirmed_at === null) return 'none'
      if (code === undefined) return fail('totp_required')
      const normalised = normaliseCode(code)
      if (isOneTimeCode(normalised)) {
        await useOneTimeCode(trx, row, normalised, at)
        return 'totp'
      }
      const digest = recoveryCodeDigest(normalised)
      return (await store.deleteRecoveryCode(trx, { account, digest }))
        ? 'recovery_code'
        : fail('totp_invalid')
    },

    /**
     * Runs what uses a code: at most 10 wrong ones in 15 minutes per account and client address, and 20 per account.
     * @throws AppError rate_limited, and whatever `run` throws, of which `totp_invalid` is counted
     */
    async guard<T>({ id, organisation }: Subject, ip: string, run: () => Promise<T>): Promise<T> {
      const owner = { organisation, subject: id }
      const block = addressBlock(ip)
      const budgets = [
        { bucket: `totp:${id}/${block}`, limit: MAX_PER_ACCOUNT_AND_ADDRESS, ...owner },
        { bucket: `totp:${id}`, limit: MAX_PER_ACCOUNT, ...owner },
      ]
      const done = await security.guardAttempts(budgets, async () => {
        try {
          return { value: await run() }
        } catch (error) {
          if (error instanceof AppError && error.code === 'totp_invalid') return undefined
          throw error
        }
      })
      return done === undefined ? fail('totp_invalid') : done.value
    },
  }
}
