/** What stands in requests: heads, bodies, and what they carry. @module */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentDigestFault } from '../../../../src/domain/agents/trust/evidence/content-digest.ts'
import { verifyHttpSignature } from '../../../../src/domain/agents/trust/evidence/http-signature.ts'
import { readSignatureAgent } from '../../../../src/domain/agents/trust/evidence/signature-agent.ts'
import { readEnvelope } from '../../../../src/domain/chat/envelopes/envelope-form.ts'
import { nameSkeleton } from '../../../../src/domain/chat/names/names.ts'
import { readContent } from '../../../../src/domain/chat/posts/content.ts'
import { readStamp } from '../../../../src/domain/event-log/rows.ts'
import { readDocument } from '../../../../src/domain/hermes/document.ts'
import { readTokenCookies } from '../../../../src/domain/hybrid-tokens/cookies.ts'
import { readZone } from '../../../../src/domain/kyc/machine-readable-zone.ts'
import { parseTimestamp } from '../../../../src/domain/payments/presented.ts'
import { isSigned, TICKET_TYP } from '../../../../src/domain/tickets/payload.ts'
import { readPresented, TOKEN_TYP } from '../../../../src/domain/tokens/presented.ts'
import { AppError } from '../../../../src/errors.ts'
import { prefers } from '../../../../src/http/accept.ts'
import { readCredentials } from '../../../../src/http/auth.ts'
import { addressBlock, createClientAddress } from '../../../../src/http/connections/client-address.ts'
import { parseJson } from '../../../../src/http/input/json.ts'
import { parseQuery } from '../../../../src/http/input/query.ts'
import { parseExact, readInexact, scanJson } from '../../../../src/json/exact-numbers.ts'
import { readDateTime } from '../../../../src/json/moments.ts'
import type { Jwk } from '../../../../src/keys/jwks.ts'
import { readPublicKey } from '../../../../src/keys/public-key.ts'
import { isObject } from '../../../../src/protocol/json-object.ts'
import { writeJws } from '../../../../src/protocol/jws.ts'
import { decide } from '../../../../src/rules/evaluate.ts'
import { parseFieldPath, valueAt } from '../../../../src/rules/field-path.ts'
import { parseRules } from '../../../../src/rules/tree.ts'
import { ofJson, ofText, type Parser, promise } from '../parser.ts'

const vector = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../vectors', name), 'utf8'))

const { rfc9421_b26: SIGNED, keys: SIGNERS, web_bot_auth: BOTS } = vector('http-signatures.json')
const { d: _private, ...SIGNER } = SIGNERS['test-key-ed25519']
const SIGNER_KEY = readPublicKey(SIGNER)
if (SIGNER_KEY === undefined) throw new Error('the key of RFC 9421 is none')

const JWK = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }) as Jwk
const SIGNERS_OF_ALL = { publicKey: async () => JWK }
const jwsOf = (typ: string): string =>
  writeJws({ alg: 'EdDSA', kid: 'k', typ }, { exp: 1, jti: 'a' }, () => new Uint8Array(64))

const clientAddress = createClientAddress(['127.0.0.1/32', '10.0.0.0/8', '::1'])

const HEADERS = { socket: { remoteAddress: '127.0.0.1' } }
const DATA = { age: 36, name: 'Ada', tags: ['a', 'b'], address: { country: 'GB' }, born: '1990-01-31', '': 1 }
const RULES = [
  { field: 'age', op: 'gte', value: 18 },
  { field: 'name', op: 'matches', value: '^[A-Z][a-z]{1,20}$' },
  { field: 'address.country', op: 'in', value: ['GB', 'FR'] },
  { field: '/tags/0', op: 'exists' },
]

export const REQUESTS: readonly Parser[] = [
  ...[
    ['bodies', false, false],
    ['bodies whose shape is open', true, false],
    ['bodies with exact numbers', true, true],
  ].map(
    ([name, open, exact]): Parser => ({
      name: String(name),
      seeds: [
        '{"a":{"b":[1,2.5,-0,1e3,"x\\u00e9",null,true]},"n":9007199254740993}',
        '[[[]]]',
        '"\\ud83d\\ude00"',
      ],
      refusesWith: [AppError],
      parse: (input) => parseJson(input, open === true, exact === true),
    }),
  ),
  {
    name: 'JSON with exact numbers',
    seeds: ['{"a":[1,0.1,9007199254740993,1e400,-1e-400,123456789012345678901234567890]}'],
    // As JSON.parse and decoders throw.
    refusesWith: [SyntaxError, TypeError],
    parse(input) {
      const scan = scanJson(input, { depth: 64, values: 200_000 })
      if ('exceeds' in scan) return
      parseExact(
        input,
        scan.doubtful.flatMap((start) => readInexact(input, start) ?? []),
      )
    },
  },
  {
    name: 'answers of targets',
    seeds: ['{"members":[{"id":1,"level":"gold","since":"2020-01-31"}],"n":12345678901234567890}'],
    refusesWith: [AppError],
    parse: readDocument,
  },
  ofText(
    'queries',
    ['a=1&b=%20x&a=2&c', 'from=2026-01-31&to=2026-02-01T00%3A00%3A00Z', 'q=%F0%9F%98%80+x'],
    parseQuery,
    [AppError],
  ),
  ofText('moments', ['2026-01-31', '2026-01-31T08:00:00.123456Z', '2026-01-31t08:00:00+01:00'], (text) => {
    readDateTime(text)
    parseTimestamp(text)
    parseTimestamp(Number(text))
  }),
  ofText(
    'Authorization',
    ['Bearer ak_live_0123456789', 'bearer  x ', 'Basic eDp5'],
    (authorization) =>
      readCredentials({ headers: { authorization, 'x-api-key': 'ak_live_0123456789' }, rawHeaders: [] }),
    [AppError],
  ),
  ofText(
    'Cookie',
    ['assay_session=abc; assay_ht_0=%7B%22a%22%3A1%7D', 'a=b;assay_ht_0=%7B;assay_ht_1=%7D'],
    (cookie) => {
      readCredentials({ headers: { cookie }, rawHeaders: [] })
      readTokenCookies(cookie)
    },
  ),
  ofText(
    'Accept',
    [
      'text/html,application/xhtml+xml,*/*;q=0.8',
      'application/openmetrics-text;version=1.0.0;q=0.5;escaping=allow',
    ],
    (accept) => prefers(accept, ['text/html', 'image/png'], 'application/json'),
  ),
  ofText(
    'X-Forwarded-For',
    ['203.0.113.9, 10.0.0.1', '::ffff:203.0.113.9, [::1]:80', 'fe80::1%eth0.1'],
    (value) => {
      const address = clientAddress({ ...HEADERS, headers: { 'x-forwarded-for': value } } as never)
      addressBlock(address)
    },
  ),
  ofText(
    'Content-Digest',
    [SIGNED.headers['content-digest'], 'sha-256=:AA==:, sha-512=:AA==:, md5=:AA==:'],
    (field) => contentDigestFault(field, Buffer.from(SIGNED.body)),
  ),
  ofText(
    'Signature-Agent',
    ['"https://signature-agent.test"', 'sig1="https://a.example", sig2="https://b.example";x=1'],
    (field) => {
      for (const parameters of [{}, { key: 'sig1' }])
        readSignatureAgent(field, 'sig1', [{ name: 'signature-agent', parameters }] as never)
    },
  ),
  ofJson(
    'HTTP message signatures',
    [
      SIGNED.headers,
      ...BOTS.slice(0, 2).map((bot: Record<string, string>) => ({
        signature: bot.signature,
        'signature-input': bot.signature_input,
        host: 'example.com',
      })),
    ],
    (headers) => {
      if (!isObject(headers)) return undefined
      const fields = Object.entries(headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [{ name, value }] : [],
      )
      const request = { method: SIGNED.method, url: SIGNED.url, fields, body: Buffer.from(SIGNED.body) }
      return verifyHttpSignature(request, undefined, async () => ({ publicKey: SIGNER_KEY }))
    },
  ),
  ofJson(
    'public keys',
    [
      SIGNER,
      SIGNERS['test-key-ecc-p256'],
      { kty: 'EC', crv: 'P-256', x: SIGNERS['test-key-ecc-p256'].x, y: SIGNERS['test-key-ecc-p256'].y },
      { kty: 'AKP', alg: 'ML-DSA-44', pub: 'A'.repeat(1750) },
    ],
    (jwk) => {
      const key = readPublicKey(jwk)
      if (key) promise(key.verify(Buffer.from('a'), new Uint8Array(64)) === false, 'no key verifies zeros')
    },
  ),
  ofJson(
    'envelopes',
    vector('agent-relay.json').vectors.map((one: { envelope: object }) => one.envelope),
    readEnvelope,
    [AppError],
  ),
  ofJson(
    'posts of the chat',
    [
      {
        agent_name: 'Ada',
        text: 'What did you find? https://a.example',
        model: 'm',
        topic: 't',
        reply_to: 7,
      },
      { agent_name: 'Ádá', text: '{"kty":"OKP","d":"eyJhbGciOiJFZERTQSJ9.eyJhIjoxfQ.x"}' },
    ],
    (input) => {
      const { agentName } = readContent(input)
      nameSkeleton(agentName)
    },
    [AppError],
  ),
  ofJson(
    'rules',
    [
      { rules: RULES },
      { logic: { op: 'AND', children: [RULES[0], { op: 'NOT', child: { op: 'OR', children: RULES } }] } },
    ],
    (value) => {
      if (isObject(value)) decide(parseRules(value.rules, value.logic), DATA)
    },
    [AppError],
  ),
  ofText('field paths', ['address.country', '/address/country~1x~0', 'a\\.b.c\\\\d'], (text) => {
    const path = parseFieldPath(text)
    if (path) valueAt(DATA, path)
  }),
  ofText(
    'machine-readable zones',
    vector('icao-9303.json').zones.map(({ lines }: { lines: string[] }) => lines.join('\n')),
    readZone,
  ),
  ofText('tickets', [jwsOf(TICKET_TYP)], (text) => isSigned(SIGNERS_OF_ALL, text)),
  ofText('tokens', [jwsOf(TOKEN_TYP)], async (text) => {
    const presented = await readPresented(SIGNERS_OF_ALL, text)
    if ('isSigned' in presented) presented.isSigned()
  }),
  {
    name: 'lines of the event log',
    seeds: ['{"at":1,"organisation":"org_1","index":7,"type":"prove"}'],
    parse: readStamp,
  },
]
