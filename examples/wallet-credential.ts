/**
 * A wallet in thirty lines: makes a key, proves that it has it, and gets a person's credential as an SD-JWT VC, as JSON.
 * Needs ASSAY_API_KEY or KEY, and ASSAY_URL where that is not http://127.0.0.1:8080. `npx tsx examples/wallet-credential.ts USER_ID`
 * @module
 */
const url = process.env.ASSAY_URL ?? 'http://127.0.0.1:8080'
const key = process.env.ASSAY_API_KEY ?? process.env.KEY ?? ''
const [userId = ''] = process.argv.slice(2)

const post = async (path: string, body: object = {}): Promise<Record<string, string>> => {
  const answer = await fetch(`${url}/api/kyc/${encodeURIComponent(userId)}/credential${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Record<string, string>
}
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

// A real wallet keeps the private key in hardware, and shows credentials with it.
const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const { privateKey, publicKey } = await crypto.subtle.generateKey(ES256, false, ['sign', 'verify'])
const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
const jwk = { kty, crv, x, y }

const { nonce, audience } = await post('/nonce')
const header = { alg: 'ES256', typ: 'openid4vci-proof+jwt', jwk }
const signed = `${part(header)}.${part({ aud: audience, iat: Math.floor(Date.now() / 1000), nonce })}`
const signature = await crypto.subtle.sign(ES256, privateKey, Buffer.from(signed))

const credential = await post('', {
  format: 'dc+sd-jwt',
  holder_jwk: jwk,
  proof_of_possession: `${signed}.${Buffer.from(signature).toString('base64url')}`,
})
console.log(JSON.stringify(credential))
