/** The search of hermes, without a server: what its verdicts mean, and what it costs. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parse } from 'lossless-json'
import { readTextQuestion, readTypedQuestion } from '../../../src/domain/hermes/criteria.ts'
import { MAX_INEXACT, MAX_NODES, readDocument } from '../../../src/domain/hermes/document.ts'
import { countSatisfying, MAX_STEPS } from '../../../src/domain/hermes/search.ts'
import { AppError } from '../../../src/errors.ts'
import { parseQuery } from '../../../src/http/input/query.ts'
import { readNumber } from '../../support/reference/exact-numbers.ts'
import { satisfyingScopes } from '../../support/reference/hermes.ts'

type Body = Record<string, unknown>

const typed = (document: unknown, question: Body): Promise<number> =>
  countSatisfying(document, readTypedQuestion(question, false))

const byText = (document: unknown, query: string): Promise<number> =>
  countSatisfying(document, readTextQuestion(parseQuery(query)))

const inText = async (text: string, question: Body): Promise<number> =>
  typed(await readDocument(Buffer.from(text)), question)

/** What a refused question or document is refused with. */
const refusal = async (run: () => unknown): Promise<{ code: string; path?: string; detail?: string }> => {
  try {
    await run()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const [detail] = error.details ?? []
    return { code: error.code, ...(detail && { path: detail.path, detail: detail.code }) }
  }
  throw new Error('not refused')
}

/** How often others get a turn of the event loop. */
const turnsDuring = async (run: () => Promise<void>): Promise<number> => {
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 0)
  try {
    await run()
  } finally {
    clearInterval(timer)
  }
  return turns
}

const PEOPLE = [
  { id: 1, name: 'A', status: 'active', age: 36, tags: ['eu', 'new'], address: { country: 'GB' } },
  { id: 2, name: 'B', status: 'inactive', age: 17, tags: ['us'], address: { country: 'US' }, left: null },
]

describe('what a typed question of hermes means', () => {
  const cases: [what: string, document: unknown, question: Body, count: number][] = [
    ['finds a record', PEOPLE, { name: 'A', status: 'active' }, 1],
    ['never mixes two records', PEOPLE, { name: 'A', status: 'inactive' }, 0],
    [
      'never mixes two records of one parent',
      { a: { name: 'A' }, b: { status: 'x' } },
      { name: 'A', status: 'x' },
      0,
    ],
    [
      'never mixes an object with one inside it',
      { name: 'A', in: { status: 'x' } },
      { name: 'A', status: 'x' },
      0,
    ],
    ['counts every object that satisfies it', PEOPLE, { age: { gte: 1 } }, 2],
    ['finds the root', { name: 'A' }, { name: 'A' }, 1],
    ['finds an object at any depth', [[{ x: [{ y: { name: 'A' } }] }]], { name: 'A' }, 1],
    ['finds nothing where no object is', [1, 'A', null, [true]], { name: 'A' }, 0],
    ['finds nothing in a lone value', 'A', { name: 'A' }, 0],
    ['takes no text for a number', PEOPLE, { age: '36' }, 0],
    ['takes no number for a boolean', { ok: 1 }, { ok: true }, 0],
    ['follows dots', PEOPLE, { 'address.country': 'GB' }, 1],
    ['follows a JSON Pointer', PEOPLE, { '/address/country': 'US' }, 1],
    ['follows indices', PEOPLE, { 'tags.1': 'new' }, 1],
    ['reads one record along a path', PEOPLE, { 'address.country': 'GB', name: 'B' }, 0],
    ['takes a property of that very name first', [{ 'a.b': 1, a: { b: 2 } }], { 'a.b': 1 }, 1],
    ['and only that one', [{ 'a.b': 1, a: { b: 2 } }], { 'a.b': 2 }, 0],
    ['knows no JSONPath', { a: { name: 'A' } }, { '$.a.name': 'A' }, 0],
    ['sees own properties only', [{}], { 'constructor.name': 'Object' }, 0],
    ['sees no length', PEOPLE, { 'tags.length': 2 }, 0],
    ['finds a value in a list', PEOPLE, { tags: 'eu' }, 1],
    ['finds no part of a value in a list', PEOPLE, { tags: 'e' }, 0],
    ['compares a list with a list', PEOPLE, { tags: ['eu', 'new'] }, 1],
    ['in its order', PEOPLE, { tags: ['new', 'eu'] }, 0],
    ['compares an object where it is asked to', PEOPLE, { address: { eq: { country: 'GB' } } }, 1],
    ['matches null with a null', PEOPLE, { left: null }, 1],
    ['matches null with nothing else', [{ a: [null] }, { b: 1 }, { a: false }], { a: null }, 0],
    ['keeps operators strict about lists', PEOPLE, { tags: { eq: 'eu' } }, 0],
    ['searches lists with contains', PEOPLE, { tags: { contains: 'eu' } }, 1],
    ['needs all operators of a field', PEOPLE, { age: { gt: 17, lt: 36 } }, 0],
    ['compares', PEOPLE, { age: { between: [18, 40] }, name: { in: ['A', 'C'] } }, 1],
    ['takes a missing field for neither equal nor different', [{ a: 1 }], { b: { ne: 2 } }, 0],
    ['asks for absence beside something that is there', PEOPLE, { age: 36, left: { exists: false } }, 1],
    ['sees a null as being there', PEOPLE, { name: 'B', left: { exists: false } }, 0],
    ['matches patterns', PEOPLE, { name: { matches: '^[A-Z]$' } }, 2],
    ['names an item by id', PEOPLE, { id: 2, name: 'B' }, 1],
    ['asks for existence with an id alone', PEOPLE, { id: 2 }, 1],
    ['looks for other criteria in that item only', PEOPLE, { id: 2, name: 'A' }, 0],
    [
      'knows the usual names of ids',
      [{ _id: 'x' }, { uuid: 'x' }, { key: 'x' }, { no: 'x' }],
      { id: 'x' },
      3,
    ],
    ['takes no id for another type', PEOPLE, { id: '2' }, 0],
  ]
  for (const [what, document, question, count] of cases) {
    it(what, async () => {
      expect(await typed(document, question)).to.equal(count)
      expect(satisfyingScopes(document, question)).to.equal(count)
    })
  }

  it('takes numbers of the target exactly', async () => {
    expect(await inText('[{"n": 9007199254740993}]', { n: 9007199254740992 })).to.equal(0)
    expect(await inText('[{"n": 9007199254740993}]', { n: { gt: 9007199254740992 } })).to.equal(1)
    expect(await inText('[{"n": 0.30000000000000000001}]', { n: 0.3 })).to.equal(0)
    expect(await inText('[{"n": 0.30000000000000000001}]', { n: { ne: 0.3 } })).to.equal(0)
    expect(await inText('[{"n": 1.50}]', { n: 1.5 })).to.equal(1)
  })
})

describe('what a question of hermes in a query string means', () => {
  const cases: [what: string, document: unknown, query: string, count: number][] = [
    ['is equal to a text', PEOPLE, 'name=A', 1],
    ['is equal to a number that is written so', PEOPLE, 'age=36', 1],
    ['but not to one that is written otherwise', PEOPLE, 'age=36.0', 0],
    ['is equal to a boolean that is written so', { ok: true }, 'ok=true', 1],
    ['is never null', PEOPLE, 'left=null', 0],
    ['is equal to an empty text', [{ a: '' }, { b: 1 }], 'a=', 1],
    ['may be any of repeated values', PEOPLE, 'name=A&name=B', 2],
    ['needs every name', PEOPLE, 'name=A&name=B&age=17', 1],
    ['finds a value in a list', PEOPLE, 'tags=us', 1],
    ['compares no list as text', { a: [1, 2] }, `a=${encodeURIComponent('[1,2]')}`, 0],
    ['follows dots', PEOPLE, 'address.country=US', 1],
    ['names an item by id', PEOPLE, 'id=2', 1],
    ['and takes the number for the text', PEOPLE, 'id=2&name=B', 1],
    ['never mixes two records', PEOPLE, 'name=A&status=inactive', 0],
  ]
  for (const [what, document, query, count] of cases) {
    it(what, async () => {
      expect(await byText(document, query)).to.equal(count)
    })
  }

  it('compares numbers that no double holds by their digits', async () => {
    const document = await readDocument(Buffer.from('{"n": 9007199254740993}'))
    expect(await byText(document, 'n=9007199254740993')).to.equal(1)
    expect(await byText(document, 'n=9007199254740992')).to.equal(0)
  })

  it('is equal to a number in full, however the target writes it', async () => {
    const document = await readDocument(Buffer.from('{"n": [1000000000000000000000, 0.0000001, 1.50]}'))
    for (const text of ['1000000000000000000000', '1e%2B21', '0.0000001', '1e-7', '1.5'])
      expect(await byText(document, `n=${text}`), text).to.equal(1)
    for (const text of ['1000000000000000000001', '1e21', '0.00000010', '-0.0000001', '1.50', '01.5'])
      expect(await byText(document, `n=${text}`), text).to.equal(0)
    expect(await byText([{ id: 1e21 }], 'id=1000000000000000000000')).to.equal(1)
  })

  it('never takes the name of what is no number for a number', async () => {
    const document = await readDocument(Buffer.from('{"id": 0.10000000000000000001, "n": [1e400]}'))
    for (const query of ['n=NaN', 'id=NaN', 'n=Infinity', 'n=0'])
      expect(await byText(document, query), query).to.equal(0)
  })
})

describe('questions that hermes refuses', () => {
  const required = { code: 'criteria_required' }
  const wrong = (path: string, detail: string) => ({ code: 'validation_failed', path, detail })
  const cases: [what: string, question: Body, expected: object][] = [
    ['nothing at all', {}, required],
    ['an id that is null', { id: null }, wrong('/id', 'id')],
    ['an id that is null beside a criterion', { id: null, name: 'A' }, wrong('/id', 'id')],
    ['only for absence, which some object always has', { banned: { exists: false } }, required],
    ['an unknown operator', { age: { above: 18 } }, wrong('/age', 'operator')],
    ['an operator beside something else', { age: { gte: 18, note: 1 } }, wrong('/age', 'operator')],
    ['an object without operators', { address: {} }, wrong('/address', 'operator')],
    ['an operand of the wrong type', { age: { gte: '18' } }, wrong('/age/gte', 'type')],
    ['a path that is none', { 'a..b': 1 }, wrong('/a..b', 'field_path')],
    ['an id that is no text or number', { id: true }, wrong('/id', 'id')],
    ['an id that would lead to another path', { id: '..' }, wrong('/id', 'id')],
    ['an empty id', { id: '' }, wrong('/id', 'id')],
    ['a long text to be contained', { a: { contains: 'a'.repeat(129) } }, wrong('/a/contains', 'max_length')],
  ]
  for (const [what, question, expected] of cases) {
    it(`${what}: ${JSON.stringify(question).slice(0, 40)}`, async () => {
      expect(await refusal(() => readTypedQuestion(question, false))).to.deep.equal(expected)
    })
  }

  it('more than 16 conditions, or operands of more than 1,000 values', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 1]))
    expect(readTypedQuestion(many(16), false).criteria).to.have.length(16)
    expect(await refusal(() => readTypedQuestion(many(17), false))).to.include({ code: 'tree_too_large' })
    expect(await refusal(() => readTypedQuestion({ ...many(15), a: { gt: 1, lt: 3 } }, false))).to.include({
      code: 'tree_too_large',
    })
    const list = (length: number) => ({ a: Array<number>(length).fill(1) })
    expect(readTypedQuestion(list(999), false).criteria).to.have.length(1)
    expect(await refusal(() => readTypedQuestion(list(1000), false))).to.include({ code: 'tree_too_large' })
  })

  it('parts of texts, where everybody may ask', async () => {
    for (const op of ['contains', 'startsWith', 'matches']) {
      const question = { name: { [op]: 'A' } }
      expect(readTypedQuestion(question, false).criteria).to.have.length(1)
      expect(await refusal(() => readTypedQuestion(question, true))).to.deep.equal(
        wrong(`/name/${op}`, 'operator_closed'),
      )
    }
  })

  it('a query string without a criterion', async () => {
    expect(await refusal(() => readTextQuestion({}))).to.deep.equal(required)
    expect(await refusal(() => readTextQuestion({ id: '..' }))).to.deep.equal(wrong('query/id', 'id'))
    expect(await refusal(() => readTextQuestion(parseQuery('a..b=1')))).to.deep.equal(
      wrong('query/a..b', 'field_path'),
    )
  })
})

describe('the limits of a document', () => {
  const read = (text: string) => () => readDocument(Buffer.from(text))
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

  it('takes 64 levels and no more', async () => {
    expect(await read(nested(64))()).to.be.an('array')
    expect(await refusal(read(nested(65)))).to.deep.equal({ code: 'upstream_too_large' })
  })

  it('takes 200,000 values and no more', async () => {
    const list = (length: number) => `[${Array<string>(length).fill('{}').join(' , ')}]`
    expect(await read(list(MAX_NODES - 1))()).to.have.length(MAX_NODES - 1)
    expect(await refusal(read(list(MAX_NODES)))).to.deep.equal({ code: 'upstream_too_large' })
  })

  it('takes 1,000 numbers that no double holds and no more, JSON or not', async () => {
    for (const number of ['0.12345678901234567890', '9007199254740993', '1e999']) {
      const list = (length: number) => `[${Array<string>(length).fill(number).join()}`
      expect(await read(`${list(MAX_INEXACT)}]`)()).to.have.length(MAX_INEXACT)
      for (const end of [']', ''])
        expect(await refusal(read(list(MAX_INEXACT + 1) + end))).to.deep.equal({ code: 'upstream_too_large' })
    }
  })

  it('counts values and levels as they are, whatever stands inside texts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), fc.boolean(), async (value, spaced) => {
        const text = JSON.stringify(value, null, spaced ? 2 : undefined)
        expect(await readDocument(Buffer.from(text))).to.deep.equal(JSON.parse(text))
      }),
    )
    for (const number of ['-1.5e-7', '1E3', '123456789012345678', '0.1', '-0', '1e400'])
      for (const text of [number, `[${number}]`, `[1,${number} ,{"a":${number}}]`, `"${number}"`])
        expect(await readDocument(Buffer.from(text)), text).to.deep.equal(parse(text, null, readNumber))
    const commas = JSON.stringify({ a: `${'[,"\\{'.repeat(MAX_NODES)}` })
    expect(await read(commas)()).to.have.key('a')
  })

  it('refuses what is not JSON in UTF-8', async () => {
    for (const text of ['1e400-', '{1e400:1}', '[12345678901234567890x]', '01234567890123456789'])
      expect(await refusal(read(text)), text).to.deep.equal({ code: 'upstream_invalid' })
    for (const text of ['', 'no', '{"a":1', '[1,]', '<html>', '"open', '{"a":1}}', '\\'])
      expect(await refusal(read(text)), text).to.deep.equal({ code: 'upstream_invalid' })
    expect(await refusal(() => readDocument(Buffer.from([0x22, 0xff, 0x22])))).to.deep.equal({
      code: 'upstream_invalid',
    })
    expect(await readDocument(Buffer.from('\uFEFF{}'))).to.deep.equal({})
  })
})

describe('the cost of a search', () => {
  it('is refused when question and document together are too much work', async () => {
    const candidates = Array.from({ length: 100 }, (_, i) => i)
    const question = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, { nin: candidates }]))
    const record = Object.fromEntries(Object.keys(question).map((name) => [name, 1000]))
    const few = Array.from({ length: Math.floor(MAX_STEPS / 1000) }, () => record)
    expect(await typed(few, question)).to.equal(few.length)
    expect(await refusal(() => typed([...few, ...few], question))).to.deep.equal({
      code: 'upstream_too_large',
    })
  })

  it('counts the characters that patterns search, by the size of the pattern', async () => {
    const texts = (count: number) => Array.from({ length: count }, () => ({ a: 'x'.repeat(1000) }))
    const pattern = { a: { matches: 'y{200}' } }
    expect(await typed(texts(100), pattern)).to.equal(0)
    expect(await refusal(() => typed(texts(1000), pattern))).to.deep.equal({ code: 'upstream_too_large' })
  })

  it('counts no texts that patterns do not search', async () => {
    const long = { a: 'x'.repeat(1_000_000) }
    expect(await typed([long, long], { a: { matches: 'y{200}' } })).to.equal(0)
  })

  it('never keeps others waiting for the whole of it', async () => {
    const document = Array.from({ length: MAX_NODES - 1 }, () => ({}))
    const question = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`f${i}`, { exists: false }]))
    const turns = await turnsDuring(async () => {
      expect(await typed(document, { ...question, there: { exists: true } })).to.equal(0)
    })
    expect(turns).to.be.at.least(2)
  })

  it('nor for the numbers of a document that are compared with doubles', async () => {
    const list = `[${Array<string>(MAX_NODES - 1)
      .fill('5.0e-324')
      .join()}]`
    const turns = await turnsDuring(async () => {
      expect(await readDocument(Buffer.from(list))).to.have.length(MAX_NODES - 1)
    })
    expect(turns).to.be.at.least(2)
  })
})

describe('the search against its reference', () => {
  const names = ['a', 'b', 'c', 'id', '_id']
  const scalar = fc.constantFrom<unknown>(0, 1, 2, '1', 'x', true, false, null)
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom(...names, 'a.b'), tie('tree'), { maxKeys: 4 }),
    ),
  }))
  const wanted = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 2 }),
    fc.record({ eq: scalar }),
    fc.record({ ne: scalar }),
    fc.record({ gte: fc.integer({ min: 0, max: 2 }) }),
    fc.record({ in: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
    fc.record({ exists: fc.boolean() }),
    fc.record({ contains: fc.constantFrom('x', 1) }),
  )
  const question = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'a.b', '/a/b', 'a.0', 'c.0.a'), wanted, {
    minKeys: 1,
    maxKeys: 3,
  })

  it('counts the same objects', async () => {
    await fc.assert(
      fc.asyncProperty(tree, question, fc.option(fc.constantFrom(1, '1', 'x')), async (data, asked, id) => {
        const body = id === null ? asked : { ...asked, id }
        const isAbsence = (value: unknown) => JSON.stringify(value) === '{"exists":false}'
        fc.pre(id !== null || !Object.values(asked).every(isAbsence))
        expect(await typed(data, body)).to.equal(satisfyingScopes(data, body))
      }),
      { numRuns: 3000 },
    )
  })
})
