/** Heads of other logs as entries of log 0: read in the one way that they are written. */
import { hash } from 'node:crypto'
import { expect } from 'chai'
import { leafHash, nodeHash } from '../../src/ledger/tree/merkle.ts'
import { canonicalJson } from '../../src/protocol/canonical-json.ts'
import { firstOrigin, headIn } from '../../src/protocol/log-heads.ts'

const ROOT = hash('sha256', 'a tree')
const HEAD = {
  v: 1,
  id: 'ent_1',
  ts: 1_767_225_600_000,
  org: 'log',
  type: 'ledger.head',
  actor: 'a',
  subject: null,
  data: { log: 2, root: ROOT, size: 7 },
  salt: 's',
}

/** The head that an entry says, which is all that its log 0 has. */
const saidBy = (entry: string) => {
  const log0 = { size: 1, root: leafHash(entry) }
  return headIn({ entry, index: 0, hashes: [] }, log0, { leafHash, nodeHash })
}

describe('heads of logs', () => {
  it('are said by entries of type ledger.head', () => {
    expect(saidBy(canonicalJson(HEAD))).to.deep.equal({
      log: 2,
      size: 7,
      root: new Uint8Array(Buffer.from(ROOT, 'hex')),
    })
  })

  it('are said by no entry of an organisation, nor of another type', () => {
    for (const changes of [{ org: 'org_1' }, { org: 'log/2' }, { org: null }, { type: 'chat' }])
      expect(saidBy(canonicalJson({ ...HEAD, ...changes })), JSON.stringify(changes)).to.equal(undefined)
  })

  it('say a log, a size and a root, and nothing else', () => {
    for (const changes of [
      { log: 0 },
      { log: 64 },
      { log: -1 },
      { log: 1.5 },
      { log: '2' },
      { log: undefined },
      { size: 0 },
      { size: 2 ** 60 },
      { size: '7' },
      { root: ROOT.toUpperCase() },
      { root: ROOT.slice(2) },
      { more: 1 },
      { checkpoint: 'x' },
    ])
      expect(
        saidBy(canonicalJson({ ...HEAD, data: { ...HEAD.data, ...changes } })),
        JSON.stringify(changes),
      ).to.equal(undefined)
    for (const data of [null, [], 'x', undefined])
      expect(saidBy(canonicalJson({ ...HEAD, data }))).to.equal(undefined)
  })

  it('are read from canonical JSON alone: of a member that is there twice another reader takes the other', () => {
    const entry = canonicalJson(HEAD)
    for (const other of [
      entry.replace('"log":2', '"log":1,"log":2'),
      entry.replace('"org":"log"', '"org":"org_1","org":"log"'),
      entry.replace('"size":7', '"size":7.0'),
      entry.replace('"log":2,', '"log": 2,'),
      JSON.stringify(HEAD),
      `${entry} `,
      entry.slice(1),
      '',
    ])
      expect(saidBy(other), other).to.equal(undefined)
  })
})

describe('names of logs', () => {
  it('that were begun anew are those of the first beginning but for its number', () => {
    for (const [origin, first] of [
      ['log.example:8080', 'log.example:8080'],
      ['log.example/2', 'log.example'],
      ['log.example/10', 'log.example'],
      ['log.example/2/log/63', 'log.example/log/63'],
      ['log.example/log/2', 'log.example/log/2'],
      // No log was ever called so.
      ['log.example/1', 'log.example/1'],
      ['log.example/02', 'log.example/02'],
      ['log.example/2/3', 'log.example/2/3'],
      ['log.example/2/log/0', 'log.example/2/log/0'],
      ['log.example/two', 'log.example/two'],
      ['/2', '/2'],
    ])
      expect(firstOrigin(origin as string), origin).to.equal(first)
  })
})
