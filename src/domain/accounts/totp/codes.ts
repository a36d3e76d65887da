/** One-time codes (TOTP, RFC 6238: SHA-1, 6 digits, 30 s, as all authenticator apps know them) and recovery codes. @module */
import { Secret, TOTP } from 'otpauth'
import { secretDigest } from '../../../keys/api-keys.ts'

const PERIOD_SECONDS = 30
/** Of RFC 4226 §4, R6: 160 bits. */
const SECRET_BYTES = 20
/** A phone's clock may be one step ahead or behind. */
const WINDOW_STEPS = 1
/** 80 bits each: nobody guesses one, so their digests need no salt and no cost. */
const RECOVERY_CODE_BYTES = 10
export const RECOVERY_CODES = 10
const ONE_TIME_CODE = /^\d{6}$/

const totpOf = (secret: Uint8Array): TOTP =>
  new TOTP({
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
  })

export const newTotpSecret = (): Uint8Array => new Secret({ size: SECRET_BYTES }).bytes

/** Base32 (RFC 4648 §6), as people type it where they can't scan. */
export const totpSecretText = (secret: Uint8Array): string => totpOf(secret).secret.base32

/** The address that authenticator apps read: `otpauth://totp/…`. */
export const totpUri = (secret: Uint8Array, { issuer, label }: { issuer: string; label: string }): string => {
  const totp = totpOf(secret)
  totp.issuer = issuer
  totp.label = label
  return totp.toString()
}

/** Without what people put between the characters. */
export const normaliseCode = (code: string): string => code.replaceAll(/[\s-]/g, '').toUpperCase()

export const isOneTimeCode = (normalised: string): boolean => ONE_TIME_CODE.test(normalised)

/**
 * The time step whose code it is; undefined where it is none of this moment.
 * @param at Unix ms
 */
export const stepOfCode = (secret: Uint8Array, code: string, at: number): number | undefined => {
  const delta = totpOf(secret).validate({ token: code, timestamp: at, window: WINDOW_STEPS })
  return delta === null ? undefined : TOTP.counter({ period: PERIOD_SECONDS, timestamp: at }) + delta
}

/** @returns ten of them, as people read them, such as `ABCD-EFGH-IJKL-MNOP` */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () =>
    (new Secret({ size: RECOVERY_CODE_BYTES }).base32.match(/.{4}/g) ?? []).join('-'),
  )

export const recoveryCodeDigest = (code: string): Uint8Array => secretDigest(normaliseCode(code))
