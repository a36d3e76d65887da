/** The prompt catalogue, and the prompt of the day that follows from it. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import fc from 'fast-check'
import { foldCase } from '../../../src/domain/chat/names/case-folding.ts'
import {
  type Catalogue,
  type CatalogueEntry,
  type CatalogueFile,
  loadCatalogue,
  readCatalogue,
} from '../../../src/domain/chat/prompts/catalogue.ts'
import {
  createDailyPrompt,
  DAILY_FIRST_DATE,
  DAILY_REST_DAYS,
} from '../../../src/domain/chat/prompts/daily-prompt.ts'
import { CATEGORY_IDS, PROMPT_KINDS, type Prompt } from '../../../src/domain/chat/prompts/schemas-prompts.ts'
import { dayAfter, referenceDailies } from '../../support/reference/daily-prompt.ts'

const THREE_YEARS_DAYS = 3 * 365 + 1

const recorded: { first_release: string[]; added_later: string[]; daily: string[] } = JSON.parse(
  readFileSync(new URL('../../vectors/prompt-catalogue.json', import.meta.url), 'utf8'),
)
const { categories, prompts, featuredFrom } = loadCatalogue()
const ids = prompts.map(({ id }) => id)
const daysFrom = (date: string, days: number): string[] =>
  Array.from({ length: days }, (_, index) => dayAfter(date, index))

describe('the prompt catalogue', () => {
  it('has the fifteen categories in order, each with at least twelve prompts', () => {
    expect(categories.map(({ id }) => id)).to.deep.equal([...CATEGORY_IDS])
    for (const category of categories) {
      expect(category.name, category.id).to.match(/^[A-Z][A-Za-z ]{2,30}$/)
      expect(category.blurb, category.id).to.match(/^[A-Z].{20,120}\.$/)
      expect(prompts.filter((prompt) => prompt.category === category.id).length).to.be.at.least(12)
    }
  })

  it('never loses or renames a prompt, and lets none in without a day for it', () => {
    expect(ids).to.have.members([...recorded.first_release, ...recorded.added_later])
    expect([...featuredFrom.keys()]).to.have.members(recorded.added_later)
  })

  it('uses every kind, and more than one in each category', () => {
    expect(new Set(prompts.map(({ kind }) => kind))).to.deep.equal(new Set(PROMPT_KINDS))
    for (const id of CATEGORY_IDS) {
      const kinds = new Set(prompts.filter(({ category }) => category === id).map(({ kind }) => kind))
      expect(kinds.size, id).to.be.at.least(3)
    }
  })

  it('says nothing twice', () => {
    const words = (text: string) =>
      foldCase(text)
        .replace(/[^\p{L}\p{N}]+/gu, ' ')
        .trim()
    for (const field of ['title', 'text'] as const) {
      const said = prompts.map((prompt) => words(prompt[field]))
      expect(new Set(said).size, field).to.equal(prompts.length)
    }
  })

  it('is written in plain characters, without links or hidden ones', () => {
    for (const { id, title, text } of prompts) {
      expect(`${title}${text}`, id).to.match(/^[\x20-\x7e…–]+$/)
      expect(`${title}${text}`, id).to.not.match(/:\/\/|www\.| {2}/)
      expect(text, id).to.match(/[.?]$/)
    }
  })

  describe('is refused with the name of what is wrong:', () => {
    const entry: CatalogueEntry = {
      id: 'science-x',
      kind: 'question',
      title: 'Title',
      text: 'x'.repeat(80),
      tags: ['one', 'two'],
    }
    const files = (changed: Partial<CatalogueEntry>, more: readonly CatalogueEntry[] = []): CatalogueFile[] =>
      CATEGORY_IDS.map((id) => ({
        version: 1,
        category: { id, name: id, blurb: id },
        prompts: id === 'science' ? [{ ...entry, ...changed }, ...more] : [{ ...entry, id: `${id}-x` }],
      }))

    it('takes what is right, at every bound', () => {
      for (const right of [
        {},
        { text: 'x'.repeat(600), title: '🦑'.repeat(80), tags: ['a', 'b', 'c', 'd', 'e-5'] },
        { text: '🦑'.repeat(600), featured_from: '2027-02-01' },
      ])
        expect(readCatalogue(files(right)).prompts).to.have.length(15)
    })

    for (const [what, changed, message] of [
      ['id of another category', { id: 'maths-y' }, 'its id does not begin with science-'],
      ['id with capitals', { id: 'science-X' }, 'lower-case words'],
      ['id without a slug', { id: 'science-' }, 'lower-case words'],
      ['long id', { id: `science-${'x'.repeat(80)}` }, 'at most 80'],
      ['kind', { kind: 'rant' }, 'its kind is rant'],
      ['no title', { title: '' }, 'title is not 1 to 80'],
      ['long title', { title: 'x'.repeat(81) }, 'title is not 1 to 80'],
      ['space around the title', { title: ' x' }, 'title is not 1 to 80'],
      ['short text', { text: 'x'.repeat(79) }, 'its text has 79 characters'],
      ['long text', { text: 'x'.repeat(601) }, 'its text has 601 characters'],
      ['space around the text', { text: `${'x'.repeat(90)}\n` }, 'without space'],
      ['one tag', { tags: ['one'] }, '2 to 5 different tags'],
      ['six tags', { tags: ['a', 'b', 'c', 'd', 'e', 'f'] }, '2 to 5 different tags'],
      ['a tag twice', { tags: ['a', 'a'] }, '2 to 5 different tags'],
      ['a tag with capitals', { tags: ['One', 'two'] }, 'lower-case words with hyphens'],
      ['featured_from', { featured_from: 'soon' }, 'featured_from is soon'],
    ] as const) {
      it(what, () => {
        const id = 'id' in changed ? changed.id : entry.id
        expect(() => readCatalogue(files(changed)))
          .to.throw(message)
          .and.have.property('message')
          .that.contains(id)
      })
    }

    it('an id twice, a category without prompts, a missing category, another version', () => {
      expect(() => readCatalogue(files({}, [entry]))).to.throw(
        'prompt science-x of category science: its id is taken',
      )
      const without = files({}).map((file) =>
        file.category.id === 'nature' ? { ...file, prompts: [] } : file,
      )
      expect(() => readCatalogue(without)).to.throw('category nature has no prompts')
      expect(() => readCatalogue(files({}).slice(1))).to.throw(
        'the categories of the catalogue are philosophy',
      )
      expect(() => readCatalogue(files({}).map((file) => ({ ...file, version: 2 })))).to.throw(
        'has version 2',
      )
    })
  })
})

describe('the prompt of the day', () => {
  const dates = daysFrom(DAILY_FIRST_DATE, THREE_YEARS_DAYS)

  it('is the one of the definition, on each day of three years', () => {
    const daily = createDailyPrompt({ prompts, featuredFrom: new Map() })
    expect(dates.map((date) => daily(date).id)).to.deep.equal(referenceDailies(ids, THREE_YEARS_DAYS))
  })

  it('is the recorded one on the first days, whatever is added to the catalogue', () => {
    const daily = createDailyPrompt({ prompts, featuredFrom })
    expect(daysFrom(DAILY_FIRST_DATE, recorded.daily.length).map((date) => daily(date).id)).to.deep.equal(
      recorded.daily,
    )
  })

  it('never comes again within thirty days, and nearly everything has its turn in three years', () => {
    const daily = createDailyPrompt({ prompts, featuredFrom })
    const featured = dates.map((date) => daily(date).id)
    for (const [index, id] of featured.entries())
      expect(featured.slice(Math.max(index - DAILY_REST_DAYS, 0), index), dates[index]).to.not.include(id)
    expect(new Set(featured).size).to.be.at.least(0.95 * prompts.length)
  })

  it('rests although as few prompts as possible are there', () => {
    const few = prompts.slice(0, DAILY_REST_DAYS + 1)
    const daily = createDailyPrompt({ prompts: few, featuredFrom: new Map() })
    const featured = daysFrom(DAILY_FIRST_DATE, 100).map((date) => daily(date).id)
    // With one prompt to spare they take turns.
    expect(featured.slice(few.length)).to.deep.equal(featured.slice(0, -few.length))
    expect(() => createDailyPrompt({ prompts: few.slice(1), featuredFrom: new Map() })).to.throw(
      'more than 30 prompts',
    )
    const late = new Map([[few[0]?.id ?? '', '2026-05-01']])
    expect(() => createDailyPrompt({ prompts: few, featuredFrom: late })).to.throw('more than 30 prompts')
  })

  it('is the same for every server, in whatever order days are asked for and prompts are listed', () => {
    const reference = referenceDailies(ids, 1501)
    // Days before the first look back at nothing, so a server that was asked for nothing else knows them.
    const expected = (day: number): string | undefined =>
      reference[day] ??
      createDailyPrompt({ prompts, featuredFrom: new Map() })(dayAfter(DAILY_FIRST_DATE, day)).id
    const days = fc.array(fc.integer({ min: -400, max: 1500 }), { maxLength: 8 })
    fc.assert(
      fc.property(
        days,
        fc.shuffledSubarray(prompts as Prompt[], { minLength: prompts.length }),
        (asked, shuffled) => {
          const daily = createDailyPrompt({ prompts: shuffled, featuredFrom: new Map() })
          for (const day of asked) {
            const date = dayAfter(DAILY_FIRST_DATE, day)
            expect(daily(date).id, date).to.equal(expected(day))
          }
        },
      ),
      { numRuns: 20, examples: [[[300, 0, 300, 299, -1, 1], [...prompts]]] },
    )
  })

  it('stays as it was on all days before a new prompt may be featured', () => {
    const original = createDailyPrompt({ prompts, featuredFrom })
    const slug = fc.stringMatching(/^[a-z]{3,12}$/)
    fc.assert(
      fc.property(
        fc.constantFrom(...CATEGORY_IDS),
        slug,
        fc.integer({ min: 0, max: 700 }),
        (category, word, day) => {
          const id = `${category}-new-${word}`
          const from = dayAfter(DAILY_FIRST_DATE, day)
          const later: Catalogue = {
            categories,
            prompts: [...prompts, { ...(prompts[0] as Prompt), id, category }],
            featuredFrom: new Map([...featuredFrom, [id, from]]),
          }
          const grown = createDailyPrompt(later)
          for (const date of daysFrom(DAILY_FIRST_DATE, day))
            expect(grown(date).id).to.equal(original(date).id)
          const comes = daysFrom(from, 10 * 365).find((date) => grown(date).id === id)
          expect(comes, 'and then it has its turn').to.be.a('string')
        },
      ),
      { numRuns: 8 },
    )
  })
})

describe('text without its case', () => {
  for (const [a, b] of [
    ['Straße', 'STRASSE'],
    ['ΟΔΟΣ', 'οδος'],
    ['İstanbul', 'i̇stanbul'],
    ['ﬁne', 'FINE'],
    ['Ｗｉｄｅ', 'wide'],
    ['é', 'É'],
    ['𝒽𝒾', 'HI'],
    ['K', 'k'],
  ] as const)
    it(`${a} is ${b}`, () => expect(foldCase(a)).to.equal(foldCase(b)))

  it('is found within longer text, wherever a word was cut', () => {
    expect(foldCase('οδοσήμανση')).to.contain(foldCase('ΟΔΟΣ'))
  })

  it('is one for both cases of every character that has two, and stays as it is when folded again', () => {
    const last = 0x10ffff
    for (let code = 0; code <= last; code += 1) {
      const character = String.fromCodePoint(code)
      if (!/\p{Changes_When_Casemapped}/u.test(character)) continue
      const folded = foldCase(character)
      expect(foldCase(character.toUpperCase()), character).to.equal(folded)
      expect(foldCase(character.toLowerCase()), character).to.equal(folded)
      expect(foldCase(folded), character).to.equal(folded)
    }
  })
})
