/**
 * A wallet in thirty lines: makes a key, proves that it has it, and gets a person's credential as an SD-JWT VC, as JSON.
 * Needs ASSAY_API_KEY or KEY, and ASSAY_URL where that is not http://127.0.0.1:8080. `npx tsx examples/wallet-credential.ts USER_ID`
 * @module
 */
import { createClient } from 'assay-client'

const assay = createClient({
  baseUrl: process.env.ASSAY_URL ?? 'http://127.0.0.1:8080',
  key: process.env.ASSAY_API_KEY ?? process.env.KEY ?? '',
})
const [userId = ''] = process.argv.slice(2)
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

// A real wallet keeps the private key in hardware, and shows credentials with it.
const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const { privateKey, publicKey } = await crypto.subtle.generateKey(ES256, false, ['sign', 'verify'])
const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey)
const jwk = { kty: 'EC', crv: 'P-256', x, y } as const

const { nonce, audience } = await assay.credentialNonce({ userId })
const header = { alg: 'ES256', typ: 'openid4vci-proof+jwt', jwk }
const signed = `${part(header)}.${part({ aud: audience, iat: Math.floor(Date.now() / 1000), nonce })}`
const signature = await crypto.subtle.sign(ES256, privateKey, Buffer.from(signed))

const credential = await assay.issuePersonCredential({
  userId,
  format: 'dc+sd-jwt',
  holder_jwk: jwk,
  proof_of_possession: `${signed}.${Buffer.from(signature).toString('base64url')}`,
})
console.log(JSON.stringify(credential))
