/**
 * The relay envelope by another road: canonical JSON written out from RFC 8785, signatures by node:crypto.
 * Slow and readable; shares no code with the product.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'

/** RFC 8785 §3.2: members sorted by UTF-16 units, numbers and strings as ECMAScript writes them. */
export const jcs = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    const byUnits = members.sort(([a], [b]) => {
      for (let i = 0; i < Math.min(a.length, b.length); i++)
        if (a.charCodeAt(i) !== b.charCodeAt(i)) return a.charCodeAt(i) - b.charCodeAt(i)
      return a.length - b.length
    })
    return `{${byUnits.map(([name, member]) => `${JSON.stringify(name)}:${jcs(member)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

const covered = (envelope: Record<string, unknown>): Buffer => {
  const { signature: _, ...rest } = envelope
  return Buffer.from(`agent-relay/1\n${jcs(rest)}`, 'utf8')
}

export const signReference = (unsigned: Record<string, unknown>, d: string): string => {
  const { x } = unsigned.key as { x: string }
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })
  return sign(null, covered(unsigned), key).toString('base64url')
}

export const verifyReference = (envelope: Record<string, unknown>): boolean => {
  const { x } = envelope.key as { x: string }
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, covered(envelope), key, Buffer.from(String(envelope.signature), 'base64url'))
}

export const fingerprintReference = (x: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(x, 'base64url')).digest('base64url')}`
