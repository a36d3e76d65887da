/** Status list tokens as a reader checks them: written here by hand, so that nothing of the service's own writing is believed. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { deflateRawSync, deflateSync } from 'node:zlib'
import { StatusList as OtherStatusList } from '@sd-jwt/jwt-status-list'
import { expect } from 'chai'
import fc from 'fast-check'
import { STATUS_LIST_ENTRIES, statusNumber, statusPlace } from '../../src/protocol/status.ts'
import { type ExpectedStatusList, readStatusList } from '../../src/protocol/status-list.ts'

const ISSUER = 'https://assay.example'
const NOW = 1_800_000_000
const LIST_BYTES = STATUS_LIST_ENTRIES / 8

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = {
  ...(publicKey.export({ format: 'jwk' }) as { kty: string; crv: string; x: string; y: string }),
  kid: 'k1',
}
const expected: ExpectedStatusList = { keys: { keys: [jwk] }, issuer: ISSUER, list: 3, now: NOW }

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEADER = { alg: 'ES256', kid: 'k1', typ: 'statuslist+jwt' }
const lst = (bytes: Uint8Array, pack: (bytes: Uint8Array) => Buffer = deflateSync): string =>
  pack(bytes).toString('base64url')
const PAYLOAD = {
  iss: ISSUER,
  sub: `${ISSUER}/status/3`,
  iat: NOW,
  exp: NOW + 300,
  ttl: 60,
  status_list: { bits: 1, lst: lst(new Uint8Array(LIST_BYTES)) },
}
const token = (header: object = {}, payload: object = {}, key: KeyObject = privateKey): string => {
  const covered = `${part({ ...HEADER, ...header })}.${part({ ...PAYLOAD, ...payload })}`
  return `${covered}.${sign('sha256', Buffer.from(covered), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
const listOf = (value: string, more: object = {}) => ({ status_list: { bits: 1, lst: value, ...more } })

const reasonOf = async (jwt: string, more: Partial<ExpectedStatusList> = {}): Promise<string> => {
  const read = await readStatusList(jwt, { ...expected, ...more })
  return 'reason' in read ? read.reason : 'none'
}

describe('numbers of statuses', () => {
  it('name list and index, and are at least 1', () => {
    expect(statusNumber({ list: 0, index: 0 })).to.equal(1)
    expect(statusNumber({ list: 2, index: 131_071 })).to.equal(2 * 2 ** 20 + 131_072)
    fc.assert(
      fc.property(fc.nat(2 ** 32), fc.nat(STATUS_LIST_ENTRIES - 1), (list, index) => {
        expect(statusPlace(statusNumber({ list, index }))).to.deep.equal({ list, index })
      }),
    )
  })

  it('are no others', () => {
    for (const status of [0, -1, 0.5, STATUS_LIST_ENTRIES + 1, 2 ** 20, 2 ** 53, Number.NaN, Infinity])
      expect(() => statusPlace(status), String(status)).to.throw(RangeError)
  })
})

describe('readStatusList', () => {
  it('reads each entry as another implementation wrote it', async () => {
    const set = new Set([0, 1, 7, 8, 9, 4095, 65_537, 131_070, 131_071])
    const entries = Array.from({ length: STATUS_LIST_ENTRIES }, (_, index) => (set.has(index) ? 1 : 0))
    const value = new OtherStatusList(entries, 1).compressStatusList()
    const read = await readStatusList(token({}, listOf(value)), expected)
    if ('reason' in read) throw new Error(read.reason)
    const { statusList } = read
    expect(statusList).to.include({ uri: `${ISSUER}/status/3`, issuedAt: NOW, expiresAt: NOW + 300 })
    const found = entries.flatMap((_, index) => (statusList.isSet(index) ? [index] : []))
    expect(found).to.deep.equal([...set])
    for (const index of [-1, 0.5, STATUS_LIST_ENTRIES])
      expect(() => statusList.isSet(index)).to.throw(RangeError)
  })

  it('reads the bits of the example of the draft (§4.1) in its order', async () => {
    const bytes = new Uint8Array(LIST_BYTES)
    bytes.set([0xb9, 0xa3])
    const read = await readStatusList(token({}, listOf(lst(bytes))), expected)
    if ('reason' in read) throw new Error(read.reason)
    const bits = Array.from({ length: 16 }, (_, index) => Number(read.statusList.isSet(index)))
    expect(bits).to.deep.equal([1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1])
  })

  it('says that a list is stale from its expiry on, and when it comes from the future', async () => {
    expect(await reasonOf(token(), { now: NOW + 299 })).to.equal('none')
    expect(await reasonOf(token(), { now: NOW + 300 })).to.equal('STATUS_STALE')
    expect(await reasonOf(token(), { now: NOW - 300 })).to.equal('none')
    expect(await reasonOf(token(), { now: NOW - 301 })).to.equal('STATUS_STALE')
    for (const now of [Number.NaN, Infinity, -Infinity])
      expect(await reasonOf(token(), { now })).to.equal('STATUS_STALE')
  })

  it('names what is wrong with a list of somebody else, or of another number', async () => {
    expect(await reasonOf(token({}, { iss: 'https://other.example' }))).to.equal(
      'STATUS_LIST_ISSUER_MISMATCH',
    )
    expect(await reasonOf(token({}, { iss: undefined }))).to.equal('STATUS_LIST_ISSUER_MISMATCH')
    expect(await reasonOf(token(), { issuer: 'https://other.example' })).to.equal(
      'STATUS_LIST_ISSUER_MISMATCH',
    )
    expect(await reasonOf(token(), { list: 4 })).to.equal('STATUS_LIST_OTHER')
    expect(await reasonOf(token({}, { sub: `${ISSUER}/status/4` }))).to.equal('STATUS_LIST_OTHER')
  })

  it('believes no other key, and no changed text', async () => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    expect(await reasonOf(token({}, {}, stranger.privateKey))).to.equal('STATUS_LIST_SIGNATURE_INVALID')
    expect(
      await reasonOf(token({ jwk: stranger.publicKey.export({ format: 'jwk' }) }, {}, stranger.privateKey)),
    ).to.equal('STATUS_LIST_SIGNATURE_INVALID')
    for (const kid of ['k2', undefined, 7, '__proto__'])
      expect(await reasonOf(token({ kid })), String(kid)).to.equal('STATUS_LIST_KEY_UNKNOWN')
    const ed25519 = { kty: 'OKP', crv: 'Ed25519', x: jwk.x, kid: 'k1' }
    expect(await reasonOf(token(), { keys: { keys: [ed25519] } })).to.equal('STATUS_LIST_KEY_UNKNOWN')
    const [head, , tail] = token().split('.')
    const other = `${head}.${part({ ...PAYLOAD, exp: NOW + 9999 })}.${tail}`
    expect(await reasonOf(other)).to.equal('STATUS_LIST_SIGNATURE_INVALID')
  })

  it('refuses every other form', async () => {
    const wrong: Record<string, string> = {
      empty: '',
      words: 'no token',
      'another algorithm': token({ alg: 'none' }),
      'another type': token({ typ: 'jwt' }),
      'no type': token({ typ: undefined }),
      'critical members': token({ crit: ['b64'] }),
      'no time': token({}, { iat: undefined }),
      'no expiry': token({}, { exp: undefined }),
      'a time that is a text': token({}, { exp: String(NOW + 300) }),
      'no list': token({}, { status_list: undefined }),
      'two bits': token({}, { status_list: { bits: 2, lst: PAYLOAD.status_list.lst } }),
      'no bits': token({}, { status_list: { lst: PAYLOAD.status_list.lst } }),
      'padded base64': token({}, listOf(`${PAYLOAD.status_list.lst}=`)),
      'a raw stream': token({}, listOf(lst(new Uint8Array(LIST_BYTES), deflateRawSync))),
      'nothing compressed': token({}, listOf('')),
      'too short': token({}, listOf(lst(new Uint8Array(LIST_BYTES - 1)))),
      'too long': token({}, listOf(lst(new Uint8Array(LIST_BYTES + 1)))),
      'a bomb': token({}, listOf(lst(new Uint8Array(16 * 2 ** 20)))),
      'cut off': token({}, listOf(lst(new Uint8Array(LIST_BYTES)).slice(0, -8))),
      'long text': `${token()}${'A'.repeat(40_000)}`,
    }
    for (const [name, jwt] of Object.entries(wrong))
      expect(await reasonOf(jwt), name).to.equal('STATUS_LIST_MALFORMED')
  })

  it('answers, whatever it is given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.json(), async (text, json) => {
        const covered = `${part(HEADER)}.${Buffer.from(json).toString('base64url')}`
        for (const jwt of [text, `${covered}.AAAA`]) expect(await reasonOf(jwt)).to.match(/^STATUS_/)
      }),
    )
  })
})
