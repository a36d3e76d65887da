/** Names that look alike have one skeleton, and those of the operator are nobody's to take. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { confusablesModule, readConfusables } from '../../../src/bin/build-steps/build-confusables.ts'
import { isReservedName, nameSkeleton } from '../../../src/domain/chat/names/names.ts'
import { anyCharacter } from '../../support/any-character.ts'

/** https://www.unicode.org/Public/17.0.0/security/confusables.txt, packed; Unicode License v3. */
const UNICODE_FILE = new URL('../../vectors/confusables-17.0.0.txt.gz', import.meta.url)
const GENERATED = new URL('../../../src/domain/chat/names/confusables.ts', import.meta.url)
const unicodeText = gunzipSync(readFileSync(UNICODE_FILE)).toString('utf8')

const same = (...names: readonly string[]): void => {
  const skeletons = new Map(names.map((name) => [name, nameSkeleton(name)]))
  expect(new Set(skeletons.values()).size, JSON.stringify([...skeletons])).to.equal(1)
}
const text = (codePoints: string): string =>
  String.fromCodePoint(...codePoints.split(' ').map((one) => Number.parseInt(one, 16)))

describe('names of agents', () => {
  it("are compared by the file that Unicode's own still makes", () => {
    expect(readFileSync(GENERATED, 'utf8')).to.equal(confusablesModule(unicodeText))
    expect(unicodeText).to.include('# Version: 17.0.0')
    expect(readConfusables(unicodeText).size).to.be.greaterThan(6000)
  })

  it('look like what Unicode says that they look like, all of them', () => {
    const different = [...readConfusables(unicodeText)].filter(
      ([source, prototype]) => nameSkeleton(`x${text(source)}x`) !== nameSkeleton(`x${text(prototype)}x`),
    )
    // Normalisation comes first, in UTS #39 too, and takes these apart before anybody looks.
    const apart = different.filter(([source]) => text(source).normalize('NFKD') === text(source))
    expect(apart).to.deep.equal([])
    expect(different.length).to.be.below(150)
  })

  it('are one in the examples of UTS #39 and #36', () => {
    same('paypal', 'раураl', 'pаypаl', 'PayPaI', 'paypa1')
    same('scope', 'ѕсоре')
    same('ljeto', 'ǉeto')
    same('toys-я-us', 'toyѕ-я-us')
    same('top', 'toρ', 'ТОР')
    same('modern', 'modem')
  })

  it('are one whatever case, width, composition, and invisible characters they have', () => {
    same(
      'Alice',
      'ALICE',
      'аlice',
      'Ａｌｉｃｅ',
      '𝓐𝓵𝓲𝓬𝓮',
      'Al\u200bice',
      '\u202eAlice\u202c',
      'Al\u00adice',
      'AIice',
      'A1ice',
    )
    same('Ångström', 'A\u030angstro\u0308m', 'ÅNGSTRÖM')
    same('Straße', 'STRASSE', 'strasse')
    same('ADMİN', 'admin', 'admi\u0307n')
    same('two words', 'two\u00a0words', 'two  words', ' two\u3000words ')
  })

  it('stay apart where they do not look alike', () => {
    const names = [
      'alice',
      'alicia',
      'bob',
      'rob',
      'claude',
      'gpt',
      'eve',
      'ene',
      'agent 2',
      'agent 3',
      'Ада',
      'アダ',
      '小明',
    ]
    expect(new Set(names.map(nameSkeleton))).to.have.length(names.length)
  })

  it('have no skeleton when there is nothing to see', () => {
    for (const name of ['', ' ', '\u200b', '\u2060\ufeff', '\u3164', '\u202e\u202c'])
      expect(nameSkeleton(name), JSON.stringify(name)).to.equal('')
  })

  it("are the operator's in any disguise of a reserved word, and where nothing else is in them", () => {
    for (const name of [
      'house',
      'House',
      'HОUSE',
      'Ηouse',
      'h0use',
      'ｈｏｕｓｅ',
      'hou\u200dse',
      'system',
      'ЅYSTEM',
      'ѕуѕtеm',
      'sуstem',
      'systern',
      'admin',
      'Admin',
      'аdmin',
      'adm1n',
      'admln',
      'ADMİN',
      '𝐚𝐝𝐦𝐢𝐧',
      'moderator',
      'rnoderator',
      'm0derator',
      'MODERAТOR',
      'Assay',
      'АSSAY',
      'a55ay'.replaceAll('5', 'ѕ'),
      'operator',
      'Oрerator',
      'mod',
      'Administrator',
      'a-d-m-i-n',
      's y s t e m',
      '*Admin*',
      'admin.',
      'Assay Admin',
      'assay_support',
      'SYSTEM // OPERATOR',
      'AssayAdmin',
      'AssаySupport',
      'SystemOperator',
      'House-ModTeam',
    ])
      expect(isReservedName(name), name).to.equal(true)
    for (const name of [
      'housekeeper',
      'the house',
      'sys',
      'System Shock',
      'modest',
      'assayer',
      'assayed',
      'supportive',
      'adminton',
      'rooted',
      'AssayAdminAda',
      'Ada',
      '?',
      '',
    ])
      expect(isReservedName(name), name).to.equal(false)
  })

  it('keep their skeleton when they are made of it, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 48 }), (name) => {
        const skeleton = nameSkeleton(name)
        expect(nameSkeleton(skeleton)).to.equal(skeleton)
        expect(nameSkeleton(name.normalize('NFD'))).to.equal(nameSkeleton(name.normalize('NFC')))
        expect(nameSkeleton([...name].join('\u200b'))).to.equal(skeleton)
      }),
      { numRuns: 300, examples: [['%‰\u{1f16d}'], ['٪⨧'], ['ŉǆﬀ']] },
    )
  })
})
