/** Checkpoints of the log: who signed them, and whether the log as it is published now goes on from them. @module */
import {
  hexOf,
  NOTE_ED25519,
  NOTE_ML_DSA_44_COSIGNATURE,
  type ReadNote,
  readNote,
  signaturesBy,
} from '../../../protocol/checkpoint/note.ts'
import { identified } from '../../../protocol/checkpoint/signed-note.ts'
import { firstOrigin, logOfOrigin, originOfLog } from '../../../protocol/log-heads.ts'
import { readCheckpoint, type Tree } from '../../result/checkpoint.ts'
import { checkConsistency } from '../../result/consistency.ts'
import { readCosignature } from '../../result/cosignature.ts'
import { type Finding, failed, ifReached } from '../../result/finding.ts'
import { openTree, type PublishedLog } from '../../result/inclusion.ts'
import { fromBase64url } from '../../result/jws.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, type Found, lack, pass, refuse, timeWords, visible } from '../report.ts'
import { ed25519Key } from '../signed.ts'
import { anyHolds, isWitnessed, witnessChecks } from './witnesses.ts'

const WHAT = 'Checkpoint of the log'
const SIGNATURE = 'Signature of the log'
const COSIGNATURE = 'Post-quantum cosignature'
const LOG = 'The log as it is now'

const signatureCheck = async (note: ReadNote, service: OwnService): Promise<Check> => {
  for (const { kid } of await service.keys()) {
    const publicKey = ed25519Key(await service.keys(), kid)
    if (publicKey === undefined) continue
    const key = identified({ name: note.origin, type: NOTE_ED25519, publicKey })
    if (await anyHolds(signaturesBy(note, key), service))
      return pass(
        SIGNATURE,
        `A published Ed25519 key signed this tree of ${note.size} entries as ${note.origin}.`,
      )
  }
  return refuse(
    SIGNATURE,
    'CHECKPOINT_UNSIGNED',
    'No published Ed25519 key of the log signed what stands there.',
  )
}

/** The name of a check; of another log than 0 it says the log, since both may be checked. */
const titled = (title: string, { origin }: ReadNote): string => {
  const log = logOfOrigin(origin)
  return log === 0 ? title : `${title} (log ${log})`
}

const cosignatureCheck = async (note: ReadNote, service: OwnService): Promise<Check> => {
  const title = titled(COSIGNATURE, note)
  const keys = (await service.pqKeys()).flatMap(({ alg, pub }) =>
    alg === 'ML-DSA-44' && typeof pub === 'string'
      ? [
          identified({
            name: note.origin,
            type: NOTE_ML_DSA_44_COSIGNATURE,
            publicKey: fromBase64url(pub),
          }),
        ]
      : [],
  )
  const read = readCosignature(note, keys)
  return 'fault' in read
    ? refuse(title, read.fault, read.detail)
    : pass(title, `A published ML-DSA-44 key cosigned it at ${timeWords(read.time)}.`)
}

const nameCheck = async ({ origin }: ReadNote, service: OwnService): Promise<Check> => {
  const name = new URL(await service.issuer()).host
  return firstOrigin(origin) === originOfLog(name, logOfOrigin(origin))
    ? pass('Log', `It is of the log ${origin}, that of the service of this page.`)
    : refuse(
        'Log',
        'CHECKPOINT_OTHER_LOG',
        `It is of the log ${visible(origin)}; that of the service of this page is ${name}.`,
      )
}

/** Whether the hashes that the log publishes make the later of two trees, and that goes on from the earlier one. */
const growth = async (
  earlier: Tree,
  later: Tree,
  log: PublishedLog,
  { crypto }: OwnService,
): Promise<Finding> => {
  const tree = openTree(later.size, log, crypto)
  if ((await tree.root()) !== later.root)
    return failed(
      `The hashes that are published now do not make the root that was signed over ${later.size} entries. Keep both checkpoints.`,
    )
  return checkConsistency(earlier, later, await tree.consistency(earlier.size), crypto)
}

/** Whether the log as it is published now goes on from a checkpoint whose signatures hold. */
const logCheck = async (note: ReadNote, service: OwnService): Promise<Check> => {
  const title = titled(LOG, note)
  const log = service.published.logAt(logOfOrigin(note.origin))
  const now = await readCheckpoint(await log.checkpoint(), await log.keys(), note.origin, service.crypto)
  if (typeof now === 'string') return lack(title, `What the service publishes now: ${now}`)
  const then = { size: note.size, root: hexOf(note.root) }
  // A log hands out trees that its witnesses have not seen yet, and publishes only what they have.
  if (then.size > now.size) {
    const { outcome, detail } = await ifReached(() => growth(now, then, log, service))
    if (outcome === 'failed') return refuse(title, 'LOG_INCONSISTENT', detail)
    return lack(
      title,
      `It is over ${then.size} entries, and the log publishes ${now.size} now: perhaps its witnesses have not seen more yet. Check it again in a few minutes. If the log still publishes less then, keep it: a log never shrinks, and this is what shows that it did.`,
    )
  }
  const { outcome, detail } = await growth(then, now, log, service)
  return outcome === 'passed' ? pass(title, detail) : refuse(title, 'LOG_INCONSISTENT', detail)
}

/** The log's own cosignature of a checkpoint, and where that holds, whether the log as it is published now goes on from it. */
export const ownLogChecks = async (note: ReadNote, service: OwnService): Promise<readonly Check[]> => {
  const cosignature = await attempt(titled(COSIGNATURE, note), () => cosignatureCheck(note, service))
  if (cosignature.outcome !== 'passed') return [cosignature]
  return [cosignature, await attempt(titled(LOG, note), () => logCheck(note, service))]
}

/** @param text as somebody kept it: a text field loses the line's end, which is part of what was signed */
export const checkCheckpoint = async (text: string, service: OwnService): Promise<Found> => {
  const note = readNote(`${text.replaceAll('\r\n', '\n').trim()}\n`)
  const meaning = {
    word: 'Valid',
    text: 'The log signed it, and what is published now goes on from it.',
    isPlain: true,
  }
  if (note === undefined) {
    const detail = 'It is no checkpoint with origin, size, root and signatures.'
    return { what: WHAT, checks: [refuse('Form', 'CHECKPOINT_MALFORMED', detail)], meaning }
  }
  const own = [
    await attempt('Log', () => nameCheck(note, service)),
    await attempt(SIGNATURE, () => signatureCheck(note, service)),
    await attempt(titled(COSIGNATURE, note), () => cosignatureCheck(note, service)),
  ]
  const isOwn = own.every(({ outcome }) => outcome === 'passed')
  return {
    what: WHAT,
    checks: [
      ...own,
      ...(isOwn ? [await attempt(titled(LOG, note), () => logCheck(note, service))] : []),
      ...(await witnessChecks(note, service)),
    ],
    facts: [
      ['Log', visible(note.origin)],
      ['Entries', String(note.size)],
      ['Root', hexOf(note.root)],
    ],
    meaning,
    notChecked: isWitnessed(service)
      ? ['that the witnesses are who you think: their keys are those that you gave']
      : [
          'that others were shown the same log: compare it with a checkpoint that somebody else got, or demand witnesses',
        ],
  }
}
