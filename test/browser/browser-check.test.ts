/** The page that checks what somebody was given: good ones are valid, and of the others the fault is named. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { BLANK, filmOf } from '../support/camera.ts'
import {
  type CheckPages,
  expectTold,
  onCheckPage,
  paste,
  reheaded,
  repaid,
  startCheckPages,
  type Told,
  toldOn,
} from '../support/check-page.ts'
import { expectUsable } from '../support/console-page.ts'
import { agentRoutesOf, newAgentKey } from '../support/domain/agents.ts'
import { consentRoutesOf } from '../support/domain/consents.ts'
import { postComposite } from '../support/domain/eligibility.ts'
import { hybridRoutesOf } from '../support/domain/hybrid-tokens.ts'
import { asText, generated } from '../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../support/domain/tickets.ts'
import { payloadOf, signedBy, tokenRoutesOf } from '../support/domain/tokens.ts'
import { DATA, verified } from '../support/verification.ts'

const RULES = [{ field: 'age', op: 'gte', value: 18 }]
/** Until lists are published anew. */
const LIST_MS = 61_000
const HOUR_MS = 3_600_000
const MAX_BYTES_GZIPPED = 100_000
const FIRST_PAINT_MS = 1_000
const TRIES = 3
const HELD = 'The proof holds: YES, but whether the proof was spent or revoked'

describe('the page that checks, in Chromium', function () {
  this.timeout(600_000)
  let pages: CheckPages
  let page: Page

  onCheckPage((started, opened) => {
    pages = started
    page = opened
  })

  const key = () => pages.owner.apiKey
  const textAt = async (path: string) => (await pages.app.request('GET', path)).bytes.toString()
  const valid = async (given: string | object, word: string): Promise<Told> =>
    expectTold(await paste(page, given), word, 'good')
  /** Genuine, and amber, since nobody here can tell whether it still counts. */
  const open = async (given: string | object, word: string): Promise<Told> =>
    expectTold(await paste(page, given), `${word} was not checked`, 'warn')
  const refused = async (given: string | object, ...faults: string[]): Promise<Told> => {
    const told = expectTold(await paste(page, given), 'Not valid', 'bad', ...faults)
    expect(told.text).to.include(faults[0])
    return told
  }
  const result = (options: object = { rules: RULES }) => verified(pages.app, key(), { data: DATA, options })

  describe('signed results', () => {
    it('are valid as JWS, as answer and by their address, with the question in words', async () => {
      const answer = await result()
      await valid(answer, 'Valid: YES')
      await valid(answer.jws, 'Valid: YES')
      expect(await page.innerText('main')).to.include('“age” is at least 18')
      await expectUsable(page, 'check valid')
      // Whatever host an address names, the service of the page is asked.
      await valid(answer.qrUrl.replace(pages.app.url, 'https://elsewhere.example'), 'Valid: YES')
    })

    it('are refused when something was changed, in the JWS or beside it', async () => {
      const [answer, other] = [await result(), await result()]
      const { jws } = answer
      await refused(repaid(jws, { decision: 'NO' }), 'SIGNATURE_INVALID')
      await expectUsable(page, 'check refused')
      await refused(jws.slice(0, -2), 'SIGNATURE_INVALID')
      const cut = await paste(page, jws.slice(0, -1))
      expect(cut).to.include({ word: 'Not valid' })
      expect(cut.text).to.include('JWS_MALFORMED')
      expect((await paste(page, `${jws.slice(0, 90)}!${jws.slice(91)}`)).word).to.equal('Not recognised')
      await refused(reheaded(jws, { jku: 'https://elsewhere.example/keys' }), 'HEADER_REFUSED')
      await refused(reheaded(jws, { alg: 'none' }), 'HEADER_REFUSED')
      await refused(reheaded(jws, { alg: undefined }), 'HEADER_REFUSED')
      await refused(reheaded(jws, { alg: ['EdDSA'] }), 'HEADER_REFUSED')
      await refused(reheaded(jws, { kid: 'A'.repeat(43) }), 'KEY_UNKNOWN')
      await refused({ ...answer, decision: 'NO' }, 'ANSWER_MISMATCH', 'SIGNATURE_INVALID')
      await refused(
        { ...answer, verificationId: other.verificationId },
        'ANSWER_MISMATCH',
        'SIGNATURE_INVALID',
      )
      await refused({ ...answer, signature: other.signature }, 'SIGNATURE_INVALID')
      await refused({ ...answer, proof: other.proof }, 'PROOF_INVALID')
    })

    it('say what they are worth: NO, no question, expired, withdrawn, of another service', async () => {
      const no = await paste(page, await result({ rules: [{ field: 'age', op: 'gt', value: 99 }] }))
      expect(no).to.include({ word: 'Valid: NO', tone: 'warn' })
      expect(await paste(page, await result({}))).to.include({
        word: 'Valid: no question asked',
        tone: 'warn',
      })
      pages.shiftMs = -HOUR_MS
      const old = await result({ rules: RULES, ttl: 60 })
      pages.shiftMs = 0
      const expired = await paste(page, old)
      expect(expired).to.include({ word: 'Expired', tone: 'warn' })
      expect(expired.faults).to.include('RESULT_EXPIRED')
      await expectUsable(page, 'check expired')
      const withdrawn = await result()
      await pages.app.request('POST', '/verify/revoke', {
        key: key(),
        body: { verificationId: withdrawn.verificationId },
      })
      const told = await paste(page, withdrawn)
      expect(told).to.include({ word: 'Revoked', tone: 'bad' })
      expect(told.faults).to.deep.equal(['RESULT_REVOKED'])
      await expectUsable(page, 'check revoked')
      const header = { typ: 'vr+jws' }
      const elsewhere = { iss: 'https://elsewhere.example', jti: 'ver_1', iat: 1, decision: 'YES' }
      const foreign = await signedBy(pages.app, 'results', 'Ed25519', elsewhere, header)
      expect((await refused(foreign, 'ISSUER_MISMATCH', 'RESULT_UNKNOWN')).text).to.include(
        'elsewhere.example',
      )
    })
  })

  it('proofs hold as answer and as text, under the key that the service publishes', async () => {
    const proof = await generated(pages.app, key())
    await open(proof, HELD)
    expect(await page.innerText('main')).to.include('What this page can’t check')
    const bare = await paste(page, asText(proof))
    expect(bare).to.include({ word: `${HELD} was not checked`, tone: 'warn' })
    const [first = '', ...rest] = proof.public_signals
    await refused({ ...proof, public_signals: [String(BigInt(first) + 1n), ...rest] }, 'PROOF_INVALID')
    await refused({ ...proof, digest: '0'.repeat(64) }, 'DIGEST_MISMATCH')
    await refused({ ...proof, decision: 0 }, 'DECISION_MISMATCH')
    await refused({ ...proof, circuit_id: 'composite' }, 'SIGNAL_COUNT')
    await refused({ ...proof, circuit_id: 'none' }, 'CIRCUIT_UNKNOWN')
    await refused({ ...proof, proof: { ...proof.proof, pi_a: ['1', '2', '1'] } }, 'PROOF_INVALID')
    await refused('zk1.AAAA', 'PROOF_MALFORMED')
  })

  it('proofs hold as snarkjs writes them, and need their public signals', async () => {
    const { proof, public_signals: publicSignals } = await generated(pages.app, key())
    await open({ proof, publicSignals }, HELD)
    await open({ ...proof, publicSignals }, HELD)
    const changed = publicSignals.with(0, String(BigInt(publicSignals[0] ?? '') + 1n))
    await refused({ ...proof, publicSignals: changed }, 'PROOF_INVALID')
    await refused({ ...proof, pi_c: proof.pi_a, publicSignals }, 'PROOF_INVALID')
    expect((await refused(proof, 'PROOF_MALFORMED')).text).to.include('beside the proof as "publicSignals"')
  })

  it('aggregates of proofs and of sources hold as they were made', async () => {
    const members = [await generated(pages.app, key()), await generated(pages.app, key())]
    const aggregate = await generated(pages.app, key(), {
      circuit_id: 'proof_aggregation',
      inputs: { proofIds: members.map(({ proof_id }) => proof_id) },
    })
    await open(aggregate, HELD.replace('whether', 'whether what it is about was revoked, and whether'))
    expect(await page.innerText('main')).to.include('proof_aggregation')
    const [first = '', ...rest] = aggregate.public_signals
    await refused({ ...aggregate, public_signals: [String(BigInt(first) + 1n), ...rest] }, 'PROOF_INVALID')
    await refused({ ...aggregate, digest: members[0]?.digest }, 'DIGEST_MISMATCH')

    const { body: composite, status } = await postComposite(pages.app, key(), {
      dataSources: [
        { id: 'a', type: 'inline', data: { age: 36 } },
        { id: 'b', type: 'inline', data: { member: true } },
      ],
      logicTree: {
        op: 'AND',
        children: [
          { source: 'a', field: 'age', op: 'gte', value: 18 },
          { source: 'b', field: 'member', op: 'eq', value: true },
        ],
      },
    })
    expect(status).to.equal(200)
    await open(composite, HELD)
    const { aggregatedProof } = composite
    await refused({ ...composite, eligible: false }, 'DECISION_MISMATCH')
    const publicInputs = aggregatedProof.publicInputs.toReversed()
    await refused({ ...composite, aggregatedProof: { ...aggregatedProof, publicInputs } }, 'PROOF_INVALID')
  })

  it('checkpoints are valid with both signatures, of this log, and where the log goes on from them', async () => {
    const note = await textAt('/checkpoint')
    await result()
    await valid(note, 'Valid')
    const [origin = '', size = '', root = '', , ed25519 = '', mlDsa = ''] = note.split('\n')
    const made = (...lines: string[]) => `${lines.join('\n')}\n`
    await refused(
      made(origin, String(Number(size) + 1), root, '', ed25519, mlDsa),
      'CHECKPOINT_UNSIGNED',
      'COSIGNATURE_INVALID',
    )
    const middle = Math.floor(mlDsa.length / 2)
    const damaged = `${mlDsa.slice(0, middle)}${mlDsa[middle] === 'A' ? 'B' : 'A'}${mlDsa.slice(middle + 1)}`
    await refused(made(origin, size, root, '', ed25519, damaged), 'COSIGNATURE_INVALID')
    await refused(made(origin, size, root, '', ed25519), 'COSIGNATURE_MISSING')
    await refused(
      made('elsewhere.example', size, root, '', ed25519, mlDsa),
      'CHECKPOINT_OTHER_LOG',
      'CHECKPOINT_UNSIGNED',
      'COSIGNATURE_MISSING',
    )
    // Of a tree that witnesses have not seen yet nothing is said, of one that fits no hashes that it is wrong.
    await result()
    const later = await textAt('/checkpoint')
    await pages.context.route(/\/checkpoint$/, (route) => route.fulfill({ body: note }))
    const ahead = expectTold(await paste(page, later), 'Not verified', 'warn')
    expect(ahead.text).to.include('The log as it is now')
    expect(await page.innerText('main')).to.include('Check it again in a few minutes.')
    await expectUsable(page, 'check ahead of the log')
    await valid(note, 'Valid')
    await pages.context.unrouteAll()
    // The published log is another one than was signed.
    await pages.context.route(/\/tile\//, async (route) => {
      const bytes = await (await route.fetch()).body()
      bytes[0] = (bytes[0] ?? 0) ^ 1
      await route.fulfill({ body: bytes })
    })
    await refused(note, 'LOG_INCONSISTENT')
  })

  it('status lists are valid while they are fresh, and only as they were signed', async () => {
    await tokenRoutesOf(pages.app, key()).issued()
    const list = (await textAt('/status/0')).trim()
    await valid(list, 'Valid')
    expect(await page.innerText('main')).to.match(/\d+ of 131072/)
    await refused(repaid(list, { ttl: 61 }), 'STATUS_LIST_SIGNATURE_INVALID')
    await refused(reheaded(list, { kid: 'A' }), 'STATUS_LIST_KEY_UNKNOWN')
    const old = { ...payloadOf(list), iat: 1_700_000_000, exp: 1_700_000_300 }
    const header = { alg: 'ES256', typ: 'statuslist+jwt' }
    const stale = await paste(page, await signedBy(pages.app, 'status', 'ES256', old, header))
    expect(stale).to.include({ word: 'Expired', tone: 'warn' })
    expect(stale.faults).to.deep.equal(['STATUS_STALE'])
  })

  it('tokens are valid until they are revoked or over', async () => {
    const tokens = tokenRoutesOf(pages.app, key())
    const claims = { note: '<img src=x onerror=alert(1)>', turned: 'a\u202eb' }
    const token = await tokens.issued({ ttl: HOUR_MS / 1000, claims })
    pages.shiftMs = LIST_MS
    await valid(token, 'Valid')
    await valid(token.token, 'Valid')
    const relabelled = await valid({ token: token.token, subject: 'somebody else' }, 'Valid')
    expect(relabelled.text).to.include('Not checked: Answer')
    expect(await page.innerText('main')).to.include('What stands beside it was not compared with it')
    expect((await valid({ token: token.token }, 'Valid')).text).not.to.include('Answer')
    expect(await page.innerText('dl'))
      .to.include(claims.note)
      .and.to.include('a\\u{202e}b')
    expect(await page.$$('main img')).to.deep.equal([])
    await refused(repaid(token.token, { sub: 'somebody else' }), 'SIGNATURE_INVALID')
    const single = await tokens.issued({ ttl: HOUR_MS / 1000, singleUse: true })
    pages.shiftMs += LIST_MS
    await open(single, 'Genuine, but whether it was used')
    const { tokenId } = token
    await tokens.revoke(tokenId)
    pages.shiftMs += LIST_MS
    const revoked = await paste(page, token)
    expect(revoked).to.include({ word: 'Revoked', tone: 'bad' })
    expect(revoked.faults).to.deep.equal(['TOKEN_REVOKED'])
    pages.shiftMs = -2 * HOUR_MS
    const old = await tokens.issued({ ttl: 60 })
    pages.shiftMs = 0
    const expired = await paste(page, old)
    expect(expired.word).to.equal('Expired')
    expect(expired.faults).to.deep.equal(['TOKEN_EXPIRED'])
  })

  it('hybrid tokens are genuine only with every signature that their policy demands', async () => {
    const hybrids = hybridRoutesOf(pages.app, key())
    const policy = { verification_policy: 'hybrid_required' }
    const [token, other] = [await hybrids.issued(policy), await hybrids.issued(policy)]
    const revocable = 'Genuine, but whether it was revoked'
    await open(token, revocable)
    expect(await page.innerText('.checks')).to.include('Dilithium2 signature fits')
    await open(
      await hybrids.issued({ ...policy, alg_classical: 'ECDSA_P256', alg_pq: 'Dilithium3' }),
      revocable,
    )
    await refused({ ...token, subject: 'other' }, 'CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID')
    await refused({ ...token, sig_pq: other.sig_pq }, 'PQ_SIGNATURE_INVALID')
    await refused({ ...token, sig_pq: '' }, 'PQ_SIGNATURE_MISSING')
    await refused({ ...token, verification_policy: 'classical_only' }, 'CLASSICAL_SIGNATURE_INVALID')
    await refused({ ...token, kid_pq: 'A'.repeat(43) }, 'CLASSICAL_SIGNATURE_INVALID', 'PQ_KEY_UNKNOWN')
    await refused({ ...token, more: 1 }, 'TOKEN_MALFORMED')
    await pages.context.route(/jwks-pq/, (route) => route.abort())
    const told = await paste(page, token)
    expect(told).to.include({ word: 'Not verified', tone: 'warn' })
    expect(told.text).to.include('Post-quantum signature')
  })

  it('tickets, consent receipts and badges are genuine, and say what only the service knows', async () => {
    const ticket = await ticketRoutesOf(pages.app, key()).issued({ claims: { gate: 'B' } })
    await open(ticket, 'Genuine, but whether it was used or revoked')
    await expectUsable(page, 'check open')
    await refused(repaid(ticket.qr_payload, { c: { gate: 'A' } }), 'SIGNATURE_INVALID')

    const consent = await consentRoutesOf(pages.app, key()).logged()
    await open(consent, 'Genuine, but whether the consent still stands')
    await refused(repaid(consent.receipt, { org: 'org_other' }), 'SIGNATURE_INVALID')

    const agents = agentRoutesOf(pages.app, key())
    const agent = await agents.active(await newAgentKey())
    const { body: badge } = await agents.badge({ agent_id: agent.agent_id })
    await valid(badge, 'Valid')
    await refused(repaid(badge.jws ?? '', { trust_level: 'domain_verified' }), 'SIGNATURE_INVALID')
    await agents.step(String(agent.agent_id), 'suspend')
    const told = await paste(page, badge)
    expect(told).to.include({ word: 'Revoked', tone: 'bad' })
    expect(told.faults).to.deep.equal(['AGENT_SUSPENDED'])
  })

  it('other signed answers say YES or NO as they were signed, and that nobody knows to what', async () => {
    const sign = (typ: string, payload: object) =>
      signedBy(pages.app, 'results', 'Ed25519', { iss: pages.app.url, ...payload }, { typ })
    const amber = async (given: string | object, word: string) =>
      expectTold(await paste(page, given), word, 'warn')
    for (const verdict of ['YES', 'NO'])
      await amber(await sign('hv+jws', { verdict }), `Valid: ${verdict} to an unknown question`)
    const permitted = { context: { jws: await sign('pd+jws', { decision: true }) } }
    await amber(permitted, 'Valid: permitted, question unknown')
    await amber(await sign('pd+jws', { decision: false }), 'Valid: denied, question unknown')
  })

  it('a text of one kind is none of another, whichever key signed it', async () => {
    const { jws } = await result()
    const payload = payloadOf(jws)
    // The key of tickets signs nothing else.
    const crossed = await signedBy(pages.app, 'tickets', 'Ed25519', payload, { typ: 'vr+jws' })
    await refused(crossed, 'HEADER_REFUSED')
    expect((await paste(page, reheaded(jws, { typ: 'JWT' }))).word).to.equal('Not recognised')
  })

  it('says nothing where keys, log or lists can’t be fetched', async () => {
    const [answer, token] = [await result(), await tokenRoutesOf(pages.app, key()).issued()]
    const note = await textAt('/checkpoint')
    const proof = await generated(pages.app, key())
    const withheld = async (path: RegExp, given: string | object) => {
      await pages.context.route(path, (route) => route.fulfill({ status: 503, body: '{}' }))
      const told = await paste(page, given)
      await pages.context.unrouteAll()
      expect(told, `${path} ${JSON.stringify(told)}`).to.include({ word: 'Not verified', tone: 'warn' })
      expect(told.faults).to.deep.equal([])
    }
    await withheld(/\/jwks\.json/, answer)
    await expectUsable(page, 'check not verified')
    await withheld(/\/verify\/qr\//, answer)
    await withheld(/\/vkey/, answer)
    await withheld(/\/tile\//, answer)
    await withheld(/\/verify$/, token)
    await withheld(/\/status\//, token)
    await withheld(/\/jwks-pq/, note)
    await withheld(/\/tile\//, note)
    await withheld(/\/vkey/, proof)
    await withheld(/./, token)
  })

  it('uploads nothing, and asks its own service only', async () => {
    const asked: string[] = []
    const bodies: (string | null)[] = []
    pages.context.on('request', (request) => {
      asked.push(request.url())
      bodies.push(request.postData())
    })
    const { token } = await tokenRoutesOf(pages.app, key()).issued()
    const answer = await result()
    for (const given of [answer, token, await generated(pages.app, key())]) await paste(page, given)
    expect(asked.length).to.be.greaterThan(5)
    expect(asked.filter((url) => !url.startsWith(`${pages.app.url}/`))).to.deep.equal([])
    expect(bodies.filter((body) => body !== null)).to.deep.equal([])
    for (const part of [...token.split('.'), ...answer.jws.split('.')].filter(({ length }) => length > 60))
      expect(asked.filter((url) => url.includes(part))).to.deep.equal([])
  })

  it('takes files and what is dropped, and forgets what it found when the text changes', async () => {
    const { jws } = await result()
    await page.setInputFiles('input[type="file"]', {
      name: 'result.jws',
      mimeType: 'text/plain',
      buffer: Buffer.from(jws),
    })
    await page.waitForSelector('.word:text("Valid: YES")')
    await page.fill('#given', 'x')
    await page.waitForSelector('#told .verdict', { state: 'detached' })
    await page.waitForFunction(() => document.title === 'Verify · Assay')
    await page.evaluate(`{
      const data = new DataTransfer()
      data.items.add(new File([${JSON.stringify(jws)}], 'result.jws'))
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
    }`)
    await page.waitForSelector('.word:text("Valid: YES")')
    await page.setInputFiles('input[type="file"]', {
      name: 'noise',
      mimeType: 'image/png',
      buffer: Buffer.from([0x89, 0x50, 0xff, 0xfe, 0x00]),
    })
    await page.waitForSelector('.word:text("Not recognised")')
    await expectUsable(page, 'check not recognised')
  })

  it('says what to do with nothing, and with what it does not know', async () => {
    await expectUsable(page, 'check empty')
    await page.click('form.give button[type="submit"]')
    expect(await page.innerText('#given-error')).to.include('Paste something first')
    await page.waitForFunction(() => document.activeElement?.id === 'given')
    await expectUsable(page, 'check nothing given')
    for (const text of ['hello', '{}', '[]', '{"a":1}', 'https://elsewhere.example/x', '__proto__'])
      expect((await paste(page, text)).word, text).to.equal('Not recognised')
    expect(await paste(page, '{"jws": ')).to.include({ word: 'Not valid' })
  })

  it('is reached from the holder’s page, and leads there', async () => {
    await page.click('nav >> text=Credentials')
    await page.waitForSelector('h1:text("Your credentials")')
    await page.click('main >> text=Verify it')
    await page.waitForSelector('h1:text("Verify what you were given")')
    await page.click('main >> text=your credentials')
    await page.waitForSelector('h1:text("Your credentials")')
  })

  it('says without JavaScript how to verify otherwise', async () => {
    await pages.fresh({ javaScriptEnabled: false })
    const plain = await pages.context.newPage()
    await plain.goto(`${pages.app.url}/verify`)
    expect(await plain.innerText('main'))
      .to.include('npx assay verify-proof')
      .and.to.include(`${pages.app.url}/.well-known/jwks.json`)
  })

  it(`weighs less than ${MAX_BYTES_GZIPPED / 1000} KB, packed, and paints within a second`, async () => {
    const times: number[] = []
    for (let time = 0; time < TRIES; time++) {
      await pages.fresh()
      const opened = await pages.context.newPage()
      const bodies: Promise<Buffer>[] = []
      opened.on('response', (response) => bodies.push(response.body()))
      await opened.goto(`${pages.app.url}/verify`)
      await opened.waitForSelector('#given')
      const paint = await opened.waitForFunction(
        () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
      )
      times.push((await paint.jsonValue()) ?? Number.NaN)
      const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length)
      expect(sizes.length).to.be.greaterThan(3)
      expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.lessThan(MAX_BYTES_GZIPPED)
    }
    expect(Math.min(...times), String(times)).to.be.lessThan(FIRST_PAINT_MS)
  })
})

describe('the page that checks and its camera, in Chromium', function () {
  this.timeout(600_000)

  it('reads a ticket with the camera, and checks it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'assay-check-'))
    const film = join(folder, 'camera.y4m')
    await writeFile(film, BLANK)
    const pages = await startCheckPages({ film })
    try {
      const { qr_payload } = await ticketRoutesOf(pages.app, pages.owner.apiKey).issued()
      await pages.fresh({ permissions: ['camera'] })
      const page = await pages.open()
      await page.click('button:text("Scan a QR code")')
      await page.waitForFunction(() => document.querySelector('video')?.paused === false)
      await expectUsable(page, 'check scanning')
      await page.click('button:text("Stop looking")')
      await writeFile(film, filmOf(qr_payload, 6))
      await page.click('button:text("Scan a QR code")')
      const told = await toldOn(page)
      expect(told).to.include({
        word: 'Genuine, but whether it was used or revoked was not checked',
        tone: 'warn',
      })
      expect(told.text).to.include('Ticket')
      expect(await page.$('video')).to.equal(null)
      expect(pages.complaints).to.deep.equal([])
    } finally {
      await pages.close()
      await rm(folder, { recursive: true })
    }
  })
})
