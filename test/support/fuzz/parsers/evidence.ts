/** Evidence as files hold it: lines, what chains them, archives of them. @module */
import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import { canonicalJson } from '../../../../src/protocol/canonical-json.ts'
import { checkLines } from '../../../../src/protocol/evidence/evidence-check.ts'
import {
  CHAIN_START,
  EVIDENCE_ENTRY,
  EVIDENCE_FORMAT,
  EVIDENCE_TYPE,
  INSTRUCTIONS_ENTRY,
} from '../../../../src/protocol/evidence/evidence-format.ts'
import { EvidenceFileError, evidenceLines } from '../../../../src/protocol/evidence/evidence-lines.ts'
import { checkSignatures } from '../../../../src/protocol/evidence/evidence-signatures.ts'
import { rebuildTree } from '../../../../src/protocol/evidence/subset-proof.ts'
import { writeJws } from '../../../../src/protocol/jws.ts'
import { headIn, readLoggedHead } from '../../../../src/protocol/log-heads.ts'
import { type Sha256, treeHashing } from '../../../../src/protocol/merkle-proofs.ts'
import { readArchive } from '../../../../src/web/check/archive.ts'
import { isEvidence } from '../../../../src/web/check/recognise.ts'
import { ofJson, ofText, type Parser, promise } from '../parser.ts'

const sha256: Sha256 = (message) => hash('sha256', message, 'buffer')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Not a divisor of anything, so that pieces end in the middle of everything. */
const PIECE_BYTES = 997
/** Of an archive that unpacks to more, no more is read. */
const MAX_UNPACKED_BYTES = 1024 * 1024

const KID = 'k'.repeat(43)
const ORGANISATION = 'org_01kahnq7x8e4w3v5f6t2s9r0pm'
const ISSUER = 'https://assay.example'

/** An entry of the ledger, as text. */
const entryAt = (index: number, at: string): string =>
  JSON.stringify({
    v: 1,
    id: `e${index}`,
    ts: Date.parse(at),
    org: ORGANISATION,
    type: 'prove',
    digest: null,
    data: {},
  })

/** Header, leaf and fact of two entries, a request, manifest: unchained. */
const rowsOf = (): Record<string, unknown>[] => {
  const tree = rebuildTree(sha256)
  const rows = [0, 2].flatMap((index) => {
    const at = `2026-01-0${index + 1}T00:00:00.000Z`
    const entry = entryAt(index, at)
    const leafHash = sha256(`\0${entry}`)
    const between = index === 0 ? [] : [sha256('the one between')]
    tree.skip(index, between)
    tree.add(leafHash)
    const fields = {
      at,
      organisationId: ORGANISATION,
      index,
      leafHash: hex(leafHash),
      digest: null,
      keyId: null,
      circuitId: 'kyc',
    }
    return [
      { type: 'merkle.leaf', ...fields, auditEvent: 'prove', between: between.map(hex), entry },
      { type: 'prove', ...fields },
    ]
  })
  const after = [sha256('the last')]
  tree.skip(4, after)
  const root = tree.root()
  const checkpoint = `assay.example\n4\n${Buffer.from(root).toString('base64')}\n\n— assay.example ${'A'.repeat(92)}\n`
  const manifest = {
    type: 'manifest',
    treeSize: 4,
    root: hex(root),
    checkpoint,
    after: after.map(hex),
    rows: 5,
    counts: { 'merkle.leaf': 2, prove: 2, request: 1 },
    chain: '',
  }
  return [
    {
      type: 'header',
      format: EVIDENCE_FORMAT,
      issuer: ISSUER,
      organisationId: ORGANISATION,
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-02-01T00:00:00.000Z',
    },
    ...rows,
    {
      type: 'request',
      at: '2026-01-04T00:00:00.000Z',
      organisationId: ORGANISATION,
      route: '/verify',
      status: 200,
    },
    manifest,
  ]
}

/** A JWS over the manifest, or over nothing where it has no canonical JSON. */
const signed = (manifest: object): string => {
  const over = (payload: object) =>
    writeJws({ alg: 'EdDSA', kid: KID, typ: EVIDENCE_TYPE }, { ...payload }, () => new Uint8Array(64))
  try {
    return over(manifest)
  } catch {
    return over({})
  }
}

/** Lines with the chain that they must have, and a manifest that is signed as it is. */
const chained = (rows: readonly object[]): string[] => {
  let link = CHAIN_START
  return rows.map((row) => {
    const text = JSON.stringify(row)
    if (!text.startsWith('{"type":"manifest",')) {
      const unclosed = text.slice(0, -1)
      link = hex(sha256(link + unclosed))
      return `${unclosed},"chain":"${link}"}`
    }
    const manifest = { ...row, chain: link }
    return JSON.stringify({ ...manifest, jws: signed(manifest) })
  })
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

async function* atMost(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > MAX_UNPACKED_BYTES) return
    yield piece
  }
}

/** As pages and `verify-evidence` do; that signatures are right is taken for granted. */
const check = async (lines: AsyncIterable<string>): Promise<void> => {
  const contents = await checkLines(lines, sha256)
  if ('fault' in contents) return
  const key = { kid: KID, kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }
  await checkSignatures(contents, { keys: [key], verifyEd25519: () => true })
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

const isObjects = (value: unknown): value is object[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one))

const ROWS = rowsOf()
const LINES = chained(ROWS)
const NDJSON = `${LINES.join('\n')}\n`
const [FIRST = '', ...BODY] = LINES
const DOCUMENT = `{"header":${FIRST},"rows":[\n${BODY.slice(0, -1).join(',\n')}\n],"manifest":${BODY.at(-1)}}`

const archived = async (compress: boolean): Promise<Buffer> => {
  const zip = new ZipFile()
  zip.addBuffer(Buffer.from('How to check this.'), INSTRUCTIONS_ENTRY, { compress })
  zip.addBuffer(Buffer.from(NDJSON), EVIDENCE_ENTRY, { compress })
  zip.end()
  return buffer(zip.outputStream)
}

const HEAD = canonicalJson({
  ...{ v: 1, id: 'e1', ts: 0, org: 'log', type: 'ledger.head', actor: null, subject: null, salt: 's' },
  data: { log: 1, root: 'ab'.repeat(32), size: 3 },
})
const HASHING = treeHashing(sha256)

export const EVIDENCE: readonly Parser[] = [
  ofJson(
    'heads of logs',
    [{ entry: HEAD, index: 1, hashes: ['ab'.repeat(32)], checkpoint: 'x' }],
    (value) => {
      const read = readLoggedHead(value)
      if (read) headIn(read, { size: 2, root: new Uint8Array(32) }, HASHING)
    },
  ),
  ofText('entries that say a head', [HEAD], (entry) => {
    const said = headIn({ entry, index: 0, hashes: [] }, { size: 1, root: HASHING.leafHash(entry) }, HASHING)
    if (said)
      promise(said.log > 0 && said.size > 0 && said.root.length === 32, 'a head is of another log than 0')
  }),
  {
    name: 'evidence',
    seeds: [NDJSON, DOCUMENT],
    refusesWith: [EvidenceFileError],
    parse: (input) => check(evidenceLines(piecesOf(input))),
  },
  ofJson('evidence, chained anew', [ROWS, ROWS.slice(0, 2), [ROWS[0], ROWS.at(-1)]], (rows) =>
    isObjects(rows) ? check(each(chained(rows))) : undefined,
  ),
  {
    name: 'archives of evidence',
    seeds: [await archived(true), await archived(false)],
    refusesWith: [EvidenceFileError],
    async parse(input) {
      const file = new Blob([input as Uint8Array<ArrayBuffer>])
      await isEvidence(file)
      await check(evidenceLines(atMost(await readArchive(file))))
    },
  },
]
