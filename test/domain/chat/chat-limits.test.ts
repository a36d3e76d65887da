/** How much an address and a key may post. */
import { expect } from 'chai'
import type { AlertPage } from '../../../src/domain/security/schemas.ts'
import type { EnvelopeProof } from '../../../src/protocol/envelope.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { codeOf, from, posted, refusal } from '../../support/chat/chat.ts'
import { ok } from '../../support/client.ts'
import { createAgent, postPlain } from '../../support/domain/envelopes.ts'

describe('limits of posting', () => {
  let app: TestApp
  before(async () => {
    app = await startTestApp({
      env: { CHAT_LIMITS: '{"postsPerMinute":5,"postsPerHour":8,"keyPostsPerMinute":3,"readsPerMinute":30}' },
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
    // Not of the limit of all that an address asks, of which there is much left.
    expect(refused.headers.get('ratelimit-policy')).to.equal('"default";q=5;w=60')
    expect(refused.headers.get('ratelimit')).to.equal(`"default";r=0;t=${refused.body.retry_after}`)
    expect(await refusal(app, {}, from('203.0.113.2'))).to.equal('201')
  })

  it('count a whole /64 of IPv6 as one', async () => {
    for (let i = 0; i < 5; i++) await posted(app, {}, from(`2001:db8:1:1::${i + 1}`))
    expect(await refusal(app, {}, from('2001:db8:1:1:ffff::1'))).to.equal('429 rate_limited')
    expect(await refusal(app, {}, from('2001:db8:1:2::1'))).to.equal('201')
  })

  it('do not count what breaks a content rule', async () => {
    const here = from('203.0.113.3')
    for (let i = 0; i < 6; i++) {
      expect(await refusal(app, { text: 'x' }, here)).to.equal('400 text_too_short')
      expect(await refusal(app, { reply_to: 2 ** 40 }, here)).to.equal('400 unknown_reply_to')
    }
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

  it('hold for all that an address asks together: reads, and posts however they end', async () => {
    const headers = from('203.0.113.5')
    const ask = async (method: string, path: string, body?: unknown) =>
      codeOf(await app.request<unknown>(method, path, { headers, ...(body !== undefined && { body }) }))
    const asked = [
      ['GET', '/api/messages'],
      ['GET', '/api/stats'],
      ['GET', '/api/messages/9999'],
      ['POST', '/api/messages', { agent_name: 'Ada', text: 'x' }],
      ['POST', '/api/messages', { envelope: {} }],
      ['POST', '/api/messages', '{'],
      ['POST', '/api/messages/1/remove', { envelope: {} }],
    ] as const
    const answers: string[] = []
    for (let i = 0; i < 30; i++) {
      const [method, path, body] = asked[i % asked.length] ?? asked[0]
      answers.push(await ask(method, path, body))
    }
    expect(answers).not.to.include('429 rate_limited')
    for (const [method, path, body] of asked)
      expect(await ask(method, path, body), path).to.equal('429 rate_limited')
  })

  it('raise alerts that hold no address, and the same subject for the same one', async () => {
    const subjects = async () => {
      await app.services.security.close()
      const { alerts } = await ok<AlertPage>(app, 'GET', '/api/security/alerts', { key: app.adminKey })
      return alerts.flatMap(({ type, subject }) => (type === 'rate_limit' ? [subject] : []))
    }
    const refused = async (address: string) => {
      let status = 200
      while (status === 200) ({ status } = await app.request('GET', '/api/stats', { headers: from(address) }))
      expect(status).to.equal(429)
    }
    const before = await subjects()
    for (const address of ['203.0.113.10', '2001:db8:7:7::1', '2001:db8:7:7::2']) await refused(address)
    const after = await subjects()
    expect(after.length - before.length, 'a /64 is one').to.equal(2)
    for (const subject of after) expect(subject).to.match(/^chat\.reads:[0-9a-f]{32}$/)
  })

  it('stop an address that sends one bad proof after the other, before it keeps others waiting', async () => {
    const open = await startTestApp()
    try {
      const send = async (proof: unknown, headers: Record<string, string>) => {
        const envelope = createAgent(open).sign({
          ...(proof !== undefined && { proof: proof as EnvelopeProof }),
        })
        return codeOf(await open.request('POST', '/api/messages', { body: { envelope }, headers }))
      }
      const bad = { circuit_id: 'kyc', proof: {}, public_signals: [], context: {} }
      const here = from('203.0.113.8')
      for (let i = 0; i < 10; i++) expect(await send(bad, here)).to.equal('400 envelope_proof_invalid')
      expect(await send(bad, here)).to.equal('429 rate_limited')
      expect(await send(bad, from('203.0.113.9'))).to.equal('400 envelope_proof_invalid')
      expect(await send(undefined, here)).to.equal('201')
    } finally {
      await open.close()
    }
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
      expect(refused.headers.get('ratelimit-policy')).to.equal('"default";q=3;w=3600')
    } finally {
      await app.close()
    }
  })
})
