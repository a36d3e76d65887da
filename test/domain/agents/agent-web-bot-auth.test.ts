/** Web Bot Auth: what a signature says of where its key is published, and keys that are looked up there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { component } from 'http-message-sig'
import { signatureHeaders } from 'web-bot-auth'
import { systemCaller } from '../../../src/caller.ts'
import { isDirectorySound } from '../../../src/domain/agents/enrol/directory-signature.ts'
import { createKeyDirectories } from '../../../src/domain/agents/enrol/key-directory.ts'
import { readSignatureAgent } from '../../../src/domain/agents/trust/evidence/signature-agent.ts'
import type { VerifyAgent } from '../../../src/domain/agents/trust/schemas-verify.ts'
import { createAgentVerification } from '../../../src/domain/agents/trust/verify.ts'
import { readPublicKey } from '../../../src/keys/public-key.ts'
import { createSafeFetch, type SafeFetch } from '../../../src/net/safe-fetch.ts'
import { createRecent } from '../../../src/store/recent.ts'
import type { TestOrganisation } from '../../support/app.ts'
import { agentTrustOf, freshNonce, secondsNow, signedHttp } from '../../support/domain/agent-trust.ts'
import { type AgentKey, agentRoutesOf, newAgentKey } from '../../support/domain/agents.ts'
import { DIRECTORY_PATH, directory, signedDirectory } from '../../support/domain/key-directory.ts'
import { json } from '../../support/servers/target-server.ts'
import { startWebhookApp, until, type WebhookApp } from '../../support/webhooks.ts'

const VECTORS = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../vectors/http-signatures.json'), 'utf8'),
)
const SHOP = 'https://shop.example/orders'
const AUDIENCE = 'shop.example'

describe('web bot auth', () => {
  describe('reads of Signature-Agent what the signature covers', () => {
    const URL_A = 'https://a.example'
    const member = (key: string) => component('signature-agent', { key })
    const whole = component('signature-agent')
    const read = (field: string, ...components: ReturnType<typeof component>[]) => {
      const found = readSignatureAgent(field, 'sig1', components)
      return typeof found === 'string' ? found : found.url
    }

    it('the member of its label, else the only one that it covers', () => {
      const field = `sig1="${URL_A}", sig2="https://b.example"`
      expect(read(field, member('sig1'))).to.equal(URL_A)
      expect(read(field, member('sig2'))).to.equal('https://b.example')
      expect(read(field, member('sig2'), member('sig1'))).to.equal(URL_A)
      expect(read(`${field}, c="https://c.example"`, member('sig2'), member('c'))).to.equal(
        'SIGNATURE_AGENT_AMBIGUOUS',
      )
    })

    it('never what it does not cover by its key', () => {
      const field = `sig1="${URL_A}"`
      for (const components of [
        [],
        [component('@authority')],
        [whole],
        [component('signature-agent', { key: 'sig1', req: true })],
      ])
        expect(read(field, ...components)).to.equal('SIGNATURE_AGENT_UNCOVERED')
      expect(read(`"${URL_A}"`, member('sig1'))).to.equal('SIGNATURE_AGENT_UNCOVERED')
    })

    it('a single string as a whole, as agents of earlier drafts send it', () => {
      expect(read(`"${URL_A}"`, whole)).to.equal(URL_A)
      expect(read(` "${URL_A}"`, whole)).to.equal(URL_A)
      for (const field of [`"${URL_A}";type="directory"`, `"${URL_A}", "https://b.example"`, '"a', '""'])
        expect(read(field, whole), field).to.equal('SIGNATURE_AGENT_MALFORMED')
    })

    it('only an https URL as a string without parameters', () => {
      for (const value of [
        '"http://a.example"',
        '"data:application/json,{}"',
        '"a.example"',
        '"https://user@a.example"',
        `"${URL_A}";type="directory"`,
        `("${URL_A}")`,
        'token',
        '5',
        ':aGk=:',
      ])
        expect(read(`sig1=${value}`, member('sig1')), value).to.equal('SIGNATURE_AGENT_MALFORMED')
      expect(read('sig1', member('sig1'))).to.equal('SIGNATURE_AGENT_MALFORMED')
      expect(read('=', member('sig1'))).to.equal('SIGNATURE_AGENT_MALFORMED')
      // Somebody else's member says nothing of this one.
      expect(read(`sig1="${URL_A}", other=5`, member('sig1'))).to.equal(URL_A)
    })
  })

  it('takes a directory’s signature as its draft publishes one, for that host and that content', async () => {
    const { url, body, headers } = VECTORS.signed_directory
    const key = readPublicKey(JSON.parse(body).keys[0]) ?? expect.fail('no key')
    const answer = { status: 200, headers, body: Buffer.from(body), url, redirected: false }
    const judge = (change: object, seconds = 1_735_689_600) =>
      isDirectorySound({ ...answer, ...change }, key, seconds)
    expect(await judge({})).to.equal(true)
    expect(await judge({ url: url.replace('signature-agent', 'other') })).to.equal(false)
    expect(await judge({ body: Buffer.from(`${body} `) })).to.equal(false)
    // What was packed on its way is not the content that was signed.
    expect(await judge({ headers: { ...headers, 'content-encoding': 'gzip' } })).to.equal(false)
    expect(await judge({}, 1_735_689_600 - 31)).to.equal(false)
    expect(await judge({}, 4_889_289_600 + 31)).to.equal(false)
    expect(await judge({ headers: {} })).to.equal(true)
  })

  describe('recognises', () => {
    let own: WebhookApp
    let now = 0
    let owner: TestOrganisation
    let key: AgentKey
    let trust: ReturnType<typeof agentTrustOf>
    let local: SafeFetch
    let verification: ReturnType<typeof createAgentVerification>
    before(async () => {
      own = await startWebhookApp({ clock: { now: () => Date.now() + now } })
      local = createSafeFetch({ allowCidrs: ['127.0.0.0/8'], ca: own.certificates.ca })
      // The service's own, but for the one rule that published keys are never looked up on this machine.
      const here = Object.assign(
        (...[url, request]: Parameters<SafeFetch>) => local(url, { ...request, allowListed: true }),
        { close: local.close },
      )
      const { services } = own.app
      const { clock } = services
      const { published } = createKeyDirectories({
        safeFetch: here,
        clock,
        openRecent: ({ ttlMs, maxEntries, load }) => createRecent({ ttlMs, maxEntries, clock, load }),
        openToAll: false,
      })
      const agents = { ...services.agents, published }
      verification = createAgentVerification({ ...services, agents, baseUrl: own.app.url })
    })
    after(async () => {
      await local.close()
      await own.close()
    })
    beforeEach(async () => {
      now = 0
      owner = await own.app.organisation()
      trust = agentTrustOf(own.app, owner.apiKey)
      key = await newAgentKey()
    })
    /** A directory of its own for each test, since what one answered is remembered. */
    const places = { count: 0 }
    const newPlace = () => `${own.receiver.url}/keys/${places.count++}`
    const at = (url: string) => new URL(url).pathname

    /** As generic bots sign, by http-message-signatures: the host, and the URL of their keys as a member of the label. */
    const botRequest = (agentUrl: string, params: Parameters<typeof signedHttp>[1]['params'] = {}) =>
      signedHttp(key, {
        url: SHOP,
        headers: { 'Signature-Agent': `sig1="${agentUrl}"` },
        fields: ['@authority', 'signature-agent;key="sig1"'],
        params,
      })
    /** As organisations ask the service. */
    const verifyOutside = async (http: object, more: object = { published_keys: true }) => {
      const answer = await trust.verify({ http, expected_audience: AUDIENCE, ...more })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    }
    /** The same where keys may be published on this machine. */
    const verify = (http: VerifyAgent['http'], more: object = { published_keys: true }) =>
      verification.verify(systemCaller(owner.organisationId, 'test'), {
        http,
        expected_audience: AUDIENCE,
        ...more,
      })
    const asked = (place: string) =>
      own.receiver.requests.filter(({ path }) => path.split('?')[0] === at(place)).length

    it('a bot that nobody enrolled by the key that its URL publishes, if asked to', async () => {
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const verdict = await verify(await botRequest(place))
      expect(verdict).to.deep.include({
        verified: true,
        agent_id: null,
        kid: key.kid,
        tag: 'web-bot-auth',
        signature_agent: place,
        trust_level: null,
        status: null,
        reasons: [],
        nonce_fresh: true,
      })
      expect(own.receiver.requests.at(-1)).to.deep.include({ path: at(place), method: 'GET' })
      expect(await verify(await botRequest(place), {})).to.deep.include({
        verified: false,
        kid: null,
        signature_agent: null,
        reasons: ['KEY_UNKNOWN'],
      })
      const http = await botRequest(place)
      expect((await verify(http)).verified).to.equal(true)
      expect((await verify(http)).reasons).to.deep.equal(['NONCE_REPLAYED'])
    })

    it('a bot that signs for a day and without a nonce, as its draft lets it, and never for longer', async () => {
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const created = secondsNow()
      const signed = (seconds: number, nonce?: string) =>
        botRequest(place, { created, expires: created + seconds, nonce })
      const http = await signed(24 * 3600)
      expect(await verify(http)).to.deep.include({
        verified: true,
        signature_agent: place,
        nonce_fresh: null,
      })
      // Who saw it may present it again, as the verdict says.
      expect(await verify(http)).to.deep.include({ verified: true, nonce_fresh: null })
      now = 24 * 3600 * 1000
      expect((await verify(http)).reasons).to.deep.equal(['SIGNATURE_EXPIRED'])
      now = 0
      expect((await verify(await signed(24 * 3600 + 1))).reasons).to.deep.equal(['WINDOW_INVALID'])
      expect((await verify(await signed(3600, 'c2hvcnQ'))).reasons).to.deep.equal(['NONCE_WEAK'])
      const once = await signed(3600, freshNonce())
      expect((await verify(once)).nonce_fresh).to.equal(true)
      expect((await verify(once)).reasons).to.deep.equal(['NONCE_REPLAYED'])
      // An agent that is enrolled keeps to shorter ones.
      await agentRoutesOf(own.app, owner.apiKey).active(key)
      const reasons = ['WINDOW_INVALID', 'NONCE_MISSING']
      expect(await verify(http)).to.deep.include({ verified: false, reasons, nonce_fresh: null })
    })

    it('a bot of the well-known directory whose origin it names as a string, signed by web-bot-auth', async () => {
      own.receiver.on(DIRECTORY_PATH, signedDirectory(key))
      const agentField = `"${own.receiver.url}"`
      const request = new Request(SHOP, { headers: { 'Signature-Agent': agentField } })
      const signed = await signatureHeaders(
        request,
        {
          alg: 'ed25519',
          keyid: key.kid,
          sign: async (data) => new Uint8Array(Buffer.from(key.sign(data), 'base64url')),
        },
        { created: new Date(), expires: new Date(Date.now() + 300_000) },
      )
      const http = { method: 'GET', url: SHOP, headers: { ...signed, 'Signature-Agent': agentField } }
      expect(await verify(http)).to.deep.include({
        verified: true,
        signature_agent: `${own.receiver.url}${DIRECTORY_PATH}`,
      })
      const { headers } = own.receiver.requests.at(-1) ?? expect.fail('not asked')
      expect(headers.accept).to.match(/^application\/http-message-signatures-directory\+json/)
      expect(headers['accept-encoding']).to.equal('identity')
    })

    it('no bot whose URL does not publish the key, publishes it no more, or can’t be asked', async () => {
      const failing: [object | string, string][] = [
        [{ keys: [(await newAgentKey()).jwk] }, 'KEY_UNPUBLISHED'],
        [{ keys: [{ ...key.jwk, exp: secondsNow() - 1 }] }, 'KEY_UNPUBLISHED'],
        [{ keys: [{ ...key.jwk, exp: String(secondsNow() + 1000) }] }, 'KEY_UNPUBLISHED'],
        [{ keys: 'none' }, 'DIRECTORY_FAILED'],
      ]
      for (const [document, reason] of failing) {
        const place = newPlace()
        own.receiver.on(at(place), directory(document))
        const verdict = await verify(await botRequest(place))
        expect(verdict.reasons, JSON.stringify(document)).to.deep.equal([reason])
        expect([verdict.verified, verdict.signature_agent]).to.deep.equal([false, null])
      }
      expect((await verify(await botRequest(newPlace()))).reasons).to.deep.equal(['DIRECTORY_FAILED'])
      expect((await verify(await botRequest('https://10.1.2.3/keys'))).reasons).to.deep.equal([
        'DIRECTORY_FAILED',
      ])
      // A signature that covers no member names no URL that could be asked.
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const unnamed = await signedHttp(key, { url: SHOP, headers: { 'signature-agent': `sig1="${place}"` } })
      expect((await verify(unnamed)).reasons).to.deep.equal(['KEY_UNKNOWN'])
      expect(own.receiver.requests.some(({ path }) => path === at(place))).to.equal(false)
    })

    it('no bot by a key at what the operator opened, whatever the caller may reach', async () => {
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      trust = agentTrustOf(own.app, own.app.adminKey)
      // Its scopes have egress:private, EGRESS_OPEN_PROXY is on, and EGRESS_ALLOW_CIDRS has the receiver's address.
      expect((await verifyOutside(await botRequest(place))).reasons).to.deep.equal(['DIRECTORY_FAILED'])
      expect(asked(place)).to.equal(0)
    })

    it('no bot by what a host that stores or reflects JSON is made to say', async () => {
      const place = newPlace()
      const document = { keys: [key.jwk] }
      own.receiver.on(at(place), directory(document))
      for (const end of [`?body=${encodeURIComponent(JSON.stringify(document))}`, '?', '#', '#keys'])
        expect((await verify(await botRequest(place + end))).reasons, end).to.deep.equal([
          'DIRECTORY_URL_REFUSED',
        ])
      expect(asked(place)).to.equal(0)
      const type = 'application/http-message-signatures-directory+json'
      const typed = async (sent: string) => {
        const stored = newPlace()
        own.receiver.on(at(stored), directory(document, sent))
        return (await verify(await botRequest(stored))).reasons
      }
      for (const sent of ['application/json', 'text/plain', `text/plain, ${type}`, `${type}, text/plain`])
        expect(await typed(sent), sent).to.deep.equal(['DIRECTORY_TYPE_REFUSED'])
      expect(await typed(`${type.toUpperCase()}; charset=utf-8`)).to.deep.equal([])
      // Where only who runs the host can answer, directories that are served as JSON count.
      own.receiver.on(DIRECTORY_PATH, json(document))
      expect((await verify(await botRequest(own.receiver.url))).verified).to.equal(true)
    })

    it('a directory that failed again after five seconds', async () => {
      const place = newPlace()
      expect((await verify(await botRequest(place))).reasons).to.deep.equal(['DIRECTORY_FAILED'])
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      now = 4000
      expect((await verify(await botRequest(place))).reasons).to.deep.equal(['DIRECTORY_FAILED'])
      expect(asked(place)).to.equal(1)
      now = 6000
      expect((await verify(await botRequest(place))).reasons).to.deep.equal([])
    })

    it('a bounded number of directories at a time for each organisation, others meanwhile not less', async () => {
      let open = (): void => undefined
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      const slow = Array.from({ length: 8 }, newPlace)
      for (const place of slow)
        own.receiver.on(at(place), async (request, response) => {
          await opened
          await directory({ keys: [key.jwk] })(request, response)
        })
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const waiting = Promise.all(slow.map(async (url) => verify(await botRequest(url))))
      await until('the slow ones asked', () => slow.every((url) => asked(url) === 1))
      const http = await botRequest(place)
      expect((await verify(http)).reasons).to.deep.equal(['DIRECTORY_BUSY'])
      const busy = owner
      owner = await own.app.organisation()
      expect((await verify(await botRequest(place))).reasons).to.deep.equal([])
      owner = busy
      open()
      for (const { reasons } of await waiting) expect(reasons).to.deep.equal([])
      // That it was busy says nothing of the directory, so it is not remembered.
      expect((await verify(http)).reasons).to.deep.equal([])
    })

    it('a bot by its directory only where nothing else speaks against its request', async () => {
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const created = secondsNow()
      const faulty: [Parameters<typeof botRequest>[1], string[]][] = [
        [{ created: created - 60, expires: created - 1 }, ['SIGNATURE_EXPIRED']],
        [{ tag: 'other', nonce: 'c2hvcnQ' }, ['NONCE_WEAK', 'TAG_UNKNOWN']],
        [{ keyid: 'k'.repeat(42) }, ['KEY_UNKNOWN']],
        [{ keyid: `${'k'.repeat(42)}/` }, ['KEY_UNKNOWN']],
      ]
      for (const [params, reasons] of faulty)
        expect(await verify(await botRequest(place, params))).to.deep.include({ reasons, kid: null })
      const elsewhere = { published_keys: true, expected_audience: 'other.example' }
      expect((await verify(await botRequest(place), elsewhere)).reasons).to.deep.equal(['AUDIENCE_MISMATCH'])
      const uncovered = await signedHttp(key, {
        url: SHOP,
        headers: { 'Signature-Agent': `sig1="${place}"` },
        fields: ['@method', 'signature-agent;key="sig1"'],
      })
      expect((await verify(uncovered)).reasons).to.deep.equal(['AUTHORITY_UNCOVERED'])
      expect(asked(place)).to.equal(0)
    })

    it('by what a directory answered in the last minute, and asks it once for many', async () => {
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const requests = await Promise.all(Array.from({ length: 5 }, () => botRequest(place)))
      for (const verdict of await Promise.all(requests.map((http) => verify(http))))
        expect(verdict.verified).to.equal(true)
      expect(asked(place)).to.equal(1)
      own.receiver.on(at(place), directory({ keys: [] }))
      expect((await verify(await botRequest(place))).verified).to.equal(true)
      now = 61_000
      const created = secondsNow() + 61
      const later = await botRequest(place, { created, expires: created + 60 })
      expect((await verify(later)).reasons).to.deep.equal(['KEY_UNPUBLISHED'])
      expect(asked(place)).to.equal(2)
    })

    it('no agent that was suspended here, whatever its directory publishes', async () => {
      const place = newPlace()
      own.receiver.on(at(place), directory({ keys: [key.jwk] }))
      const agents = agentRoutesOf(own.app, owner.apiKey)
      const { agent_id } = await agents.active(key)
      expect(await verify(await botRequest(place))).to.deep.include({ verified: true, agent_id })
      await agents.step(agent_id, 'suspend')
      expect(await verify(await botRequest(place))).to.deep.include({
        verified: false,
        agent_id: null,
        kid: null,
        signature_agent: null,
        reasons: ['KEY_UNKNOWN'],
        nonce_fresh: null,
      })
    })

    it('an enrolled agent by its directory only where that was seen to publish its key', async () => {
      own.receiver.on(DIRECTORY_PATH, json({ keys: [key.jwk] }))
      const agents = agentRoutesOf(own.app, owner.apiKey)
      const { agent_id } = await agents.active(key, { key_directory_url: own.receiver.url })
      const named = async (url: string) => (await verifyOutside(await botRequest(url), {})).signature_agent
      const wellKnown = `${own.receiver.url}${DIRECTORY_PATH}`
      expect(await named(own.receiver.url)).to.equal(wellKnown)
      expect(await named(`${wellKnown}?any`)).to.equal(wellKnown)
      // Its key is known, so it is recognised; the URL is nobody's that was looked at.
      expect(await named('https://elsewhere.example')).to.equal(null)
      own.receiver.on(DIRECTORY_PATH, json({ keys: [] }))
      await agents.step(agent_id, 'check-domain')
      expect(await named(own.receiver.url)).to.equal(null)
    })

    it('a directory’s own signature, which must hold for its host, its content and now where it has one', async () => {
      const agents = agentRoutesOf(own.app, owner.apiKey)
      const trusted = async (options: Parameters<typeof signedDirectory>[1]) => {
        const fresh = await newAgentKey()
        own.receiver.on(DIRECTORY_PATH, signedDirectory(fresh, { ...options, keys: [fresh.jwk] }))
        const { trust_level, trust_reasons } = await agents.active(fresh, {
          key_directory_url: own.receiver.url,
        })
        return trust_level === 'domain_verified' ? 'sound' : trust_reasons.join()
      }
      const seconds = secondsNow()
      expect(await trusted({})).to.equal('sound')
      // As earlier drafts had it.
      expect(await trusted({ fields: ['@authority;req'] })).to.equal('sound')
      const refused: Record<string, Parameters<typeof signedDirectory>[1]> = {
        'of another host': { authority: 'other.example' },
        over: { created: seconds - 600, expires: seconds - 300 },
        'not yet': { created: seconds + 600 },
        'without the host': { fields: ['content-digest'] },
      }
      for (const [name, options] of Object.entries(refused))
        expect(await trusted(options), name).to.equal('directory_signature_invalid')
      const fresh = await newAgentKey()
      const altered = JSON.stringify({ keys: [fresh.jwk], more: 1 })
      own.receiver.on(DIRECTORY_PATH, signedDirectory(fresh, { body: altered }))
      const { trust_reasons } = await agents.active(fresh, { key_directory_url: own.receiver.url })
      expect(trust_reasons).to.deep.equal(['directory_signature_invalid'])
    })
  })
})
