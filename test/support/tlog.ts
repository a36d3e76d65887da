/** A log and a client of witnesses as the texts of C2SP have them, written with node:crypto alone: none of the product's own code. */
import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { consistencyProof, leafHash, rootOf } from './reference/merkle.ts'

const ED25519 = 0x01
const ED25519_COSIGNATURE = 0x04
const ML_DSA_COSIGNATURE = 0x06
const TILE = 256

export const uint64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

const idOf = (name: string, material: Uint8Array): Buffer =>
  createHash('sha256').update(`${name}\n`).update(material).digest().subarray(0, 4)

const vkey = (name: string, material: Buffer): string =>
  `${name}+${idOf(name, material).toString('hex')}+${material.toString('base64')}`

const short = (text: string): Buffer => Buffer.concat([Buffer.of(Buffer.byteLength(text)), Buffer.from(text)])

/** cosigned_message of tlog-cosignature, of a whole checkpoint. @param text that begins with its three lines */
export const cosignedMessage = (cosigner: string, time: number, text: string): Buffer => {
  const [origin = '', size = '', root = ''] = text.split('\n')
  return Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    short(cosigner),
    uint64(time),
    short(origin),
    uint64(0),
    uint64(Number(size)),
    Buffer.from(root, 'base64'),
  ])
}

const textOf = (note: string): string => `${note.split('\n\n')[0]}\n`

/** When a cosignature line of this verifier key holds for a note: its time, in POSIX seconds; else undefined. */
export const cosignedAt = (note: string, lines: string, key: string): number | undefined => {
  const [, name = '', encoded = ''] = /^([^+]+)\+[0-9a-f]{8}\+(.+)$/.exec(key) ?? []
  const material = Buffer.from(encoded, 'base64')
  for (const line of lines.split('\n')) {
    const [dash, by, signature = ''] = line.split(' ')
    const bytes = Buffer.from(signature, 'base64')
    if (dash !== '—' || by !== name || !bytes.subarray(0, 4).equals(idOf(name, material))) continue
    const time = Number(bytes.readBigUInt64BE(4))
    const [signed, publicKey] = [bytes.subarray(12), material.subarray(1)]
    const text = textOf(note)
    if (material[0] === ML_DSA_COSIGNATURE)
      return ml_dsa44.verify(signed, cosignedMessage(name, time, text), publicKey) ? time : undefined
    if (material[0] !== ED25519_COSIGNATURE) return undefined
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') }
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
    return verify(null, message, createPublicKey({ key: jwk, format: 'jwk' }), signed) ? time : undefined
  }
  return undefined
}

export interface TestLog {
  readonly origin: string
  /** Verifier keys: Ed25519, ML-DSA-44. */
  readonly keys: readonly [string, string]
  readonly leaves: readonly Buffer[]
  /** A signed note over the first so many leaves, or over others. */
  note(size: number, options?: { leaves?: readonly Buffer[]; root?: Buffer; extension?: string }): string
  proof(from: number, to: number): Buffer[]
  /** Another log of the same service: the same keys sign it under its own name. @param number from 1 */
  beside(number: number, count: number): TestLog
}

const createKeys = () => ({ ed25519: generateKeyPairSync('ed25519'), pq: ml_dsa44.keygen() })

/** A log of so many leaves. */
export const createTestLog = (origin: string, count: number, keys = createKeys()): TestLog => {
  const { pq } = keys
  const { publicKey, privateKey } = keys.ed25519
  const classical = Buffer.concat([
    Buffer.of(ED25519),
    Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url'),
  ])
  const postQuantum = Buffer.concat([Buffer.of(ML_DSA_COSIGNATURE), pq.publicKey])
  const leaves = Array.from({ length: count }, (_, i) => leafHash(Buffer.from(`${origin} ${i}`)))
  const line = (material: Buffer, signature: Uint8Array): string =>
    `— ${origin} ${Buffer.concat([idOf(origin, material), signature]).toString('base64')}\n`
  return {
    origin,
    keys: [vkey(origin, classical), vkey(origin, postQuantum)],
    leaves,
    note(size, { leaves: own = leaves, root = rootOf(own.slice(0, size)), extension = '' } = {}) {
      const text = `${origin}\n${size}\n${root.toString('base64')}\n${extension}`
      const time = 1_767_225_600
      const cosignature = ml_dsa44.sign(cosignedMessage(origin, time, text), pq.secretKey)
      return [
        `${text}\n`,
        line(classical, sign(null, Buffer.from(text), privateKey)),
        line(postQuantum, Buffer.concat([uint64(time), cosignature])),
      ].join('')
    },
    proof: (from, to) => consistencyProof(from, leaves.slice(0, to)),
    beside: (number, own) => createTestLog(`${origin}/log/${number}`, own, keys),
  }
}

/** The body of add-checkpoint. */
export const addBody = (oldSize: number | string, proof: readonly Buffer[], note: string): string =>
  `old ${oldSize}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`

export interface Said {
  readonly status: number
  readonly type: string
  readonly text: string
}

export const post = async (url: string, body: string | Buffer<ArrayBuffer>): Promise<Said> => {
  const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  const type = response.headers.get('content-type') ?? ''
  return { status: response.status, type, text: await response.text() }
}

/** Shows a witness the tree of `to` leaves, from that of `from`. */
export const show = (url: string, log: TestLog, from: number, to: number): Promise<Said> =>
  post(url, addBody(from, log.proof(from, to), log.note(to)))

/** What a log serves: change it and it serves something else. */
export interface Served {
  note: string
  keys: string
  leaves: readonly Buffer[]
  /** Answers nothing but 503. */
  isAway?: boolean
}

/** A tile of a log, by its path there; undefined where the log is not so large. */
export const tileBytes = (leaves: readonly Buffer[], path: string): Buffer | undefined => {
  const [found, level = '', number = '', width = String(TILE)] =
    /^\/tile\/(\d+)\/(.+?)(?:\.p\/(\d+))?$/.exec(path) ?? []
  if (found === undefined) return undefined
  let hashes = leaves
  for (let at = 0; at < Number(level); at++)
    hashes = Array.from({ length: Math.floor(hashes.length / TILE) }, (_, i) =>
      rootOf(hashes.slice(TILE * i, TILE * (i + 1))),
    )
  const start = TILE * Number(number.replaceAll(/[x/]/g, ''))
  const some = hashes.slice(start, start + Number(width))
  return some.length === Number(width) ? Buffer.concat(some) : undefined
}

/** Serves a log over HTTP, as C2SP tlog-tiles has it. Close the server. */
export const serveLog = async (
  served: Served,
): Promise<{ readonly url: string; readonly server: Server }> => {
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const body =
      path === '/checkpoint'
        ? served.note
        : path === '/checkpoint/keys'
          ? served.keys
          : tileBytes(served.leaves, path)
    response.statusCode = served.isAway ? 503 : body === undefined ? 404 : 200
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { url: `http://127.0.0.1:${address.port}`, server }
}
