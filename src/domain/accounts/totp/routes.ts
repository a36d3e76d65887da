/** Routes of the second factor of an account. @module */
import { route } from '../../../http/route.ts'
import { RecoveryCodes, TotpChange, TotpConfirmation, TotpStart, TotpStarted, TotpState } from './schemas.ts'
import type { Totp } from './service.ts'

interface Services {
  readonly accounts: { readonly totp: Totp }
}

const shared = { auth: 'session', tag: 'Console' } as const
const BRAKE = 'Wrong passwords and codes are counted together with those at sign-in.'

const getTotp = route({
  ...shared,
  name: 'getTotp',
  method: 'GET',
  path: '/console/api/totp',
  summary: 'Tell whether the account has a second factor',
  response: { 200: TotpState },
  errors: [],
  handler: ({ caller }, { accounts }: Services) => accounts.totp.state(caller),
})

const startTotp = route({
  ...shared,
  name: 'startTotp',
  method: 'POST',
  path: '/console/api/totp',
  summary: 'Set up one-time codes for the account',
  description: `Returns a secret for an authenticator app (TOTP, RFC 6238: SHA-1, 6 digits, 30 seconds), once. It has no effect until it is confirmed; a new one replaces one that was not confirmed. ${BRAKE}`,
  body: TotpStart,
  response: { 201: TotpStarted },
  queued: false,
  errors: ['conflict', 'invalid_credentials', 'unavailable'],
  example: { body: { password: '{password}' } },
  handler: ({ caller, body, ip }, { accounts }: Services) => accounts.totp.start(caller, body, ip),
})

const confirmTotp = route({
  ...shared,
  name: 'confirmTotp',
  method: 'POST',
  path: '/console/api/totp/confirm',
  summary: 'Switch one-time codes on',
  description:
    'Takes the first code of the authenticator app and returns ten recovery codes, once. From then on sign-in needs a code. Ends the other sessions of the account, on every server within a second, and unlinks it from identity providers, which would ask for no code.',
  body: TotpConfirmation,
  response: { 200: RecoveryCodes },
  errors: ['conflict', 'totp_invalid'],
  example: { body: { code: '{firstTotpCode}' } },
  handler: ({ caller, body, ip }, { accounts }: Services) => accounts.totp.confirm(caller, body, ip),
})

const replaceRecoveryCodes = route({
  ...shared,
  name: 'replaceRecoveryCodes',
  method: 'POST',
  path: '/console/api/totp/recovery-codes',
  summary: 'Replace the recovery codes of the account',
  description: `All earlier ones stop working. ${BRAKE}`,
  body: TotpChange,
  response: { 200: RecoveryCodes },
  queued: false,
  errors: ['conflict', 'invalid_credentials', 'totp_invalid', 'unavailable'],
  example: { body: { password: '{password}', code: '{totpCode}' } },
  handler: ({ caller, body, ip }, { accounts }: Services) =>
    accounts.totp.replaceRecoveryCodes(caller, body, ip),
})

const disableTotp = route({
  ...shared,
  name: 'disableTotp',
  method: 'POST',
  path: '/console/api/totp/disable',
  summary: 'Switch one-time codes off',
  description: `Deletes the secret and the recovery codes, and ends the other sessions of the account. ${BRAKE}`,
  body: TotpChange,
  response: { 204: null },
  queued: false,
  errors: ['conflict', 'invalid_credentials', 'totp_invalid', 'unavailable'],
  example: { body: { password: '{password}', code: '{totpCode}' } },
  handler: ({ caller, body, ip }, { accounts }: Services) => accounts.totp.disable(caller, body, ip),
})

export const totpRoutes = [getTotp, startTotp, confirmTotp, replaceRecoveryCodes, disableTotp]
