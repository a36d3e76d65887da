/** Wire shapes of the forms in which tokens are carried: QR code, NFC tag, pass. @module */
import Type, { type Static } from 'typebox'

export const QrQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['svg', 'png'], { description: 'Default: by Accept, and SVG where that does not say.' }),
  ),
})

export const NfcQuery = Type.Object({
  tag: Type.Optional(
    Type.Enum(['ntag213', 'ntag215', 'ntag216'], {
      default: 'ntag216',
      description: 'The tag that is written; room for 144, 496 or 872 bytes.',
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
    ndefBase64: Type.String({ description: 'The same, in base64.' }),
    records: Type.Array(NfcRecord),
    size: Type.Integer({ minimum: 0, description: 'Bytes of the message.' }),
    tag: Type.String(),
    fitsTag: Type.Boolean({
      description:
        'Whether this message fits the tag. It holds the token too where there is room, else the address alone.',
    }),
  },
  { title: 'NfcPayload' },
)
export type NfcPayload = Static<typeof NfcPayload>

export const PassQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['apple', 'google'], { description: 'Default: what the service can sign, Apple first.' }),
  ),
})
export type PassQuery = Static<typeof PassQuery>

export const GooglePass = Type.Object(
  {
    tokenId: Type.String(),
    jwt: Type.String({ description: 'For "Add to Google Wallet" buttons and the API.' }),
    saveUrl: Type.String({ description: 'Opens the wallet and saves the pass.' }),
  },
  { title: 'GooglePass', description: 'Passes of Apple are of type application/vnd.apple.pkpass.' },
)
export type GooglePass = Static<typeof GooglePass>
