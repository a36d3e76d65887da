/** Checkpoints of the log: who signed them, and whether the log as it is published now goes on from them. @module */
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import {
  cosignedMessage,
  NOTE_ED25519,
  NOTE_ML_DSA_44_COSIGNATURE,
  type ReadNote,
  readNote,
  readTimestampedSignature,
} from '../../../protocol/evidence/signed-note.ts'
import { hexOf, readCheckpoint } from '../../result/checkpoint.ts'
import { rootOfFirst } from '../../result/inclusion.ts'
import { fromBase64url } from '../../result/jws.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, type Found, leave, pass, refuse, timeWords, visible } from '../report.ts'
import { ed25519Key } from '../signed.ts'

const WHAT = 'Checkpoint of the log'
const SIGNATURE = 'Signature of the log'
const COSIGNATURE = 'Post-quantum cosignature'
const LOG = 'The log as it is now'

type Bytes = Uint8Array<ArrayBuffer>

const signatureCheck = async (note: ReadNote, service: OwnService): Promise<Check> => {
  for (const { kid } of await service.keys()) {
    const publicKey = ed25519Key(await service.keys(), kid)
    if (publicKey === undefined) continue
    for (const signature of note.signaturesOf({ name: note.origin, type: NOTE_ED25519, publicKey })) {
      const text = new TextEncoder().encode(note.text)
      if (await service.crypto.verifyEd25519(publicKey, text, signature as Bytes))
        return pass(
          SIGNATURE,
          `A published Ed25519 key signed this tree of ${note.size} entries as ${note.origin}.`,
        )
    }
  }
  return refuse(
    SIGNATURE,
    'CHECKPOINT_UNSIGNED',
    'No published Ed25519 key of the log signed what stands there.',
  )
}

/** A verifier that could check it and did not would be one that falls back: see FIPS 204 and C2SP tlog-cosignature. */
export const cosignatureCheck = async (note: ReadNote, service: OwnService): Promise<Check> => {
  const { origin, size, root } = note
  let isThere = false
  for (const { alg, pub } of await service.pqKeys()) {
    if (alg !== 'ML-DSA-44' || typeof pub !== 'string') continue
    const publicKey = fromBase64url(pub)
    for (const bytes of note.signaturesOf({ name: origin, type: NOTE_ML_DSA_44_COSIGNATURE, publicKey })) {
      isThere = true
      const { timestamp, signature } = readTimestampedSignature(bytes) ?? {}
      if (
        timestamp === undefined ||
        signature === undefined ||
        signature.length !== ml_dsa44.lengths.signature
      )
        continue
      const message = cosignedMessage({ cosigner: origin, origin, timestamp, size, root })
      if (ml_dsa44.verify(signature, message, publicKey))
        return pass(COSIGNATURE, `A published ML-DSA-44 key cosigned it at ${timeWords(timestamp)}.`)
    }
  }
  return isThere
    ? refuse(COSIGNATURE, 'COSIGNATURE_INVALID', 'The ML-DSA-44 cosignature does not fit what stands there.')
    : refuse(COSIGNATURE, 'COSIGNATURE_MISSING', 'The log’s ML-DSA-44 cosignature is missing.')
}

const nameCheck = async ({ origin }: ReadNote, service: OwnService): Promise<Check> => {
  const name = new URL(await service.issuer()).host
  return origin === name
    ? pass('Log', `It is of the log ${name}, that of the service of this page.`)
    : refuse(
        'Log',
        'CHECKPOINT_OTHER_LOG',
        `It is of the log ${visible(origin)}; that of the service of this page is ${name}.`,
      )
}

/** Whether the log as it is published now goes on from a checkpoint whose signatures hold. */
export const logCheck = async (note: ReadNote, service: OwnService): Promise<Check> => {
  const { log } = service.published
  const now = await readCheckpoint(await log.checkpoint(), await log.keys(), note.origin, service.crypto)
  if (typeof now === 'string')
    return refuse(LOG, 'CHECKPOINT_INVALID', `What the service publishes now: ${now}`)
  if (note.size > now.size)
    return refuse(
      LOG,
      'LOG_INCONSISTENT',
      `It is over ${note.size} entries, and the log says that it has ${now.size} now. Keep it: a log never shrinks.`,
    )
  const root = await rootOfFirst(note.size, now, log, service.crypto)
  return root === hexOf(note.root)
    ? pass(
        LOG,
        `The first ${note.size} of the ${now.size} entries that are published and signed now make the same root.`,
      )
    : refuse(
        LOG,
        'LOG_INCONSISTENT',
        'The entries that are published now make another root. Keep this checkpoint: together with the one of now it shows that the log was changed.',
      )
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
    await attempt(COSIGNATURE, () => cosignatureCheck(note, service)),
  ]
  const others = note.signers.filter((name) => name !== note.origin).map(visible)
  const isOwn = own.every(({ outcome }) => outcome === 'passed')
  return {
    what: WHAT,
    checks: [
      ...own,
      ...(isOwn ? [await attempt(LOG, () => logCheck(note, service))] : []),
      ...(others.length === 0
        ? []
        : [leave('Witnesses', `This page has no keys of those who signed besides: ${others.join(', ')}.`)]),
    ],
    facts: [
      ['Log', visible(note.origin)],
      ['Entries', String(note.size)],
      ['Root', hexOf(note.root)],
    ],
    meaning,
    notChecked: ['that others were shown the same log: compare it with a checkpoint that somebody else got'],
  }
}
