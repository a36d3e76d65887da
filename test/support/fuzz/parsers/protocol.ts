/** What terminals, agents, wallets, witnesses and readers of the log hand over. @module */
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import ndef from 'ndef'
import { createCore } from '../../../../src/core/index.ts'
import { canonicalJson } from '../../../../src/protocol/canonical-json.ts'
import {
  readAddCheckpoint,
  readSize,
  writeAddCheckpoint,
} from '../../../../src/protocol/checkpoint/add-checkpoint.ts'
import { readNote, signaturesBy } from '../../../../src/protocol/checkpoint/note.ts'
import { checkedVerifierKey, verifierKey } from '../../../../src/protocol/checkpoint/signed-note.ts'
import { readWitnessPolicy, WitnessPolicyError } from '../../../../src/protocol/checkpoint/witness-policy.ts'
import { readReceiptAnswer } from '../../../../src/protocol/consent/receipt.ts'
import { hybridSigningBytes, readHybridToken, readSignature } from '../../../../src/protocol/hybrid-token.ts'
import { isObject } from '../../../../src/protocol/json-object.ts'
import { readJws, writeJws } from '../../../../src/protocol/jws.ts'
import { foldConsistency, foldInclusion } from '../../../../src/protocol/merkle-proofs.ts'
import { encodeNdef, mediaRecord, uriRecord } from '../../../../src/protocol/ndef.ts'
import {
  compactOf,
  looksLikeCardNumber,
  parseProof,
  transactionIdFor,
} from '../../../../src/protocol/payment-proof.ts'
import { STATUS_LIST_ENTRIES } from '../../../../src/protocol/status.ts'
import {
  type ExpectedStatusList,
  readStatusList,
  STATUS_LIST_TYP,
} from '../../../../src/protocol/status-list.ts'
import { PairingError, pairingAddress, readPairing } from '../../../../src/protocol/terminal-pairing.ts'
import { signWebhook, verifyWebhook } from '../../../../src/protocol/webhook/webhook.ts'
import { decodeZk1, encodeZk1 } from '../../../../src/protocol/zk1.ts'
import { createPqWitness, createWitness } from '../../witnesses.ts'
import { ofJson, ofText, type Parser, promise, textOf, utf16 } from '../parser.ts'

const vector = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../vectors', name), 'utf8'))

const core = createCore()
const HASH_BYTES = 32
const ISSUER = 'https://assay.example'
/** Unix seconds. */
const NOW = 1_800_000_000

const [PROOF] = vector('payment-proof.json').vectors as [{ compact: string; stored: string }]
const [SNARK] = vector('zk1.json').vectors as [
  { proof: Parameters<typeof encodeZk1>[0]; publicSignals?: string[] },
]
const ZK1 = encodeZk1(SNARK.proof, SNARK.publicSignals ?? ['1', '0'])
const WEBHOOK = vector('webhook.json') as {
  secret: string
  timestamp: number
  delivery_id: string
  event: string
  raw_body: string
}

const JWS = writeJws({ alg: 'EdDSA', kid: 'k1', typ: 'qt+jwt' }, { exp: NOW, jti: 'a', o: 'é' }, () =>
  new Uint8Array(64).fill(7),
)

const NOTE_TEXT = `assay.example\n7\n${Buffer.alloc(32, 1).toString('base64')}\n\n`
const WITNESS = createWitness('w1.example')
const PQ_WITNESS = createPqWitness('w2.example')
const LOG = createWitness('assay.example', 1)
const NOTE = NOTE_TEXT + LOG.cosign(NOTE_TEXT) + WITNESS.cosign(NOTE_TEXT)
const KEYS = [LOG, WITNESS, PQ_WITNESS].flatMap(({ key }) => checkedVerifierKey(key) ?? [])
const POLICY = [
  `log ${LOG.key} ${ISSUER}`,
  `witness a ${WITNESS.key} https://w1.example/`,
  `witness b ${PQ_WITNESS.key}`,
  'group both all a b',
  'group any any both',
  'quorum any',
].join('\n')

const HYBRID = {
  token_id: 'hyt_01kahnq7x8e4w3v5f6t2s9r0pm',
  subject: 'Zoë "1"',
  claims: { level: 'gold', decision: 1, b: [1, null], a: { z: 1.5e21 } },
  alg_classical: 'Ed25519',
  alg_pq: 'Dilithium2',
  verification_policy: 'hybrid_required',
  iat: NOW,
  exp: NOW + 300,
  kid_classical: 'A'.repeat(43),
  kid_pq: 'B'.repeat(43),
  sig_classical: 'A'.repeat(86),
  sig_pq: 'BBBB',
  signed_by: 'service',
}

const RECEIPT = {
  events: [
    {
      event_time: '2026-01-01T00:00:00.000Z',
      event_state: 'consent_given',
      validity_duration: 'PT86400.5S',
    },
  ],
}

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const JWK = { ...(publicKey.export({ format: 'jwk' }) as { kty: string; x: string; y: string }), kid: 'k1' }
const EXPECTED: ExpectedStatusList = { keys: { keys: [JWK] }, issuer: ISSUER, list: 3, now: NOW }
const statusListToken = (lst: string): string =>
  writeJws(
    { alg: 'ES256', kid: 'k1', typ: STATUS_LIST_TYP },
    {
      iss: ISSUER,
      sub: `${ISSUER}/status/3`,
      iat: NOW,
      exp: NOW + 300,
      ttl: 60,
      status_list: { bits: 1, lst },
    },
    (covered) => sign('sha256', covered, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  )
const LIST = deflateSync(Buffer.alloc(STATUS_LIST_ENTRIES / 8, 5))

const PAIRING = {
  terminalId: 'ter_1',
  terminalSecret: 'secret',
  apiKey: 'ak_live_1',
  merchantId: 'mer_1',
  label: 'Till é',
}

/** Index, sizes and hashes out of bytes. */
const merkle = (input: Buffer): void => {
  const at = (place: number): number =>
    input.length >= place + 6 ? input.readUIntBE(place, 6) : (input[place] ?? 0)
  const [index, size, earlier] = [at(0) % 2 ** 20, at(6), at(12) % 2 ** 20]
  const hashes: Buffer[] = []
  for (let from = 18; from + HASH_BYTES <= input.length; from += HASH_BYTES)
    hashes.push(input.subarray(from, from + HASH_BYTES))
  const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
    core.sha256(Buffer.concat([left, right]))
  const leaf = Buffer.alloc(HASH_BYTES)
  for (const place of [index, at(0)]) foldInclusion(leaf, place, size, hashes, nodeHash)
  for (const before of [earlier, at(12)]) foldConsistency(before, size, leaf, hashes, nodeHash)
}

const proofInput = (...numbers: readonly number[]): Buffer => {
  const head = Buffer.alloc(18)
  numbers.forEach((number, i) => {
    head.writeUIntBE(number, 6 * i, 6)
  })
  return Buffer.concat([head, Buffer.alloc(3 * HASH_BYTES, 9)])
}

export const PROTOCOL: readonly Parser[] = [
  ofText('payment proofs', [PROOF.compact, PROOF.stored], (text) => {
    const proof = parseProof(text)
    looksLikeCardNumber(text)
    transactionIdFor(text)
    if (!proof.ok) return
    promise(core.base64urlEncode(proof.bytes) === text, 'a proof has one text')
    promise(parseProof(compactOf(proof)).ok, 'a proof has a compact form')
  }),
  ofText('zk1', [ZK1], (text) => {
    const read = decodeZk1(text)
    if (read) promise(encodeZk1(read.proof, read.publicSignals) === text, 'a proof has one text')
  }),
  ofText('compact JWS', [JWS], (text) => {
    const read = readJws(text)
    if (read)
      promise(text.startsWith(Buffer.from(read.covered).toString()), 'what is covered stands in the text')
  }),
  ofText('signed notes', [NOTE, NOTE + PQ_WITNESS.cosign(NOTE_TEXT)], (text) => {
    const note = readNote(text)
    if (note === undefined) return
    promise(
      text.startsWith(`${note.text}\n`) && note.root.length === HASH_BYTES,
      'a note begins with its text',
    )
    for (const key of KEYS) signaturesBy(note, key)
  }),
  ofText('verifier keys', KEYS.map(verifierKey), (text) => {
    const key = checkedVerifierKey(text)
    if (key)
      promise(
        checkedVerifierKey(verifierKey(key)) !== undefined,
        'a key that was read is written so that it is read',
      )
  }),
  ofText(
    'checkpoints for witnesses',
    [
      writeAddCheckpoint({ oldSize: 3, proof: [Buffer.alloc(32, 1), Buffer.alloc(32, 2)], note: NOTE }),
      '7\n',
    ],
    (text) => {
      readAddCheckpoint(text)
      readSize(text)
    },
  ),
  ofText(
    'witness policies',
    [POLICY, `${WITNESS.key}\n${PQ_WITNESS.key}\n`, 'quorum none'],
    readWitnessPolicy,
    [WitnessPolicyError],
  ),
  ofJson('hybrid tokens', [HYBRID], (value) => {
    const read = readHybridToken(value)
    if ('fault' in read) return
    // What was read is signed for sure, unless a text in it has no UTF-8.
    if (
      Buffer.from(JSON.stringify(value)).toString() === JSON.stringify(value) &&
      !/\\ud/.test(JSON.stringify(value))
    )
      hybridSigningBytes(read.token)
    readSignature(read.token.alg_classical, read.token.sig_classical)
    readSignature(read.token.alg_pq, read.token.sig_pq)
  }),
  ofJson(
    'what receipts of consents answer',
    [RECEIPT, { events: [{ event_state: 'consent_refused' }] }],
    (value) => {
      if (!isObject(value)) return
      const { endsAt } = readReceiptAnswer(value) ?? {}
      promise(endsAt === undefined || Number.isSafeInteger(endsAt), 'an end is a time')
    },
  ),
  ofText('status list tokens', [statusListToken(LIST.toString('base64url'))], (text) =>
    readStatusList(text, EXPECTED),
  ),
  {
    name: 'lists in status list tokens',
    seeds: [LIST, deflateSync(Buffer.alloc(1_000_000)).subarray(0, 1100)],
    async parse(input) {
      const read = await readStatusList(statusListToken(input.toString('base64url')), EXPECTED)
      if ('statusList' in read) read.statusList.isSet(STATUS_LIST_ENTRIES - 1)
    },
  },
  {
    name: 'NDEF messages',
    seeds: ['https://www.example.org/a', 'http://127.0.0.1/é', utf16('\ud800')],
    parse(input) {
      const message = encodeNdef([uriRecord(textOf(input)), mediaRecord('application/jwt', input)])
      const [uri, media, ...more] = ndef.decodeMessage([...message])
      promise(uri !== undefined && more.length === 0, 'a message has two records')
      promise(media !== undefined && Buffer.from(media.payload).equals(input), 'a payload comes back')
    },
  },
  ofText(
    'pairing codes',
    [pairingAddress(ISSUER, PAIRING), pairingAddress('https://other.example', PAIRING)],
    (text) => readPairing(text, ISSUER),
    [PairingError],
  ),
  {
    name: 'bodies of webhooks',
    seeds: [WEBHOOK.raw_body],
    parse(rawBody) {
      const { secret, timestamp, delivery_id: deliveryId, event } = WEBHOOK
      const headers = signWebhook({ secret, timestamp, deliveryId, event, rawBody: textOf(rawBody) })
      verifyWebhook({ rawBody, headers, secret, now: timestamp * 1000 })
      verifyWebhook({ rawBody: textOf(rawBody), headers, secret, now: timestamp * 1000 })
    },
  },
  ofJson(
    'headers of webhooks',
    [signWebhook({ ...WEBHOOK, deliveryId: WEBHOOK.delivery_id, rawBody: WEBHOOK.raw_body })],
    (headers) => {
      const { secret, timestamp, raw_body: rawBody } = WEBHOOK
      if (isObject(headers))
        verifyWebhook({ rawBody, headers: headers as never, secret, now: timestamp * 1000 })
    },
  ),
  ofJson(
    'canonical JSON',
    [HYBRID, [1e21, -0, 'é\u2028', { b: 1, a: [] }]],
    (value) => {
      const text = canonicalJson(value)
      promise(canonicalJson(JSON.parse(text)) === text, 'canonical JSON is that of itself')
    },
    [TypeError],
  ),
  {
    name: 'Merkle proofs',
    seeds: [proofInput(3, 7, 4), proofInput(0, 1, 1), proofInput(2 ** 20, 2 ** 47, 8)],
    parse: merkle,
  },
]
