/** What an agent reads first: true in every line, and nothing in it depends on who asks. */
import { execFile } from 'node:child_process'
import { expect } from 'chai'
import { createAgentsTxt } from '../../../src/domain/chat/agents-txt.ts'
import { CATEGORY_IDS } from '../../../src/domain/chat/prompts/schemas-prompts.ts'
import { UNTRUSTED_NOTICE } from '../../../src/domain/chat/schemas.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'

/** curl's own, when --max-time has passed. */
const CURL_TIMED_OUT = 28

const run = (command: string): Promise<{ status: number; output: string }> =>
  new Promise((resolve) => {
    execFile('sh', ['-c', command], (error, output) => {
      resolve({ status: error === null ? 0 : Number(error.code), output })
    })
  })

describe('GET /agents.txt', () => {
  let app: TestApp
  let text: string
  before(async () => {
    app = await sharedApp()
    text = (await app.request<string>('GET', '/agents.txt')).body
  })
  const commands = () => text.split('\n').filter((line) => line.startsWith('curl '))

  it('is plain text that pages of any origin may read and anybody may keep for five minutes', async () => {
    const { status, headers } = await app.request('GET', '/agents.txt', {
      headers: { origin: 'https://elsewhere.example' },
    })
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(headers.get('cache-control')).to.equal('public, max-age=300')
    const again = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
    expect((await app.request('GET', '/agents.txt', again)).status).to.equal(304)
  })

  it('says the rule about untrusted text before anything that can be called', () => {
    const rule = text.indexOf(UNTRUSTED_NOTICE)
    expect(rule).to.be.greaterThan(0).and.lessThan(text.indexOf('curl '))
  })

  it('holds only addresses of BASE_URL, whatever host a request names', async () => {
    expect(text.match(/https?:\/\/[^\s'"]+/g)?.every((address) => address.startsWith(app.url))).to.equal(true)
    const { body } = await app.request('GET', '/agents.txt', { headers: { host: 'evil.example' } })
    expect(body).to.equal(text)
  })

  it('has lines for curl that do what they say', async () => {
    expect(commands()).to.have.length(8)
    for (const command of commands().filter((line) => !line.includes('/stream'))) {
      const { status, output } = await run(command)
      expect(status, command).to.equal(0)
      expect(JSON.parse(output), command).to.not.have.property('error')
    }
    const { body } = await app.request<{ messages: object[] }>('GET', '/api/messages?agent=my-agent')
    expect(body.messages[0]).to.include({ text: 'Hello from a shell.', source: 'api' })
    const [stream = ''] = commands().filter((line) => line.includes('/stream'))
    const { status, output } = await run(`${stream} --max-time 1`)
    expect(status).to.equal(CURL_TIMED_OUT)
    for (const event of ['event: state', 'event: stats', 'event: message', 'Hello from a shell.'])
      expect(output).to.include(event)
  })

  it('names only routes that exist', async () => {
    const { body } = await app.request<{ paths: object }>('GET', '/v1/openapi.json')
    const named = [...text.matchAll(/(?<=\s|'|\d)\/(?:api|mcp|chat|v1)[\w/{}.-]*/g)].map(([path]) => path)
    expect(named.length).to.be.greaterThan(8)
    for (const path of named) expect(Object.keys(body.paths)).to.include(path)
  })

  it('configures an MCP client with the endpoint', async () => {
    const [json = ''] = /^\{$[\s\S]+?^\}$/m.exec(text) ?? []
    const { mcpServers } = JSON.parse(json)
    expect(mcpServers.assay).to.deep.equal({ type: 'http', url: `${app.url}/mcp` })
    const { status } = await app.request('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    })
    expect(status).to.equal(200)
  })

  it('lists every category, and the limits that the configuration sets', () => {
    expect(text).to.include(`Categories: ${CATEGORY_IDS.join(' ')}\n`)
    const options = {
      baseUrl: 'https://chat.example',
      chatLimits: {
        postsPerMinute: 7,
        postsPerHour: 8,
        keyPostsPerMinute: 9,
        readsPerMinute: 10,
        namesPerDay: 1,
      },
      streamLimits: { perAddress: 11, total: 12 },
      rateLimits: true,
    }
    const limited = createAgentsTxt(options)
    for (const line of [
      /posts per address +7 a minute, 8 an hour/,
      /signed posts per key +9 a minute/,
      /requests per address +10 a minute/,
      /open streams per address +11/,
      /audience: chat\.example\n/,
    ])
      expect(limited).to.match(line)
    const free = createAgentsTxt({ ...options, rateLimits: false })
    expect(free)
      .to.include('no rate limits')
      .and.to.not.match(/a minute/)
  })
})
