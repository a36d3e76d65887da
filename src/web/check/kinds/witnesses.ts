/** Witnesses of the log: whether those that whoever checks demands have cosigned a checkpoint. @module */
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { createCore } from '../../../core/index.ts'
import {
  hexOf,
  NOTE_ML_DSA_44_COSIGNATURE,
  type NoteSignature,
  type ReadNote,
  readNote,
} from '../../../protocol/checkpoint/note.ts'
import {
  judgeWitnesses,
  logSignatures,
  witnessSignatures,
} from '../../../protocol/checkpoint/witness-policy.ts'
import { firstOrigin, headIn, readLoggedHead } from '../../../protocol/log-heads.ts'
import { treeHashing } from '../../../protocol/merkle-proofs.ts'
import type { Bytes } from '../../crypto/page-crypto.ts'
import { readCheckpoint } from '../../result/checkpoint.ts'
import { openTree } from '../../result/inclusion.ts'
import { pathOfLog } from '../../result/published.ts'
import type { EntryPlace } from '../../result/result-checks.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, lack, leave, pass, refuse, timeWords, visible } from '../report.ts'

const WITNESSES = 'Witnesses'
const LOG = 'Log of your policy'
const HEAD = 'Head in log 0'

/** Whether a signature of a note is the key's. */
const holds = async ({ key, message, signature }: NoteSignature, { crypto }: OwnService): Promise<boolean> =>
  key.type === NOTE_ML_DSA_44_COSIGNATURE
    ? ml_dsa44.verify(signature, message, key.publicKey)
    : crypto.verifyEd25519(key.publicKey as Bytes, message, signature)

export const anyHolds = async (
  signatures: readonly NoteSignature[],
  service: OwnService,
): Promise<boolean> => {
  for (const one of signatures) if (await holds(one, service)) return true
  return false
}

/** Whether anybody has to have cosigned. */
export const isWitnessed = ({ policy }: OwnService): boolean => policy?.quorum !== undefined

/** What a checkpoint has of what whoever checks demands; without a policy only that others have signed. */
export const witnessChecks = async (note: ReadNote, service: OwnService): Promise<readonly Check[]> => {
  const { policy } = service
  if (policy === undefined) {
    const others = [...new Set(note.signers.filter((name) => name !== note.origin))].map(visible)
    if (others.length === 0) return []
    return [
      leave(WITNESSES, `Others signed it, too: ${others.join(', ')}. Give their keys to have that checked.`),
    ]
  }
  const checks: Check[] = []
  if (policy.logs.length > 0)
    checks.push(
      (await anyHolds(logSignatures(note, policy), service))
        ? pass(LOG, `A key that your policy has for ${visible(note.origin)} signed it.`)
        : refuse(LOG, 'POLICY_LOG_UNSIGNED', 'None of the logs of your policy signed it.'),
    )
  if (policy.quorum === undefined) return [...checks, leave(WITNESSES, 'Your policy demands none.')]
  const held: NoteSignature[] = []
  for (const one of witnessSignatures(note, policy)) if (await holds(one, service)) held.push(one)
  const { isMet, cosigned } = judgeWitnesses(policy, held)
  const names = cosigned.map(({ name, time }) => `${visible(name)} at ${timeWords(time)}`).join(', ')
  const counted = `${cosigned.length} of the ${policy.witnesses.length} witnesses that you name cosigned it${names === '' ? '' : `: ${names}`}.`
  return [
    ...checks,
    isMet
      ? pass(WITNESSES, `${counted} That is the quorum that you demand.`)
      : refuse(WITNESSES, 'WITNESSES_MISSING', `${counted} That is less than the quorum that you demand.`),
  ]
}

/** The checkpoint of log 0 that an entry stands under, and what was checked of the way there. */
interface Standing {
  readonly note: ReadNote
  readonly checks: readonly Check[]
}

/** Of an entry of log 0: the one that is published now, under which the entry was found. */
const standingInLog0 = async ({ published }: OwnService): Promise<Standing | Check> => {
  const note = readNote(await published.logAt(0).checkpoint())
  return note === undefined
    ? lack(WITNESSES, 'What the log publishes is no checkpoint.')
    : { note, checks: [] }
}

/** Of an entry of another log: the one that holds a head of that log which covers the entry. */
const standingByHead = async (
  { log, index, leafHash }: EntryPlace,
  service: OwnService,
): Promise<Standing | Check> => {
  const { published, crypto } = service
  const wrong = (detail: string): Check => refuse(HEAD, 'HEAD_INVALID', detail)
  const head = readLoggedHead(await service.lookUp(`${pathOfLog(log)}/head?covers=${index}`))
  const note = head && readNote(head.checkpoint)
  if (head === undefined || note === undefined)
    return wrong(`The service shows no head of log ${log} in log 0 that covers the entry.`)
  const { host } = new URL(await service.issuer())
  const name = firstOrigin(note.origin) === host ? note.origin : host
  const tree = await readCheckpoint(head.checkpoint, await published.logAt(0).keys(), name, crypto)
  if (typeof tree === 'string') return wrong(`Of log 0, which holds the head: ${tree}`)
  const shown = readNote(await published.logAt(0).checkpoint())
  if (isWitnessed(service) && shown !== undefined && note.size > shown.size)
    return lack(
      WITNESSES,
      `The head of log ${log} stands in a tree of log 0 of ${note.size} entries, of which ${shown.size} are published now: perhaps its witnesses have not seen more yet. Check it again in a few minutes.`,
    )
  const said = headIn(head, note, treeHashing(createCore().sha256))
  if (said?.log !== log || said.size <= index)
    return wrong(`Entry ${head.index} of log 0 is not there, or no head of log ${log} that covers the entry.`)
  const root = await openTree(said.size, published.logAt(log), crypto).rootWith(leafHash, index)
  if (root !== hexOf(said.root))
    return wrong(`With its entry log ${log} has another root than its head of ${said.size} entries in log 0.`)
  const words = `Entry ${head.index} of log 0 says the first ${said.size} entries of log ${log}, of which it is entry ${index}.`
  return { note, checks: [pass(HEAD, words)] }
}

/** Whether witnesses cosigned the checkpoint of log 0 that an entry stands under, also where the entry is in another log. */
export const entryWitnessChecks = async (
  place: EntryPlace,
  service: OwnService,
): Promise<readonly Check[]> => {
  let checks: readonly Check[] = []
  const read = await attempt(WITNESSES, async () => {
    const standing = await (place.log === 0 ? standingInLog0(service) : standingByHead(place, service))
    if ('outcome' in standing) return standing
    checks = [...standing.checks, ...(await witnessChecks(standing.note, service))]
    return pass(WITNESSES, '')
  })
  return read.outcome === 'passed' ? checks : [read]
}
