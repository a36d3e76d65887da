/** Words of names that are left out, or can't be seen, hide nobody who is listed. */
import { expect } from 'chai'
import type { ListEntry } from '../../../src/domain/aml/entry.ts'
import { textFile } from '../../../src/domain/aml/lists/files/list-file.ts'
import { finishDraft } from '../../../src/domain/aml/lists/loaders/draft.ts'
import { readName } from '../../../src/domain/aml/names/name-tokens.ts'
import type { AmlResult } from '../../../src/domain/aml/schemas.ts'
import { buildScreening, type Screening } from '../../../src/domain/aml/screening.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'

const person = (id: string, ...names: string[]): ListEntry => ({
  id,
  kind: 'person',
  types: ['sanctions'],
  names: names.map((text) => ({ text })),
  births: [],
  countries: [],
  identifiers: [],
})

/** Listed, and how somebody asks for it. */
const HIDDEN: readonly (readonly [string, ...string[]])[] = [
  [
    'Hafiz Muhammad Saeed',
    'Hafiz Saeed',
    'Dr. Hafiz Saeed',
    'Muhammad Saeed',
    'Sheikh Hafiz Saeed',
    'Saeed, Imam Hafiz',
  ],
  ['Sheikh Hafiz Nurullah Sadat', 'Hafiz Sadat'],
  ['Sayyid Ibrahim Qutb', 'Imam Sayyid Qutb', 'Sheikh Dr. Sayyid Qutb'],
  ['Imam Abdul Samudra', 'Haji Imam Samudra'],
  ['Pan Guang Wei', 'General Pan Wei'],
  ['XI Jinping', '习近平', '習近平', 'Xijinping', 'Jinping Xi'],
  ['LIU Jinping', '刘近平', 'Liujinping'],
  ['TEN Viktor', 'Тен Виктор', 'Tenviktor'],
  ['Hafez al-Assad', 'Hafiz al-Assad'],
  ['Abdul Hafiz', 'Abdul Hafeez', 'عبد الحافظ'],
  ['Sayyid Qutb', 'Said Qutb', 'سيد قطب'],
  ['Imam Samudra', 'Emam Samudra'],
  ['PAN Wei', 'Panwei', '潘伟'],
  ['John Smith III', 'John Smith 3rd', 'Smith III, John', 'John Smith the Third'],
  ['Ivan Testov', 'Sheikh Ivan Testov', 'General Ivan Testov', 'Mr. Ivan Testov'],
]

const INVISIBLE = ['\u3164', '\uffa0', '\u115f', '\u1160', '\u034f', '\u200b', '\u2060', '\ufe0f']

describe('words of names', () => {
  let app: TestApp
  let owner: TestOrganisation
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })
  const sanctions = async (body: object): Promise<AmlResult> => {
    const { body: results } = await app.request<AmlResult[]>('POST', '/api/aml/check', {
      key: owner.apiKey,
      body: { userId: 'user-1', checkTypes: ['sanctions'], ...body },
    })
    return results[0] as AmlResult
  }

  it('finds who is called by what is a title or a number elsewhere, in other scripts, joined and romanised', async () => {
    const crowd = Array.from({ length: 3000 }, (_, i) =>
      person(`crowd-${i}`, `Zq${(i % 89).toString(36)}ra Vx${(i % 97).toString(36)}tum`),
    )
    const listed = HIDDEN.map(([name]) => person(name, name))
    const screening: Screening = await buildScreening([{ listId: 'own', entries: [...crowd, ...listed] }])
    for (const [name, ...others] of HIDDEN)
      for (const asked of [name, ...others]) {
        const found = (await screening.screen({ name: asked, identifiers: [] }))?.('sanctions')
        const match = found?.matches.find(({ entryId }) => entryId === name)
        expect(match?.score, `${asked} for ${name}`).to.be.at.least(85)
        expect(match?.explanations[1]?.detail, `${asked} for ${name}`).to.be.a('string')
      }
    expect(
      (await screening.screen({ name: 'Hafiz Nobody', identifiers: [] }))?.('sanctions').result,
    ).to.equal('clear')
  })

  it('reads titles both ways where they may be names, and numbers of companies as numbers', () => {
    const read = (name: string, isPerson: boolean) => {
      const { words, others } = readName(name, isPerson)
      return [words, ...others].map((reading) => reading.join(' '))
    }
    expect(read('Sheikh Dr. Hafiz Saeed', true)).to.deep.equal(['saeed', 'sheikh hafiz saeed', 'hafiz saeed'])
    expect(read('Dr. Hafiz Saeed', true)).to.deep.equal(['saeed', 'hafiz saeed'])
    expect(read('Dr. Ivan Testov', true)).to.deep.equal(['ivan testov'])
    expect(read('XI Jinping', true)).to.deep.equal(['xi jinping'])
    expect(read('XI Jinping', false)).to.deep.equal(['11 jinping', 'xi jinping'])
    expect(read('Seventh Star', false)).to.deep.equal(['7 star'])
    expect(read('潘伟', true)).to.deep.equal(['潘 伟'])
  })

  it('finds a name through what cannot be seen, inside words and between them', async () => {
    for (const mark of INVISIBLE)
      for (const name of [`Iv${mark}an Tes${mark}tov`, `Ivan${mark} ${mark}Testov`, `Ivan${mark}Testov`])
        expect((await sanctions({ name })).result, JSON.stringify(name)).to.equal('review')
    expect(readName('Анатолии\u3164\u0306').words).to.deep.equal(readName('Анатолий').words)
  })

  it('clears nobody of whose name only a part was compared', async () => {
    const given = (count: number) => Array.from({ length: count }, (_, i) => `G${(i + 36).toString(36)}`)
    const ivan = 'Ivan Arkadyevich Testov'
    for (const name of [
      `${given(30).join(' ')} ${ivan}`,
      `${given(31).join(' ')}`,
      `${'x'.repeat(41)} ${ivan.replaceAll(' ', '')}${'y'.repeat(41)}`,
    ])
      expect(await sanctions({ name }), name).to.deep.include({
        result: 'review',
        reason: 'name_not_comparable',
      })
    expect(await sanctions({ name: given(30).join(' ') })).to.deep.include({ result: 'clear', reason: null })
    expect((await sanctions({ name: `${given(16).join(' ')} ${ivan}` })).matches[0]?.name).to.equal(ivan)
    // What was found of the part that is compared is told.
    expect((await sanctions({ name: `${ivan} ${given(30).join(' ')}` })).matches[0]?.name).to.equal(ivan)
    const { status, body } = await app.request<{ details: object[] }>('POST', '/api/aml/subscriptions', {
      key: owner.apiKey,
      body: { userId: 'user-1', name: given(31).join(' ') },
    })
    expect([status, body.details]).to.deep.equal([
      422,
      [{ path: '/name', code: 'not_comparable', message: 'must have at most 30 words of 40 characters' }],
    ])
  })

  it('clears nobody of whom only initials or numbers are known, with a title or without', async () => {
    const initials = ['Q. X.', 'General X', 'Sheikh A. B.', 'Pan W.']
    for (const name of [...initials, '12345', '360 2000', '٣٦٠', 'Q 2000'])
      expect(await sanctions({ name }), name).to.deep.include({
        result: 'review',
        reason: 'name_not_comparable',
      })
    for (const name of ['3M', 'U2', '360 Security', '三六'])
      expect((await sanctions({ name })).reason, name).to.equal(null)
    const { status, body } = await app.request<{ details: object[] }>('POST', '/api/aml/subscriptions', {
      key: owner.apiKey,
      body: { userId: 'user-1', name: '12345' },
    })
    const message = 'must have a word of two letters, or of letters and digits'
    expect([status, body.details]).to.deep.equal([422, [{ path: '/name', code: 'not_comparable', message }]])
  })

  it('an impossible date of birth that KYC was sent clears nobody', async () => {
    for (const [userId, dateOfBirth] of [
      ['user-7', '1974-00-00'],
      ['user-8', '1974-13-40'],
    ] as const) {
      const data = { givenName: 'Muhammad Yousef', familyName: 'Al Namudhaji', dateOfBirth }
      const known = await app.request<{ status: string }>('POST', '/api/kyc/verify', {
        key: owner.apiKey,
        body: { userId, data },
      })
      expect(known.body.status).to.equal('review')
      const { result, matches } = await sanctions({ userId })
      expect(result).to.equal('review')
      expect(matches[0]?.explanations.map(({ attribute }) => attribute)).not.to.include('date_of_birth')
    }
  })

  it('a repeated name of an entry stays where it stands first, and is weak only if it is each time', () => {
    const draft = { ...person('e-1'), births: [] }
    const namesOf = (...names: ListEntry['names']) =>
      finishDraft(textFile('list.json', ''), 1, { ...draft, names }).names
    const main = { text: 'Vladimir Putin' }
    expect(namesOf(main, { text: 'Wladimir Putin' }, main)).to.deep.equal([main, { text: 'Wladimir Putin' }])
    const weak = { text: 'C D', weak: true } as const
    expect(namesOf(weak, main, { text: 'C D' })).to.deep.equal([{ text: 'C D' }, main])
    expect(namesOf({ text: 'C D' }, weak)).to.deep.equal([{ text: 'C D' }])
    expect(namesOf(weak, weak)).to.deep.equal([weak])
  })
})
