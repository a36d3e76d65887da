/** What a stranger can check of a result: by jose against the served keys, by snarkjs' own program against the served one. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { compactVerify, createLocalJWKSet, importJWK, type JSONWebKeySet } from 'jose'
import { createField } from '../../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../../src/core/poseidon-tags.ts'
import type { VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { decodeZk1 } from '../../../src/protocol/zk1.ts'
import { contextElement, encodeValue, h248 } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { rejection } from '../../support/rejection.ts'
import { DATA, RESULT_TYP, verified } from '../../support/verification.ts'

const SNARKJS = fileURLToPath(new URL('./build/cli.cjs', import.meta.resolve('snarkjs')))
const RULES = [{ field: 'age', op: 'gte', value: 18 }]

const committed = (value: bigint, salt: bigint): bigint =>
  createField().poseidon(POSEIDON_TAGS.COMMITMENT, [value, salt])

interface Payload {
  readonly data_commitment: string
  readonly digest: string
  readonly exp: number
}

describe('what a result lets others check', () => {
  let app: TestApp
  let owner: TestOrganisation
  let keys: JSONWebKeySet
  let result: VerificationResult
  let payload: Payload
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    keys = (await app.request<JSONWebKeySet>('GET', '/.well-known/jwks.json')).body
    const options = { rules: RULES, ttl: 600, nonce: 'n-1' }
    result = await verified(app, owner.apiKey, { data: DATA, options })
    payload = JSON.parse(Buffer.from(result.jws.split('.')[1] ?? '', 'base64url').toString())
  })

  const check = (jws: string) => compactVerify(jws, createLocalJWKSet(keys), { algorithms: ['EdDSA'] })

  it('the JWS verifies against the published keys, and says what the result says', async () => {
    const { protectedHeader, payload: bytes } = await check(result.jws)
    expect(protectedHeader).to.deep.equal({ alg: 'EdDSA', kid: result.kid, typ: RESULT_TYP })
    const iat = Math.floor(Date.parse(result.timestamp) / 1000)
    expect(JSON.parse(new TextDecoder().decode(bytes))).to.deep.equal({
      iss: app.url,
      question: result.rulesHash,
      jti: result.verificationId,
      iat,
      exp: iat + 600,
      digest: result.digest,
      data_commitment: payload.data_commitment,
      decision: 'YES',
      circuit_id: 'yesno',
      org: owner.organisationId,
      leaf_hash: result.merkleLeafHash,
    })
  })

  it('no bit of the JWS can be flipped', async () => {
    const [header = '', body = '', signature = ''] = result.jws.split('.')
    const parts = [header, body, signature].map((part) => Buffer.from(part, 'base64url'))
    for (const [place, part] of parts.entries()) {
      for (let byte = 0; byte < part.length; byte++) {
        const forged = parts.map((bytes) => Buffer.from(bytes))
        const target = forged[place] as Buffer
        target[byte] = (target[byte] ?? 0) ^ (1 << (byte % 8))
        await rejection(check(forged.map((bytes) => bytes.toString('base64url')).join('.')))
      }
    }
  })

  it('the signature covers the five fields of the result, and is for nothing else', async () => {
    const jwk = keys.keys.find(({ kid }) => kid === result.kid)
    const key = (await importJWK({ ...jwk }, 'EdDSA')) as CryptoKey
    const { verificationId, timestamp, digest, decision, circuitId } = result
    const covers = (label: string, fields: object) => {
      const bytes = Buffer.from(`${label}\n${canonicalize(fields)}`)
      return crypto.subtle.verify('Ed25519', key, Buffer.from(result.signature, 'base64url'), bytes)
    }
    const fields = { verificationId, timestamp, digest, decision, circuitId }
    expect(await covers('verification/1', fields)).to.equal(true)
    expect(await covers('verification/1', { ...fields, decision: 'NO' })).to.equal(false)
    expect(await covers('hermes/1', fields)).to.equal(false)
  })

  it('the digest is that of the public signals, and the signals are those of what was asked', () => {
    const decoded = decodeZk1(result.proof)
    const [decision, , commitment, op, operand, , ctx] = decoded?.publicSignals ?? []
    const hasher = createHash('sha256').update('digest/1yesno')
    for (const signal of decoded?.publicSignals ?? []) {
      hasher.update(Buffer.from(BigInt(signal).toString(16).padStart(64, '0'), 'hex'))
    }
    expect(hasher.digest('hex')).to.equal(result.digest)
    expect([decision, op, operand]).to.deep.equal(['1', '5', String(encodeValue(18))])
    const statement = {
      data_commitment: payload.data_commitment,
      rules_hash: createHash('sha256')
        .update(canonicalize({ rules: RULES }) ?? '')
        .digest('hex'),
    }
    expect(result.rulesHash).to.equal(statement.rules_hash)
    const context = {
      aud: app.url,
      org: owner.organisationId,
      circuit: 'yesno',
      nonce: 'n-1',
      exp: payload.exp,
    }
    expect(ctx).to.equal(String(contextElement({ ...context, statement })))
    expect(ctx).not.to.equal(String(contextElement({ ...context, statement, nonce: 'n-2' })))
    // Whoever has the salt can open the commitment inside the proof as well.
    const salt = Buffer.concat([Buffer.from('circuit-salt/1'), Buffer.from(result.salt, 'base64url')])
    expect(commitment).to.equal(String(committed(encodeValue(DATA.age), h248(salt))))
  })

  for (const circuit of ['yesno', 'eligibility', 'composite', 'simple_yesno'] as const) {
    it(`snarkjs' own program accepts a ${circuit} proof with the published key, and no other signals`, async () => {
      const options = { rules: RULES, circuit_id: circuit }
      const { proof: text } = await verified(app, owner.apiKey, { data: DATA, options })
      const decoded = decodeZk1(text)
      if (decoded === undefined) throw new Error('the proof can not be read')
      const { body: key } = await app.request<object>('GET', `/api/circuits/${circuit}/vkey`)
      const directory = await mkdtemp(join(tmpdir(), 'assay-proof-'))
      try {
        const file = (name: string) => join(directory, name)
        const accepts = async (publicSignals: readonly string[]): Promise<boolean> => {
          await writeFile(file('public.json'), JSON.stringify(publicSignals))
          const files = ['vkey.json', 'public.json', 'proof.json'].map(file)
          return promisify(execFile)(process.execPath, [SNARKJS, 'groth16', 'verify', ...files]).then(
            ({ stdout }) => stdout.includes('OK!'),
            () => false,
          )
        }
        await writeFile(file('vkey.json'), JSON.stringify(key))
        await writeFile(file('proof.json'), JSON.stringify(decoded.proof))
        expect(await accepts(decoded.publicSignals)).to.equal(true)
        const [decision, ...others] = decoded.publicSignals
        expect(await accepts([decision === '1' ? '0' : '1', ...others])).to.equal(false)
      } finally {
        await rm(directory, { recursive: true })
      }
    })
  }
})
