import { expect } from 'chai'
import fc from 'fast-check'
import { grow, leafHash, rootOf, TILE_HASHES } from '../../src/ledger/tree/merkle.ts'
import * as reference from '../support/reference/merkle.ts'

/** Leaves and roots of Certificate Transparency's own test (google/certificate-transparency, Apache-2.0). */
const LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]
const EMPTY_ROOT = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const leavesOf = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => reference.leafHash(Buffer.from(String(index))))

describe('Merkle tree', () => {
  it('gives the known roots of RFC 6962 trees', () => {
    expect(hex(rootOf([]))).to.equal(EMPTY_ROOT)
    const leaves = LEAVES.map((data) => reference.leafHash(Buffer.from(data, 'hex')))
    for (const [index, root] of ROOTS.entries()) {
      expect(hex(grow(0, [], leaves.slice(0, index + 1)).root), `${index + 1} leaves`).to.equal(root)
    }
  })

  it('hashes a leaf as SHA-256(0x00 ‖ UTF-8 text)', () => {
    for (const text of ['', 'a', 'é €', '{"a":"\u{1f4b3}"}', 'x'.repeat(10_000)]) {
      expect(hex(leafHash(text))).to.equal(hex(reference.leafHash(Buffer.from(text))))
    }
  })

  it('has the root of the recursive definition after every way of appending', () => {
    const leaves = leavesOf(700)
    const parts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(parts, (sizes) => {
        let tree = { size: 0, edge: [] as readonly Uint8Array[] }
        for (const count of sizes) {
          const added = leaves.slice(tree.size, tree.size + count)
          const grown = grow(tree.size, tree.edge, added)
          expect(hex(grown.root)).to.equal(hex(reference.rootOf(leaves.slice(0, grown.size))))
          tree = grown
        }
      }),
      { numRuns: 50 },
    )
  })

  it('tells the root of every tile as it becomes full, on every level', () => {
    const leaves = leavesOf(TILE_HASHES * TILE_HASHES)
    const { nodes } = grow(0, [], leaves)
    expect(nodes.filter(({ level }) => level === 1).map(({ index }) => index)).to.deep.equal(
      Array.from({ length: TILE_HASHES }, (_, index) => index),
    )
    for (const { index, hash } of nodes.filter(({ level, index: at }) => level === 1 && at % 50 === 0)) {
      const part = leaves.slice(index * TILE_HASHES, (index + 1) * TILE_HASHES)
      expect(hex(hash)).to.equal(hex(reference.rootOf(part)))
    }
    const top = nodes.filter(({ level }) => level === 2)
    expect(top.map(({ index, hash }) => [index, hex(hash)])).to.deep.equal([
      [0, hex(reference.rootOf(leaves))],
    ])
  })

  it('refuses a right edge that does not belong to the size', () => {
    expect(() => grow(3, [leafHash('a')], [leafHash('b')])).to.throw(RangeError)
  })

  it('counts beyond 2^32 leaves', () => {
    const size = 2 ** 40 - 1
    const edge = Array.from({ length: 40 }, (_, index) => leafHash(String(index)))
    const grown = grow(size, edge, [leafHash('last')])
    expect(grown.size).to.equal(2 ** 40)
    expect(grown.edge).to.have.length(1)
    expect(grown.nodes.map(({ level, index }) => [level, index])).to.deep.equal([
      [1, 2 ** 32 - 1],
      [2, 2 ** 24 - 1],
      [3, 2 ** 16 - 1],
      [4, 255],
      [5, 0],
    ])
  })
})
