/**
 * Checks evidence of one of several logs with nothing of the product: chain, entries, tree, the signed manifest, the signed checkpoint of
 * its log, and that log 0 holds that tree under a signed checkpoint of its own. Arguments: FILE JWKS HOST LOG. Throws where it does not hold.
 */
import { strict as assert } from 'node:assert'
import { createPublicKey, hash, type JsonWebKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'

const [file = '', jwksFile = '', host = '', log = ''] = process.argv.slice(2)
const keys: (JsonWebKey & { kid?: string })[] = JSON.parse(readFileSync(jwksFile, 'utf8')).keys
const ed25519 = keys.filter(({ crv }) => crv === 'Ed25519')
const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
// RFC 6962 §2.1
const leafOf = (entry: string): Buffer => hash('sha256', `\0${entry}`, 'buffer')
const nodeOf = (left: Uint8Array, right: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Uint8Array.of(1), left, right]), 'buffer')
const fromHex = (hex: string): Buffer => Buffer.from(hex, 'hex')
const isBy = (key: JsonWebKey, text: string, signature: Buffer): boolean =>
  verify(null, Buffer.from(text), createPublicKey({ key, format: 'jwk' }), signature)
/** C2SP tlog-checkpoint in a signed-note, by one of the Ed25519 keys. */
const readCheckpoint = (note: string, origin: string): { size: number; root: string } => {
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const [name, size, root = ''] = text.split('\n')
  assert.equal(name, origin)
  const own = note.split('\n').filter((line) => line.startsWith(`— ${origin} `))
  const signatures = own.map((line) => Buffer.from(line.split(' ').at(-1) ?? '', 'base64').subarray(4))
  assert(ed25519.some((key) => signatures.some((signature) => isBy(key, text, signature))))
  return { size: Number(size), root: Buffer.from(root, 'base64').toString('hex') }
}
/** Perfect subtrees, from the left. */
const parts: { length: number; node: Buffer }[] = []
let told = 0
const add = (length: number, node: Buffer): void => {
  const left = parts.at(-1)
  if (left?.length !== length) parts.push({ length, node })
  else add(2 * length, nodeOf((parts.pop() ?? left).node, node))
}
const skip = (to: number, nodes: readonly Buffer[]): void => {
  for (const node of nodes) {
    let length = 1
    while (told % (2 * length) === 0 && told + 2 * length <= to) length *= 2
    add(length, node)
    told += length
  }
  assert.equal(told, to)
}
let link = '0'.repeat(64)
for (const line of lines.slice(0, -1)) {
  const [, text = '', chain] = /^(.*),"chain":"([0-9a-f]{64})"\}$/s.exec(line) ?? []
  link = hash('sha256', link + text)
  assert.equal(link, chain)
  const row = JSON.parse(line)
  assert.equal(row.log, row.type === 'header' || 'index' in row ? Number(log) : undefined)
  if (row.type === 'merkle.leaf') skip(row.index, row.between.map(fromHex))
  if (row.type === 'merkle.leaf') skip(row.index + 1, [leafOf(row.entry)])
}
const { jws, ...manifest } = JSON.parse(lines.at(-1) ?? '')
const { treeSize: size, root, after, checkpoint, head } = manifest
skip(size, after.map(fromHex))
const whole = parts.map(({ node }) => node).reduceRight((right, left) => nodeOf(left, right))
assert.deepEqual([manifest.log, manifest.chain, root], [Number(log), link, whole.toString('hex')])
assert.deepEqual(readCheckpoint(checkpoint, `${host}/log/${log}`), { size, root })
const [header, payload, signature] = jws.split('.').map((part: string) => Buffer.from(part, 'base64url'))
assert.deepEqual(JSON.parse(payload), manifest)
const signer = ed25519.find(({ kid }) => kid === JSON.parse(header).kid) ?? assert.fail()
assert(isBy(signer, jws.slice(0, jws.lastIndexOf('.')), signature))
/** RFC 9162 §2.1.1: the root over a range of log 0 with the head at its place; the last hash of a path is the highest. */
const rootOf = (place: number, leaves: number, path: readonly string[]): Buffer => {
  if (leaves === 1) return leafOf(path.length === 0 ? head.entry : assert.fail())
  const split = 2 ** Math.floor(Math.log2(leaves - 1))
  const [below, beside] = [path.slice(0, -1), fromHex(path.at(-1) ?? assert.fail())]
  return place < split
    ? nodeOf(rootOf(place, split, below), beside)
    : nodeOf(beside, rootOf(place - split, leaves - split, below))
}
const log0 = readCheckpoint(head.checkpoint, host)
assert.equal(rootOf(head.index, log0.size, head.hashes).toString('hex'), log0.root)
const { type, data } = JSON.parse(head.entry)
assert.deepEqual([type, data], ['ledger.head', { log: Number(log), root, size }])
console.log(`${size} entries of log ${log}, held by ${log0.size} of log 0`)
