/** Pages of several lists as one. */
import { expect } from 'chai'
import fc from 'fast-check'
import { mergePages, type PageOf, type Place, type Rows } from '../../src/store/pages.ts'

interface Row extends Place {
  /** Whether it is looked for. */
  readonly matches: boolean
}

/** So many rows are searched for a page. */
const SEARCHED = 3

const newestFirst = (a: Place, b: Place): number => b.at - a.at || (a.id < b.id ? 1 : -1)

/** A page as `findPage` makes it of a list that is searched. */
const pageOf = (list: readonly Row[], { after, limit }: PageOf): Rows<Row> => {
  const behind = list.filter((row) => after === undefined || newestFirst(row, after) > 0)
  const searched = behind[SEARCHED - 1]
  const found = behind.slice(0, SEARCHED).filter(({ matches }) => matches)
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? rows.at(-1) : searched }
}

describe('pages of several lists', () => {
  it('have every row of all once, in order, however far each was searched', () => {
    const rows = fc.array(fc.record({ at: fc.nat(6), matches: fc.boolean() }), { maxLength: 14 })
    fc.assert(
      fc.property(rows, rows, fc.integer({ min: 1, max: 4 }), (first, second, limit) => {
        const named = (name: string, list: readonly Omit<Row, 'id'>[]): Row[] =>
          list.map((row, i) => ({ ...row, id: `${name}${i}` })).toSorted(newestFirst)
        const lists = [named('a', first), named('b', second)]
        const shown: Row[] = []
        let after: Place | undefined
        for (let pages = 0; ; pages++) {
          const pagesOf = lists.map((list) => pageOf(list, { after, limit }))
          const { rows: page, next } = mergePages(pagesOf, (row) => row, limit)
          expect(page.length).to.be.at.most(limit)
          shown.push(...page)
          if (next === undefined) break
          expect(pages).to.be.below(100)
          after = next
        }
        const all = lists.flat().filter(({ matches }) => matches)
        expect(shown.map(({ id }) => id)).to.deep.equal(all.toSorted(newestFirst).map(({ id }) => id))
      }),
    )
  })
})
