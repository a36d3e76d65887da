import { expect } from 'chai'
import {
  apiKeyHint,
  isApiKey,
  isPodKey,
  isTerminalToken,
  newApiKey,
  newPodKey,
  newSecret,
  newTerminalToken,
  secretDigest,
} from '../../src/keys/api-keys.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** CRC-32 bit by bit (ISO 3309), apart from zlib's. */
const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

const base62 = (value: number): string =>
  value === 0 ? '' : base62(Math.floor(value / 62)) + BASE62[value % 62]

describe('API keys', () => {
  it('have a prefix, 43 random digits, and the CRC-32 of both in six base62 digits', () => {
    for (let i = 0; i < 50; i++) {
      const key = newApiKey()
      expect(key).to.match(/^ak_live_[0-9A-Za-z]{49}$/)
      expect(key.slice(-6)).to.equal(base62(crc32(key.slice(0, -6))).padStart(6, '0'))
      expect(isApiKey(key)).to.equal(true)
    }
  })

  it('are told from typing errors: any one changed character is noticed', () => {
    const key = newApiKey()
    for (let i = 0; i < key.length; i++) {
      const other = key[i] === 'x' ? 'y' : 'x'
      expect(isApiKey(key.slice(0, i) + other + key.slice(i + 1)), `character ${i}`).to.equal(false)
    }
    for (const wrong of ['', 'ak_live_', key.slice(1), `${key}0`, key.toLowerCase(), ` ${key}`]) {
      expect(isApiKey(wrong)).to.equal(false)
    }
  })

  it('use every digit about equally often', () => {
    const counts = new Map<string, number>()
    for (let i = 0; i < 2000; i++)
      for (const digit of newSecret()) counts.set(digit, (counts.get(digit) ?? 0) + 1)
    const expected = (2000 * 43) / 62
    expect(counts.size).to.equal(62)
    // Six standard deviations: fails once in a hundred million runs when all is well, always with a modulo bias.
    for (const count of counts.values())
      expect(Math.abs(count - expected)).to.be.below(6 * Math.sqrt(expected))
  })

  it('never repeat', () => {
    expect(new Set(Array.from({ length: 1000 }, newApiKey)).size).to.equal(1000)
  })

  it('show only how they begin', () => {
    const key = newApiKey()
    expect(apiKeyHint(key)).to.equal(key.slice(0, 12))
    expect(apiKeyHint('chosen-by-an-operator')).to.equal('')
  })

  it('are kept as SHA-256', () => {
    expect(secretDigest('abc').toString('hex')).to.equal(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  it('are never mistaken for terminal tokens', () => {
    expect(isTerminalToken(newTerminalToken())).to.equal(true)
    expect(isTerminalToken(newApiKey())).to.equal(false)
    expect(isApiKey(newTerminalToken())).to.equal(false)
  })

  it('are never mistaken for keys of pods', () => {
    expect(newPodKey()).to.match(/^pk_pod_[0-9A-Za-z]{43}$/)
    expect(newPodKey()).to.not.equal(newPodKey())
    expect(isPodKey(newPodKey())).to.equal(true)
    for (const other of [newApiKey(), newTerminalToken(), `${newPodKey()}x`, newPodKey().slice(0, -1)])
      expect(isPodKey(other)).to.equal(false)
    expect(isApiKey(newPodKey())).to.equal(false)
    expect(isTerminalToken(newPodKey())).to.equal(false)
  })
})
