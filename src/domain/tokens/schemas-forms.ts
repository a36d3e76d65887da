/** Wire shapes of the forms in which tokens are carried: QR code, NFC tag, pass. @module */
import Type, { type Static } from 'typebox'

export const QrQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['svg', 'png'], { description: 'Default: according to Accept, otherwise SVG.' }),
  ),
})

export const NfcQuery = Type.Object({
  tag: Type.Optional(
    Type.Enum(['ntag213', 'ntag215', 'ntag216'], {
      default: 'ntag216',
      description: 'The type of tag; capacity 144, 496 or 872 bytes.',
    }),
  ),
})
export type NfcQuery = Static<typeof NfcQuery>

const NfcRecord = Type.Object(
  {
    tnf: Type.Integer({ description: 'Type Name Format: 1 well-known, 2 media type.' }),
    type: Type.String({ description: '`U` for the address, `application/jwt` for the token.' }),
    payloadBytes: Type.Integer({ minimum: 0 }),
    uri: Type.Optional(Type.String()),
  },
  { title: 'NfcRecord' },
)

export const NfcPayload = Type.Object(
  {
    tokenId: Type.String(),
    ndefHex: Type.String({ description: 'The NDEF message, lower-case hex.' }),
    ndefBase64: Type.String({ description: 'The NDEF message, base64.' }),
    records: Type.Array(NfcRecord),
    size: Type.Integer({ minimum: 0, description: 'Size of the message in bytes.' }),
    tag: Type.String(),
    fitsTag: Type.Boolean({
      description:
        'Whether this message fits the tag. It contains the token if there is room, otherwise only the address.',
    }),
  },
  { title: 'NfcPayload' },
)
export type NfcPayload = Static<typeof NfcPayload>

export const PassQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['apple', 'google'], {
      description: 'Default: the format that the service can sign, Apple first.',
    }),
  ),
})
export type PassQuery = Static<typeof PassQuery>

export const GooglePass = Type.Object(
  {
    tokenId: Type.String(),
    jwt: Type.String({ description: 'JWT for "Add to Google Wallet" buttons and the API.' }),
    saveUrl: Type.String({ description: 'Address that opens the wallet and saves the pass.' }),
  },
  { title: 'GooglePass', description: 'Apple passes have the type application/vnd.apple.pkpass.' },
)
export type GooglePass = Static<typeof GooglePass>
