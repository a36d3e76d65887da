import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createNullifierSet, NullifierSnapshotError, restoreNullifierSet } from '../../src/core/index.ts'
import { MODULES } from '../support/circuits/core-builds.ts'
import { createReferenceSet } from '../support/reference/nullifier-set.ts'

const seed = new Uint8Array(16).fill(7)
const entry = (entries: Uint8Array, i: number): Uint8Array => entries.subarray(12 * i, 12 * i + 12)
/** Entries from so small a world that they repeat. */
const entries = fc.integer({ min: 0, max: 400 }).map((n) => {
  const bytes = new Uint8Array(12)
  new DataView(bytes.buffer).setUint32((n % 3) * 4, n)
  return bytes
})

for (const { name, module } of MODULES) {
  describe(`nullifier set, ${name}`, () => {
    it('answers as a Set does, for every sequence of additions and look-ups', () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(fc.boolean(), entries), { maxLength: 600 }), (steps) => {
          const set = createNullifierSet({ seed, module })
          const model = createReferenceSet()
          for (const [adds, item] of steps) {
            if (adds) expect(set.add(item)).to.equal(model.add(item))
            else expect(set.has(item)).to.equal(model.has(item))
          }
          expect(set.size).to.equal(model.size)
        }),
        { numRuns: 50 },
      )
    })

    it('tells entries apart that differ in one bit', () => {
      const set = createNullifierSet({ seed, module })
      const item = randomBytes(12)
      set.add(item)
      for (let bit = 0; bit < 96; bit++) {
        const other = Buffer.from(item)
        other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(set.has(other)).to.equal(false)
      }
      expect(set.has(item)).to.equal(true)
    })

    it('adds and looks up batches as it does one by one, repeated entries within a batch included', () => {
      const set = createNullifierSet({ seed, module })
      const model = createReferenceSet()
      for (const count of [0, 1, 335, 336, 337, 2000]) {
        const batch = randomBytes(12 * count)
        if (count > 1) batch.copy(batch, 12, 0, 12)
        const added = set.addBatch(batch)
        expect(Array.from(added, Boolean)).to.deep.equal(
          Array.from(added, (_, i) => model.add(entry(batch, i))),
        )
        const mixed = Buffer.concat([batch, randomBytes(12 * count)])
        const found = set.hasBatch(mixed)
        expect(Array.from(found, Boolean)).to.deep.equal(
          Array.from(found, (_, i) => model.has(entry(mixed, i))),
        )
      }
      expect(set.size).to.equal(model.size)
    })

    it('keeps every entry while it grows from nothing, one by one and in batches', () => {
      const set = createNullifierSet({ seed, module })
      const all = randomBytes(12 * 20_000)
      for (let i = 0; i < 10_000; i++) expect(set.add(entry(all, i))).to.equal(true)
      set.addBatch(all.subarray(12 * 10_000))
      expect(set.size).to.equal(20_000)
      expect(set.hasBatch(all).every((found) => found === 1)).to.equal(true)
      expect(set.addBatch(all).some((added) => added === 1)).to.equal(false)
    })

    it('comes back from a snapshot with every entry, and grows on', () => {
      const all = randomBytes(12 * 5000)
      const set = createNullifierSet({ seed, module, capacityHint: 100 })
      set.addBatch(all.subarray(0, 12 * 3000))
      const snapshot = set.snapshot()
      const restored = restoreNullifierSet(snapshot, { module })
      expect(restored.size).to.equal(3000)
      expect(Array.from(restored.hasBatch(all))).to.deep.equal(
        Array.from({ length: 5000 }, (_, i) => Number(i < 3000)),
      )
      restored.addBatch(all)
      expect(restored.size).to.equal(5000)
      expect(restored.hasBatch(all).every((found) => found === 1)).to.equal(true)
      // The snapshot is a copy: neither set changed it.
      expect(restoreNullifierSet(snapshot, { module }).size).to.equal(3000)
    })

    it('refuses a snapshot with any damaged byte, cut short, extended or of another version', () => {
      const set = createNullifierSet({ seed, module })
      set.addBatch(randomBytes(12 * 20))
      const snapshot = set.snapshot()
      const restore = (bytes: Uint8Array) => () => restoreNullifierSet(bytes, { module })
      for (let at = 0; at < snapshot.length; at++) {
        const damaged = snapshot.slice()
        damaged[at] = (damaged[at] ?? 0) ^ (1 << (at & 7))
        expect(restore(damaged), `byte ${at}`).to.throw(NullifierSnapshotError)
      }
      for (let length = 0; length < snapshot.length; length += 61) {
        expect(restore(snapshot.subarray(0, length)), `${length} bytes`).to.throw(NullifierSnapshotError)
      }
      expect(restore(Buffer.concat([snapshot, Buffer.alloc(1)]))).to.throw(
        NullifierSnapshotError,
        'should have',
      )
      const newer = snapshot.slice()
      newer[8] = 2
      expect(restore(newer)).to.throw(NullifierSnapshotError, 'version is 2')
      expect(restore(snapshot)().size).to.equal(20)
    })

    it('refuses a snapshot whose shards do not fill the directory, though its digest is right', () => {
      const whole = Buffer.from(createNullifierSet({ seed, module }).snapshot())
      const changed = (change: (view: Buffer) => void): Uint8Array => {
        const bytes = Buffer.from(whole)
        change(bytes)
        const end = 64 + 80 * bytes.readUInt32LE(12)
        createHash('sha256').update(bytes.subarray(0, end)).digest().copy(bytes, end)
        return bytes
      }
      expect(
        restoreNullifierSet(
          changed(() => undefined),
          { module },
        ).size,
      ).to.equal(0)
      const strange: readonly ((bytes: Buffer) => void)[] = [
        (bytes) => bytes.writeUInt32LE(0, 12),
        (bytes) => bytes.writeUInt32LE(1, 64),
        (bytes) => bytes.writeUInt32LE(1, 68),
        (bytes) => bytes.writeUInt32LE(13, 68),
        (bytes) => bytes.writeUInt32LE(0, 72),
      ]
      for (const change of strange)
        expect(() => restoreNullifierSet(changed(change), { module })).to.throw(NullifierSnapshotError)
    })

    it('refuses entries, batches and seeds of another length', () => {
      const set = createNullifierSet({ seed, module })
      expect(() => set.has(new Uint8Array(11))).to.throw(RangeError, '11 bytes')
      expect(() => set.add(new Uint8Array(13))).to.throw(RangeError, '13 bytes')
      expect(() => set.addBatch(new Uint8Array(25))).to.throw(RangeError, 'multiple of 12')
      expect(() => createNullifierSet({ seed: new Uint8Array(15) })).to.throw(RangeError, '15 bytes')
    })
  })
}

describe('nullifier set without memory', () => {
  /** Runs `use` on a device that has no more memory. */
  const outOfMemory = (use: () => void): void => {
    const { grow } = WebAssembly.Memory.prototype
    WebAssembly.Memory.prototype.grow = () => {
      throw new RangeError('there is no more')
    }
    try {
      use()
    } finally {
      WebAssembly.Memory.prototype.grow = grow
    }
  }

  for (const [way, count] of [
    ['add', 1],
    ['addBatch', 336],
  ] as const)
    it(`forgets nothing, takes nothing twice and goes on once there is some, by ${way}`, () => {
      const set = createNullifierSet({ seed })
      const all = randomBytes(12 * 150_000)
      set.addBatch(all.subarray(0, 12 * 90_000))
      let next = 90_000
      const addMore = () => {
        for (; next < 150_000; next += count)
          set[way](all.subarray(12 * next, 12 * Math.min(next + count, 150_000)))
      }
      outOfMemory(() => expect(addMore).to.throw(RangeError, "can't grow"))
      const snapshot = set.snapshot()
      const found = set.hasBatch(all).reduce((sum, present) => sum + present, 0)
      expect(found).to.be.within(next, next + count)
      expect(set.hasBatch(all.subarray(0, 12 * found)).every((present) => present === 1)).to.equal(true)
      expect(set.size).to.equal(found)
      outOfMemory(() =>
        expect(set.addBatch(all.subarray(0, 12 * found)).every((added) => added === 0)).to.equal(true),
      )
      expect(restoreNullifierSet(snapshot).size).to.equal(found)
      addMore()
      expect(set.size).to.equal(150_000)
      const restored = restoreNullifierSet(set.snapshot())
      expect(restored.hasBatch(all).every((present) => present === 1)).to.equal(true)
    })
})

describe('nullifier set in size', () => {
  it('splits shards while it grows to 400,000 entries without a hint, and loses none', () => {
    const set = createNullifierSet({ seed })
    const all = randomBytes(12 * 400_000)
    for (let from = 0; from < all.length; from += 12 * 50_000)
      set.addBatch(all.subarray(from, from + 12 * 50_000))
    expect(set.size).to.equal(400_000)
    expect(set.hasBatch(all).every((found) => found === 1)).to.equal(true)
    const restored = restoreNullifierSet(set.snapshot())
    expect(restored.hasBatch(all).every((found) => found === 1)).to.equal(true)
    expect(restored.addBatch(randomBytes(12 * 50_000)).length).to.equal(50_000)
  })

  it('needs at most 15 bytes an entry when it was told how many come, and does not grow for them', () => {
    const count = 1_000_000
    const set = createNullifierSet({ seed, capacityHint: count })
    const empty = set.bytesPerEntry
    for (let i = 0; i < 10; i++) set.addBatch(randomBytes(12 * (count / 10)))
    expect(empty).to.equal(Number.POSITIVE_INFINITY)
    expect(set.size).to.equal(count)
    // The fixed 64 KiB count too, which are nothing at ten million.
    expect(set.bytesPerEntry).to.be.at.most(15.1)
  })

  it('tells entries apart that share eight of their bytes and the low bits of the rest', () => {
    for (const at of [0, 4, 8]) {
      const set = createNullifierSet({ seed, capacityHint: 100_000 })
      const present = Buffer.alloc(12 * 100_000)
      const absent = Buffer.alloc(12 * 100_000)
      for (let i = 0; i < 100_000; i++) {
        present.writeUInt32LE(i * 40_960, 12 * i + at)
        absent.writeUInt32LE(i * 40_960 + 4096, 12 * i + at)
      }
      set.addBatch(present)
      expect(set.hasBatch(present).every((found) => found === 1)).to.equal(true)
      expect(set.hasBatch(absent).some((found) => found === 1)).to.equal(false)
    }
  })
})
