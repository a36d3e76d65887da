/**
 * Reads checkpoints of the log (C2SP tlog-checkpoint): who must have signed them, and which witnesses cosigned them (C2SP
 * tlog-cosignature). Which signatures can be checked is for the entry of the package to say.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import {
  hexOf,
  NOTE_ED25519,
  NOTE_ML_DSA_44_COSIGNATURE,
  type NoteSignature,
  type ReadNote,
  readNote,
  readVerifierKey,
  signaturesBy,
  type VerifierKey,
} from '../../../../protocol/checkpoint/note.ts'
import { identified } from '../../../../protocol/checkpoint/signed-note.ts'
import {
  type Cosigned,
  judgeWitnesses,
  logSignatures,
  readWitnessKeys,
  readWitnessPolicy,
  type WitnessPolicy,
  WitnessPolicyError,
  witnessSignatures,
} from '../../../../protocol/checkpoint/witness-policy.ts'
import type { Tree } from './log.ts'

export interface ExpectedCheckpoint {
  /** The log's name: the host of the service's BASE_URL, port included; of one that was begun anew the first line of `GET /checkpoint`. */
  readonly origin: string
  /** Verifier keys of the log, one a line: `GET /checkpoint/keys`, fetched and kept earlier. */
  readonly keys: string
  /** Verifier keys of witnesses that you trust, one a line, and at least one; a witness may have several. */
  readonly witnesses?: string
  /** How many witnesses, told apart by their names, must have cosigned, from 1; default: all. */
  readonly quorum?: number
  /** In their place: a policy file (C2SP tlog-policy), whose quorum must have cosigned and, if it names logs, one of which must have signed. */
  readonly policy?: string
}

export type CheckpointRefusal =
  | 'CHECKPOINT_MALFORMED'
  /** It is that of another log. */
  | 'ORIGIN_MISMATCH'
  /** None of the log's Ed25519 keys signed it, or none of the policy's. */
  | 'CHECKPOINT_UNSIGNED'
  /** The log's own ML-DSA-44 cosignature is not there, or is of a key that was not given (`assay-verify/pq` only). */
  | 'COSIGNATURE_MISSING'
  /** It does not fit what stands there (`assay-verify/pq` only). */
  | 'COSIGNATURE_INVALID'
  /** The quorum of witnesses did not cosign it. */
  | 'WITNESSES_MISSING'

export type CheckpointVerdict =
  | ({ readonly valid: true; readonly origin: string; readonly witnesses: readonly Cosigned[] } & Tree)
  | { readonly valid: false; readonly reason: CheckpointRefusal }

/** Checks ML-DSA-44 (FIPS 204), pure and without a context. */
export type VerifyMlDsa44 = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean

/** The log's own keys. @throws TypeError for a line that is no verifier key */
const ownKeys = (keys: string, origin: string): readonly VerifierKey[] =>
  keys
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const key = readVerifierKey(line)
      if (key === undefined) throw new TypeError(`"${line.slice(0, 80)}" is no verifier key.`)
      if (![NOTE_ED25519, NOTE_ML_DSA_44_COSIGNATURE].includes(key.type)) return []
      if (identified(key).id !== key.id)
        throw new TypeError(`The verifier key of ${key.name} is not that of its key id.`)
      return key.name === origin ? [key] : []
    })

const NOTHING_DEMANDED: WitnessPolicy = { logs: [], witnesses: [], quorum: undefined }

/** What is demanded of witnesses: whoever names them demands at least one. @throws TypeError, RangeError */
const readDemand = ({ witnesses, quorum, policy }: ExpectedCheckpoint): WitnessPolicy => {
  if (policy !== undefined && (witnesses !== undefined || quorum !== undefined))
    throw new TypeError('policy says which witnesses must have cosigned: leave out witnesses and quorum.')
  if (quorum !== undefined && witnesses === undefined)
    throw new TypeError('quorum is how many of the witnesses must have cosigned: give their keys, too.')
  try {
    if (policy !== undefined) return readWitnessPolicy(policy)
    return witnesses === undefined ? NOTHING_DEMANDED : readWitnessKeys(witnesses, quorum)
  } catch (error) {
    throw error instanceof WitnessPolicyError ? new TypeError(error.message) : error
  }
}

/** @throws TypeError for a key that nothing here can check: it would demand nothing of anybody */
const demandKnown = ({ logs, witnesses }: WitnessPolicy): void => {
  const unknown = [...logs, ...witnesses.flatMap(({ keys }) => keys)].find(
    ({ type }) => type === NOTE_ML_DSA_44_COSIGNATURE,
  )
  if (unknown !== undefined)
    throw new TypeError(
      `The verifier key of ${unknown.name} is for ML-DSA-44, which is not checked here: assay-verify/pq does.`,
    )
}

/** Why the log's own ML-DSA-44 cosignature does not count. */
const cosignatureRefusal = (
  note: ReadNote,
  keys: readonly VerifierKey[],
  isSigned: (one: NoteSignature) => boolean,
): 'COSIGNATURE_MISSING' | 'COSIGNATURE_INVALID' | undefined => {
  const own = keys.filter(({ type }) => type === NOTE_ML_DSA_44_COSIGNATURE)
  if (own.some((key) => signaturesBy(note, key).some(isSigned))) return undefined
  return own.some((key) => note.signaturesOf(key).length > 0) ? 'COSIGNATURE_INVALID' : 'COSIGNATURE_MISSING'
}

/**
 * @param verifyMlDsa44 absent: ML-DSA-44 is not checked, and nobody may demand it. With it, the log's own cosignature must hold, too
 * @returns what reads a checkpoint; it throws TypeError for keys that are none and policies that can't be read,
 *   RangeError for a quorum that can't be met
 */
export const checkpointReader = (
  verifyMlDsa44?: VerifyMlDsa44,
): ((text: string, expected: ExpectedCheckpoint) => CheckpointVerdict) => {
  const isSigned = ({ key, message, signature }: NoteSignature): boolean =>
    key.type === NOTE_ML_DSA_44_COSIGNATURE
      ? verifyMlDsa44?.(signature, message, key.publicKey) === true
      : // RFC 8032, not the looser rules of ZIP 215.
        ed25519.verify(signature, message, key.publicKey, { zip215: false })
  const refuse = (reason: CheckpointRefusal): CheckpointVerdict => ({ valid: false, reason })

  return (text, expected) => {
    const { origin, keys } = expected
    const demand = readDemand(expected)
    if (verifyMlDsa44 === undefined) demandKnown(demand)
    const own = ownKeys(keys, origin)
    const note = readNote(text)
    if (note === undefined) return refuse('CHECKPOINT_MALFORMED')
    if (note.origin !== origin) return refuse('ORIGIN_MISMATCH')
    const isOurs = own.some((key) => key.type === NOTE_ED25519 && signaturesBy(note, key).some(isSigned))
    const isAccepted = demand.logs.length === 0 || logSignatures(note, demand).some(isSigned)
    if (!isOurs || !isAccepted) return refuse('CHECKPOINT_UNSIGNED')
    const refusal = verifyMlDsa44 && cosignatureRefusal(note, own, isSigned)
    if (refusal !== undefined) return refuse(refusal)
    const { isMet, cosigned } = judgeWitnesses(demand, witnessSignatures(note, demand).filter(isSigned))
    if (!isMet) return refuse('WITNESSES_MISSING')
    return { valid: true, origin, size: note.size, root: hexOf(note.root), witnesses: cosigned }
  }
}
