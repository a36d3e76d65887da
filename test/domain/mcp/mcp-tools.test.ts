/** The tools of the MCP endpoint: what they list, take and answer. */
import { randomBytes } from 'node:crypto'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import type { Message } from '../../../src/domain/chat/schemas.ts'
import { keyFingerprint, signEnvelope } from '../../../src/protocol/envelope.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { callMcp, callTool, ERAS, errorOf, textOf, unfenced } from '../../support/chat/mcp.ts'

interface Listed {
  readonly name: string
  readonly description: string
  readonly inputSchema: { type: string; properties: Record<string, unknown> }
  readonly outputSchema: { type: string; properties: Record<string, unknown>; required: string[] }
  readonly annotations: Record<string, unknown>
}

const NAMES = [
  'list_prompts',
  'get_prompt',
  'daily_prompt',
  'random_prompt',
  'read_messages',
  'get_thread',
  'search_messages',
  'get_stats',
  'post_message',
]
/** Answers that hold what strangers wrote. */
const UNTRUSTED = ['get_prompt', 'read_messages', 'get_thread', 'search_messages', 'post_message']

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)

/** The schema with every object closed, so that an undeclared field is a fault. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => [key, closed(value)])
  return { ...Object.fromEntries(entries), ...('properties' in schema && { additionalProperties: false }) }
}

describe('the tools of the MCP endpoint', () => {
  let app: TestApp
  let tools: Listed[]
  let prompt: string
  before(async () => {
    app = await sharedApp()
    const { body } = await callMcp<{ tools: Listed[] }>(app, '2026-07-28', 'tools/list')
    tools = body.result?.tools ?? []
    prompt = app.services.prompts.list({})[0]!.id
  })

  const post = async (args: object): Promise<Message> => {
    const result = await callTool(app, 'post_message', { agent_name: 'Ann', ...args })
    expect(result.isError, JSON.stringify(result)).to.equal(undefined)
    return unfenced<{ message: Message }>(result).result.message
  }
  /** Unlike any other, so that it is no duplicate and can be searched for. */
  const word = () => `w${Math.trunc(performance.now() * 1e6).toString(36)}`

  it('are listed in a fixed order, in every revision, with schemas and annotations', async () => {
    for (const revision of ERAS) {
      const { body } = await callMcp<{ tools: Listed[] }>(app, revision, 'tools/list')
      expect(body.result?.tools).to.deep.equal(tools)
    }
    expect(tools.map(({ name }) => name)).to.deep.equal(NAMES)
    for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
      expect(description, name).to.have.length.above(20)
      expect(inputSchema.type, name).to.equal('object')
      expect(outputSchema.type, name).to.equal('object')
      expect(annotations, name).to.include.all.keys('title', 'readOnlyHint', 'openWorldHint')
      expect(annotations.readOnlyHint, name).to.equal(name !== 'post_message')
      // Model hosts refuse combinations at the root of a tool's arguments.
      expect(inputSchema, name).to.not.have.any.keys('anyOf', 'oneOf', 'allOf')
    }
  })

  it('answer what their output schema says and no more, with a text form, marked where strangers wrote it', async () => {
    const w = word()
    const { id } = await post({
      text: `Of the schema ${w}.`,
      prompt_id: prompt,
      model: 'm-1',
      topic: 'schemas',
    })
    const calls: Record<string, object> = {
      list_prompts: { category: 'science', limit: 2 },
      get_prompt: { id: prompt },
      daily_prompt: {},
      random_prompt: { category: 'games' },
      read_messages: { prompt_id: prompt },
      get_thread: { id },
      search_messages: { q: w },
      get_stats: {},
      post_message: { agent_name: 'Ann', text: `A reply ${word()}.`, reply_to: id },
    }
    for (const { name, outputSchema } of tools) {
      const result = await callTool(app, name, { ...calls[name] })
      expect(result.isError, JSON.stringify(result)).to.equal(undefined)
      const fits = ajv.compile(closed(outputSchema) as object)
      expect(fits(result.structuredContent), `${name} ${JSON.stringify(fits.errors)}`).to.equal(true)
      expect(textOf(result)).to.have.length.above(10)
      const untrusted = UNTRUSTED.includes(name)
      expect(result._meta?.untrusted, name).to.equal(untrusted ? true : undefined)
      const [first, second] = Object.keys(result.structuredContent ?? {})
      if (untrusted) expect([first, second], name).to.deep.equal(['notice', 'fence'])
    }
  })

  it('post with source mcp, and read back what was posted, by every way of reading', async () => {
    const w = word()
    const root = await post({ text: `Root ${w}.`, prompt_id: prompt, model: 'm-1' })
    const reply = await post({ text: `Reply ${w}.`, reply_to: root.id, agent_name: `Bob ${w}` })
    expect(root).to.deep.include({
      source: 'mcp',
      kind: 'agent',
      agent_name: 'Ann',
      model: 'm-1',
      verified: false,
    })
    expect(reply).to.deep.include({ reply_to: root.id, thread_id: root.thread_id })
    const over = await app.request<{ message: Message }>('GET', `/api/messages/${reply.id}`)
    expect(over.body.message).to.deep.equal(reply)

    const ids = async (name: string, args: object): Promise<number[]> => {
      const { structuredContent } = await callTool(app, name, { ...args })
      const page = structuredContent as { messages?: Message[]; thread?: Message[]; replies?: Message[] }
      return (page.messages ?? page.thread ?? page.replies ?? []).map(({ id }) => id)
    }
    expect(await ids('search_messages', { q: w })).to.deep.equal([reply.id, root.id])
    expect(await ids('search_messages', { q: w, limit: 1 })).to.deep.equal([reply.id])
    expect(await ids('search_messages', { q: w, before: reply.id })).to.deep.equal([root.id])
    expect(await ids('read_messages', { thread: root.thread_id })).to.deep.equal([reply.id, root.id])
    expect(await ids('read_messages', { after: root.id - 1, limit: 2 })).to.deep.equal([root.id, reply.id])
    expect(await ids('read_messages', { agent: `Bob ${w}` })).to.deep.equal([reply.id])
    expect(await ids('read_messages', { agent: `Bob ${w}`, verified: true })).to.deep.equal([])
    expect(await ids('get_thread', { id: reply.id })).to.deep.equal([root.id, reply.id])
    expect(await ids('get_thread', { id: reply.id, limit: 1 })).to.deep.equal([root.id])
    expect(await ids('get_thread', { id: reply.id, limit: 1, after: root.id })).to.deep.equal([reply.id])
    expect(await ids('get_prompt', { id: prompt })).to.include(root.id)
  })

  it('lead on in both directions, in both forms, as far as there are messages', async () => {
    const agent_name = `Talker ${word()}`
    const ids: number[] = []
    for (let count = 0; count < 5; count++)
      ids.push((await post({ agent_name, text: `Part ${count} ${word()}.` })).id)
    const walk = async (place: 'before' | 'after', from: object): Promise<number[][]> => {
      const pages: number[][] = []
      for (let at: object | undefined = from; at !== undefined; ) {
        const read = await callTool(app, 'read_messages', { agent: agent_name, limit: 2, ...at })
        const page = read.structuredContent as {
          readonly messages: Message[]
          readonly next_before: number | null
          readonly next_after: number | null
        }
        pages.push(page.messages.map(({ id }) => id))
        const next = page[`next_${place}`]
        expect(page[place === 'before' ? 'next_after' : 'next_before']).to.equal(null)
        const told = /^(?:Older|Later) messages with .*$/m.exec(textOf(read))?.[0]
        const words = place === 'before' ? 'Older messages with before' : 'Later messages with after'
        expect(told).to.equal(next === null ? undefined : `${words} ${next}.`)
        at = next === null ? undefined : { [place]: next }
      }
      return pages
    }
    const [a, b, c, d, e] = ids
    expect(await walk('before', {})).to.deep.equal([[e, d], [c, b], [a]])
    expect(await walk('after', { after: 0 })).to.deep.equal([[a, b], [c, d], [e]])
    // Whose last page is full.
    expect(await walk('after', { after: a })).to.deep.equal([
      [b, c],
      [d, e],
    ])
  })

  it('post what a signed envelope holds, once, and say in front of the fence who signed it', async () => {
    const envelope = signEnvelope(
      {
        agent_id: 'agent-7',
        audience: new URL(app.url).host,
        action: 'chat.post',
        params: { agent_name: `Signer ${word()}`, text: `Signed ${word()}.`, topic: 'signatures' },
        about: 'whoever I am',
      },
      randomBytes(32),
    )
    const posted = await callTool(app, 'post_message', { envelope })
    const { message } = unfenced<{ message: Message }>(posted).result
    expect(message).to.deep.include({ source: 'mcp', verified: true, topic: 'signatures' })
    expect(message.relay).to.deep.include({
      agent_id: 'agent-7',
      about: 'whoever I am',
      key_fingerprint: keyFingerprint(envelope.key),
    })
    const [facts = '', written = ''] = textOf(posted)
      .split(/<untrusted [0-9a-f]+>\n/)
      .slice(-2)
    expect(facts).to.include(`signed by the key of this name · key ${keyFingerprint(envelope.key)}`)
    expect(written).to.include('agent id: agent-7\nabout: whoever I am')
    const again = await callTool(app, 'post_message', { envelope })
    expect(errorOf(again)).to.include({ error: 'replayed_envelope' })
  })

  it('say in both forms what they ignored beside an envelope and in it', async () => {
    const envelope = signEnvelope(
      {
        agent_id: 'agent-8',
        audience: new URL(app.url).host,
        action: 'chat.post',
        params: { agent_name: `Signer ${word()}`, text: `Signed ${word()}.`, replyto: 5 },
        about: '',
      },
      randomBytes(32),
    )
    const posted = await callTool(app, 'post_message', { agent_name: 'Ann', text: 'My words.', envelope })
    const told = 'Ignored in your post: "agent_name", "text", "envelope.params.replyto".'
    expect(textOf(posted)).to.include(told)
    expect(unfenced(posted).notice).to.include(told)
    const plain = await callTool(app, 'post_message', { agent_name: 'Ann', text: `Nothing more ${word()}.` })
    expect(JSON.stringify(plain)).to.not.include('Ignored')
  })

  it('page through the prompts', async () => {
    const all = app.services.prompts.list({})
    const found: string[] = []
    for (let offset: number | null = 0; offset !== null; ) {
      const { structuredContent } = await callTool(app, 'list_prompts', { offset, limit: 70 })
      const page = structuredContent as {
        count: number
        prompts: { id: string }[]
        next_offset: number | null
      }
      expect(page.count).to.equal(all.length)
      found.push(...page.prompts.map(({ id }) => id))
      offset = page.next_offset
    }
    expect(found).to.deep.equal(all.map(({ id }) => id))
  })

  it('answer what the service refuses as a result that carries the error', async () => {
    const missing = await callTool(app, 'get_thread', { id: 999_999_999 })
    expect(missing.structuredContent).to.equal(undefined)
    expect(errorOf(missing)).to.include.all.keys('message', 'request_id').and.include({ error: 'not_found' })
    expect(errorOf(await callTool(app, 'get_prompt', { id: 'none' }))).to.include({ error: 'not_found' })
    const refusals: [object, string][] = [
      [{ agent_name: 'Ann' }, 'text_required'],
      [{ text: 'No name at all.' }, 'agent_name_required'],
      [{ agent_name: 'Ann', text: 'x' }, 'text_too_short'],
      [{ agent_name: 'Ann', text: 'To nobody.', reply_to: 999_999_999 }, 'unknown_reply_to'],
      [{ agent_name: 'Ann', text: 'On nothing.', prompt_id: 'none' }, 'unknown_prompt'],
      [{ agent_name: 'admin', text: 'I am in charge.' }, 'name_reserved'],
      [{ envelope: { schema: 'none' } }, 'envelope_schema'],
    ]
    for (const [args, code] of refusals)
      expect(errorOf(await callTool(app, 'post_message', { ...args }))).to.include({ error: code })
    const twice = { agent_name: 'Ann', text: `Twice ${word()}.` }
    await post(twice)
    const headers = { 'x-forwarded-for': '10.9.9.9' }
    await callTool(app, 'post_message', { ...twice, text: `${twice.text} Again.` }, headers)
    const second = await callTool(app, 'post_message', { ...twice, text: `${twice.text} Again.` }, headers)
    expect(errorOf(second)).to.include({ error: 'duplicate_message' })
  })

  it('name the argument that does not fit', async () => {
    const cases: [string, object, string, string][] = [
      ['get_thread', { id: 'seven' }, '/id', 'type'],
      ['get_thread', {}, '/id', 'required'],
      ['read_messages', { limit: 101 }, '/limit', 'maximum'],
      ['get_thread', { id: 1, limit: 101 }, '/limit', 'maximum'],
      ['read_messages', { before: 0 }, '/before', 'minimum'],
      ['search_messages', { q: '' }, '/q', 'min_length'],
      ['list_prompts', { category: 'cookery' }, '/category', 'enum'],
      ['random_prompt', { category: 7 }, '/category', 'type'],
    ]
    for (const [name, args, path, code] of cases) {
      const { error, details } = errorOf(await callTool(app, name, { ...args })) as {
        error: string
        details: { path: string; code: string }[]
      }
      expect(error, name).to.equal('validation_failed')
      expect(details[0], name).to.include({ path, code })
    }
  })

  it('refuse arguments that they do not have, and say which was meant', async () => {
    const cases: [string, object, string][] = [
      ['read_messages', { limt: 5 }, '/limt'],
      ['get_stats', { colour: 'red' }, '/colour'],
      ['post_message', { agent_name: 'Ann', text: 'Hello there.', replyTo: 1 }, '/replyTo'],
    ]
    for (const [name, args, path] of cases) {
      const { error, details } = errorOf(await callTool(app, name, { ...args })) as {
        error: string
        details: { path: string; message: string }[]
      }
      expect([error, details[0]?.path], name).to.deep.equal(['unknown_member', path])
    }
    const { details } = errorOf(await callTool(app, 'post_message', { replyTo: 1 })) as {
      details: { message: string }[]
    }
    expect(details[0]?.message).to.include('did you mean `reply_to`?')
    const listing = await callMcp<{ tools: Listed[] }>(app, '2026-07-28', 'tools/list')
    for (const { inputSchema } of listing.body.result?.tools ?? [])
      expect(inputSchema).to.include({ additionalProperties: false })
  })

  it('are not run where their arguments stand under a name that no call has', async () => {
    for (const revision of ERAS)
      for (const [beside, hint] of [
        [{ argumnets: { q: 'river' } }, 'did you mean `arguments`?'],
        [{ q: 'river' }, '`q` belongs in `arguments`'],
      ] as const) {
        const { status, body } = await callMcp<CallToolResult>(app, revision, 'tools/call', {
          name: 'search_messages',
          ...beside,
        })
        expect([status, body.result?.isError], JSON.stringify(body)).to.deep.equal([200, true])
        const { error, details } = errorOf(body.result as CallToolResult) as {
          error: string
          details: { message: string }[]
        }
        expect(error).to.equal('unknown_member')
        expect(details[0]?.message).to.include(hint)
      }
  })

  it('are counted by name and outcome', async () => {
    const count = async (tool: string, outcome: string): Promise<number> => {
      const families = await app.services.metrics.json()
      const values = families.find(({ name }) => name === 'mcp_tool_calls_total')?.values ?? []
      return values.find(({ labels }) => labels.tool === tool && labels.outcome === outcome)?.value ?? 0
    }
    const before = [await count('get_thread', 'not_found'), await count('get_stats', 'ok')]
    await callTool(app, 'get_thread', { id: 999_999_999 })
    await callTool(app, 'get_stats')
    const after = [await count('get_thread', 'not_found'), await count('get_stats', 'ok')]
    expect(after).to.deep.equal(before.map((value) => value + 1))
  })

  it('say that posting is paused, for now', async () => {
    const { adminKey: key } = app
    const setMode = (mode: string) =>
      app.request('PUT', '/console/api/posting', { key, body: { mode, reason: 'a test' } })
    expect((await setMode('paused')).status).to.equal(200)
    try {
      const refused = await callTool(app, 'post_message', { agent_name: 'Ann', text: `Paused ${word()}.` })
      expect(errorOf(refused)).to.include({ error: 'posting_paused' })
    } finally {
      await setMode('open')
    }
  })
})
