/** Passes of Google Wallet: a signed JWT that a "save to wallet" link carries. @module */
import { sign } from 'node:crypto'
import { iso } from '../../clock.ts'
import type { GooglePassSigner } from '../../config/passes.ts'
import { writeJws } from '../../protocol/jws.ts'
import type { PassFace } from './pass-face.ts'

/** Where a link that saves a pass leads. */
const SAVE_URL = 'https://pay.google.com/gp/v/save/'
const MS_PER_SECOND = 1000

const localized = (value: string) => ({ defaultValue: { language: 'en', value } })

/**
 * A generic pass (Google Wallet API, GenericObject) with the token as its QR code.
 * @returns the JWT (RS256) and the link with it
 */
export const googlePass = (
  { issuerId, organizationName, clientEmail, key, keyId }: GooglePassSigner,
  { tokenId, token, title, expiresAt, singleUse }: PassFace,
  /** Unix ms. */
  now: number,
): { readonly jwt: string; readonly saveUrl: string } => {
  const classId = `${issuerId}.token`
  const object = {
    id: `${issuerId}.${tokenId}`,
    classId,
    state: 'ACTIVE',
    cardTitle: localized(organizationName),
    header: localized(title),
    barcode: { type: 'QR_CODE', value: token },
    validTimeInterval: { end: { date: iso(expiresAt) } },
    ...(singleUse && { passConstraints: { screenshotEligibility: 'INELIGIBLE' } }),
  }
  const payload = {
    iss: clientEmail,
    aud: 'google',
    typ: 'savetowallet',
    iat: Math.floor(now / MS_PER_SECOND),
    origins: [],
    payload: { genericClasses: [{ id: classId }], genericObjects: [object] },
  }
  const jwt = writeJws({ alg: 'RS256', kid: keyId, typ: 'JWT' }, payload, (covered) =>
    sign('sha256', covered, key),
  )
  return { jwt, saveUrl: SAVE_URL + jwt }
}
