/** Passes of Apple Wallet: a signed archive of type application/vnd.apple.pkpass. @module */
import { iso } from '../../clock.ts'
import type { ApplePassSigner } from '../../config/passes.ts'
import type { PassFace } from './pass-face.ts'

/** A grey square of 87 by 87 pixels: Wallet refuses passes without an icon. */
const PLAIN_ICON = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAFcAAABXAQMAAABLBksvAAAAA1BMVEVYXGZ3CpTnAAAAEklEQVR42mNgGAWjYBSMAgQAAAQUAAFv7EqEAAAAAElFTkSuQmCC',
  'base64',
)

/** Loaded by whoever signs passes alone: 18 MiB with what it needs. */
const passkit = () => import('passkit-generator')

/** Loads what signs passes, which takes half a second, so that no request waits for it. */
export const loadApplePasses = async (): Promise<void> => {
  await passkit()
}

/** @returns the archive: pass.json, icons, a manifest of their SHA-1 digests and its CMS signature (RFC 5652) */
export const applePass = async (
  { passTypeIdentifier, teamIdentifier, organizationName, certificate, key, wwdr, icon }: ApplePassSigner,
  { tokenId, token, title, issuedAt, expiresAt, singleUse }: PassFace,
): Promise<Buffer> => {
  const { PKPass } = await passkit()
  const date = (key: string, label: string, unixMs: number) => ({
    key,
    label,
    value: iso(unixMs),
    dateStyle: 'PKDateStyleMedium',
    timeStyle: 'PKDateStyleShort',
  })
  const pass = {
    formatVersion: 1,
    passTypeIdentifier,
    teamIdentifier,
    organizationName,
    serialNumber: tokenId,
    description: title,
    expirationDate: iso(expiresAt),
    ...(singleUse && { sharingProhibited: true }),
    barcodes: [{ format: 'PKBarcodeFormatQR', message: token, messageEncoding: 'iso-8859-1' }],
    generic: {
      primaryFields: [{ key: 'title', value: title }],
      secondaryFields: [date('expires', 'Valid until', expiresAt)],
      backFields: [date('issued', 'Issued', issuedAt), { key: 'id', label: 'Token', value: tokenId }],
    },
  }
  const picture = icon ?? PLAIN_ICON
  const files = {
    'pass.json': Buffer.from(JSON.stringify(pass)),
    'icon.png': picture,
    'icon@2x.png': picture,
    'icon@3x.png': picture,
  }
  return new PKPass(files, { signerCert: certificate, signerKey: key, wwdr }).getAsBuffer()
}
