/** Requests that ML-DSA keys sign (C2SP httpsig-pq), held against what its document publishes. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import type { AgentRecord } from '../../../src/domain/agents/enrol/service.ts'
import type { FindKey } from '../../../src/domain/agents/trust/evidence/evidence.ts'
import {
  type HttpRequest,
  verifyHttpSignature,
} from '../../../src/domain/agents/trust/evidence/http-signature.ts'
import { readPublicKey } from '../../../src/keys/public-key.ts'
import { sharedApp } from '../../support/app.ts'
import { agentTrustOf, signedHttp } from '../../support/domain/agent-trust.ts'
import { agentRoutesOf, newAgentKey, newMlDsaKey } from '../../support/domain/agents.ts'

interface Vector {
  readonly alg: 'ML-DSA-44' | 'ML-DSA-65'
  readonly keyid: string
  readonly seed_hex: string
  readonly signature_input: string
  readonly base_sha256: string
  readonly public_key_sha256: string
  readonly signature_sha256: string
}

const VECTORS = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../vectors/http-signatures.json'), 'utf8'),
).httpsig_pq
const SCHEMES = { 'ML-DSA-44': ml_dsa44, 'ML-DSA-65': ml_dsa65 }

/** The base as RFC 9421 §2.5 has it, written out. */
const baseOf = ({ signature_input }: Vector): string =>
  [
    `"@method": ${VECTORS.method}`,
    `"@target-uri": ${VECTORS.url}`,
    `"host": ${VECTORS.headers.host}`,
    `"date": ${VECTORS.headers.date}`,
    `"@signature-params": ${signature_input.slice('sig1='.length)}`,
  ].join('\n')

/** Key and deterministic signature of a vector, made again from its seed. */
const madeFrom = (vector: Vector, base = baseOf(vector), context?: Uint8Array) => {
  const scheme = SCHEMES[vector.alg]
  const { publicKey, secretKey } = scheme.keygen(new Uint8Array(Buffer.from(vector.seed_hex, 'hex')))
  const options = { extraEntropy: false as const, ...(context && { context }) }
  return { publicKey, signature: scheme.sign(new Uint8Array(Buffer.from(base)), secretKey, options) }
}

const finderOf = (vector: Vector, publicKey: Uint8Array): FindKey => {
  const pub = Buffer.from(publicKey).toString('base64url')
  const key = readPublicKey({ kty: 'AKP', alg: vector.alg, pub })
  if (key === undefined) throw new Error('no key')
  return async (kid) =>
    kid === vector.keyid ? { publicKey: key, agent: { id: 'agt_1' } as AgentRecord } : 'KEY_UNKNOWN'
}

const requestOf = (
  input: string,
  signature: Uint8Array,
  change: Record<string, string> = {},
): HttpRequest => ({
  method: VECTORS.method,
  url: VECTORS.url,
  fields: Object.entries({
    ...VECTORS.headers,
    'signature-input': input,
    signature: `sig1=:${Buffer.from(signature).toString('base64')}:`,
    ...change,
  }).map(([name, value]) => ({ name, value: String(value) })),
  body: new Uint8Array(),
})

describe('post-quantum signatures of agents', () => {
  for (const vector of VECTORS.keys as Vector[])
    it(`of ${vector.alg} hold as C2SP publishes them, and not once anything is another`, async () => {
      const { signature_input: input } = vector
      const { publicKey, signature } = madeFrom(vector)
      expect(hash('sha256', baseOf(vector))).to.equal(vector.base_sha256)
      expect(hash('sha256', publicKey)).to.equal(vector.public_key_sha256)
      expect(hash('sha256', signature)).to.equal(vector.signature_sha256)
      const find = finderOf(vector, publicKey)
      const judge = (request: HttpRequest) => verifyHttpSignature(request, undefined, find)
      expect(await judge(requestOf(input, signature))).to.have.property('label', 'sig1')

      expect(await judge(requestOf(input, signature, { date: 'Mon, 06 Jul 2026 20:00:01 GMT' }))).to.equal(
        'SIGNATURE_INVALID',
      )
      const flipped = signature.with(0, (signature[0] ?? 0) ^ 1)
      for (const other of [flipped, signature.slice(1), new Uint8Array([...signature, 0])])
        expect(await judge(requestOf(input, other))).to.equal('SIGNATURE_INVALID')
      const { signature: inContext } = madeFrom(vector, baseOf(vector), new Uint8Array([1]))
      expect(await judge(requestOf(input, inContext))).to.equal('SIGNATURE_INVALID')
      const { signature: ofLine } = madeFrom(vector, `${baseOf(vector)}\n`)
      expect(await judge(requestOf(input, ofLine))).to.equal('SIGNATURE_INVALID')
      // The key says by what it signs, whatever the message says and whoever signed that.
      for (const alg of ['ml-dsa-44', 'ml-dsa-65', 'ml-dsa-87', 'ed25519', 'ML-DSA-44']) {
        if (alg === vector.alg.toLowerCase()) continue
        const stated = { ...vector, signature_input: input.replace(/alg=".*"/, `alg="${alg}"`) }
        const signed = madeFrom(vector, baseOf(stated)).signature
        expect(await judge(requestOf(stated.signature_input, signed)), alg).to.equal('ALG_MISMATCH')
      }
      const unstated = { ...vector, signature_input: input.replace(/;alg=".*"/, '') }
      const signed = madeFrom(vector, baseOf(unstated)).signature
      expect(await judge(requestOf(unstated.signature_input, signed))).to.have.property('key')
      const other = madeFrom({ ...vector, seed_hex: '00'.repeat(32) })
      expect(
        await verifyHttpSignature(requestOf(input, signature), undefined, finderOf(vector, other.publicKey)),
      ).to.equal('SIGNATURE_INVALID')
    })

  it('recognise an agent by its second key', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const agents = agentRoutesOf(app, apiKey)
    const [key, pqKey] = [await newAgentKey(), await newMlDsaKey()]
    const pending = await agents.pending(key, { public_key_pq: pqKey.jwk })
    const { body } = await agents.answer(pending, key, pqKey)
    expect(body.status).to.equal('active')
    const http = await signedHttp(pqKey, { url: `${app.url}/orders`, params: { alg: 'ml-dsa-44' } })
    const verdict = await agentTrustOf(app, apiKey).verify({ http })
    expect(verdict.body).to.deep.include({ verified: true, agent_id: body.agent_id, kid: pqKey.kid })
  })
})
