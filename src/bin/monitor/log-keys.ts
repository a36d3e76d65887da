/** The keys by which a log signs: verifier keys (C2SP signed-note), one a line. @module */
import { NOTE_ED25519, NOTE_ML_DSA_44_COSIGNATURE, type VerifierKey } from '../../protocol/checkpoint/note.ts'
import { checkedVerifierKey } from '../../protocol/checkpoint/signed-note.ts'

/** Each checkpoint must carry a signature of both. */
const DEMANDED = [
  [NOTE_ED25519, 'Ed25519'],
  [NOTE_ML_DSA_44_COSIGNATURE, 'ML-DSA-44'],
] as const

/**
 * Empty lines and those that begin with # say nothing.
 * @param source what holds the text, as people know it
 * @throws Error for a line that is no verifier key, and where one of the two kinds is missing: its signatures would not be looked at
 */
export const readLogKeys = (text: string, source: string): readonly VerifierKey[] => {
  const keys = text.split('\n').flatMap((encoded, at) => {
    const line = encoded.trim()
    if (line === '' || line.startsWith('#')) return []
    const key = checkedVerifierKey(line)
    if (key === undefined) throw new Error(`Line ${at + 1} of the keys in ${source} is no verifier key.`)
    return [key]
  })
  for (const [type, name] of DEMANDED)
    if (!keys.some((key) => key.type === type))
      throw new Error(`Among the keys in ${source} is no ${name} key of the log.`)
  return keys
}
