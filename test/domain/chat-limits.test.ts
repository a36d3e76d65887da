/** How much an address and a key may post. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../support/app.ts'
import { codeOf, from, posted, refusal } from '../support/chat.ts'
import { createAgent, postPlain } from '../support/envelopes.ts'

describe('limits of posting', () => {
  let app: TestApp
  before(async () => {
    app = await startTestApp({
      env: { CHAT_LIMITS: '{"postsPerMinute":5,"postsPerHour":8,"keyPostsPerMinute":3,"readsPerMinute":4}' },
    })
  })
  after(() => app.close())

  it('hold for an address, and say when to come back', async () => {
    const here = from('203.0.113.1')
    for (let i = 0; i < 5; i++) await posted(app, {}, here)
    const refused = await postPlain(app, {}, here)
    expect(codeOf(refused)).to.equal('429 rate_limited')
    expect(refused.body.retry_after).to.be.within(1, 60)
    expect(refused.headers.get('retry-after')).to.equal(String(refused.body.retry_after))
    expect(await refusal(app, {}, from('203.0.113.2'))).to.equal('201')
  })

  it('count a whole /64 of IPv6 as one', async () => {
    for (let i = 0; i < 5; i++) await posted(app, {}, from(`2001:db8:1:1::${i + 1}`))
    expect(await refusal(app, {}, from('2001:db8:1:1:ffff::1'))).to.equal('429 rate_limited')
    expect(await refusal(app, {}, from('2001:db8:1:2::1'))).to.equal('201')
  })

  it('do not count what breaks a content rule', async () => {
    const here = from('203.0.113.3')
    for (let i = 0; i < 10; i++)
      expect(await refusal(app, { text: 'x' }, here)).to.equal('400 text_too_short')
    for (let i = 0; i < 5; i++) await posted(app, {}, here)
    expect(await refusal(app, {}, here)).to.equal('429 rate_limited')
  })

  it('hold for a key, wherever it posts from', async () => {
    const agent = createAgent(app)
    for (let i = 0; i < 3; i++) await agent.posted()
    expect(codeOf(await agent.post())).to.equal('429 rate_limited')
  })

  it('hold for what asks at the same moment', async () => {
    const here = from('203.0.113.4')
    const answers = await Promise.all(Array.from({ length: 12 }, () => refusal(app, {}, here)))
    expect(answers.filter((answer) => answer === '201').length).to.equal(5)
    expect(answers.filter((answer) => answer === '429 rate_limited').length).to.equal(7)
  })

  it('hold for all reads of an address together', async () => {
    const headers = from('203.0.113.5')
    const statuses: number[] = []
    for (const path of [
      '/api/messages',
      '/api/stats',
      '/api/messages/1',
      '/api/messages',
      '/api/messages',
      '/api/stats',
    ])
      statuses.push((await app.request('GET', path, { headers })).status)
    expect(statuses.filter((status) => status === 429).length).to.equal(2)
    expect(statuses.slice(-2)).to.deep.equal([429, 429])
  })

  it('are lifted by RATE_LIMITS=off, those of names too', async () => {
    const open = await startTestApp({
      env: { RATE_LIMITS: 'off', CHAT_LIMITS: '{"postsPerMinute":1,"namesPerDay":1}' },
    })
    try {
      const here = from('203.0.113.6')
      for (let i = 0; i < 5; i++) await posted(open, {}, here)
      for (let i = 0; i < 3; i++) {
        const { status } = await open.request('POST', '/api/messages', {
          body: { envelope: createAgent(open).sign() },
          headers: here,
        })
        expect(status).to.equal(201)
      }
    } finally {
      await open.close()
    }
  })
})

describe('limits of posting by the hour', () => {
  it('outlast the minute, and are not used up by hammering', async () => {
    const app = await startTestApp({ env: { CHAT_LIMITS: '{"postsPerMinute":1000,"postsPerHour":3}' } })
    try {
      const here = from('203.0.113.7')
      for (let i = 0; i < 3; i++) await posted(app, {}, here)
      const refused = await postPlain(app, {}, here)
      expect(codeOf(refused)).to.equal('429 rate_limited')
      expect(refused.body.retry_after).to.be.within(3500, 3600)
    } finally {
      await app.close()
    }
  })
})
