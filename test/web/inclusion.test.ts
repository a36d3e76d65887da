/** The log's inclusion as a page checks it, on trees of many tiles that a log of our own vouches for. */
import { generateKeyPairSync, hash, sign, webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { nodeHash } from '../../src/ledger/tree/merkle.ts'
import { NOTE_ED25519 } from '../../src/protocol/checkpoint/note.ts'
import { checkpointText, signatureLine, verifierKey } from '../../src/protocol/checkpoint/signed-note.ts'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { checkConsistency } from '../../src/web/result/consistency.ts'
import { checkInclusion, openTree, type PublishedLog } from '../../src/web/result/inclusion.ts'
import { consistencyProof } from '../support/reference/merkle.ts'

const HOST = 'log.example'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const key = {
  name: HOST,
  type: NOTE_ED25519,
  publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
} as const

const leaf = (index: number): Buffer => hash('sha256', `leaf ${index}`, 'buffer')

/** RFC 6962 §2.1, by definition. */
const rootOf = (leaves: readonly Uint8Array[]): Uint8Array => {
  const [first] = leaves
  if (first === undefined || leaves.length === 1) return first ?? new Uint8Array()
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1))
  return nodeHash(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)))
}

/** A log with so many leaves. */
const logs = new Map<number, PublishedLog>()
const logOf = (size: number): PublishedLog => {
  const log = logs.get(size) ?? makeLog(size)
  logs.set(size, log)
  return log
}
const makeLog = (size: number, name: string = HOST): PublishedLog => {
  const leaves = Array.from({ length: size }, (_, i) => leaf(i))
  const levels: Uint8Array[][] = [leaves]
  for (let below = leaves; below.length >= 256; ) {
    const roots = Array.from({ length: Math.floor(below.length / 256) }, (_, i) =>
      rootOf(below.slice(256 * i, 256 * i + 256)),
    )
    levels.push(roots)
    below = roots as Buffer[]
  }
  const text = checkpointText(name, size, rootOf(leaves))
  const own = { ...key, name }
  const note = `${text}\n${signatureLine(own, sign(null, Buffer.from(text), privateKey))}`
  return {
    checkpoint: async () => note,
    keys: async () => `${verifierKey(own)}\n`,
    tile: async (path) => {
      const [, level = '', number = '', width = '256'] = /^(\d+)\/(.+?)(?:\.p\/(\d+))?$/.exec(path) ?? []
      const tile = Number(number.replaceAll(/[x/]/g, ''))
      const hashes = levels[Number(level)]?.slice(256 * tile, 256 * tile + Number(width)) ?? []
      expect(hashes, path).to.have.length(Number(width))
      return new Uint8Array(Buffer.concat(hashes))
    },
  }
}

describe('inclusion in the published log', () => {
  const check = async (size: number, index: number, claimed = index) => {
    const leafHash = leaf(claimed).toString('hex')
    const crypto = await openCrypto(webcrypto.subtle as SubtleCrypto)
    return checkInclusion({ leafHash, index, name: HOST }, logOf(size), crypto)
  }

  for (const size of [1, 2, 3, 7, 255, 256, 257, 511, 512, 513, 1000, 65_536, 66_050])
    it(`is found in a tree of ${size}, and nothing else is`, async () => {
      for (const index of new Set([0, size >> 1, size - 1, Math.max(0, size - 2)])) {
        expect((await check(size, index)).outcome, `${index}`).to.equal('passed')
        expect((await check(size, index, index + 1)).outcome, `${index}`).to.equal('failed')
      }
    }).timeout(60_000)

  it('is not looked for where the checkpoint does not reach, and not believed of another log', async () => {
    expect((await check(5, 5)).outcome).to.equal('skipped')
    const crypto = await openCrypto(webcrypto.subtle as SubtleCrypto)
    const asked = { leafHash: leaf(1).toString('hex'), index: 1, name: 'other.example' }
    expect(await checkInclusion(asked, logOf(4), crypto)).to.deep.equal({
      outcome: 'skipped',
      detail: 'The checkpoint is that of another log, log.example.',
    })
  })

  it('is found in a log that was begun anew, which has the entries that were left under another name', async () => {
    const crypto = await openCrypto(webcrypto.subtle as SubtleCrypto)
    const asked = { leafHash: leaf(1).toString('hex'), index: 1 }
    for (const [name, now, outcome] of [
      [HOST, `${HOST}/2`, 'passed'],
      [`${HOST}/log/3`, `${HOST}/12/log/3`, 'passed'],
      [`${HOST}/2`, `${HOST}/2`, 'passed'],
      [HOST, `${HOST}/1`, 'skipped'],
      [HOST, `${HOST}/2/log/3`, 'skipped'],
      [`${HOST}/2`, `${HOST}/3`, 'skipped'],
      ['other.example', `${HOST}/2`, 'skipped'],
    ] as const)
      expect((await checkInclusion({ ...asked, name }, makeLog(4, now), crypto)).outcome, now).to.equal(
        outcome,
      )
  })

  it('comes with consistency proofs that are made of tiles, from any earlier size', async () => {
    const crypto = await openCrypto(webcrypto.subtle as SubtleCrypto)
    const leaves = Array.from({ length: 700 }, (_, i) => leaf(i))
    for (const size of [1, 2, 255, 256, 257, 512, 700]) {
      const tree = openTree(size, logOf(size), crypto)
      expect(await tree.root()).to.equal(Buffer.from(rootOf(leaves.slice(0, size))).toString('hex'))
      for (const earlier of new Set([0, 1, 2, 3, 130, 255, 256, 300, 511, 512, size])) {
        if (earlier > size) continue
        const proof = consistencyProof(earlier, leaves.slice(0, size)).map((hash) => hash.toString('hex'))
        expect(await tree.consistency(earlier), `${earlier} ${size}`).to.deep.equal(proof)
      }
    }
  })

  it('is not told to have grown by tiles that fit both roots, but not each other', async () => {
    const crypto = await openCrypto(webcrypto.subtle as SubtleCrypto)
    const others = Array.from({ length: 512 }, (_, i) => leaf(1000 + i))
    const roots = [rootOf(others.slice(0, 256)), rootOf(others.slice(256))]
    const forged = {
      tile: (path: string) =>
        path.startsWith('1/') ? Promise.resolve(new Uint8Array(Buffer.concat(roots))) : logOf(512).tile(path),
    }
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
    const then = { size: 300, root: hex(rootOf(Array.from({ length: 300 }, (_, i) => leaf(i)))) }
    const now = { size: 512, root: hex(rootOf(others)) }
    const tree = openTree(512, forged, crypto)
    expect(await tree.root()).to.equal(now.root)
    const { outcome } = await checkConsistency(then, now, await tree.consistency(300), crypto)
    expect(outcome).to.equal('failed')
  })
})
