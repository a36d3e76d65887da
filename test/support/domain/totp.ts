/** Second factors of accounts: an authenticator app, and accounts that have one. */
import { Secret, TOTP } from 'otpauth'
import type { RecoveryCodes, TotpStarted } from '../../../src/domain/accounts/totp/schemas.ts'
import { type Client, ok } from '../client.ts'

type Headers = Readonly<Record<string, string>>

const STEP_MS = 30_000

/** What the app shows for a secret. @param steps later than now @param now Unix ms */
export const codeOf = ({ secret }: Pick<TotpStarted, 'secret'>, steps = 0, now = Date.now()): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now + steps * STEP_MS })

export const startTotp = (client: Client, headers: Headers, { password }: { password: string }) =>
  ok<TotpStarted>(client, 'POST', '/console/api/totp', { headers, body: { password } })

/**
 * Switches the second factor on. @param now Unix ms, as the server has it
 * @returns with `nextCode`, which is right for a minute at least
 */
export const enableTotp = async (
  client: Client,
  headers: Headers,
  account: { password: string },
  now = Date.now(),
) => {
  const { secret } = await startTotp(client, headers, account)
  const body = { code: codeOf({ secret }, 0, now) }
  const path = '/console/api/totp/confirm'
  const { recoveryCodes } = await ok<RecoveryCodes>(client, 'POST', path, { headers, body })
  return { secret, recoveryCodes, nextCode: codeOf({ secret }, 1, now) }
}
