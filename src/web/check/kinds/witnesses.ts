/** Witnesses of the log: whether those that whoever checks demands have cosigned a checkpoint. @module */
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import {
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
import type { Bytes } from '../../crypto/page-crypto.ts'
import type { OwnService } from '../own-service.ts'
import { attempt, type Check, lack, leave, pass, refuse, timeWords, visible } from '../report.ts'

const WITNESSES = 'Witnesses'
const LOG = 'Log of your policy'

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

/** The same of the checkpoint that the log publishes now, under which an entry was found. */
export const publishedWitnessChecks = async (service: OwnService): Promise<readonly Check[]> => {
  let checks: readonly Check[] = []
  const read = await attempt(WITNESSES, async () => {
    const note = readNote(await service.published.log.checkpoint())
    if (note === undefined) return lack(WITNESSES, 'What the log publishes is no checkpoint.')
    checks = await witnessChecks(note, service)
    return pass(WITNESSES, '')
  })
  return read.outcome === 'passed' ? checks : [read]
}
