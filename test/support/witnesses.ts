/** Witnesses of a log, as others run them: they cosign what they are shown (C2SP tlog-cosignature). */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { cosignedMessage, uint64 } from './tlog.ts'

/** POSIX seconds: 1 January 2026. */
export const SEEN_AT = 1_767_225_600

export interface TestWitness {
  readonly name: string
  /** Verifier key. */
  readonly key: string
  /** The line that it adds below a checkpoint. */
  cosign(note: string): string
}

const witnessWith = (
  name: string,
  type: number,
  publicKey: Uint8Array,
  signatureOver: (note: string) => Uint8Array,
): TestWitness => {
  const material = Buffer.concat([Buffer.of(type), publicKey])
  const id = createHash('sha256').update(`${name}\n`).update(material).digest().subarray(0, 4)
  return {
    name,
    key: `${name}+${id.toString('hex')}+${material.toString('base64')}`,
    cosign: (note) =>
      `— ${name} ${Buffer.concat([id, uint64(SEEN_AT), signatureOver(note)]).toString('base64')}\n`,
  }
}

/** @param type of its key: that of a cosigner, unless said otherwise */
export const createWitness = (name: string, type = 0x04): TestWitness => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url')
  return witnessWith(name, type, key, (note) =>
    sign(null, Buffer.from(`cosignature/v1\ntime ${SEEN_AT}\n${note.split('\n\n')[0]}\n`), privateKey),
  )
}

/** One that signs with ML-DSA-44. */
export const createPqWitness = (name: string): TestWitness => {
  const { publicKey, secretKey } = ml_dsa44.keygen()
  return witnessWith(name, 0x06, publicKey, (note) =>
    ml_dsa44.sign(cosignedMessage(name, SEEN_AT, note), secretKey),
  )
}
