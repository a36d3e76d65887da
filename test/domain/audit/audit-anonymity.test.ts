import { expect } from 'chai'
import fc from 'fast-check'
import { type Cell, type Division, type Group, release } from '../../../src/domain/audit/anonymity.ts'

const DAY = 20_000
const DIVISIONS: readonly Division[] = ['day', 'type', 'hour']

const subjects = (cells: readonly Cell[]): number => new Set(cells.map(({ subject }) => subject)).size

/** Few hours, types and subjects, so that groups of every size come up. */
const cell = fc.record({
  hour: fc.integer({ min: DAY * 24, max: DAY * 24 + 5 }),
  type: fc.constantFrom('verify', 'payment', 'attest', 'gate'),
  subject: fc.integer({ min: 0, max: 25 }).map(String),
  entries: fc.integer({ min: 1, max: 4 }),
})
const cells = fc
  .array(cell, { maxLength: 90 })
  .map((all) => [...new Map(all.map((one) => [`${one.hour}/${one.type}/${one.subject}`, one])).values()])
const k = fc.integer({ min: 5, max: 9 })

/** Which cells each group is made of, told from the groups alone: merged ones are what the others leave. */
const contents = (all: readonly Cell[], groups: readonly Group[]): Map<Group, Cell[]> => {
  const own = groups.filter(({ merged }) => !merged)
  const placeOf = (one: Cell): Group | undefined =>
    own.find(
      ({ type, hour }) =>
        (type === undefined || type === one.type) && (hour === undefined || hour === one.hour),
    ) ??
    groups.find(({ merged, type }) => merged && type === one.type) ??
    groups.find(({ merged, type }) => merged && type === undefined)
  const result = new Map<Group, Cell[]>(groups.map((group) => [group, []]))
  for (const one of all) {
    const place = placeOf(one)
    if (place) result.get(place)?.push(one)
  }
  return result
}

describe('k-anonymous counts', () => {
  it('never show a group of fewer than k subjects, and count every entry of a day that is shown', () => {
    fc.assert(
      fc.property(cells, k, fc.constantFrom(...DIVISIONS), (all, least, division) => {
        const { groups, suppressed } = release(all, least, division)
        if (groups.length === 0) {
          expect(subjects(all)).to.be.below(least)
          expect(suppressed).to.equal(all.length > 0 ? 1 : 0)
          return
        }
        expect(groups.reduce((sum, { entries }) => sum + entries, 0)).to.equal(
          all.reduce((sum, { entries }) => sum + entries, 0),
        )
        for (const [group, part] of contents(all, groups)) {
          expect(subjects(part)).to.equal(group.subjects).and.to.be.at.least(least)
          expect(part.reduce((sum, { entries }) => sum + entries, 0)).to.equal(group.entries)
        }
      }),
      { numRuns: 600 },
    )
  })

  it('show none by the difference of two answers, whatever their k and division', () => {
    const question = fc.record({ least: k, division: fc.constantFrom(...DIVISIONS) })
    fc.assert(
      fc.property(cells, question, question, (all, one, other) => {
        const answers = [one, other].map(({ least, division }) => [
          ...contents(all, release(all, least, division).groups).values(),
        ])
        const smallest = Math.min(one.least, other.least)
        const [first = [], second = []] = answers
        // Whatever can be had by taking groups of one answer from a group of the other.
        for (const [whole, parts] of [
          ...first.map((group) => [group, second] as const),
          ...second.map((group) => [group, first] as const),
        ]) {
          const inside = parts.filter((part) => part.every((item) => whole.includes(item)))
          const rest = whole.filter((item) => !inside.some((part) => part.includes(item)))
          if (rest.length > 0) expect(subjects(rest)).to.be.at.least(smallest)
          const partly = parts.filter(
            (part) => !inside.includes(part) && part.some((item) => whole.includes(item)),
          )
          // Groups are nested: one that lies partly inside would have a remainder of its own.
          expect(partly.every((part) => whole.every((item) => part.includes(item)))).to.equal(true)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('merge the smallest types of a day, and the smallest hours of a type', () => {
    const of = (type: string, hour: number, ...who: string[]): Cell[] =>
      who.map((subject) => ({ type, hour: DAY * 24 + hour, subject, entries: 1 }))
    const all = [
      ...of('verify', 9, 'a', 'b', 'c', 'd', 'e'),
      ...of('verify', 10, 'f', 'g', 'h'),
      ...of('verify', 11, 'i', 'j'),
      ...of('payment', 9, 'a', 'b', 'c'),
      ...of('gate', 9, 'd', 'e'),
    ]
    const told = (division: Division) =>
      release(all, 5, division).groups.map(({ type, hour, merged, subjects: count }) => [
        type,
        hour === undefined ? undefined : hour - DAY * 24,
        merged,
        count,
      ])
    expect(told('type')).to.deep.equal([
      ['verify', undefined, false, 10],
      [undefined, undefined, true, 5],
    ])
    expect(told('hour')).to.deep.equal([
      ['verify', 9, false, 5],
      ['verify', undefined, true, 5],
      [undefined, undefined, true, 5],
    ])
    expect(told('day')).to.deep.equal([[undefined, undefined, false, 10]])
  })

  it('leave out days with too few subjects, and say how many', () => {
    const day = (offset: number, count: number): Cell[] =>
      Array.from({ length: count }, (_, i) => ({
        hour: (DAY + offset) * 24,
        type: 'verify',
        subject: String(i),
        entries: 1,
      }))
    const { groups, suppressed } = release([...day(2, 4), ...day(0, 5), ...day(1, 1)], 5, 'type')
    expect(groups.map(({ day: number }) => number)).to.deep.equal([DAY])
    expect(suppressed).to.equal(2)
  })
})
