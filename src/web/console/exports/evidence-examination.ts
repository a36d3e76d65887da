/** Checks evidence in the browser: as `npx assay verify-evidence` does, with the keys that the service publishes now. @module */
import { createCore } from '../../../core/index.ts'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import { type Contents, checkLines, type Fault } from '../../../protocol/evidence/evidence-check.ts'
import { EVIDENCE_TYPE } from '../../../protocol/evidence/evidence-format.ts'
import { evidenceLines } from '../../../protocol/evidence/evidence-lines.ts'
import { openCrypto } from '../../crypto/crypto.ts'
import type { PageCrypto } from '../../crypto/page-crypto.ts'
import { askFile } from '../../http.ts'
import { readCheckpoint } from '../../result/checkpoint.ts'
import { type Finding, failed, passed, skipped } from '../../result/finding.ts'
import { JwsError, parseJws } from '../../result/jws.ts'
import { publishedLog } from '../../result/published.ts'
import { findKey, isSignedBy } from '../../result/result-checks.ts'
import type { TitledFinding } from '../parts/findings.tsx'
import { isArchive, readArchive } from './archive.ts'
import { piecesOf } from './download.ts'

const FAULTS: Readonly<Record<Fault, string>> = {
  NOT_EVIDENCE: 'It is no evidence, or in a form that is not known here',
  CUT_OFF: 'It ends before its manifest: the end was cut off',
  TRAILING_DATA: 'Something follows the manifest, which is the last line',
  CHAIN_BROKEN: 'A line was changed, moved, added or taken away',
  ROW_MISMATCH: 'A row is not of the window, or says something else than its entry',
  COUNT_MISMATCH: 'There are other rows than the manifest counts',
  ROOT_MISMATCH: 'An entry does not stand in the tree where the file says',
  MANIFEST_MISMATCH: 'The manifest is not what was signed',
}

/** What was found, and what the file says of itself once nothing is wrong with it. */
export interface Examination {
  readonly findings: readonly TitledFinding[]
  readonly complete?: boolean
  /** Why rows may be missing. */
  readonly gaps: readonly string[]
}

const NOT_FURTHER = skipped('There is no use in it while the lines are wrong.')
const NOT_SHOWN: TitledFinding = {
  title: 'What evidence can’t show',
  ...skipped('That a decision was right, and that nothing happened that was never committed.'),
}
const KEYS: TitledFinding = {
  title: 'Whose keys',
  ...skipped(
    'This browser took the keys from the service now. Keep /.well-known/jwks.json somewhere else, and check the file with npx assay verify-evidence: then the service can’t change its mind about its keys.',
  ),
}

const checkManifest = async ({ jws, manifest }: Contents, crypto: PageCrypto): Promise<Finding> => {
  const jwks: unknown = await (await askFile('/.well-known/jwks.json')).json()
  let read: ReturnType<typeof parseJws>
  try {
    read = parseJws(jws)
  } catch (error) {
    if (!(error instanceof JwsError)) throw error
    return failed(`The signature can’t be read: ${error.message}`)
  }
  if (canonicalJson(read.payload) !== canonicalJson(manifest))
    return failed('What was signed is another manifest.')
  if (read.header.alg !== 'EdDSA' || read.header.typ !== EVIDENCE_TYPE)
    return failed('It is a signature of another kind.')
  const key = findKey(read, jwks)
  if (key === undefined) return failed('The key that it names is none that the service publishes.')
  return (await isSignedBy(read, key, crypto))
    ? passed(`The service’s Ed25519 key ${read.header.kid} signed what all lines come to.`)
    : failed('The Ed25519 signature does not fit: something was changed, or somebody else signed it.')
}

const checkCheckpoint = async ({ header, manifest }: Contents, crypto: PageCrypto): Promise<Finding> => {
  const issuer = String(header.issuer)
  if (!URL.canParse(issuer)) return failed('The file does not say whose it is.')
  const name = new URL(issuer).host
  const tree = await readCheckpoint(manifest.checkpoint, await publishedLog.keys(), name, crypto)
  if (typeof tree === 'string') return failed(tree)
  return tree.size === manifest.treeSize && tree.root === manifest.root
    ? passed(`The log of ${name} signed the tree of ${tree.size} entries that these stand in.`)
    : failed('The signed checkpoint is of another tree.')
}

/**
 * @param tell is told how many bytes were looked at
 * @throws UnreachableError when the keys can't be had
 */
export const examineEvidence = async (file: Blob, tell: (bytes: number) => void): Promise<Examination> => {
  const core = createCore()
  let [bytes, lines] = [0, 0]
  const counted = async function* (stream: ReadableStream<Uint8Array>) {
    for await (const piece of piecesOf(stream)) {
      bytes += piece.length
      tell(bytes)
      yield piece
    }
  }
  const stream = (await isArchive(file)) ? await readArchive(file) : file.stream()
  const linesOf = async function* () {
    for await (const line of evidenceLines(counted(stream))) {
      lines++
      yield line
    }
  }
  const found = await checkLines(linesOf(), core.sha256)
  if ('fault' in found)
    return {
      findings: [
        { title: 'Lines and chain', ...failed(`${FAULTS[found.fault]} (line ${found.line}).`) },
        { title: 'Entries in the tree', ...NOT_FURTHER },
        { title: 'Signature of the manifest', ...NOT_FURTHER },
        { title: 'Checkpoint of the log', ...NOT_FURTHER },
      ],
      gaps: [],
    }
  const crypto = await openCrypto(globalThis.crypto.subtle)
  const { manifest, entries, rows } = found
  return {
    findings: [
      {
        title: 'Lines and chain',
        ...passed(
          `All ${lines} lines are linked to each other, ${rows} of them rows of the window: none was changed, moved, added or taken away.`,
        ),
      },
      {
        title: 'Entries in the tree',
        ...passed(
          `${entries} entries hash to their leaves, and stand in a tree of ${manifest.treeSize} where the file says.`,
        ),
      },
      { title: 'Signature of the manifest', ...(await checkManifest(found, crypto)) },
      { title: 'Checkpoint of the log', ...(await checkCheckpoint(found, crypto)) },
      KEYS,
      NOT_SHOWN,
    ],
    complete: manifest.complete === true,
    gaps: [
      ...(Array.isArray(manifest.gaps) ? manifest.gaps.map(String) : []),
      ...(manifest.limitReached === true ? ['LIMIT_REACHED'] : []),
    ],
  }
}
