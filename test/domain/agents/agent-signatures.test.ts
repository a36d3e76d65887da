/** Signatures of agents by themselves: the published examples, and what becomes of altered ones. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { AgentRecord } from '../../../src/domain/agents/enrol/service.ts'
import { contentDigestFault } from '../../../src/domain/agents/trust/evidence/content-digest.ts'
import { type FindKey, nonceFault, timeFaults } from '../../../src/domain/agents/trust/evidence/evidence.ts'
import { readHttpEvidence } from '../../../src/domain/agents/trust/evidence/http-evidence.ts'
import {
  type HttpRequest,
  verifyHttpSignature,
} from '../../../src/domain/agents/trust/evidence/http-signature.ts'
import { readJwsEvidence } from '../../../src/domain/agents/trust/evidence/jws-evidence.ts'
import { EVIDENCE_REASON_CODES } from '../../../src/domain/agents/trust/reasons.ts'
import { readPublicKey } from '../../../src/keys/public-key.ts'
import { agentJws, signedHttp } from '../../support/domain/agent-trust.ts'
import { type AgentKey, agentKeyOf, newAgentKey } from '../../support/domain/agents.ts'
import { rejection } from '../../support/rejection.ts'

const VECTORS = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../vectors/http-signatures.json'), 'utf8'),
)
const URL_OF_AGENT = 'https://shop.example/orders?page=1'

interface Message {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

const requestOf = ({ method, url, headers, body = '' }: Message): HttpRequest => ({
  method,
  url,
  fields: Object.entries(headers).map(([name, value]) => ({ name, value })),
  body: Buffer.from(body),
})

const keyNamed = (name: string): Promise<AgentKey> =>
  agentKeyOf(createPrivateKey({ key: VECTORS.keys[name], format: 'jwk' }))

/** Knows one key, by these names. */
const finder =
  ({ jwk }: AgentKey, ...names: string[]): FindKey =>
  async (kid) => {
    const publicKey = await readPublicKey(jwk)
    if (publicKey === undefined) throw new Error('no key')
    return names.includes(String(kid)) ? { publicKey, agent: { id: 'agt_1' } as AgentRecord } : 'KEY_UNKNOWN'
  }

describe('signatures of agents', () => {
  let key: AgentKey
  let findKey: FindKey
  before(async () => {
    key = await newAgentKey()
    findKey = finder(key, key.kid)
  })
  const judge = async (message: Message, now = Date.now()) =>
    (
      await readHttpEvidence(
        requestOf(message),
        { audience: 'shop.example', now: Math.floor(now / 1000) },
        findKey,
      )
    ).reasons

  it('verify as RFC 9421 B.2.6 publishes one of Ed25519, which says too little to count', async () => {
    const request = requestOf(VECTORS.rfc9421_b26)
    const find = finder(await keyNamed('test-key-ed25519'), 'test-key-ed25519')
    expect(await verifyHttpSignature(request, undefined, find)).to.have.property('signature')
    const { reasons, signed } = await readHttpEvidence(
      request,
      { audience: 'example.com', now: 1618884480 },
      find,
    )
    expect(reasons).to.deep.equal(['EXPIRES_MISSING', 'NONCE_MISSING', 'TAG_MISSING', 'DIGEST_UNCOVERED'])
    expect(signed).to.equal(undefined)
  })

  it('verify as RFC 9421 B.2.4 publishes one of ECDSA P-256', async () => {
    const { base, signature, content_digest, body } = VECTORS.rfc9421_b24
    const p256 = await readPublicKey((await keyNamed('test-key-ecc-p256')).jwk)
    expect(p256?.verify(Buffer.from(base), Buffer.from(signature, 'base64'))).to.equal(true)
    expect(p256?.verify(Buffer.from(`${base} `), Buffer.from(signature, 'base64'))).to.equal(false)
    expect(contentDigestFault(content_digest, Buffer.from(body))).to.equal(undefined)
  })

  it('verify as Web Bot Auth publishes them: for up to 24 hours by bots, for longer and by agents not', async () => {
    const published = await keyNamed('test-key-ed25519')
    const find = finder(published, published.kid)
    const publicKey = (await readPublicKey(published.jwk)) ?? expect.fail('no key')
    const findPublished: FindKey = async () => ({ publicKey })
    expect(VECTORS.web_bot_auth).to.have.length(4)
    for (const vector of VECTORS.web_bot_auth) {
      const message = {
        method: 'GET',
        url: vector.target_url,
        headers: {
          'signature-input': vector.signature_input,
          signature: vector.signature,
          ...(vector.signature_agent && { 'signature-agent': vector.signature_agent }),
        },
      }
      const at = async (seconds: number, findKey = find) =>
        (
          await readHttpEvidence(
            requestOf(message),
            { audience: 'https://example.com', now: seconds, tag: 'web-bot-auth' },
            findKey,
          )
        ).reasons
      const created = vector.created_ms / 1000
      const isLong = vector.expires_ms - vector.created_ms > 24 * 3600 * 1000
      expect(await at(created, findPublished)).to.deep.equal(isLong ? ['WINDOW_INVALID'] : [])
      expect(await at(created)).to.deep.equal(['WINDOW_INVALID'])
      expect(await at(created - 31)).to.deep.equal(['NOT_YET_VALID', 'WINDOW_INVALID'])
      expect(await at(vector.expires_ms / 1000)).to.deep.equal(['SIGNATURE_EXPIRED', 'WINDOW_INVALID'])
    }
  })

  it('of Ed25519 and P-256 keys hold, and name every rule that they break', async () => {
    expect(await judge(await signedHttp(key, { url: URL_OF_AGENT }))).to.deep.equal([])
    const p256 = await newAgentKey('P-256')
    const message = await signedHttp(p256, { url: URL_OF_AGENT, body: '{"a":1}' })
    const { reasons, signed } = await readHttpEvidence(
      requestOf(message),
      { audience: 'https://shop.example', now: Math.floor(Date.now() / 1000) },
      finder(p256, p256.kid),
    )
    expect([reasons, signed]).to.deep.equal([[], { a: 1 }])
    const now = Math.floor(Date.now() / 1000)
    const bad = await signedHttp(key, {
      url: 'https://other.example/',
      headers: { 'signature-agent': '"https://agent.example"' },
      fields: ['@method'],
      params: { created: now + 60, expires: now - 1, nonce: 'c2hvcnQ', tag: 'other' },
    })
    expect(await judge(bad)).to.deep.equal([
      'AUTHORITY_UNCOVERED',
      'SIGNATURE_AGENT_UNCOVERED',
      'AUDIENCE_MISMATCH',
      'NOT_YET_VALID',
      'SIGNATURE_EXPIRED',
      'WINDOW_INVALID',
      'NONCE_WEAK',
      'TAG_UNKNOWN',
    ])
    const bare = { created: undefined, expires: undefined, nonce: undefined, tag: undefined }
    expect(await judge(await signedHttp(key, { url: URL_OF_AGENT, params: bare }))).to.deep.equal([
      'CREATED_MISSING',
      'EXPIRES_MISSING',
      'NONCE_MISSING',
      'TAG_MISSING',
    ])
    const paying = { url: URL_OF_AGENT, params: { tag: 'agent-payer-auth' }, fields: ['@authority'] }
    expect(await judge(await signedHttp(key, paying))).to.deep.equal(['PATH_UNCOVERED'])
  })

  it('take the host from the URL and never from a Host field, default ports being none', async () => {
    const at = async (url: string, headers = {}) => judge(await signedHttp(key, { url, headers }))
    expect(await at('https://shop.example:443/')).to.deep.equal([])
    expect(await at('http://SHOP.example:80/')).to.deep.equal([])
    expect(await at('https://shop.example:8443/')).to.deep.equal(['AUDIENCE_MISMATCH'])
    expect(await at('https://evil.example/', { host: 'shop.example' })).to.deep.equal(['AUDIENCE_MISMATCH'])
  })

  it('use the algorithm of the key, whatever the message says', async () => {
    const stated = (alg: string) => signedHttp(key, { url: URL_OF_AGENT, params: { alg } })
    expect(await judge(await stated('ed25519'))).to.deep.equal([])
    expect(await judge(await stated('ecdsa-p256-sha256'))).to.deep.equal(['ALG_MISMATCH'])
    expect(await judge(await stated('hmac-sha256'))).to.deep.equal(['ALG_MISMATCH'])
  })

  it('that are missing, ambiguous, of unknown keys or not understood are refused with a reason', async () => {
    const good = await signedHttp(key, { url: URL_OF_AGENT })
    const withHeaders = (headers: Record<string, string>) => judge({ ...good, headers })
    const input = good.headers['Signature-Input'] ?? ''
    const signature = good.headers.Signature ?? ''
    expect(await withHeaders({})).to.deep.equal(['SIGNATURE_MISSING'])
    expect(await withHeaders({ signature })).to.deep.equal(['SIGNATURE_MISSING'])
    expect(await withHeaders({ signature, 'signature-input': 'sig1=(' })).to.deep.equal([
      'SIGNATURE_MALFORMED',
    ])
    expect(await withHeaders({ signature: 'sig2=:AA==:', 'signature-input': input })).to.deep.equal([
      'SIGNATURE_MALFORMED',
    ])
    expect(
      await withHeaders({
        signature,
        'signature-input': input.replace('"@method"', '"@query-param";name="a"'),
      }),
    ).to.deep.equal(['COMPONENT_UNSUPPORTED'])
    expect(
      await withHeaders({ signature, 'signature-input': input.replace('"@method"', '"x-none"') }),
    ).to.deep.equal(['COMPONENT_MISSING'])
    const other = input.replace(key.kid, (await newAgentKey()).kid)
    expect(await withHeaders({ signature, 'signature-input': other })).to.deep.equal(['KEY_UNKNOWN'])
    const two = {
      signature: `${signature}, ${signature.replace('sig1', 'sig2')}`,
      'signature-input': `${input}, ${input.replace('sig1', 'sig2')}`,
    }
    expect(await withHeaders(two)).to.deep.equal(['SIGNATURE_AMBIGUOUS'])
    const tagged = { ...two, 'signature-input': `${input}, sig2=();tag="another"` }
    expect(await withHeaders(tagged)).to.deep.equal([])
    expect(await judge({ ...good, method: 'POST' })).to.deep.equal(['SIGNATURE_INVALID'])
  })

  it('cover at most 32 components, of fields with at most 32 spaces in a row, so that none takes long to judge', async () => {
    const covering = async (count: number) => {
      const names = Array.from({ length: count - 1 }, (_, index) => `x-${index}`)
      const headers = Object.fromEntries(names.map((name) => [name, 'a']))
      return judge(await signedHttp(key, { url: URL_OF_AGENT, headers, fields: ['@authority', ...names] }))
    }
    expect(await covering(32)).to.deep.equal([])
    expect(await covering(33)).to.deep.equal(['COMPONENT_UNSUPPORTED'])
    const spaced = async (spaces: string) =>
      judge(await signedHttp(key, { url: URL_OF_AGENT, headers: { other: `a${spaces}b` } }))
    expect(await spaced(' '.repeat(32))).to.deep.equal([])
    expect(await spaced(' '.repeat(33))).to.deep.equal(['SIGNATURE_MALFORMED'])
    expect(await spaced('\t'.repeat(33))).to.deep.equal(['SIGNATURE_MALFORMED'])
  })

  it('of requests with a body cover its digest', async () => {
    const body = '{"a":1}'
    const good = await signedHttp(key, { url: URL_OF_AGENT, body })
    expect(await judge(good)).to.deep.equal([])
    expect(await judge({ ...good, body: '{"a":2}' })).to.deep.equal(['DIGEST_MISMATCH'])
    const { body: _, ...withoutBody } = good
    expect(await judge(withoutBody)).to.deep.equal(['BODY_MISSING'])
    const uncovered = await signedHttp(key, { url: URL_OF_AGENT, body, fields: ['@authority'] })
    expect(await judge(uncovered)).to.deep.equal(['DIGEST_UNCOVERED'])
  })

  it('say as RFC 9530 what the content hashes to', () => {
    const content = Buffer.from('{"hello": "world"}\n')
    const sha256 = 'sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:'
    expect(contentDigestFault(sha256, content)).to.equal(undefined)
    expect(contentDigestFault(`md5=:AAAA:, ${sha256}`, content)).to.equal(undefined)
    expect(
      contentDigestFault(`${sha256}, sha-512=:${Buffer.alloc(64).toString('base64')}:`, content),
    ).to.equal('DIGEST_MISMATCH')
    for (const field of ['', 'md5=:AAAA:', 'sha-256=:AAAA:', 'sha-256=1', 'sha-256=(:AAAA:)', '=,'])
      expect(contentDigestFault(field, content), field).to.equal('DIGEST_MALFORMED')
  })

  it('have nonces of 16 to 192 bytes and windows of 1 to 480 seconds', () => {
    const nonceOf = (bytes: number) => nonceFault(Buffer.alloc(bytes, 7).toString('base64'))
    expect([15, 16, 192, 193].map(nonceOf)).to.deep.equal(['NONCE_WEAK', undefined, undefined, 'NONCE_WEAK'])
    expect([undefined, '', 5].map(nonceFault)).to.deep.equal(Array(3).fill('NONCE_MISSING'))
    expect(nonceFault('not base64 at all, but long enough')).to.equal('NONCE_WEAK')
    const window = (seconds: number) => timeFaults(1000, 1000 + seconds, 1000)
    expect([0, 1, 480, 481].map(window)).to.deep.equal([
      ['SIGNATURE_EXPIRED', 'WINDOW_INVALID'],
      [],
      [],
      ['WINDOW_INVALID'],
    ])
    const day = (seconds: number) => timeFaults(1000, 1000 + seconds, 1000, 24 * 3600)
    expect([86_400, 86_401].map(day)).to.deep.equal([[], ['WINDOW_INVALID']])
    expect(timeFaults(1030, 1100, 1000)).to.deep.equal([])
    expect(timeFaults(1031, 1100, 1000)).to.deep.equal(['NOT_YET_VALID'])
    expect(timeFaults(900, 1000, 1000)).to.deep.equal(['SIGNATURE_EXPIRED'])
    expect(timeFaults('1000', 1000.5, 1000)).to.deep.equal(['CREATED_MISSING', 'EXPIRES_MISSING'])
  })

  it('never hold once anything is altered, and fail with a reason whatever is sent', async () => {
    const good = await signedHttp(key, { url: URL_OF_AGENT, body: '{"a":1}' })
    const names = ['Signature', 'Signature-Input', 'content-digest'] as const
    const edits = fc.record({
      name: fc.constantFrom(...names),
      at: fc.nat(400),
      cut: fc.nat(3),
      put: fc.string({ unit: fc.constantFrom(...'a";,=():*?1@\\%\n é'), maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(edits, async ({ name, at, cut, put }) => {
        const text = good.headers[name] ?? ''
        const start = at % text.length
        const altered = text.slice(0, start) + put + text.slice(start + cut)
        const reasons = await judge({ ...good, headers: { ...good.headers, [name]: altered } })
        expect(reasons.every((reason) => EVIDENCE_REASON_CODES.includes(reason))).to.equal(true)
        // White space between members is no part of what they say, nor are spare bits of base64.
        const plain = (value: string) => value.replaceAll(/[ \n]/g, '')
        const bytes = (value: string) =>
          Buffer.from(/^sig1=:(.*):$/.exec(value)?.[1] ?? '', 'base64').toString('hex')
        const same =
          plain(altered) === plain(text) || (bytes(altered) !== '' && bytes(altered) === bytes(text))
        if (!same) expect(reasons, altered).not.to.deep.equal([])
      }),
      { numRuns: 300 },
    )
  })

  it('that nobody can look up for want of a database are an error and no verdict', async () => {
    const message = await signedHttp(key, { url: URL_OF_AGENT })
    const broken: FindKey = async () => {
      throw new Error('database gone')
    }
    const outcome = verifyHttpSignature(requestOf(message), undefined, broken)
    expect((await rejection(outcome)).message).to.equal('database gone')
  })

  it('in a JWS count by header, key, audience, time and nonce', async () => {
    const reasonsOf = async (claims: object, header: object = {}, signer = key) =>
      (
        await readJwsEvidence(
          agentJws(signer, 'https://a.example', claims, header),
          { typ: 'agent-proof+jws', audience: 'https://a.example', now: Math.floor(Date.now() / 1000) },
          finder(signer, signer.kid),
        )
      ).reasons
    expect(await reasonsOf({})).to.deep.equal([])
    expect(await reasonsOf({}, { alg: 'Ed25519' })).to.deep.equal([])
    expect(await reasonsOf({}, {}, await newAgentKey('P-256'))).to.deep.equal([])
    expect(await reasonsOf({ aud: ['https://b.example', 'https://a.example'] })).to.deep.equal([])
    expect(await reasonsOf({ aud: 'https://b.example' })).to.deep.equal(['AUDIENCE_MISMATCH'])
    expect(await reasonsOf({ nonce: undefined, jti: 'AAAAAAAAAAAAAAAAAAAAAA' })).to.deep.equal([])
    expect(await reasonsOf({ nonce: undefined, iat: undefined, exp: '9' })).to.deep.equal([
      'CREATED_MISSING',
      'EXPIRES_MISSING',
      'NONCE_MISSING',
    ])
    for (const header of [{ typ: 'JWT' }, { crit: ['x'] }, { jku: 'https://x' }, { kid: undefined }])
      expect(await reasonsOf({}, header), JSON.stringify(header)).to.deep.equal(['HEADER_REFUSED'])
    for (const alg of ['none', 'HS256', 'ES256'])
      expect(await reasonsOf({}, { alg }), alg).to.deep.equal(['ALG_MISMATCH'])
    expect(await reasonsOf({}, { kid: 'x' })).to.deep.equal(['KEY_UNKNOWN'])
  })
})
