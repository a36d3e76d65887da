import { expect } from 'chai'
import { hashAsked } from '../../src/circuits/threads/hashing.ts'
import { inTurn } from '../../src/circuits/threads/in-turn.ts'
import { createWorkerPool } from '../../src/circuits/threads/worker-pool.ts'
import { createField, FIELD_MODULUS } from '../../src/core/field.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { rejection } from '../support/rejection.ts'

const field = createField()
const bytes = (...elements: bigint[]): Uint8Array =>
  Buffer.from(elements.map((element) => element.toString(16).padStart(64, '0')).join(''), 'hex')

describe('hashes on threads', () => {
  it('are those of the field, of every so many elements, level by level', async function () {
    this.timeout(30_000)
    const pool = createWorkerPool({ threads: 1, artifacts })
    const hashMany = inTurn(pool, pool.hash)
    try {
      const [threes, pairs] = await Promise.all([
        hashMany({ tag: 4, width: 3, levels: 1, elements: bytes(1n, 2n, 0n, 4n, FIELD_MODULUS - 1n, 6n) }),
        hashMany({ tag: 5, width: 2, levels: 2, elements: bytes(1n, 2n, 3n, 4n) }),
      ])
      expect(threes).to.deep.equal(
        new Uint8Array(
          bytes(field.poseidon(4, [1n, 2n, 0n]), field.poseidon(4, [4n, FIELD_MODULUS - 1n, 6n])),
        ),
      )
      const root = field.poseidon(5, [field.poseidon(5, [1n, 2n]), field.poseidon(5, [3n, 4n])])
      expect(pairs).to.deep.equal(new Uint8Array(bytes(root)))
      const wrong = { tag: 4, width: 3, levels: 1, elements: bytes(1n, FIELD_MODULUS, 3n) }
      expect((await rejection(hashMany(wrong))).message).to.include('below the modulus')
    } finally {
      await pool.close()
    }
  })

  it('refuse elements that are left over', () => {
    expect(() => hashAsked(field, { tag: 4, width: 3, levels: 1, elements: bytes(1n, 2n) })).to.throw(
      RangeError,
    )
    expect(() => hashAsked(field, { tag: 5, width: 2, levels: 3, elements: bytes(1n, 2n) })).to.throw(
      RangeError,
    )
  })
})
