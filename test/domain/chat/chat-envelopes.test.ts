/** Envelopes through the service: what is asked of them and in which order, and that each is used once. */
import { expect } from 'chai'
import type { Clock } from '../../../src/clock.ts'
import { createEnvelopeReader, type EnvelopeReader } from '../../../src/domain/chat/envelopes/envelope.ts'
import { AppError } from '../../../src/errors.ts'
import {
  type EnvelopeFields,
  envelopeKey,
  type RelayEnvelope,
  signEnvelope,
} from '../../../src/protocol/envelope.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { createAgent, postPlain, sendEnvelope, someName, someText } from '../../support/domain/envelopes.ts'
import { fingerprintReference } from '../../support/reference/relay-envelope.ts'

const NOW = Date.parse('2026-03-01T12:00:00.000Z')
const at = (offsetSeconds: number): string => new Date(NOW + offsetSeconds * 1000).toISOString()
const seed = new Uint8Array(32).fill(3)
const clock: Clock = { now: () => NOW }

const FIELDS: EnvelopeFields = {
  id: 'envelope-1',
  agent_id: 'ada',
  audience: 'assay.example',
  action: 'chat.post',
  params: { agent_name: 'Ada', text: 'Hello there.' },
  issued_at: at(0),
  expires_at: at(300),
}

describe('chat envelopes', () => {
  let app: TestApp
  let reader: EnvelopeReader
  before(async () => {
    app = await sharedApp()
    const { proofs } = app.services
    reader = createEnvelopeReader({
      clock,
      baseUrl: 'https://Assay.example:443',
      proofs,
      trustedIssuers: new Set(),
      nameIssuer: (id) => id,
    })
  })

  const open = (envelope: unknown, action: 'chat.post' | 'chat.remove' = 'chat.post') => {
    try {
      return reader.open(envelope, action)
    } catch (error) {
      if (error instanceof AppError) return `${error.code}: ${error.message}`
      throw error
    }
  }
  /** Changes after signing break the signature, which is asked for late. */
  const changed = (changes: object, fields: object = {}): Record<string, unknown> => ({
    ...signEnvelope({ ...FIELDS, ...fields }, seed),
    ...changes,
  })

  it('say who signed what', () => {
    const about = 'Reads papers.\nAsks back.'
    expect(open(signEnvelope({ ...FIELDS, about }, seed))).to.deep.equal({
      fingerprint: fingerprintReference(envelopeKey(seed).x),
      id: 'envelope-1',
      agentId: 'ada',
      about,
      params: FIELDS.params,
      expiresAt: NOW + 300_000 + 120_000,
      proof: undefined,
    })
    expect(open(signEnvelope(FIELDS, seed))).to.include({ about: '' })
  })

  describe('are refused as envelope_schema, with the field and its rule:', () => {
    const key = envelopeKey(seed)
    const cases: readonly (readonly [what: string, changes: object, message: RegExp])[] = [
      ['another schema', { schema: 'agent-relay/2' }, /envelope\.schema must be "agent-relay\/1"/],
      ['a short id', { id: 'seven77' }, /envelope\.id must be 8 to 64 visible ASCII/],
      ['a long id', { id: 'x'.repeat(65) }, /envelope\.id/],
      ['an id with a space', { id: 'two words' }, /envelope\.id/],
      ['no id', { id: undefined }, /envelope\.id must be a string/],
      ['no agent_id', { agent_id: '' }, /envelope\.agent_id must have 1 to 128 characters/],
      ['a long agent_id', { agent_id: '\u{1F989}'.repeat(129) }, /envelope\.agent_id/],
      ['control characters', { agent_id: 'a\nb' }, /envelope\.agent_id must be one line/],
      ['an agent_id of two lines', { agent_id: 'a\u2028b' }, /envelope\.agent_id must be one line/],
      [
        'an agent_id of nothing',
        { agent_id: '\u200b\u3164' },
        /envelope\.agent_id must contain visible characters/,
      ],
      [
        'an agent_id that turns',
        { agent_id: 'a\u202eb' },
        /envelope\.agent_id must be .* change the writing direction/,
      ],
      [
        'an about that turns',
        { about: '\u2066b' },
        /envelope\.about must not .* change the writing direction/,
      ],
      ['an about that hides', { about: 'Hi\u{e0041}' }, /envelope\.about must not contain control/],
      ['no key', { key: null }, /envelope\.key must be a JWK/],
      ['another curve', { key: { ...key, crv: 'X25519' } }, /envelope\.key must be a JWK/],
      ['a private key', { key: { ...key, d: key.x } }, /private key: never send it/],
      ['a short key', { key: { ...key, x: key.x.slice(1) } }, /envelope\.key\.x must be 32 bytes/],
      ['a padded key', { key: { ...key, x: `${key.x}=` } }, /envelope\.key\.x must be 32 bytes/],
      ['no audience', { audience: 7 }, /envelope\.audience must be a string/],
      ['no action', { action: undefined }, /envelope\.action must be a string/],
      ['no params', { params: undefined }, /envelope\.params is required/],
      [
        'a day that is none',
        { issued_at: '2026-02-30T12:00:00Z' },
        /envelope\.issued_at must be an RFC 3339/,
      ],
      ['a time without a zone', { issued_at: '2026-03-01T12:00:00' }, /envelope\.issued_at/],
      ['a Unix time', { expires_at: NOW }, /envelope\.expires_at must be a string/],
      ['a life of nothing', { expires_at: at(0) }, /after issued_at, by 600 s at most/],
      ['a life of 601 s', { expires_at: at(601) }, /after issued_at, by 600 s at most/],
      ['a long about', { about: 'x'.repeat(281) }, /envelope\.about must have 0 to 280/],
      ['an about that rings', { about: '\u0007' }, /envelope\.about must not contain control/],
      ['a proof that is none', { proof: 'zk1.' }, /envelope\.proof must be an object/],
      ['a proof without signals', { proof: { circuit_id: 'kyc' } }, /envelope\.proof\.public_signals/],
      [
        'a proof without context',
        { proof: { circuit_id: 'kyc', public_signals: [] } },
        /envelope\.proof\.context/,
      ],
      ['no signature', { signature: undefined }, /envelope\.signature must be 64 bytes/],
      ['a padded signature', { signature: `${'A'.repeat(86)}==` }, /envelope\.signature must be 64 bytes/],
      ['half a character', { about: '\ud800' }, /no canonical JSON/],
      ['a number that is none', { params: { n: Number.POSITIVE_INFINITY } }, /no canonical JSON/],
    ]
    for (const [what, changes, message] of cases) {
      it(what, () => {
        const refusal = open(changed(changes))
        expect(refusal).to.match(/^envelope_schema: /)
        expect(refusal).to.match(message)
      })
    }

    it('what is no object', () => {
      for (const input of [undefined, null, 'text', 7, [], [signEnvelope(FIELDS, seed)]])
        expect(open(input)).to.equal('envelope_schema: envelope must be an object.')
    })
  })

  it('are asked for form, audience, action, time, signature and params, in this order', () => {
    const faults: readonly (readonly [code: string, wrong: object, right: object])[] = [
      ['envelope_schema', { schema: 'agent-relay/0' }, {}],
      ['envelope_audience', { audience: 'other.example' }, {}],
      ['envelope_action', { action: 'chat.remove' }, {}],
      ['envelope_expired', { issued_at: at(-900), expires_at: at(-600) }, {}],
      ['envelope_signature', { signature: 'A'.repeat(86) }, {}],
    ]
    // All at once, then one less each time.
    for (const [index, [code]] of faults.entries()) {
      const wrong = Object.assign({}, ...faults.slice(index).map(([, one]) => one))
      expect(open({ ...signEnvelope({ ...FIELDS, params: [] }, seed), ...wrong })).to.match(
        new RegExp(`^${code}:`),
      )
    }
    expect(open(signEnvelope({ ...FIELDS, params: [] }, seed))).to.match(/^envelope_params:/)
    expect(open(signEnvelope(FIELDS, seed))).to.include({ id: 'envelope-1' })
  })

  it('are addressed to the host of BASE_URL, letter for letter', () => {
    for (const audience of [
      'Assay.example',
      'assay.example:443',
      'https://assay.example',
      'assay.example.',
      '',
    ])
      expect(open(signEnvelope({ ...FIELDS, audience }, seed)), audience).to.equal(
        'envelope_audience: envelope.audience must be "assay.example".',
      )
  })

  it('hold from 120 s before they were issued to 120 s after they expired, and no second longer', () => {
    const code = (from: number, to: number): string =>
      String(open(signEnvelope({ ...FIELDS, issued_at: at(from), expires_at: at(to) }, seed))).split(
        ':',
      )[0] ?? ''
    expect(code(120, 300)).to.equal('[object Object]')
    expect(code(120.001, 300)).to.equal('envelope_not_yet_valid')
    expect(code(-600, -119.999)).to.equal('[object Object]')
    expect(code(-600, -120)).to.equal('envelope_expired')
    expect(code(0, 600)).to.equal('[object Object]')
  })

  it('are taken in any zone and any case that RFC 3339 knows', () => {
    for (const issued_at of [
      '2026-03-01t12:00:00z',
      '2026-03-01T13:00:00+01:00',
      '2026-03-01T12:00:00.123456789Z',
    ])
      expect(open(signEnvelope({ ...FIELDS, issued_at }, seed)), issued_at).to.include({ id: 'envelope-1' })
  })

  it('are signed with everything that they hold, known here or not', () => {
    const signed = signEnvelope({ ...FIELDS, extra: { later: 'version' } } as EnvelopeFields, seed)
    expect(open(signed)).to.include({ id: 'envelope-1' })
    expect(open({ ...signed, extra: 1 })).to.match(/^envelope_signature:/)
    expect(open({ ...signed, more: 1 })).to.match(/^envelope_signature:/)
    for (const name of ['id', 'agent_id', 'about', 'params', 'issued_at', 'expires_at'])
      expect(
        open({ ...signed, [name]: name.endsWith('_at') ? at(60) : `changed ${name}`.replace(' ', '-') }),
        name,
      ).to.match(/^envelope_signature:/)
    const other = envelopeKey(new Uint8Array(32).fill(4))
    expect(open({ ...signed, key: other })).to.match(/^envelope_signature:/)
  })

  it('count null for absent where a field is optional, as it was signed', () => {
    const nulls = { ...FIELDS, about: null, proof: null } as unknown as EnvelopeFields
    expect(open(signEnvelope(nulls, seed))).to.include({ about: '', proof: undefined })
  })

  it('ask to remove a message by its id', () => {
    const removal = (params: unknown) =>
      open(signEnvelope({ ...FIELDS, action: 'chat.remove', params }, seed), 'chat.remove')
    expect(removal({ id: 7 })).to.deep.include({ params: { id: 7 } })
    for (const params of [{}, { id: '7' }, { id: 0 }, { id: 1.5 }, { id: 2 ** 53 }, null, 7])
      expect(removal(params), JSON.stringify(params)).to.match(/^envelope_params:/)
    expect(open(signEnvelope(FIELDS, seed), 'chat.remove')).to.match(/^envelope_action:/)
  })

  describe('through the service', () => {
    it('make a message with the agent and its key beside it, whose name is bound to the key', async () => {
      const agent = createAgent(app)
      const { status, body } = await agent.post({ agent_id: 'ada@example.org', about: 'Reads papers.' })
      expect(status, JSON.stringify(body)).to.equal(201)
      expect(body.message).to.include({
        agent_name: agent.name,
        verified: true,
        source: 'api',
        kind: 'agent',
      })
      expect(body.message.relay).to.deep.equal({
        agent_id: 'ada@example.org',
        key_fingerprint: agent.fingerprint,
        proof_checked: false,
        about: 'Reads papers.',
      })
      const plain = await postPlain(app)
      expect(plain.body.message).to.include({ verified: false }).and.not.have.property('relay')
    })

    it('are held against BASE_URL, whatever the request says of its host', async () => {
      const agent = createAgent(app)
      const evil = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        forwarded: 'host=evil.example',
        'x-forwarded-for': '10.9.8.7',
      }
      const send = (envelope: RelayEnvelope) =>
        app.request<{ error: string }>('POST', '/api/messages', { headers: evil, body: { envelope } })
      const { status, body } = await send(agent.sign({ audience: 'evil.example' }))
      expect([status, body.error]).to.deep.equal([400, 'envelope_audience'])
      expect((await send(agent.sign())).status).to.equal(201)
    })

    it('answer each fault with its code', async () => {
      const agent = createAgent(app)
      const now = app.services.clock.now()
      const moment = (ms: number): string => new Date(now + ms).toISOString()
      const refusals: readonly (readonly [string, unknown])[] = [
        ['envelope_schema', 'no object'],
        ['envelope_audience', agent.sign({ audience: 'other.example' })],
        ['envelope_action', agent.sign({ action: 'chat.remove', params: { id: 1 } })],
        ['envelope_expired', agent.sign({ issued_at: moment(-900_000), expires_at: moment(-300_000) })],
        ['envelope_not_yet_valid', agent.sign({ issued_at: moment(300_000), expires_at: moment(600_000) })],
        ['envelope_signature', { ...agent.sign(), id: 'another-id' }],
        ['envelope_params', agent.sign({ params: 'text' })],
      ]
      for (const [code, envelope] of refusals) {
        const { status, body } = await sendEnvelope(app, envelope)
        expect([status, body.error], code).to.deep.equal([400, code])
      }
    })

    it('hold their params against the rules of every message', async () => {
      const agent = createAgent(app)
      const refusals: readonly (readonly [string, Record<string, unknown>])[] = [
        ['text_required', { text: undefined }],
        ['text_too_short', { text: 'x' }],
        ['text_too_long', { text: 'x'.repeat(2001) }],
        ['agent_name_required', { agent_name: undefined }],
        ['unknown_prompt', { prompt_id: 'none' }],
        ['unknown_reply_to', { reply_to: 2 ** 52 }],
      ]
      for (const [code, params] of refusals) {
        const { status, body } = await agent.post({
          params: { agent_name: agent.name, text: someText(), ...params },
        })
        expect([status, body.error], JSON.stringify(body)).to.deep.equal([400, code])
      }
      const reserved = await agent.post({ params: { agent_name: 'Ηouse', text: someText() } })
      expect([reserved.status, reserved.body.error]).to.deep.equal([400, 'name_reserved'])
    })

    it('are searched for credentials, beside their params too', async () => {
      const agent = createAgent(app)
      const secret = `ghp_${'aB3dE5gH'.repeat(5).slice(0, 36)}`
      for (const fields of [{ agent_id: secret }, { about: `my key is ${secret}` }]) {
        const { status, body } = await agent.post(fields)
        expect([status, body.error]).to.deep.equal([400, 'secret_detected'])
        expect(JSON.stringify(body)).not.to.include(secret.slice(8))
      }
    })

    it('are used once, by however many at the same time', async () => {
      const agent = createAgent(app)
      const envelope = agent.sign()
      const answers = await Promise.all(Array.from({ length: 50 }, () => sendEnvelope(app, envelope)))
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
      expect(
        answers.filter(({ status, body }) => status === 409 && body.error === 'replayed_envelope'),
      ).to.have.length(49)
      const { body } = await app.request<{ messages: unknown[] }>(
        'GET',
        `/api/messages?agent=${encodeURIComponent(agent.name)}`,
      )
      expect(body.messages).to.have.length(1)
      // The same id for other words is a replay as well.
      const again = await agent.post({ id: envelope.id })
      expect([again.status, again.body.error]).to.deep.equal([409, 'replayed_envelope'])
    })

    it('of an agent cannot be used up by anyone else, nor by what is refused', async () => {
      const agent = createAgent(app)
      const stranger = createAgent(app)
      const envelope = agent.sign()
      const { id } = envelope
      expect((await stranger.post({ id })).status).to.equal(201)
      const forged = { ...envelope, signature: stranger.sign({ id }).signature }
      expect((await sendEnvelope(app, forged)).body.error).to.equal('envelope_signature')
      const name = { agent_name: agent.name }
      expect((await agent.post({ id, params: { ...name, text: 'x' } })).body.error).to.equal('text_too_short')
      const claimed = { agent_name: stranger.name, text: someText() }
      expect((await agent.post({ id, params: claimed })).body.error).to.equal('name_claimed')
      const repeated = await agent.posted()
      const duplicate = await agent.post({ id, params: { ...name, text: repeated.text } })
      expect(duplicate.body.error).to.equal('duplicate_message')
      const proof = { circuit_id: 'kyc', proof: {}, public_signals: [], context: {} }
      expect((await agent.post({ id, proof })).body.error).to.equal('envelope_proof_invalid')
      expect((await sendEnvelope(app, envelope)).status).to.equal(201)
    })

    it('bind a name to the first key that signs under it, and to whatever looks like it', async () => {
      const suffix = someName()
      const agent = createAgent(app, `Scope ${suffix}`)
      await agent.posted()
      const disguises = [`Scope ${suffix}`, `ѕсоре ${suffix}`, `SCOPE ${suffix}`, `Sc\u200bope ${suffix}`]
      for (const name of disguises) {
        for (const answer of [
          await postPlain(app, { agent_name: name }),
          await createAgent(app, name).post(),
        ]) {
          // Invisible characters may be refused for themselves.
          expect([400, 403], JSON.stringify(answer.body)).to.include(answer.status)
          if (answer.status === 403) expect(answer.body.error).to.equal('name_claimed')
        }
      }
      expect((await agent.post()).body.message.verified).to.equal(true)
    })
  })
})
