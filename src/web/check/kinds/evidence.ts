/** Evidence files: read as a stream, however large; chain, rows and tree first, then who signed them. @module */
import { createCore } from '../../../core/index.ts'
import { readNote } from '../../../protocol/checkpoint/note.ts'
import { type Contents, checkLines, type Fault } from '../../../protocol/evidence/evidence-check.ts'
import { evidenceLines } from '../../../protocol/evidence/evidence-lines.ts'
import {
  checkCheckpoint,
  checkManifest,
  needsHead,
  type SignatureFault,
  type Verifier,
  witnessedCheckpoint,
} from '../../../protocol/evidence/evidence-signatures.ts'
import { isArchive, readArchive } from '../archive.ts'
import { piecesOf, unreadable } from '../file.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, type Fact, type Found, leave, pass, refuse, visible } from '../report.ts'
import { ownLogChecks } from './checkpoint.ts'
import { witnessChecks } from './witnesses.ts'

const WHAT = 'Evidence file'
const CONTENT = 'Chain, rows and tree'
const MANIFEST = 'Signature of the manifest'
const CHECKPOINT = 'Checkpoint of the tree'
const HEAD = 'Head in log 0'
const ISSUER = 'Issuer'
const COMPLETE = 'Completeness'

const FAULTS: Readonly<Record<Fault, string>> = {
  NOT_EVIDENCE: 'It is no evidence, or in a form that is not known',
  CUT_OFF: 'It ends before its manifest',
  TRAILING_DATA: 'Something follows the manifest',
  CHAIN_BROKEN: 'A line was changed, added, moved or removed',
  ROW_MISMATCH: 'A row is not of its window and organisation, or says something else than its entry',
  COUNT_MISMATCH: 'The rows are not those that the manifest counts',
  ROOT_MISMATCH: 'Entries don’t stand in the tree where the file says',
  LOG_UNKNOWN: 'It names a log that there can’t be, or a row is of another log than the file',
  MANIFEST_MISMATCH: 'The manifest is not what was signed',
}

const SIGNATURE_FAULTS: Readonly<Record<SignatureFault, string>> = {
  MANIFEST_MISMATCH: 'The signature covers another manifest.',
  KEY_UNKNOWN: 'The key that it names is not among those that the service of this page publishes.',
  SIGNATURE_INVALID: 'The Ed25519 signature does not fit the manifest.',
  CHECKPOINT_INVALID: 'No published key of the log signed a checkpoint of this tree.',
  HEAD_INVALID:
    'The log of its entries is not log 0, and no checkpoint of log 0 that a published key signed holds this tree.',
}

const signed = async (
  title: string,
  words: string,
  contents: Contents,
  service: OwnService,
  check: (contents: Contents, verifier: Verifier) => Promise<SignatureFault | undefined>,
): Promise<Check> =>
  attempt(title, async () => {
    const { crypto } = service
    const fault = await check(contents, {
      keys: await service.keys(),
      verifyEd25519: (key, message, signature) =>
        crypto.verifyEd25519(
          key as Uint8Array<ArrayBuffer>,
          message as Uint8Array<ArrayBuffer>,
          signature as Uint8Array<ArrayBuffer>,
        ),
    })
    return fault === undefined ? pass(title, words) : refuse(title, fault, SIGNATURE_FAULTS[fault])
  })

const issuerCheck = ({ header }: Contents, service: OwnService): Promise<Check> =>
  attempt(ISSUER, async () => {
    const issuer = await service.issuer()
    return header.issuer === issuer
      ? pass(ISSUER, `It was exported by ${issuer}, as the service that this page came from calls itself.`)
      : refuse(
          ISSUER,
          'ISSUER_MISMATCH',
          `It says that ${visible(header.issuer)} exported it, and the service that this page came from calls itself ${issuer}.`,
        )
  })

const GAPS: ReadonlyMap<string, string> = new Map([
  ['ROLLED_OFF', 'the window begins before the oldest rows that the server still had'],
  ['BEHIND', 'the server had not caught up with the log: make the export again'],
  ['ROWS_LOST', 'requests or deliveries came faster than the disk took them'],
  ['NOT_OVER', 'the window ends later than the file was made'],
])

/** Why rows of a window may be missing, as the end of an export says. */
export const gapsOf = ({ gaps, limitReached }: Readonly<Record<string, unknown>>): string[] => [
  ...(Array.isArray(gaps) ? gaps.map((gap) => GAPS.get(gap) ?? visible(gap)) : []),
  ...(limitReached === true ? ['more rows were there than were asked for'] : []),
]

const completeness = ({ manifest }: Contents): Check =>
  manifest.complete === true
    ? pass(COMPLETE, 'The window is all there, as far as the log of the server that exported it went.')
    : leave(COMPLETE, `Something of the window is missing: ${gapsOf(manifest).join('; ')}.`)

/** What `checkCheckpoint` found, in words. */
const treeWords = (contents: Contents): string =>
  needsHead(contents)
    ? 'A published Ed25519 key of the log signed this tree, and the checkpoint of log 0 that holds it.'
    : 'A published Ed25519 key of the log signed this tree.'

/** Of an empty tree of another log than 0 there is no head, so that nobody but that log stands for it. */
const missingHead = (contents: Contents): Check[] =>
  contents.log === 0 || needsHead(contents)
    ? []
    : [
        leave(
          HEAD,
          `Log ${contents.log} was empty: the file has no head of it in log 0, which witnesses are shown.`,
        ),
      ]

/** The checkpoints of the file, that of its log and that of log 0 which holds it, and the witnesses of the latter. */
const treeChecks = async (contents: Contents, service: OwnService): Promise<Check[]> => {
  const witnessed = witnessedCheckpoint(contents)
  const checks: Check[] = []
  for (const text of new Set([contents.manifest.checkpoint, witnessed])) {
    const note = readNote(text)
    if (note === undefined) checks.push(refuse(CHECKPOINT, 'CHECKPOINT_INVALID', 'It can’t be read.'))
    else checks.push(...(await ownLogChecks(note, service)))
    if (note !== undefined && text === witnessed) checks.push(...(await witnessChecks(note, service)))
  }
  return checks
}

const factsOf = ({ header, log, manifest, rows, entries }: Contents): Fact[] => [
  ['Organisation', visible(header.organisationId)],
  ['Window', `${visible(header.since)} up to ${visible(header.until)}`],
  ['Exported at', visible(header.createdAt)],
  ['Rows', `${rows}, of them ${entries} entries of the log`],
  ['Tree', `${manifest.treeSize} entries, root ${manifest.root}`],
  ...(log === 0 ? [] : [['Log', String(log)] as const]),
]

async function* piecesIn(file: Blob, read: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of (await isArchive(file)) ? await readArchive(file) : piecesOf(file.stream())) {
    bytes += piece.length
    read(bytes)
    yield piece
  }
}

/**
 * What a file says, consistent in itself; otherwise the check that failed.
 * @param read told how many bytes were read so far, unpacked
 */
export const readEvidence = async (file: Blob, read: (bytes: number) => void): Promise<Contents | Check> => {
  const { sha256 } = createCore()
  try {
    const found = await checkLines(evidenceLines(piecesIn(file, read)), sha256)
    if (!('fault' in found)) return found
    return refuse(CONTENT, found.fault, `${FAULTS[found.fault]}: line ${found.line}.`)
  } catch (error) {
    return unreadable(CONTENT, 'NOT_EVIDENCE', error)
  }
}

/** @param contents what `readEvidence` found */
export const checkEvidence = async (contents: Contents | Check, service: OwnService): Promise<Found> => {
  const meaning = {
    word: 'Valid',
    text: 'Nothing in it was changed since the service exported it.',
    isPlain: true,
  }
  if ('outcome' in contents) return { what: WHAT, checks: [contents], meaning }
  const isComplete = contents.manifest.complete === true
  return {
    what: WHAT,
    checks: [
      pass(
        CONTENT,
        `Every line follows from the one before, and the ${contents.entries} entries stand in the tree of ${contents.manifest.treeSize}.`,
      ),
      await signed(
        MANIFEST,
        'A published Ed25519 key signed the manifest.',
        contents,
        service,
        checkManifest,
      ),
      await signed(CHECKPOINT, treeWords(contents), contents, service, checkCheckpoint),
      ...missingHead(contents),
      ...(await treeChecks(contents, service)),
      await issuerCheck(contents, service),
      completeness(contents),
    ],
    facts: factsOf(contents),
    meaning: isComplete ? meaning : { ...meaning, word: 'Valid, not complete', isPlain: false },
    notChecked: [
      'that a decision was right',
      'that nothing happened which was never committed, and what other servers alone held',
    ],
  }
}
