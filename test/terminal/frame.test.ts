import { expect } from 'chai'
import {
  firstFrame,
  nullifiersFrame,
  readJournal,
  recordsFrame,
  salvageJournal,
} from '../../src/terminal/storage/frame.ts'
import type { JournalRecord } from '../../src/terminal/storage/records.ts'

const synced = (transactionId: string): JournalRecord => ({ kind: 'synced', transactionId })

const FRAMES = [
  recordsFrame(0, [{ kind: 'terminal', merchantId: 'mer_1' }]),
  nullifiersFrame(
    1,
    Uint8Array.from({ length: 100 }, (_, i) => i),
  ),
  recordsFrame(2, [synced('a'), synced('b')]),
  recordsFrame(3, [synced('c')]),
]
const RECORDS = [{ kind: 'terminal', merchantId: 'mer_1' }, synced('a'), synced('b'), synced('c')]
const WITHOUT_LAST = RECORDS.slice(0, 3)

const join = (frames: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(frames.flatMap((frame) => [...frame]))
const WHOLE = join(FRAMES)
const LAST_AT = WHOLE.length - (FRAMES[3]?.length ?? 0)
/** As a rewrite leaves them. */
const FIRST = firstFrame([{ kind: 'terminal', merchantId: 'mer_1' }], 3)
const REWRITTEN = join([FIRST, ...FRAMES.slice(1, 3)])

const flipped = (bytes: Uint8Array, bit: number): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

describe('terminal frames', () => {
  it('are read back as they were written', () => {
    const { contents, wholeBytes, nextSequence } = readJournal(WHOLE)
    expect(contents.records).to.deep.equal(RECORDS)
    expect(contents.nullifiers).to.deep.equal(Uint8Array.from({ length: 100 }, (_, i) => i))
    expect([wholeBytes, nextSequence]).to.deep.equal([WHOLE.length, 4])
  })

  it('have the checksum of ISO 3309', () => {
    // CRC-32 of `04 00 00 00 03 00 00 00 01 5b 5d`, from zlib.
    const frame = recordsFrame(4, [])
    expect(Buffer.from(frame).toString('hex')).to.equal('414a46310400000003000000121be1a7015b5d')
  })

  it('are no records where their checksum is right and their content is none', () => {
    const strange = [null, 7, {}, [null], [7], [{}], [{ kind: 1 }], 'x'].map((records) =>
      recordsFrame(1, records as unknown as readonly JournalRecord[]),
    )
    for (const frame of strange) {
      const torn = join([FRAMES[0] as Uint8Array, frame])
      expect(readJournal(torn).contents.records).to.deep.equal(RECORDS.slice(0, 1))
      const damaged = join([FRAMES[0] as Uint8Array, frame, FRAMES[2] as Uint8Array])
      expect(() => readJournal(damaged)).to.throw('damaged')
      expect(salvageJournal(damaged).contents.records).to.deep.equal(RECORDS.slice(0, 3))
    }
  })

  it('drop the last one wherever it is torn', () => {
    for (let end = LAST_AT; end < WHOLE.length; end++) {
      const { contents, wholeBytes } = readJournal(WHOLE.subarray(0, end))
      expect(contents.records, `cut at ${end}`).to.deep.equal(WITHOUT_LAST)
      expect(wholeBytes).to.equal(LAST_AT)
    }
  })

  it('drop a last one whose blocks did not all reach the disk', () => {
    for (let from = LAST_AT; from < WHOLE.length; from++) {
      const torn = Uint8Array.from(WHOLE)
      torn.fill(0, from)
      expect(readJournal(torn).contents.records, `zeros from ${from}`).to.deep.equal(WITHOUT_LAST)
    }
  })

  it('drop a last one with any bit flipped', () => {
    for (let bit = LAST_AT * 8; bit < WHOLE.length * 8; bit++) {
      expect(readJournal(flipped(WHOLE, bit)).contents.records, `bit ${bit}`).to.deep.equal(WITHOUT_LAST)
    }
  })

  it('are damaged when any bit before the last one is flipped', () => {
    for (let bit = 0; bit < LAST_AT * 8; bit++) {
      expect(() => readJournal(flipped(WHOLE, bit)), `bit ${bit}`).to.throw('damaged')
    }
  })

  it('are damaged when one is missing, repeated or out of order', () => {
    const [first, second, third, fourth] = FRAMES as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
    for (const frames of [
      [],
      [second, third],
      [first, third, fourth],
      [first, second, second, third],
      [first, third, second],
    ]) {
      expect(() => readJournal(join(frames))).to.throw('damaged')
    }
  })

  it('that were written at once are damaged wherever they are cut off, and when any bit is flipped', () => {
    expect(readJournal(REWRITTEN).contents.records).to.deep.equal(WITHOUT_LAST)
    for (let end = 0; end < REWRITTEN.length; end++)
      expect(() => readJournal(REWRITTEN.subarray(0, end)), `cut at ${end}`).to.throw('damaged')
    for (let bit = 0; bit < REWRITTEN.length * 8; bit++)
      expect(() => readJournal(flipped(REWRITTEN, bit)), `bit ${bit}`).to.throw('damaged')
  })

  it('drop a torn one behind those that were written at once', () => {
    const longer = join([REWRITTEN, FRAMES[3] ?? new Uint8Array()])
    expect(readJournal(longer).contents.records).to.deep.equal(RECORDS)
    for (let end = REWRITTEN.length; end < longer.length; end++) {
      const { contents, wholeBytes } = readJournal(longer.subarray(0, end))
      expect(contents.records, `cut at ${end}`).to.deep.equal(WITHOUT_LAST)
      expect(wholeBytes).to.equal(REWRITTEN.length)
    }
  })

  it('that are whole are salvaged from among damage, in order', () => {
    const damaged = flipped(WHOLE, ((FRAMES[0]?.length ?? 0) + 50) * 8)
    const { contents, frames, lostBytes, nullifiersLost } = salvageJournal(damaged)
    expect(contents.records).to.deep.equal(RECORDS)
    expect([contents.nullifiers, frames, nullifiersLost]).to.deep.equal([undefined, 3, true])
    expect(lostBytes).to.equal(FRAMES[1]?.length)
  })

  it('salvaged without loss of the snapshot say so', () => {
    const { contents, nullifiersLost } = salvageJournal(flipped(WHOLE, (LAST_AT - 5) * 8))
    expect(contents.records.map(({ kind }) => kind)).to.deep.equal(['terminal', 'synced'])
    expect(contents.nullifiers).to.have.length(100)
    expect(nullifiersLost).to.equal(false)
  })

  it('salvaged say that the snapshot may be lost wherever it can have been, and only there', () => {
    const lost = (bytes: Uint8Array) => salvageJournal(bytes).nullifiersLost
    expect(lost(REWRITTEN.subarray(0, FIRST.length + 50))).to.equal(true)
    expect(lost(REWRITTEN.subarray(0, FIRST.length - 1))).to.equal(true)
    expect(lost(WHOLE.subarray(0, (FRAMES[0]?.length ?? 0) + 50))).to.equal(true)
    expect(lost(FIRST)).to.equal(true)
    // Written alone: what came behind it was records.
    const alone = firstFrame([{ kind: 'terminal', merchantId: 'mer_1' }], 1)
    const damaged = flipped(join([alone, recordsFrame(1, [synced('a')])]), (alone.length + 20) * 8)
    expect(lost(damaged)).to.equal(false)
    expect(lost(join([damaged, recordsFrame(2, [synced('b')])]))).to.equal(false)
  })

  it('salvaged say that payments may be lost where what is missing has room for one, or left no room', () => {
    const lost = (...frames: readonly Uint8Array[]) => salvageJournal(join(frames)).paymentsLost
    const spoilt = (frame: Uint8Array) => flipped(frame, 20 * 8)
    const proof = ''.padEnd(66, 'A')
    const paid = recordsFrame(2, [
      {
        kind: 'payment',
        transactionId: 'a',
        proof,
        amount: 1,
        currency: 'GBP',
        timestamp: 1,
        ownId: true,
      },
    ])
    const alone = firstFrame([{ kind: 'terminal', merchantId: 'mer_1' }], 1)
    const [one, last] = [recordsFrame(1, [synced('a')]), recordsFrame(3, [synced('b')])]
    expect(lost(alone, one, spoilt(paid), last)).to.equal(true)
    expect(lost(alone, one, spoilt(paid))).to.equal(true)
    expect(lost(alone, one, last)).to.equal(true)
    expect(lost(FIRST, FRAMES[1] ?? one)).to.equal(true)
    expect(lost(spoilt(alone), one, paid, last)).to.equal(false)
    expect(lost(alone, spoilt(one), paid, last)).to.equal(false)
    expect(lost(alone, one, paid, spoilt(last))).to.equal(false)
    expect(lost(alone, one, one, paid, last)).to.equal(false)
  })
})
