/** The forms in which a token is carried: QR code, NFC tag, pass of a wallet. @module */
import type { PassSigners } from '../../config/passes.ts'
import { fail } from '../../errors.ts'
import { drawQrCode, MAX_QR_CHARACTERS, type QrFormat } from '../../http/qr-code.ts'
import {
  encodeNdef,
  fitsTag,
  mediaRecord,
  type NdefRecord,
  type TagType,
  uriRecord,
} from '../../protocol/ndef.ts'
import { applePass } from './apple-pass.ts'
import { googlePass } from './google-pass.ts'
import type { PassFace } from './pass-face.ts'
import type { TokenType } from './schemas.ts'
import type { GooglePass, NfcPayload, PassQuery } from './schemas-forms.ts'
import type { OpenedToken } from './sealed-token.ts'

/** RFC 7519 §10.3.1. */
const JWT_MEDIA_TYPE = 'application/jwt'
const LARGEST_TAG: TagType = 'ntag216'
const MS_PER_SECOND = 1000

/** Where a token's forms are found. */
export const formUrls = (baseUrl: string, id: string, passes: PassSigners | undefined) => {
  const url = `${baseUrl}/api/tokens/${id}`
  return { qrUrl: `${url}/qr`, nfcUrl: `${url}/nfc-payload`, ...(passes && { passUrl: `${url}/pass` }) }
}

/** Who signs passes now, Unix ms. A certificate that has expired signs none. */
const signersNow = ({ apple, google }: Partial<PassSigners>, now: number): Partial<PassSigners> => ({
  ...(apple && now < apple.validTo && { apple }),
  ...(google && { google }),
})

/** @param now Unix ms @throws AppError pass_signing_not_configured for a pass that nobody here can sign */
export const demandSigner = (type: TokenType, passes: PassSigners | undefined, now: number): void => {
  const { apple, google } = signersNow(passes ?? {}, now)
  if (type === 'pass' && !apple && !google) fail('pass_signing_not_configured')
}

/** The address where whoever checks the tag asks, with a key, whether the token counts; then the token itself. */
const nfcRecords = (baseUrl: string, id: string, jws: string): readonly [NdefRecord, NdefRecord] => [
  uriRecord(`${baseUrl}/api/tokens/${id}/status`),
  mediaRecord(JWT_MEDIA_TYPE, Buffer.from(jws)),
]

/**
 * @param at JSON pointer of what describes the token in the request
 * @throws AppError validation_failed when a token of this type would not fit what it is made for
 */
export const checkForm = (type: TokenType, at: string, baseUrl: string, id: string, jws: string): void => {
  const refuse = (limit: string): never => {
    const message = `a token of type ${type} ${limit}; this one has ${jws.length}: shorten claims, subject or audience`
    return fail('validation_failed', { details: [{ path: `${at}/type`, code: 'too_large', message }] })
  }
  if ((type === 'qr' || type === 'pass') && jws.length > MAX_QR_CHARACTERS)
    refuse(`has at most ${MAX_QR_CHARACTERS} characters`)
  if (type !== 'nfc') return
  const bytes = encodeNdef(nfcRecords(baseUrl, id, jws)).length
  if (fitsTag(bytes, LARGEST_TAG)) return
  const room = [...Array(bytes).keys()].findLast((size) => fitsTag(size, LARGEST_TAG)) ?? 0
  refuse(`has at most ${jws.length - (bytes - room)} characters`)
}

/** @throws AppError token_too_large */
const demandReadable = (jws: string): void => {
  if (jws.length <= MAX_QR_CHARACTERS) return
  const message = `The token has ${jws.length} characters, and a QR code that phones can read has at most ${MAX_QR_CHARACTERS}. Tokens issued with type qr always fit.`
  fail('token_too_large', { message })
}

/** The compact JWS itself, so that whoever scans it checks it without asking. @throws AppError token_too_large */
export const tokenQr = async ({ jws }: OpenedToken, format: QrFormat): Promise<string | Buffer> => {
  demandReadable(jws)
  return drawQrCode(jws, format)
}

export const tokenNfc = (baseUrl: string, { jws, payload }: OpenedToken, tag: TagType): NfcPayload => {
  const [address, token] = nfcRecords(baseUrl, payload.jti, jws)
  const hasRoom = fitsTag(encodeNdef([address, token]).length, tag)
  const message = encodeNdef(hasRoom ? [address, token] : [address])
  const told = (record: NdefRecord) => ({
    tnf: record.tnf,
    type: record.type,
    payloadBytes: record.payload.length,
  })
  const bytes = Buffer.from(message)
  return {
    tokenId: payload.jti,
    ndefHex: bytes.toString('hex'),
    ndefBase64: bytes.toString('base64'),
    records: [
      { ...told(address), uri: `${baseUrl}/api/tokens/${payload.jti}/status` },
      ...(hasRoom ? [told(token)] : []),
    ],
    size: message.length,
    tag,
    fitsTag: fitsTag(message.length, tag),
  }
}

const faceOf = ({ jws, payload }: OpenedToken): PassFace => ({
  tokenId: payload.jti,
  token: jws,
  title: payload.aud ?? 'Token',
  issuedAt: payload.iat * MS_PER_SECOND,
  expiresAt: payload.exp * MS_PER_SECOND,
  singleUse: payload.single_use === true,
})

/**
 * A token as a pass: Apple's archive, or Google's JWT with its link.
 * @param now Unix ms @throws AppError pass_signing_not_configured, token_too_large
 */
export const tokenPass = async (
  passes: PassSigners | undefined,
  opened: OpenedToken,
  format: PassQuery['format'],
  now: number,
): Promise<Buffer | GooglePass> => {
  const { apple, google } = signersNow(passes ?? {}, now)
  demandReadable(opened.jws)
  const face = faceOf(opened)
  if (apple && format !== 'google') return applePass(apple, face)
  if (google && format !== 'apple') return { tokenId: face.tokenId, ...googlePass(google, face, now) }
  return fail('pass_signing_not_configured', {
    ...(format && {
      message: `This service can't sign passes of ${format === 'apple' ? 'Apple' : 'Google'}.`,
    }),
  })
}
