/** Signatures of notes: checked with what Node and @noble have, and made by the keys of witnesses (C2SP signed-note, tlog-cosignature). @module */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  concat,
  cosignedMessage,
  NOTE_ED25519_COSIGNATURE,
  NOTE_ML_DSA_44_COSIGNATURE,
  type NoteSignature,
  type ReadNote,
  timestampedSignature,
  type VerifierKey,
} from '../protocol/checkpoint/note.ts'
import { identified, signatureLine } from '../protocol/checkpoint/signed-note.ts'
import { verifyEd25519 } from './ed25519.ts'
import { ML_DSA_SEED_BYTES, mlDsa } from './ml-dsa.ts'

/** What C2SP has cosignatures made with. */
const scheme = mlDsa('ML-DSA-44')

/** Whether the key made the signature. */
export const isNoteSigned = ({ key, message, signature }: NoteSignature): boolean =>
  key.type === NOTE_ML_DSA_44_COSIGNATURE
    ? scheme.verify(signature, message, key.publicKey)
    : verifyEd25519(key.publicKey, message, signature)

/** A key that cosigns checkpoints. */
export interface Cosigner {
  readonly key: VerifierKey
  /** The line that says that the witness had seen this checkpoint, and none larger. @param timestamp POSIX seconds, not 0 */
  cosign(note: ReadNote, timestamp: number): string
}

/** What a {@link Cosigner} is made from: PKCS #8 of an Ed25519 key, and the seed of an ML-DSA-44 key. */
export interface CosignerSecrets {
  readonly ed25519: Uint8Array
  readonly mlDsa44: Uint8Array
}

export const generateCosignerSecrets = (): CosignerSecrets => ({
  ed25519: generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }),
  mlDsa44: randomBytes(ML_DSA_SEED_BYTES),
})

const publicBytes = (key: KeyObject): Uint8Array =>
  Buffer.from(String(key.export({ format: 'jwk' }).x), 'base64url')

/**
 * The two keys of one witness.
 * @param name of the witness, of 1 to 255 bytes
 * @throws Error for secrets that are none
 */
export const createCosigners = (name: string, { ed25519, mlDsa44 }: CosignerSecrets): readonly Cosigner[] => {
  const classical = createPrivateKey({ key: Buffer.from(ed25519), format: 'der', type: 'pkcs8' })
  const postQuantum = scheme.keygen(mlDsa44)
  const edKey = identified({ name, type: NOTE_ED25519_COSIGNATURE, publicKey: publicBytes(classical) })
  const mlKey = identified({ name, type: NOTE_ML_DSA_44_COSIGNATURE, publicKey: postQuantum.publicKey })
  return [
    {
      key: edKey,
      cosign({ text }, timestamp) {
        const message = concat(new TextEncoder().encode(`cosignature/v1\ntime ${timestamp}\n${text}`))
        return signatureLine(edKey, timestampedSignature(timestamp, sign(null, message, classical)))
      },
    },
    {
      key: mlKey,
      cosign({ origin, size, root }, timestamp) {
        const message = cosignedMessage({ cosigner: name, origin, timestamp, size, root })
        return signatureLine(
          mlKey,
          timestampedSignature(timestamp, scheme.sign(message, postQuantum.secretKey)),
        )
      },
    },
  ]
}
