/** Routes of the forms in which tokens are carried. @module */
import Type from 'typebox'
import { QR_CONTENT_TYPES, qrFormatOf } from '../../http/qr-code.ts'
import { Reply, route } from '../../http/route.ts'
import { TokenParams } from './schemas.ts'
import { GooglePass, NfcPayload, NfcQuery, PassQuery, QrQuery } from './schemas-forms.ts'
import type { TokensService } from './service.ts'

interface Services {
  readonly tokens: TokensService
}

const PKPASS_TYPE = 'application/vnd.apple.pkpass'
const JSON_TYPE = 'application/json'
/** An RSA signature in JavaScript, during which nobody else is answered. */
const PASS_COST = 5

/** Of every one of these. */
const shared = { method: 'GET', auth: 'key', scope: 'token', tag: 'Tokens', params: TokenParams } as const

const tokenQr = route({
  ...shared,
  name: 'tokenQr',
  path: '/api/tokens/{tokenId}/qr',
  summary: 'Get the QR code of a token',
  description:
    'Contains the token itself, so it can be verified offline. SVG, or PNG by Accept or `format`. A token of more than 997 characters is too large for a QR code that phones can read; a token that is no longer valid has no QR code.',
  query: QrQuery,
  produces: [QR_CONTENT_TYPES.svg, QR_CONTENT_TYPES.png],
  response: { 200: Type.String() },
  errors: ['token_not_active', 'token_too_large'],
  handler: async ({ caller, params, query, headers }, { tokens }: Services) => {
    const format = qrFormatOf(query.format, headers.accept)
    const picture = await tokens.qrCode(caller, params.tokenId, format)
    return new Reply(200, picture, { 'Content-Type': QR_CONTENT_TYPES[format], Vary: 'Accept' })
  },
})

const tokenNfcPayload = route({
  ...shared,
  name: 'tokenNfcPayload',
  path: '/api/tokens/{tokenId}/nfc-payload',
  summary: 'Get the content of an NFC tag for a token',
  description:
    'An NDEF message with the address of its status and, if the tag has room, the token itself as `application/jwt`. A token that is no longer valid has none.',
  query: NfcQuery,
  response: { 200: NfcPayload },
  errors: ['token_not_active'],
  handler: ({ caller, params, query }, { tokens }: Services) =>
    tokens.nfcPayload(caller, params.tokenId, query.tag ?? 'ntag216'),
})

const tokenPass = route({
  ...shared,
  name: 'tokenPass',
  path: '/api/tokens/{tokenId}/pass',
  summary: 'Get a wallet pass for a token',
  description:
    'A file for Apple Wallet, or a signed link for Google Wallet. It shows neither subject nor claims; its QR code contains the token. 501 if the service has no certificates for passes. Counts as five requests.',
  cost: PASS_COST,
  query: PassQuery,
  produces: [PKPASS_TYPE, JSON_TYPE],
  response: { 200: GooglePass },
  errors: ['token_not_active', 'token_too_large', 'pass_signing_not_configured'],
  handler: async ({ caller, params, query }, { tokens }: Services) => {
    const pass = await tokens.pass(caller, params.tokenId, query.format)
    if (!(pass instanceof Uint8Array)) return new Reply(200, pass, { 'Content-Type': JSON_TYPE })
    return new Reply(200, pass, {
      'Content-Type': PKPASS_TYPE,
      'Content-Disposition': `attachment; filename="${params.tokenId}.pkpass"`,
    })
  },
})

export const tokenFormRoutes = [tokenQr, tokenNfcPayload, tokenPass]
