/**
 * Checks that an entry is in the published log: recomputes the root of the tree from the entry's hash and the published
 * tiles (C2SP tlog-tiles), and compares it with the signed checkpoint (C2SP tlog-checkpoint).
 * @module
 */

import { type Bytes, type PageCrypto, PUBLIC_KEY_BYTES } from '../crypto/page-crypto.ts'
import { type Finding, failed, passed, skipped } from './finding.ts'

const TILE_HEIGHT = 8
const TILE_HASHES = 256
const HASH_BYTES = 32
const KEY_ID_BYTES = 4
const TYPE_ED25519 = 1

/** The service's public log. Each throws UnreachableError when it has no answer. */
export interface PublishedLog {
  checkpoint(): Promise<string>
  /** Verifier keys, one a line. */
  keys(): Promise<string>
  /** @param path such as `0/x001/234.p/17` */
  tile(path: string): Promise<Bytes>
}

export interface InclusionEvidence {
  /** As signed: lower-case hex. */
  readonly leafHash: string
  /** Place of the entry in the log, as the service says. */
  readonly index: number
  /** BASE_URL, whose host is the log's name. */
  readonly issuer: string
}

interface Tree {
  readonly size: number
  readonly root: string
}

const NOTE =
  /^(?<text>(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n)\n(?<lines>(?:— [^\n]+\n)+)$/

const fromBase64 = (text: string): Bytes =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const concat = (...parts: readonly Uint8Array[]): Bytes => {
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

/** @returns the tree that the log vouches for, or what is wrong */
const readCheckpoint = async (
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

/** `1234` → `x001/234`. */
const tilePath = (level: number, tile: number, width: number): string => {
  const groups = [String(tile % 1000).padStart(3, '0')]
  for (let rest = Math.floor(tile / 1000); rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`x${String(rest % 1000).padStart(3, '0')}`)
  return `${level}/${groups.join('/')}${width === TILE_HASHES ? '' : `.p/${width}`}`
}

/** Hashes of subtrees that are full, out of the tiles of a tree of `size` leaves. */
const createNodes = (size: number, log: PublishedLog, crypto: PageCrypto) => {
  const tiles = new Map<string, Promise<Bytes>>()
  const join = (left: Uint8Array, right: Uint8Array): Promise<Uint8Array> =>
    crypto.sha256(concat(Uint8Array.of(1), left, right))

  const stored = async (level: number, place: number): Promise<Uint8Array> => {
    const tile = Math.floor(place / TILE_HASHES)
    const hashes = Math.floor(size / 2 ** (TILE_HEIGHT * level))
    const path = tilePath(level, tile, Math.min(TILE_HASHES, hashes - TILE_HASHES * tile))
    const bytes = tiles.get(path) ?? log.tile(path)
    tiles.set(path, bytes)
    const at = HASH_BYTES * (place % TILE_HASHES)
    return (await bytes).subarray(at, at + HASH_BYTES)
  }
  const node = async (height: number, place: number): Promise<Uint8Array> =>
    height % TILE_HEIGHT === 0
      ? stored(height / TILE_HEIGHT, place)
      : join(await node(height - 1, 2 * place), await node(height - 1, 2 * place + 1))
  return { join, node }
}

/** The root of the tree of RFC 6962 §2.1 with this leaf at its place, and everything else as published. */
const rootWith = async (
  leaf: Uint8Array,
  index: number,
  size: number,
  { join, node }: ReturnType<typeof createNodes>,
): Promise<Uint8Array> => {
  /** Full subtrees from the left, the largest first. */
  const peaks: Uint8Array[] = []
  let start = 0
  while (start < size) {
    const height = Math.floor(Math.log2(size - start))
    const width = 2 ** height
    let peak: Uint8Array
    if (index >= start && index < start + width) {
      peak = leaf
      for (let at = 0, place = index; at < height; at++, place = Math.floor(place / 2)) {
        const sibling = await node(at, place % 2 === 0 ? place + 1 : place - 1)
        peak = place % 2 === 0 ? await join(peak, sibling) : await join(sibling, peak)
      }
    } else peak = await node(height, start / width)
    peaks.push(peak)
    start += width
  }
  let root = peaks.pop() ?? leaf
  for (let peak = peaks.pop(); peak !== undefined; peak = peaks.pop()) root = await join(peak, root)
  return root
}

export const checkInclusion = async (
  { leafHash, index, issuer }: InclusionEvidence,
  log: PublishedLog,
  crypto: PageCrypto,
): Promise<Finding> => {
  const name = new URL(issuer).host
  const tree = await readCheckpoint(await log.checkpoint(), await log.keys(), name, crypto)
  if (typeof tree === 'string') return failed(tree)
  if (index >= tree.size)
    return skipped(`The checkpoint covers ${tree.size} entries, and this is a later one.`)
  const leaf = Uint8Array.from(leafHash.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
  const root = await rootWith(leaf, index, tree.size, createNodes(tree.size, log, crypto))
  return hexOf(root) === tree.root
    ? passed(
        `The signed checkpoint of ${name} over ${tree.size} entries has it as entry ${index}. Keep the checkpoint to see later that nothing was taken out.`,
      )
    : failed(`With its entry the tree has another root than the signed checkpoint of ${name}.`)
}
