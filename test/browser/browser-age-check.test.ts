/**
 * A website asks for an age, and somebody in another browser answers: the example that relying parties copy, the holder's page, and
 * the service between them. Nothing secret is sent, and what is sent holds for this question alone.
 */
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Credential } from '../../src/circuits/credential.ts'
import { type HolderBackup, importHolder } from '../../src/circuits/holder.ts'
import { type VerifyOptions, verifyProof } from '../../src/circuits/offline-verification.ts'
import { createSealing, SealingError } from '../../src/keys/sealing.ts'
import { statusPlace } from '../../src/protocol/status.ts'
import { readStatusList } from '../../src/protocol/status-list.ts'
import { breaches } from '../support/axe.ts'
import { launchChromium } from '../support/chromium.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { ANNA } from '../support/domain/kyc.ts'
import { postVerifyProof } from '../support/domain/proof-api.ts'
import {
  addCredentialOn,
  keptOn,
  PASSPHRASE,
  PATIENCE_MS,
  type Parties,
  sendOn,
  settleOn,
  startParties,
  unlockOn,
} from '../support/holder-page.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { sealingOf } from '../support/sealing.ts'
import { dayNeedle, type Needle, numberNeedle, traces } from '../support/traces.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/age-check/server.ts')
const MINUTE_MS = 60_000

describe('a website that asks, and a holder who answers, in two Chromiums', function () {
  this.timeout(600_000)
  let asking: Browser
  let holding: Browser
  let parties: Parties
  let site: Program
  let siteUrl: string
  let context: BrowserContext
  let complaints: string[] = []
  /** How far the service's clock is ahead. */
  let shiftMs = 0

  before(async () => {
    ;[asking, holding, parties] = await Promise.all([
      launchChromium(),
      launchChromium(),
      startParties(() => shiftMs),
    ])
    const { app, asker, issuer } = parties
    const env = {
      ASSAY_URL: app.url,
      ASSAY_API_KEY: asker.apiKey,
      ASSAY_ISSUERS: `${issuer.organisationId}=City Bank`,
    }
    site = startProgram(EXAMPLE, ['0'], { env })
    siteUrl = (await site.line(/^listening/)).replace('listening on ', '')
  })
  after(async () => {
    await Promise.all([asking?.close(), holding?.close(), site?.kill()])
    await parties?.close()
  })
  beforeEach(async () => {
    shiftMs = 0
    complaints = []
    context = await holding.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    context.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    context.on('weberror', (error) => complaints.push(String(error.error())))
  })
  afterEach(() => context.close())

  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(new URL(path, parties.relay.url).href)
    return page
  }
  /** Asks on the website. @returns its page, and the address in its QR code */
  const askOnSite = async (): Promise<{ page: Page; address: string }> => {
    const page = await asking.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    await page.goto(siteUrl)
    await page.click('#ask')
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>('#code')?.naturalWidth)
    return { page, address: (await page.getAttribute('#here', 'href')) ?? '' }
  }
  const outcome = async (page: Page, state: string): Promise<string> => {
    await page.waitForSelector(`#outcome[data-state="${state}"]`)
    return page.innerText('#outcome')
  }

  /** The person's secret, birth date, passphrase, and what else is in the credential but its status. */
  const needlesOf = ({ holder }: HolderBackup, { fields, signature }: Credential): Needle[] => [
    numberNeedle('secret', holder.secret),
    dayNeedle('birth date', ANNA.dateOfBirth),
    { name: 'passphrase', texts: [PASSPHRASE], bytes: [Buffer.from(PASSPHRASE)] },
    ...(['subject', 'country', 'holder'] as const).map((name) =>
      numberNeedle(name, BigInt(String(fields[name]))),
    ),
    ...(['r8x', 'r8y', 's'] as const).map((name) => numberNeedle(name, BigInt(signature[name]))),
  ]

  /** What Chromium says that a page sends: addresses, headers, bodies, sockets. Its threads are seen by the relay. */
  const listen = async (page: Page): Promise<{ seen: string[]; sockets: string[] }> => {
    const session = await context.newCDPSession(page)
    const [seen, sockets]: [string[], string[]] = [[], []]
    session.on('Network.requestWillBeSent', ({ request }) =>
      seen.push(
        `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${request.postData ?? ''}`,
      ),
    )
    session.on('Network.webSocketCreated', ({ url }) => sockets.push(url))
    session.on('Network.webSocketFrameSent', ({ response }) => seen.push(response.payloadData))
    session.on('Network.webTransportCreated', ({ url }) => sockets.push(url))
    await session.send('Network.enable', { maxPostDataSize: 1 << 20 })
    return { seen, sockets }
  }

  it('the website says YES with issuer, purpose and time, and nothing secret leaves the browser that proves', async () => {
    const { relay } = parties
    const issuing = await open('/credentials')
    const { credential } = await settleOn(issuing, parties)
    const needles = needlesOf(await importHolder(await keptOn(issuing, parties), PASSPHRASE), credential)
    await issuing.close()

    const { page: sitePage, address } = await askOnSite()
    expect(address).to.match(new RegExp(`^${relay.url}/challenge/chl_`))
    relay.empty()
    const page = await context.newPage()
    const { seen, sockets } = await listen(page)
    const outside: string[] = []
    context.on('request', (request) => {
      if (!request.url().startsWith(`${relay.url}/`)) outside.push(request.url())
    })
    await unlockOn(page, address)
    await page.waitForSelector('#decision[data-verdict="good"]')
    expect(await page.innerText('#question')).to.include('born on')
    expect(await page.innerText('#learnt')).to.include('Your name, birth date, country')
    expect(await sendOn(page)).to.include('Sent: YES')

    expect(await outcome(sitePage, 'YES'))
      .to.include('says City Bank')
      .and.to.include('Purpose: age-check.')
      .and.to.match(/Time: .*\d{4}/)
      .and.to.include('the holder’s own secret')
    expect(complaints).to.deep.equal([])

    const sent = relay.sent()
    const text = sent.toString('latin1')
    // All of it is plain HTTP, which can be read: nothing compressed, no socket, no tunnel.
    expect(text).to.match(/POST \/v1\/proofs\/challenge\/chl_\w+\/answer HTTP/)
    expect(text).to.include('GET /api/circuits/kyc/zkey')
    expect(text).not.to.match(/^(?:content-encoding|upgrade): /im)
    expect([sockets, outside]).to.deep.equal([[], []])
    expect(seen.filter((one) => one.startsWith('POST '))).to.have.length(1)
    expect(traces(Buffer.concat([sent, Buffer.from(seen.join('\n'))]), needles)).to.deep.equal([])
    // The status is disclosed, as was asked: the search does see what is in a proof.
    const status = numberNeedle('status', BigInt(String(credential.fields.status)))
    expect(traces(sent, [status])).to.deep.equal(['status'])
    await sitePage.close()
  })

  it('the search finds what is sent, however it is written', async () => {
    const { relay } = parties
    const page = await open('/credentials')
    const { credential } = await settleOn(page, parties)
    const backup = await importHolder(await keptOn(page, parties), PASSPHRASE)
    const [secret, birth] = needlesOf(backup, credential) as [Needle, Needle]
    const bytes = Buffer.from(backup.holder.secret.toString(16).padStart(62, '0'), 'hex')
    const inside = Buffer.concat([Buffer.from('x'), bytes, Buffer.from('yz')])
    const day = ANNA.dateOfBirth
    const ways: readonly [name: string, needle: Needle, text: string][] = [
      ['decimal', secret, String(backup.holder.secret)],
      ['hexadecimal', secret, bytes.toString('hex')],
      ['upper case', secret, bytes.toString('hex').toUpperCase()],
      ['base64url', secret, bytes.toString('base64url')],
      ['base64', secret, encodeURIComponent(bytes.toString('base64'))],
      ['in the middle of base64url', secret, inside.toString('base64url')],
      [
        'hexadecimal in base64',
        secret,
        Buffer.from(`x${backup.holder.secret.toString(16)}`).toString('base64url'),
      ],
      ['turned round', secret, Buffer.from(bytes).reverse().toString('hex')],
      ['escaped', secret, [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')],
      ['ISO 8601', birth, day],
      ['yyyymmdd', birth, day.replaceAll('-', '')],
      ['JSON in base64url', birth, Buffer.from(JSON.stringify({ born: day })).toString('base64url')],
      ['seconds', birth, String(Date.parse(day) / 1000)],
    ]
    for (const [name, needle, text] of ways) {
      for (const how of ['address', 'body'] as const) {
        relay.empty()
        await page.evaluate(
          async ([sent = '', as]) => {
            const [query, init] = as === 'address' ? [`?x=${sent}`, {}] : ['', { method: 'POST', body: sent }]
            await (await fetch(`/health/live${query}`, init)).text()
          },
          [text, how],
        )
        expect(traces(relay.sent(), [needle]), `${name} in the ${how}`).to.have.length(1)
      }
    }
  })

  it('the proof holds for no other purpose, nonce or asker, and not once it is revoked: here at once, offline by the next list', async () => {
    const { app, relay, issuer, asker } = parties
    const page = await open('/credentials')
    const { userId, credential } = await settleOn(page, parties)
    const { challenge_id, context: asked } = await parties.ask()
    await unlockOn(page, `${relay.url}/challenge/${challenge_id}`)
    expect(await sendOn(page)).to.include('Sent: YES')
    const { result } = await parties.told(challenge_id)
    if (result === null) throw new Error('it was not verified')
    const { proof, public_signals } = result
    const made = { circuit_id: 'kyc', proof, public_signals, context: asked }

    const issuers = [issuer.organisationId]
    const expectation = { audience: relay.url, purpose: 'age-check', nonce: asked.nonce, issuers }
    const reasons = async (
      key: string,
      changes: object,
      context: object = asked,
    ): Promise<readonly string[]> => {
      const body = { ...made, context, expect: { ...expectation, ...changes } }
      const answer = await postVerifyProof(app, key, body)
      expect(answer.body.verified, JSON.stringify(answer.body)).to.equal(false)
      return answer.body.reason_codes
    }
    expect(await reasons(asker.apiKey, { purpose: 'newsletter' })).to.include('EXPECTATION_PURPOSE')
    expect(await reasons(asker.apiKey, { nonce: 'n-other' })).to.include('EXPECTATION_NONCE')
    expect(await reasons(issuer.apiKey, {})).to.include('EXPECTATION_ORGANISATION')
    const statement = { ...(asked.statement as object), purpose: 'newsletter' }
    expect(await reasons(asker.apiKey, {}, { ...asked, statement })).to.include('CONTEXT_MISMATCH')

    const get = async (path: string): Promise<Response> => fetch(app.url + path)
    const keys = {
      circuit: artifacts.kyc.verificationKey,
      issuer: (await (await get('/.well-known/issuer-keys')).json()) as VerifyOptions['keys']['issuer'],
    }
    const { list } = statusPlace(Number(credential.fields.status))
    const offline = async (changes: Partial<VerifyOptions> = {}) => {
      const now = Date.now() + shiftMs
      const jwks = (await (await get('/.well-known/jwks.json')).json()) as { keys: [] }
      const jwt = await (await get(`/status/${list}`)).text()
      const read = await readStatusList(jwt, {
        keys: jwks,
        issuer: relay.url,
        list,
        now: Math.floor(now / 1000),
      })
      if ('reason' in read) throw new Error(read.reason)
      const options = { keys, issuers, challenge: asked, statusList: read.statusList, now, ...changes }
      return (await verifyProof(made, { ...options, expect: { max_age_seconds: 600, ...changes.expect } }))
        .reasons
    }
    expect(await offline()).to.deep.equal([])
    const unasked = { ...expectation, organisation: asker.organisationId }
    const without = { challenge: undefined }
    expect(await offline({ ...without, expect: unasked })).to.deep.equal([])
    expect(await offline({ ...without, expect: { ...unasked, purpose: 'x' } })).to.include(
      'EXPECTATION_PURPOSE',
    )
    expect(await offline({ ...without, expect: { ...unasked, nonce: 'x' } })).to.include('EXPECTATION_NONCE')
    const other = { ...unasked, organisation: issuer.organisationId }
    expect(await offline({ ...without, expect: other })).to.include('EXPECTATION_ORGANISATION')

    expect((await app.request('DELETE', `/api/kyc/${userId}`, { key: issuer.apiKey })).status).to.equal(200)
    const again = await parties.ask()
    await unlockOn(page, `${relay.url}/challenge/${again.challenge_id}`)
    expect(await sendOn(page)).to.include('Sent: YES')
    const refused = await parties.told(again.challenge_id)
    expect([refused.result, refused.reason_codes]).to.deep.equal([null, ['CREDENTIAL_REVOKED']])
    shiftMs = MINUTE_MS + 1000
    expect(await offline()).to.deep.equal(['CREDENTIAL_REVOKED'])
  })

  it('nothing that the service keeps opens once the person’s key is destroyed', async () => {
    const { app, issuer } = parties
    const page = await open('/credentials')
    const { userId, credential } = await settleOn(page, parties)
    const needles = needlesOf(await importHolder(await keptOn(page, parties), PASSPHRASE), credential)
    const { knex } = app.services.database
    const newest = () => knex('kyc_checks').orderBy('entry_index', 'desc').first()
    const check = await newest()
    const person = {
      organisation: issuer.organisationId,
      subject: check.subject,
      generation: check.generation,
    }
    const subject = () => knex('kyc_subjects').where(person).first()
    const before = await subject()
    expect((await app.request('DELETE', `/api/kyc/${userId}`, { key: issuer.apiKey })).status).to.equal(200)

    const master = await sealingOf(app)
    const keyPlace = {
      table: 'kyc_subjects',
      column: 'sealed_key',
      row: JSON.stringify([person.organisation, person.subject, person.generation]),
    }
    const place = { table: 'kyc_checks', column: 'sealed', row: check.id }
    const keyIn = ({ sealed_key }: { sealed_key: string }) =>
      createSealing(master.open('kyc-person', keyPlace, Buffer.from(sealed_key, 'base64url')))
    const { sealed } = await newest()
    expect((await subject()).sealed_key).to.equal('')
    expect(() => master.open('kyc-check', place, sealed)).to.throw(SealingError)
    // The key that was there would open it, and the birth date is found in it.
    const opened = Buffer.from(keyIn(before).open('kyc-check', place, sealed))
    expect(traces(opened, needles)).to.include('birth date').and.not.to.include('secret')

    const { rows } = await knex.raw(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
    )
    expect(rows.length).to.be.greaterThan(30)
    const found = new Set<string>()
    for (const { name } of rows as { name: string }[]) {
      const { rows: all } = await knex.raw('SELECT row_to_json(t)::text AS line FROM ?? t', [name])
      const text = (all as { line: string }[]).map(({ line }) => line.replaceAll('\\\\x', '')).join('\n')
      for (const needle of traces(Buffer.from(text), needles)) found.add(needle)
    }
    // The commitment is known, so that it stays one person's.
    expect([...found]).to.deep.equal(['holder'])
  })

  it('a NO is sent only after the person has seen it', async () => {
    const page = await open('/credentials')
    await settleOn(page, parties)
    const { challenge_id } = await parties.ask({ inputs: { minLevel: 'basic', minAge: 120 } })
    await unlockOn(page, `${parties.relay.url}/challenge/${challenge_id}`)
    await page.waitForSelector('#decision[data-verdict="warn"]')
    await page.waitForSelector('#send:not([aria-disabled])')
    expect(await page.innerText('#send')).to.equal('Prove and send NO')
    expect(await sendOn(page)).to.include('Sent: NO')
    expect((await parties.told(challenge_id)).result?.decision).to.equal(0)
  })

  it('the website is told when an answer did not hold, and takes another', async () => {
    const page = await open('/credentials')
    const { userId } = await settleOn(page, parties)
    // Checked again: what was issued before is replaced.
    const answer = await parties.issue(userId, await page.innerText('.commitment'))
    const { page: sitePage, address } = await askOnSite()
    await unlockOn(page, address)
    expect(await sendOn(page)).to.include('Sent: YES')
    await sitePage.waitForFunction(() =>
      document.querySelector('#outcome')?.textContent?.includes('CREDENTIAL_REVOKED'),
    )
    await unlockOn(page, `${parties.relay.url}/credentials`)
    await addCredentialOn(page, JSON.stringify(answer), 2)
    await unlockOn(page, address)
    expect(await sendOn(page)).to.include('Sent: YES')
    expect(await outcome(sitePage, 'YES')).to.include('City Bank')
    await sitePage.close()
  })

  it('the website gives its key to no browser, and its answer to nobody but who asked', async () => {
    const { page } = await askOnSite()
    expect(await page.content()).not.to.include(parties.asker.apiKey)
    const cookies = await page.context().cookies()
    expect(cookies.find(({ name }) => name === 'age_check')).to.include({
      httpOnly: true,
      sameSite: 'Strict',
    })
    expect((await fetch(`${siteUrl}/answer`)).status).to.equal(404)
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await fetch(`${siteUrl}/question`, { method: 'POST', headers })).status).to.equal(403)
    expect(await breaches(page)).to.deep.equal([])
    await page.close()
  })
})
