/** What keeps a million entries in little memory: numbers in chunks, postings by hash, packed entries, maps in parts. */
import { expect } from 'chai'
import fc from 'fast-check'
import { comparableIdentifier, type ListEntry } from '../../../src/domain/aml/entry.ts'
import { createEntryStoreBuilder } from '../../../src/domain/aml/entry-store.ts'
import { growingInts, invert, textPostingsBuilder } from '../../../src/domain/aml/names/postings.ts'
import { WideMap } from '../../../src/domain/aml/wide-map.ts'

const breathe = () => undefined

const entryOf = (id: string, more: Partial<ListEntry> = {}): ListEntry => ({
  id,
  kind: 'person',
  types: ['sanctions'],
  names: [{ text: `Name of ${id}` }, { text: 'Ёлка 李 𠮷', weak: true }],
  births: [{ from: '1961-01-01', to: '1961-12-31' }],
  countries: ['RU'],
  identifiers: [],
  ...more,
})

describe('packed entries', () => {
  it('keeps numbers in their order across chunks', async () => {
    for (const count of [0, 1, 65_535, 65_536, 65_537, 200_000]) {
      const ints = growingInts()
      for (let i = 0; i < count; i++) ints.push(i * 7 - 3)
      expect(ints.length).to.equal(count)
      expect(ints.has(65_536 * 7 - 3, 0)).to.equal(count > 65_536)
      expect(ints.has(65_536 * 7 - 3, 65_537)).to.equal(false)
      const packed = await ints.pack(breathe)
      expect(packed.length).to.equal(count)
      expect(packed.every((value, i) => value === i * 7 - 3)).to.equal(true)
      expect(ints.length).to.equal(0)
    }
  })

  it('tells of each term the documents that have it, ascending, whatever documents have none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(9), { maxLength: 5 }), { maxLength: 30 }),
        async (documents) => {
          const starts = [0]
          for (const terms of documents) starts.push((starts.at(-1) as number) + terms.length)
          const postings = await invert(
            Int32Array.from(starts),
            Int32Array.from(documents.flat()),
            10,
            breathe,
          )
          for (let term = 0; term < 10; term++) {
            const slow = documents.flatMap((terms, i) => terms.filter((one) => one === term).map(() => i))
            expect([...postings.of(term)]).to.deep.equal(slow)
          }
        },
      ),
    )
  })

  it('finds every document that has a text', async () => {
    const builder = textPostingsBuilder()
    const documents = Array.from({ length: 500 }, (_, i) => [`t${i % 7}`, `u${i}`, `t${i % 7}`])
    for (const texts of documents) builder.add(texts)
    const postings = await builder.build(breathe)
    for (const [i, texts] of documents.entries())
      for (const text of texts) expect([...postings.of(text)]).to.include(i)
    // Each once, also where a text was given twice.
    expect([...postings.of('u9')].filter((one) => one === 9)).to.have.length(1)
  })

  it('gives entries back as they were, by number, by list and id, and by identifier', async () => {
    const builder = createEntryStoreBuilder()
    const number = comparableIdentifier('AB 12345')
    const entries = [
      ['sdn', entryOf('1', { identifiers: [number, 'X99999'] })],
      ['sdn', entryOf('a/b')],
      ['sdn/a', entryOf('b')],
      ['eu', entryOf('1', { identifiers: [number] })],
      // Longer than what is kept in one piece.
      ['eu', entryOf('long', { names: [{ text: 'й'.repeat(1_500_000) }] })],
      ['eu', entryOf('after')],
    ] as const
    for (const [listId, entry] of entries) builder.add(listId, entry)
    expect(builder.count).to.equal(entries.length)
    const store = await builder.build(breathe)
    for (const [i, [listId, entry]] of entries.entries()) {
      expect(store.at(i)).to.deep.equal({ listId, entry })
      expect(store.find(listId, entry.id)).to.deep.equal(entry)
    }
    expect(store.find('sdn', 'b')).to.equal(undefined)
    expect(store.find('uk', '1')).to.equal(undefined)
    expect(store.withIdentifier(number)).to.deep.equal([0, 3])
    expect(store.withIdentifier('X99999')).to.deep.equal([0])
    expect(store.withIdentifier('X9999')).to.deep.equal([])
  })

  it('is a map, in parts', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.option(fc.nat()))), (steps) => {
        const [wide, plain] = [new WideMap<number>(), new Map<string, number>()]
        for (const [key, value] of steps) {
          if (value === null) {
            wide.delete(key)
            plain.delete(key)
          } else {
            wide.set(key, value)
            plain.set(key, value)
          }
          expect([wide.get(key), wide.has(key), wide.size]).to.deep.equal([
            plain.get(key),
            plain.has(key),
            plain.size,
          ])
        }
        expect(new Map(wide)).to.deep.equal(plain)
      }),
    )
  })
})
