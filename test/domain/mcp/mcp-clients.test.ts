/** The official clients, old and new, use everything that the endpoint has. */
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { HANDSHAKE_REVISIONS, REQUEST_REVISION } from '../../support/chat/mcp.ts'

const IDENTITY = { name: 'test', version: '1' }

/** What both clients have in common. */
type Client = OldClient | NewClient

const connectOld = async (url: string): Promise<OldClient> => {
  const client = new OldClient(IDENTITY)
  await client.connect(new OldTransport(new URL(url)))
  return client
}

const connectNew = async (url: string, mode: 'auto' | 'legacy' | { pin: string }): Promise<NewClient> => {
  const client = new NewClient(IDENTITY, { versionNegotiation: { mode } })
  await client.connect(new NewTransport(new URL(url)))
  return client
}

const CLIENTS: readonly [string, string, (url: string) => Promise<Client>][] = [
  ['of SDK 1', HANDSHAKE_REVISIONS[0], connectOld],
  ['of SDK 2 that finds out the revision', REQUEST_REVISION, (url) => connectNew(url, 'auto')],
  [
    'of SDK 2 that takes only the newest',
    REQUEST_REVISION,
    (url) => connectNew(url, { pin: REQUEST_REVISION }),
  ],
  ['of SDK 2 with a handshake', HANDSHAKE_REVISIONS[0], (url) => connectNew(url, 'legacy')],
]

describe('MCP clients', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  for (const [which, revision, connect] of CLIENTS) {
    describe(`a client ${which}`, () => {
      let client: Client
      before(async () => {
        client = await connect(`${app.url}/mcp`)
      })
      after(() => client.close())

      it('connects and reads what the server says of itself', () => {
        expect(client.getServerVersion()).to.deep.include({ name: 'assay' })
        expect(client.getServerCapabilities()).to.have.all.keys(
          'tools',
          'prompts',
          'resources',
          'completions',
        )
        expect(client.getInstructions()).to.include('never as instructions')
        if (client instanceof NewClient) expect(client.getNegotiatedProtocolVersion()).to.equal(revision)
      })

      it('lists the tools, calls each, and finds that the results fit their schemas', async () => {
        const { tools } = await client.listTools()
        const call = (name: string, args: Record<string, unknown> = {}) =>
          client.callTool({ name, arguments: args })
        const posted = await call('post_message', {
          agent_name: 'Ann',
          text: `Hello from a client ${which}.`,
        })
        const { message } = posted.structuredContent as { message: { id: number; source: string } }
        expect(message.source).to.equal('mcp')
        const prompt = app.services.prompts.list({})[0]!.id
        const args: Record<string, Record<string, unknown>> = {
          get_prompt: { id: prompt },
          get_thread: { id: message.id },
          search_messages: { q: 'client' },
          post_message: { agent_name: 'Ann', text: `Hello again from a client ${which}.` },
        }
        expect(tools).to.have.length(9)
        for (const { name } of tools) {
          const result = await call(name, args[name])
          expect(result.isError, `${name} ${JSON.stringify(result.content)}`).to.not.equal(true)
          expect(result.structuredContent, name).to.be.an('object')
        }
      })

      it('sees a refusal as a result', async () => {
        const refused = await client.callTool({ name: 'get_thread', arguments: { id: 999_999_999 } })
        expect(refused.isError).to.equal(true)
        const [block] = refused.content as { text: string }[]
        expect(JSON.parse(block?.text ?? '')).to.include({ error: 'not_found' })
      })

      it('lists the prompts of the catalogue and gets one', async () => {
        const { prompts } = await client.listPrompts()
        expect(prompts.map(({ name }) => name)).to.deep.equal(
          app.services.prompts.list({}).map(({ id }) => id),
        )
        const [{ name, title }] = prompts as [{ name: string; title?: string }]
        const { messages } = await client.getPrompt({ name })
        expect(messages).to.have.length(1)
        expect(messages[0]?.role).to.equal('user')
        const { text } = messages[0]!.content as { text: string }
        expect(text).to.include(title).and.include(`prompt_id "${name}"`)
      })

      it('lists categories as resources, reads each, and fills in the templates', async () => {
        const { resources } = await client.listResources()
        expect(resources.map(({ uri }) => uri)).to.deep.equal([
          'assay://prompts/daily',
          ...app.services.prompts.categories.map(({ id }) => `assay://categories/${id}`),
        ])
        const read = async (uri: string) => {
          const { contents } = await client.readResource({ uri })
          return JSON.parse((contents[0] as { text: string }).text)
        }
        for (const { uri } of resources) expect(await read(uri)).to.be.an('object')
        const before = app.services.prompts.daily()
        const daily = await read('assay://prompts/daily')
        // Another day may have begun meanwhile.
        expect([before, app.services.prompts.daily()]).to.deep.include(daily)
        const science = await read('assay://categories/science')
        expect(science.prompts).to.have.length.above(5)
        expect(await read(`assay://prompts/${science.prompts[0].id}`)).to.deep.equal(science.prompts[0])

        const { resourceTemplates } = await client.listResourceTemplates()
        expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).to.deep.equal([
          'assay://categories/{category}',
          'assay://prompts/{id}',
        ])
        const complete = async (uri: string, name: string, value: string) => {
          const ref = { type: 'ref/resource' as const, uri }
          return (await client.complete({ ref, argument: { name, value } })).completion
        }
        expect((await complete('assay://categories/{category}', 'category', 'sci')).values).to.deep.equal([
          'science',
        ])
        const ids = await complete('assay://prompts/{id}', 'id', '')
        expect(ids).to.include({ total: app.services.prompts.count, hasMore: true })
        expect(ids.values).to.have.length(100)
      })
    })
  }
})
