/** Signed checkpoints (C2SP tlog-checkpoint): read, and their Ed25519 signature checked. @module */
import { type Bytes, type PageCrypto, PUBLIC_KEY_BYTES } from '../crypto/page-crypto.ts'

const KEY_ID_BYTES = 4
const TYPE_ED25519 = 1

/** What a log vouches for. */
export interface Tree {
  readonly size: number
  /** Lower-case hex. */
  readonly root: string
}

const NOTE =
  /^(?<text>(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n)\n(?<lines>(?:— [^\n]+\n)+)$/

const fromBase64 = (text: string): Bytes =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
export const concat = (...parts: readonly Uint8Array[]): Bytes => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** The Ed25519 signature of this name among the lines of a note, under one of the published keys. */
const isSigned = async (
  { text, lines, name }: { text: string; lines: string; name: string },
  keys: string,
  crypto: PageCrypto,
): Promise<boolean> => {
  const material = keys.split('\n').flatMap((line) => {
    const parts = /^([^+]+)\+[0-9a-f]{8}\+([A-Za-z0-9+/=]+)$/.exec(line)
    const bytes = parts?.[1] === name && parts[2] ? fromBase64(parts[2]) : undefined
    return bytes?.[0] === TYPE_ED25519 && bytes.length === 1 + PUBLIC_KEY_BYTES ? [bytes] : []
  })
  const signatures = lines.split('\n').flatMap((line) => {
    const [, signer, encoded = ''] = line.split(' ')
    return signer === name && /^[A-Za-z0-9+/]+=*$/.test(encoded) ? [fromBase64(encoded)] : []
  })
  const encoder = new TextEncoder()
  for (const key of material) {
    const id = (await crypto.sha256(concat(encoder.encode(`${name}\n`), key))).subarray(0, KEY_ID_BYTES)
    for (const signature of signatures) {
      if (hexOf(signature.subarray(0, KEY_ID_BYTES)) !== hexOf(id)) continue
      if (await crypto.verifyEd25519(key.slice(1), encoder.encode(text), signature.slice(KEY_ID_BYTES)))
        return true
    }
  }
  return false
}

/** @returns the name of the log that a checkpoint says it is of; undefined when it can't be read */
export const nameIn = (note: string): string | undefined => NOTE.exec(note)?.groups?.origin

/** @param keys verifier keys, one a line @param name of the log @returns the tree that the log vouches for, or what is wrong */
export const readCheckpoint = async (
  note: string,
  keys: string,
  name: string,
  crypto: PageCrypto,
): Promise<Tree | string> => {
  const { text, origin, size, root, lines } = NOTE.exec(note)?.groups ?? {}
  if (text === undefined || lines === undefined || root === undefined) return 'The checkpoint can’t be read.'
  if (origin !== name) return `The checkpoint is that of another log, ${origin}.`
  if (!(await isSigned({ text, lines, name }, keys, crypto)))
    return 'The checkpoint is not signed by the log.'
  return { size: Number(size), root: hexOf(fromBase64(root)) }
}
