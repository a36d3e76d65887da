/** Searching messages: what is found, and that no search goes on for ever or comes as cheap as a page. */
import { expect } from 'chai'
import { createSearch, MAX_SEARCHES, SEARCH_TIMEOUT_MS } from '../../../src/domain/chat/search.ts'
import { AppError } from '../../../src/errors.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { codeOf, from, idsOf } from '../../support/chat/chat.ts'
import { commitMessages } from '../../support/chat/chat-stream.ts'
import { callTool } from '../../support/chat/mcp.ts'

/** More than the embedded database is asked about at a time. */
const MESSAGES = 2500

describe('searching messages', () => {
  let app: TestApp
  let first: number
  before(async () => {
    app = await startTestApp({ env: { CHAT_LIMITS: '{"readsPerMinute": 100}' } })
    const { database } = app.services
    const [rare] = await commitMessages(database, 1, 'a rare marmoset ')
    await commitMessages(database, MESSAGES, 'common ')
    await commitMessages(database, 1, 'a rare marmoset again ')
    first = rare?.id ?? 0
  })
  after(() => app.close())

  const search = (words: string, query: object = {}) =>
    createSearch(app.services.database)({ limit: 10, words, ...query })
  const failure = async (searching: Promise<unknown>): Promise<string> => {
    const error = await searching.catch((caught: unknown) => caught)
    return error instanceof AppError ? `${error.status} ${error.code}` : 'none'
  }

  it('finds the newest first, however far back they are, and the oldest first above a message', async () => {
    const last = first + MESSAGES + 1
    expect(idsOf(await search('marmoset'))).to.deep.equal([last, first])
    expect(idsOf(await search('marmoset', { after: 0 }))).to.deep.equal([first, last])
    expect(idsOf(await search('marmoset', { before: last }))).to.deep.equal([first])
    expect(idsOf(await search('marmoset', { after: first }))).to.deep.equal([last])
    expect(idsOf(await search('marmoset', { limit: 1 }))).to.deep.equal([last])
    expect(await search('marmoset common')).to.deep.equal([])
    const common = Array.from({ length: 10 }, (_, i) => i)
    expect(idsOf(await search('common'))).to.deep.equal(common.map((i) => last - 1 - i))
    expect(idsOf(await search('common', { after: 0 }))).to.deep.equal(common.map((i) => first + 1 + i))
    expect(idsOf(await search('common', { after: first + 1500, before: first + 1503 }))).to.deep.equal([
      first + 1501,
      first + 1502,
    ])
  })

  it('is ended after its time, and says so', async () => {
    const { database } = app.services
    if (database.kind === 'pglite') {
      expect(await failure(createSearch(database, 0)({ limit: 10, words: 'marmoset common' }))).to.equal(
        '422 search_too_broad',
      )
      return
    }
    await database.knex.transaction(async (trx) => {
      await trx.raw('LOCK TABLE chat_messages IN ACCESS EXCLUSIVE MODE')
      expect(await failure(createSearch(database, 50)({ limit: 10, words: 'x' }))).to.equal(
        '422 search_too_broad',
      )
      const began = performance.now()
      const answer = await app.request('GET', '/api/messages?q=marmoset')
      expect(codeOf(answer)).to.equal('422 search_too_broad')
      expect(performance.now() - began).to.be.at.least(SEARCH_TIMEOUT_MS)
    })
    expect(codeOf(await app.request('GET', '/api/messages?q=marmoset'))).to.equal('200')
  }).timeout(30_000)

  it('runs for a few at a time', async () => {
    const searching = createSearch(app.services.database)
    const answers = await Promise.all(
      Array.from({ length: MAX_SEARCHES + 3 }, () => failure(searching({ limit: 10, words: 'marmoset' }))),
    )
    expect(answers.filter((answer) => answer === '503 unavailable')).to.have.length(3)
    expect(answers.filter((answer) => answer === 'none')).to.have.length(MAX_SEARCHES)
    expect(await failure(searching({ limit: 10, words: 'marmoset' }))).to.equal('none')
  })

  it('costs an address as much as 20 pages, over HTTP and MCP', async () => {
    const ask = (path: string, address: string) => app.request('GET', path, { headers: from(address) })
    const answers = []
    for (let i = 0; i < 6; i++) answers.push(codeOf(await ask('/api/messages?q=marmoset', '198.51.100.1')))
    expect(answers).to.deep.equal(['200', '200', '200', '200', '200', '429 rate_limited'])
    expect(codeOf(await ask('/api/messages', '198.51.100.1'))).to.equal('429 rate_limited')
    const pages = await Promise.all(Array.from({ length: 20 }, () => ask('/api/messages', '198.51.100.2')))
    expect(pages.every(({ status }) => status === 200)).to.equal(true)
    const tool = () => callTool(app, 'search_messages', { q: 'marmoset' }, from('198.51.100.3'))
    for (let i = 0; i < 5; i++) expect((await tool()).isError).to.equal(undefined)
    expect((await ask('/api/messages', '198.51.100.3')).status).to.equal(429)
  })
})
