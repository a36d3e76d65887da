/**
 * Hybrid tokens: signing and verifying both halves beside node:crypto and @noble/post-quantum alone and a JWT by jose, in
 * turns within one process; then issuing and validating over HTTP beside the JWT routes of the same server. Needs PostgreSQL
 * at DATABASE_URL, by default 127.0.0.1:5432 as user postgres. `npx tsx bench/tokens.ts`
 * @module
 */
import { createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { jwtVerify, SignJWT } from 'jose'
import { systemClock } from '../src/clock.ts'
import { checkSignature } from '../src/domain/hybrid-tokens/signatures.ts'
import { createSealing } from '../src/keys/sealing.ts'
import { createSigners, type Signers } from '../src/keys/signers.ts'
import {
  HYBRID_TOKEN_CONTEXT,
  type HybridContent,
  type HybridToken,
  hybridSigningBytes,
  readHybridToken,
} from '../src/protocol/hybrid-token.ts'
import { openDatabase } from '../src/store/database.ts'
import { clientOf, ok } from '../test/support/client.ts'
import { quantile, requestBytes, runLoad } from '../test/support/servers/http-load.ts'
import { startBenchServer } from './support/bench-server.ts'
import { type Row, report } from './support/interleaved.ts'
import { compareByProcessorTime, median, micros } from './support/processor-time.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'

const TURNS = Number(process.env.BENCH_TURNS ?? 61)
const SLICES = Number(process.env.BENCH_SLICES ?? 3)
const SLICE_MS = 1500
const CONNECTIONS = 8
/**
 * A token read from JSON, keys looked up and read, both signatures verified, against the two verifications alone, by the
 * libraries called bare with their keys at hand.
 */
const GOAL_OF_VERIFY = 0.75
/** What verifying a token may keep everybody else waiting. */
const MAX_VERIFY_MS = 10

const rows: Row[] = []
const compare = compareByProcessorTime(rows, TURNS, 5)

const content = (alg_pq: HybridContent['alg_pq'], kids: readonly [string, string]): HybridContent => ({
  token_id: 'hyt_01kahnq7x8e4w3v5f6t2s9r0pm',
  subject: 'member-7',
  claims: { decision: 1, level: 'gold' },
  alg_classical: 'Ed25519',
  alg_pq,
  verification_policy: 'hybrid_required',
  iat: 1_760_000_000,
  exp: 1_760_000_300,
  kid_classical: kids[0],
  kid_pq: kids[1],
})

const compareSignatures = async (signers: Signers): Promise<void> => {
  const ed = generateKeyPairSync('ed25519')
  const edKey = createPublicKey(ed.privateKey)
  const deps = { signers, registeredKeys: { find: async () => undefined }, baseUrl: 'http://assay.example' }
  const jwt = () =>
    new SignJWT({ level: 'gold' }).setProtectedHeader({ alg: 'EdDSA' }).setSubject('x').sign(ed.privateKey)
  const text = await jwt()
  for (const [name, alg, scheme] of [
    ['Dilithium2', 'ML-DSA-44', ml_dsa44],
    ['Dilithium3', 'ML-DSA-65', ml_dsa65],
  ] as const) {
    const [classical, pq] = await Promise.all([
      signers.current('tokens', 'Ed25519'),
      signers.postQuantum('tokens', alg),
    ])
    const { publicKey, secretKey } = scheme.keygen(new Uint8Array(randomBytes(32)))
    const drafted = content(name, [classical.kid, pq.kid])
    const message = hybridSigningBytes(drafted)
    const context = { context: HYBRID_TOKEN_CONTEXT }
    const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
    const issue = async (): Promise<HybridToken> => {
      const bytes = hybridSigningBytes(drafted)
      return {
        ...drafted,
        sig_classical: encode(classical.sign(bytes)),
        sig_pq: encode(await pq.sign(bytes, HYBRID_TOKEN_CONTEXT)),
      }
    }
    await compare(`sign both, ${name}`, [
      { name: 'ours', run: issue },
      { name: `@noble/post-quantum ${alg} alone`, run: () => scheme.sign(message, secretKey, context) },
      { name: 'node:crypto Ed25519 alone', run: () => sign(null, message, ed.privateKey) },
      { name: 'jose, a JWT by EdDSA', run: jwt },
    ])
    const token = await issue()
    const [pqSignature, edSignature] = [
      scheme.sign(message, secretKey, context),
      sign(null, message, ed.privateKey),
    ]
    const verifyPq = () => scheme.verify(pqSignature, message, publicKey, context)
    const verifyEd = () => verify(null, message, edKey, edSignature)
    const json = JSON.stringify(token)
    const check = async () => {
      const read = readHybridToken(JSON.parse(json))
      if ('fault' in read) throw new Error(read.fault)
      const bytes = hybridSigningBytes(read.token)
      for (const half of ['classical', 'pq'] as const) {
        const checked = await checkSignature(deps, 'org', read.token, bytes, half)
        if ('fault' in checked) throw new Error(checked.fault)
      }
    }
    const took = await compare(`verify both, ${name}`, [
      { name: 'ours', run: check },
      {
        name: `@noble/post-quantum ${alg} and node:crypto Ed25519`,
        goal: GOAL_OF_VERIFY,
        run: () => {
          if (!verifyPq() || !verifyEd()) throw new Error('a library refuses its own signature')
        },
      },
      { name: `@noble/post-quantum ${alg} alone`, run: verifyPq },
      { name: 'node:crypto Ed25519 alone', run: verifyEd },
      { name: 'jose, a JWT by EdDSA', run: () => jwtVerify(text, ed.publicKey) },
    ])
    rows.push({
      what: `verify both, ${name}`,
      ours: micros(took),
      peer: 'of the thread that serves everybody',
      theirs: '',
      ratio: '',
      mustReach: `≤ ${MAX_VERIFY_MS} ms`,
      ok: took <= MAX_VERIFY_MS,
    })
  }
}

/** Requests a second of the routes in turns, the JWT's beside those of hybrid tokens. */
const compareRoutes = async (databaseUrl: string): Promise<void> => {
  const { server, key } = await startBenchServer(databaseUrl)
  try {
    const post = <T>(path: string, body: object): Promise<T> =>
      ok(clientOf(server.url), 'POST', path, { key, body })
    const asked = { subject: 'member-7', claims: { decision: 1 } }
    const hybrid = { ...asked, alg_pq: 'Dilithium2', exp: Math.floor(systemClock.now() / 1000) + 3600 }
    const plain = { ...asked, ttl: 3600 }
    const { token } = await post<{ token: string }>('/api/tokens/generate', plain)
    const made = await post('/v1/tokens/generate-quantum-safe', hybrid)
    const load = async (path: string, body: object, expected: string) => {
      const request = requestBytes(path, JSON.stringify(body), { 'X-API-Key': key })
      const result = await runLoad({
        port: Number(new URL(server.url).port),
        connections: CONNECTIONS,
        next: () => request,
        expected,
        milliseconds: SLICE_MS,
      })
      if (result.unexpected > 0) throw new Error(`${path} answered ${result.example}`)
      return { rate: result.answers / result.seconds, p99: quantile(result.latencies, 0.99) }
    }
    for (const [what, ours, theirs] of [
      [
        'issue over HTTP',
        () => load('/v1/tokens/generate-quantum-safe', hybrid, '"token_id"'),
        () => load('/api/tokens/generate', plain, '"tokenId"'),
      ],
      [
        'validate over HTTP',
        () => load('/v1/tokens/validate-quantum-safe', { token: made }, '"valid":true'),
        () => load('/api/tokens/validate', { token }, '"valid":true'),
      ],
    ] as const) {
      const pairs: { own: Awaited<ReturnType<typeof ours>>; peer: Awaited<ReturnType<typeof theirs>> }[] = []
      for (let slice = 0; slice < SLICES; slice++) pairs.push({ own: await ours(), peer: await theirs() })
      const rateOf = ({ rate, p99 }: { rate: number; p99: number }) =>
        `${rate.toFixed(0)}/s, p99 ${p99.toFixed(0)} ms`
      const middle = pairs[pairs.length >> 1] as (typeof pairs)[number]
      rows.push({
        what: `${what}, Dilithium2, ${CONNECTIONS} connections`,
        ours: rateOf(middle.own),
        peer: 'the route for JWTs',
        theirs: rateOf(middle.peer),
        ratio: `${median(pairs.map(({ own, peer }) => own.rate / peer.rate)).toFixed(2)}×`,
        mustReach: '',
        ok: true,
      })
    }
  } finally {
    await server.close()
  }
}

const database = await openDatabase({ dataDir: 'memory' })
try {
  const sealing = createSealing(randomBytes(32))
  await compareSignatures(await createSigners({ database, sealing, clock: systemClock }))
} finally {
  await database.close()
}
await measureInScratchDatabase('tokens', async (databaseUrl) => {
  await compareRoutes(databaseUrl)
  report(rows)
  return rows.every(({ ok }) => ok)
})
