/** The log's inclusion as a page checks it, on trees of many tiles that a log of our own vouches for. */
import { generateKeyPairSync, hash, sign, webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { nodeHash } from '../../src/ledger/tree/merkle.ts'
import { NOTE_ED25519 } from '../../src/protocol/checkpoint/note.ts'
import { checkpointText, signatureLine, verifierKey } from '../../src/protocol/checkpoint/signed-note.ts'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { checkInclusion, type PublishedLog } from '../../src/web/result/inclusion.ts'

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
const makeLog = (size: number): PublishedLog => {
  const leaves = Array.from({ length: size }, (_, i) => leaf(i))
  const levels: Uint8Array[][] = [leaves]
  for (let below = leaves; below.length >= 256; ) {
    const roots = Array.from({ length: Math.floor(below.length / 256) }, (_, i) =>
      rootOf(below.slice(256 * i, 256 * i + 256)),
    )
    levels.push(roots)
    below = roots as Buffer[]
  }
  const text = checkpointText(HOST, size, rootOf(leaves))
  const note = `${text}\n${signatureLine(key, sign(null, Buffer.from(text), privateKey))}`
  return {
    checkpoint: async () => note,
    keys: async () => `${verifierKey(key)}\n`,
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
      outcome: 'failed',
      detail: 'The checkpoint is that of another log, log.example.',
    })
  })
})
