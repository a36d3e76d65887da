/** Credentials for wallets as the page that checks reads them: as another library writes them, and in every way in which they are wrong. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc'
import { expect } from 'chai'
import { checkSdJwt } from '../../src/web/check/kinds/sd-jwt.ts'
import type { Asked } from '../../src/web/check/messages.ts'
import type { OwnService } from '../../src/web/check/own-service.ts'
import { recognise } from '../../src/web/check/recognise.ts'
import { conclude } from '../../src/web/check/report.ts'
import { openDisclosures, splitSdJwt } from '../../src/web/check/sd-jwt.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { checkServiceOf } from '../support/check-service.ts'
import { kycRoutesOf } from '../support/domain/kyc.ts'
import { payloadOf, signedBy } from '../support/domain/tokens.ts'
import { createWallet, disclosuresOf, sdJwtRoutesOf, shown, type Wallet } from '../support/domain/wallets.ts'
import { createCertificates } from '../support/servers/certificates.ts'

const USER = 'user 1'
const DAY_MS = 86_400_000
/** Until lists are published anew. */
const LIST_MS = 61_000
const QUESTION = { aud: 'https://bar.example', nonce: 'n-1' }

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
const disclosure = (...parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url')

describe('SD-JWTs, as the page that checks reads them', () => {
  let salts = 0
  const library = new SDJwtVcInstance({
    signAlg: 'none',
    signer: () => 'c2lnbmVk',
    hashAlg: 'sha-256',
    hasher: (data) =>
      createHash('sha256')
        .update(typeof data === 'string' ? data : new Uint8Array(data))
        .digest(),
    saltGenerator: () => `salt ${salts++}`,
  })

  it('say what another library hid in them, at any depth', async () => {
    const said = {
      iss: 'https://a.example',
      vct: 'https://a.example/t',
      name: 'Ada',
      address: { city: 'Oslo', lines: ['a', 'b', 'c'] },
      open: true,
    }
    const frame = { _sd: ['name', 'address'], address: { _sd: ['city'], lines: { _sd: [0, 2] } } } as never
    const text = await library.issue(said, frame)
    const { jwt, disclosures, keyBinding } = splitSdJwt(text)
    expect([disclosures.length, keyBinding]).to.deep.equal([5, undefined])
    expect(openDisclosures(payloadOf(jwt), disclosures)).to.deep.equal({ payload: said, hidden: 0 })
    const city = disclosures.filter((one) => !Buffer.from(one, 'base64url').toString().includes('"city"'))
    const { payload, hidden } = openDisclosures(payloadOf(jwt), city)
    expect([payload, hidden]).to.deep.equal([{ ...said, address: { lines: ['a', 'b', 'c'] } }, 1])
    expect(openDisclosures(payloadOf(jwt), [])).to.deep.equal({
      payload: { iss: said.iss, vct: said.vct, open: true },
      hidden: 2,
    })
  })

  it('are refused where a disclosure was not signed, or could be read in two ways', () => {
    const name = disclosure('s1', 'name', 'Ada')
    const item = disclosure('s2', 'Ada')
    const status = disclosure('s3', 'status', {})
    const refused: [object, string[], string][] = [
      [{ _sd: [] }, [name], 'The issuer did not sign a disclosure'],
      [{ _sd: [digestOf(name)] }, [name, name], 'A disclosure stands there twice'],
      [{ _sd: [digestOf(name), digestOf(name)] }, [name], 'A digest stands there twice'],
      [{ a: { _sd: [digestOf(name)] }, _sd: [digestOf(name)] }, [], 'A digest stands there twice'],
      [{ name: 'Eve', _sd: [digestOf(name)] }, [name], 'Two members have one name'],
      [{ _sd: [digestOf(item)] }, [item], 'An item was disclosed as a member'],
      [{ list: [{ '...': digestOf(name) }] }, [name], 'A member was disclosed as an item'],
      [{ list: [{ '...': digestOf(item), more: 1 }] }, [item], 'Beside the digest'],
      [{ '...': digestOf(item) }, [], 'Its digests stand where none may'],
      [{ _sd: 'none' }, [], 'Its digests stand where none may'],
      [{ _sd: [1] }, [], 'A digest is none'],
      [{ _sd: [digestOf(status)] }, [status], 'It hides what must always be shown'],
      [{ _sd_alg: 'sha-1', _sd: [] }, [], 'another hash'],
      ...[
        'x',
        disclosure('s'),
        disclosure('s', '_sd', []),
        disclosure('s', '...', 1),
        disclosure(1, 'a', 1),
      ].map((text): [object, string[], string] => [
        { _sd: [digestOf(text)] },
        [text],
        'A disclosure is none',
      ]),
    ]
    for (const [payload, disclosures, why] of refused)
      expect(() => openDisclosures(payload as never, disclosures), JSON.stringify(payload)).to.throw(why)
    const deep = JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`)
    expect(() => openDisclosures({ deep }, [])).to.throw('nested too deeply')
    const proto = disclosure('s', '__proto__', { polluted: true })
    const { payload } = openDisclosures({ _sd: [digestOf(proto)] }, [proto])
    expect(Object.keys(payload)).to.deep.equal(['__proto__'])
    expect(({} as { polluted?: boolean }).polluted).to.equal(undefined)
  })

  it('are verified under the certificate that the service publishes, and under no other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-check-'))
    const made = createCertificates({ names: ['assay.example'] })
    const file = join(folder, 'credential.pem')
    writeFileSync(file, made.key + made.cert + made.ca)
    const env = { CREDENTIAL_CERTIFICATE: file, BASE_URL: 'https://assay.example' }
    const app = await startTestApp({ env })
    try {
      const { apiKey } = await app.organisation()
      await kycRoutesOf(app, apiKey).verified(USER)
      const { credential } = await sdJwtRoutesOf(app, apiKey).issued(USER, await createWallet())
      const service = await checkServiceOf(app)
      const told = conclude(await checkSdJwt(credential, service, Date.now()))
      expect(
        told.checks.flatMap(({ fault }) => fault ?? []),
        told.text,
      ).to.deep.equal([])
      expect(told.word).to.equal('Genuine, but whether its holder shows it was not checked')
      const [head = '', body, tail] = credential.split('.')
      const header = JSON.parse(Buffer.from(head, 'base64url').toString())
      const other = Buffer.from(JSON.stringify({ ...header, x5c: ['AAAA'] })).toString('base64url')
      const strange = conclude(await checkSdJwt(`${other}.${body}.${tail}`, service, Date.now()))
      expect(strange).to.include({ word: 'Not verified', tone: 'warn' })
    } finally {
      await app.close()
      rmSync(folder, { recursive: true })
    }
  })

  describe('of the service', () => {
    let app: TestApp
    let owner: TestOrganisation
    let service: OwnService
    let wallet: Wallet
    let credential: string
    let ahead = 0
    const now = () => Date.now() + ahead
    before(async () => {
      app = await startTestApp({ clock: { now } })
      owner = await app.organisation()
      wallet = await createWallet()
      await kycRoutesOf(app, owner.apiKey).verified(USER)
      ;({ credential } = await sdJwtRoutesOf(app, owner.apiKey).issued(USER, wallet))
      service = await checkServiceOf(app)
    })
    after(() => app.close())
    const toldOf = async (text: string, at = now(), asked?: Asked) => {
      const found = await checkSdJwt(text, { ...service, asked }, at)
      const { word, tone, checks, text: said, facts } = conclude(found)
      return { word, tone, faults: checks.flatMap(({ fault }) => fault ?? []), said, facts, checks }
    }
    const refused = async (text: string, fault: string) => {
      const told = await toldOf(text)
      expect([told.word, told.faults], told.said).to.deep.equal(['Not valid', [fault]])
    }
    const resigned = (payload: object, header: object = {}) =>
      signedBy(app, 'credentials', 'ES256', payload, { alg: 'ES256', typ: 'dc+sd-jwt', ...header })

    it('are genuine, and the page says what nobody has shown', async () => {
      const told = await toldOf(credential)
      expect(told.faults, told.said).to.deep.equal([])
      expect(told).to.include({
        word: 'Genuine, but whether its holder shows it was not checked',
        tone: 'warn',
      })
      expect(new Map(told.facts).get('18 or older when it was issued')).to.equal('true')
    })

    it('are shown by their holder, to whoever compares audience and nonce', async () => {
      const presentation = await shown(credential, ['age_over_18'], wallet, QUESTION)
      const told = await toldOf(presentation)
      expect(told.faults, told.said).to.deep.equal([])
      expect(told).to.include({
        word: 'Genuine, but whether it was shown to you was not checked',
        tone: 'warn',
      })
      expect(told.said).to.include('https://bar.example').and.include('n-1')
      expect([...new Map(told.facts).keys()])
        .to.include('18 or older when it was issued')
        .and.not.include('Country')
      const stolen = await shown(credential, ['age_over_18'], await createWallet(), QUESTION)
      await refused(stolen, 'KEY_BINDING_INVALID')
      const [, country = ''] = [null, disclosuresOf(credential).country]
      const at = presentation.lastIndexOf('~')
      await refused(`${presentation.slice(0, at)}~${country}${presentation.slice(at)}`, 'KEY_BINDING_INVALID')
      await refused(`${credential}no.jwt.here`, 'KEY_BINDING_INVALID')
    })

    const GIVEN: Asked = { audience: QUESTION.aud, nonce: QUESTION.nonce }
    const AUDIENCE_OPEN = 'whether it was shown to you'
    const NONCE_OPEN = 'whether it was shown before'

    it('were shown to whoever had asked with just this audience and nonce, and it is said when', async () => {
      const told = await toldOf(await shown(credential, ['age_over_18'], wallet, QUESTION), now(), GIVEN)
      expect(told.faults, told.said).to.deep.equal([])
      expect(told).to.include({ word: 'Genuine, and shown to you', tone: 'good' })
      expect(told.said).to.match(/https:\/\/bar\.example under your nonce at 2\d{3}-.*Z \(.*seconds? ago/)
      expect(told.checks.filter(({ outcome }) => outcome === 'skipped')).to.deep.equal([])
    })

    it('were shown to somebody else, or on another occasion, wherever one character differs', async () => {
      const presentation = await shown(credential, ['age_over_18'], wallet, QUESTION)
      const others: [Partial<Asked>, string][] = [
        [{ audience: 'https://bar.example/' }, 'AUDIENCE_MISMATCH'],
        [{ audience: 'https://BAR.example' }, 'AUDIENCE_MISMATCH'],
        [{ audience: ' https://bar.example' }, 'AUDIENCE_MISMATCH'],
        [{ audience: 'https://bar.example', nonce: 'n-2' }, 'NONCE_MISMATCH'],
        [{ nonce: 'n-1 ' }, 'NONCE_MISMATCH'],
        [{ nonce: 'n-' }, 'NONCE_MISMATCH'],
        [{ nonce: 'n\u20101' }, 'NONCE_MISMATCH'],
      ]
      for (const [other, fault] of others)
        for (const rest of [GIVEN, { audience: '', nonce: '' }]) {
          const told = await toldOf(presentation, now(), { ...rest, ...other })
          expect([told.word, told.faults], JSON.stringify(other)).to.deep.equal(['Not valid', [fault]])
        }
      const both = await toldOf(presentation, now(), { audience: 'a', nonce: 'b' })
      expect(both.faults).to.deep.equal(['AUDIENCE_MISMATCH', 'NONCE_MISMATCH'])
    })

    it('stay open where only one of both was given, or where they were made long ago', async () => {
      const presentation = await shown(credential, ['age_over_18'], wallet, QUESTION)
      const open = async (asked: Partial<Asked>, what: string, text = presentation) => {
        const told = await toldOf(text, now(), { audience: '', nonce: '', ...asked })
        expect(told, told.said).to.include({ tone: 'warn' })
        expect(told.word).to.match(/^Genuine.*, but whether .* was not checked$/)
        expect(told.checks.flatMap((one) => one.open ?? [])).to.deep.equal([what])
      }
      await open({}, AUDIENCE_OPEN)
      await open({ nonce: QUESTION.nonce }, AUDIENCE_OPEN)
      await open({ audience: QUESTION.aud }, NONCE_OPEN)
      const old = { ...QUESTION, iat: Math.floor(now() / 1000) - 3700 }
      await open(GIVEN, 'whether it is recent enough', await shown(credential, ['age_over_18'], wallet, old))
    })

    it('are green for nothing else that is given with them', async () => {
      const stolen = await shown(credential, ['age_over_18'], await createWallet(), QUESTION)
      const theirs = await toldOf(stolen, now(), GIVEN)
      expect([theirs.word, theirs.faults]).to.deep.equal(['Not valid', ['KEY_BINDING_INVALID']])
      const bare = await toldOf(credential, now(), GIVEN)
      expect(bare.word).to.equal('Genuine, but whether its holder shows it was not checked')
      const unlisted = { ...payloadOf(credential.split('~')[0] ?? ''), status: undefined }
      const listless = [await resigned(unlisted), ...credential.split('~').slice(1)].join('~')
      const told = await toldOf(await shown(listless, ['age_over_18'], wallet, QUESTION), now(), GIVEN)
      expect(told).to.include({ word: 'Not verified', tone: 'warn' })
      const empty = { aud: '', nonce: '' }
      const nobody = await toldOf(await shown(credential, [], wallet, empty), now(), {
        audience: '',
        nonce: '',
      })
      expect(nobody.tone).to.equal('warn')
    })

    it('are refused when something was changed, and named', async () => {
      const [jwt = '', ...rest] = credential.split('~')
      const [head = '', body = '', tail = ''] = jwt.split('.')
      const payload = payloadOf(jwt)
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const header = JSON.parse(Buffer.from(head, 'base64url').toString())
      const with_ = (text: string) => [text, ...rest].join('~')
      await refused(with_(`${head}.${part({ ...payload, level: 'high' })}.${tail}`), 'SIGNATURE_INVALID')
      await refused(with_(`${part({ ...header, kid: 'x' })}.${body}.${tail}`), 'KEY_UNKNOWN')
      await refused(with_(`${part({ ...header, alg: 'none' })}.${body}.${tail}`), 'HEADER_REFUSED')
      await refused(with_(`${part({ ...header, crit: [] })}.${body}.${tail}`), 'HEADER_REFUSED')
      const forged = disclosure('salt', 'age_over_18', true)
      await refused(`${credential}${forged}~`, 'DISCLOSURE_INVALID')
      await refused(
        with_(await resigned({ ...payload, iss: 'https://elsewhere.example' })),
        'ISSUER_MISMATCH',
      )
      await refused(
        with_(await resigned({ ...payload, nbf: Math.floor(now() / 1000) + 600 })),
        'NOT_YET_VALID',
      )
      const elsewhere = { status_list: { idx: 1, uri: 'https://elsewhere.example/status/0' } }
      await refused(with_(await resigned({ ...payload, status: elsewhere })), 'STATUS_LIST_OTHER')
      const certified = await toldOf(
        with_(`${part({ alg: 'ES256', typ: 'dc+sd-jwt', x5c: [] })}.${body}.${tail}`),
      )
      expect(certified).to.include({ word: 'Not verified', tone: 'warn' })
    })

    it('are recognised alone and in the answer that holds them, and others are not taken for them', () => {
      expect(recognise(credential).kind).to.equal('SD-JWT')
      expect(recognise(JSON.stringify({ format: 'dc+sd-jwt', credential })).kind).to.equal('SD-JWT')
      const [, body, tail] = credential.split('.')
      const typ = Buffer.from('{"alg":"ES256","typ":"vc+sd-jwt"}').toString('base64url')
      expect(recognise(`${typ}.${body}.${tail}`))
        .to.include({ kind: 'other' })
        .and.not.have.property('fault')
      expect(recognise(`x.${body}.${tail}`)).to.include({ kind: 'other', fault: 'SD_JWT_MALFORMED' })
    })

    it('are over when they expire, and when their person is erased', async () => {
      const { exp } = payloadOf(credential) as { exp: number }
      const late = await toldOf(credential, exp * 1000 + DAY_MS)
      expect(late.faults).to.include('CREDENTIAL_EXPIRED')
      expect(late.tone).to.not.equal('good')
      await kycRoutesOf(app, owner.apiKey).erase(USER)
      ahead += LIST_MS
      const told = await toldOf(credential)
      expect([told.word, told.tone, told.faults]).to.deep.equal(['Revoked', 'bad', ['CREDENTIAL_REVOKED']])
    })
  })
})
