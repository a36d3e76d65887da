/** Wire forms of second factors. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../../json/schemas.ts'

const Password = Type.String({ maxLength: 1024 })
export const Code = Type.String({
  maxLength: 64,
  description: 'Six digits of the authenticator app, or a recovery code.',
})

export const TotpState = Type.Object(
  {
    enabled: Type.Boolean(),
    enabledAt: orNull(DateTime),
    recoveryCodesLeft: Type.Integer(),
  },
  { title: 'TotpState' },
)
export type TotpState = Static<typeof TotpState>

export const TotpStart = Type.Object({ password: Password }, { title: 'TotpStart' })
export type TotpStart = Static<typeof TotpStart>

export const TotpStarted = Type.Object(
  {
    secret: Type.String({ description: 'Base32, for typing it. Shown once.' }),
    uri: Type.String({ description: '`otpauth://totp/…`, as authenticator apps read it.' }),
    qr: Type.String({ description: 'The address as a QR code, in SVG.' }),
  },
  { title: 'TotpStarted' },
)
export type TotpStarted = Static<typeof TotpStarted>

export const TotpConfirmation = Type.Object(
  { code: Type.String({ maxLength: 64, description: 'Six digits of the authenticator app.' }) },
  { title: 'TotpConfirmation' },
)
export type TotpConfirmation = Static<typeof TotpConfirmation>

export const RecoveryCodes = Type.Object(
  { recoveryCodes: Type.Array(Type.String(), { description: 'Shown once. Each works once.' }) },
  { title: 'RecoveryCodes' },
)
export type RecoveryCodes = Static<typeof RecoveryCodes>

export const TotpChange = Type.Object({ password: Password, code: Code }, { title: 'TotpChange' })
export type TotpChange = Static<typeof TotpChange>
