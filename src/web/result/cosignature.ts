/** The log's ML-DSA-44 cosignature of a checkpoint (C2SP tlog-cosignature, FIPS 204), which stands beside its Ed25519 signature. @module */
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import {
  NOTE_ML_DSA_44_COSIGNATURE,
  type ReadNote,
  signaturesBy,
  type VerifierKey,
} from '../../protocol/checkpoint/note.ts'

/** When it was made, as it says, or what is wrong. */
export type Cosignature =
  /** POSIX seconds. */
  | { readonly time: number }
  | { readonly fault: 'COSIGNATURE_INVALID' | 'COSIGNATURE_MISSING'; readonly detail: string }

/**
 * A verifier that could check it and did not would be one that falls back: what is missing is as wrong as what does not hold.
 * @param keys of the log; those of other types sign no cosignature
 */
export const readCosignature = (note: ReadNote, keys: readonly VerifierKey[]): Cosignature => {
  let isThere = false
  for (const key of keys) {
    if (key.type !== NOTE_ML_DSA_44_COSIGNATURE) continue
    isThere ||= note.signaturesOf(key).length > 0
    for (const { message, signature, time } of signaturesBy(note, key))
      if (ml_dsa44.verify(signature, message, key.publicKey)) return { time: time ?? 0 }
  }
  return isThere
    ? { fault: 'COSIGNATURE_INVALID', detail: 'The ML-DSA-44 cosignature does not fit what stands there.' }
    : { fault: 'COSIGNATURE_MISSING', detail: 'The log’s ML-DSA-44 cosignature is missing.' }
}
