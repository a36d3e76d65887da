/** The holder's page: what it keeps and how, what it refuses, and that everybody can use it. */
import { expect } from 'chai'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { breaches } from '../support/axe.ts'
import { launchChromium } from '../support/chromium.ts'
import { CONTROLLER, consentRoutesOf } from '../support/domain/consents.ts'
import { challengeRoutesOf, type Presented } from '../support/domain/presentations.ts'
import { tokenRoutesOf } from '../support/domain/tokens.ts'
import {
  addCredentialOn,
  createHolderOn,
  keptOn,
  PASSPHRASE,
  PATIENCE_MS,
  type Parties,
  sendOn,
  settleOn,
  startParties,
  unlockOn,
} from '../support/holder-page.ts'

const NO_PROOF = { proof: 'zk1.AAAA', public_signals: [] } as unknown as Presented
const NARROWEST = { width: 320, height: 640 }
const PHONE = { width: 390, height: 844 }

describe('the holder’s page in Chromium', function () {
  this.timeout(600_000)
  let browser: Browser
  let parties: Parties
  let context: BrowserContext

  before(async () => {
    ;[browser, parties] = await Promise.all([launchChromium(), startParties()])
  })
  after(async () => {
    await browser?.close()
    await parties?.close()
  })
  const openContext = async (options: BrowserContextOptions = {}) => {
    context = await browser.newContext(options)
    context.setDefaultTimeout(PATIENCE_MS)
  }
  beforeEach(() => openContext())
  afterEach(() => context.close())

  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(new URL(path, parties.relay.url).href)
    return page
  }

  it('keeps its secret under a passphrase, and carries it to another browser as a file', async () => {
    const page = await open('/credentials')
    await settleOn(page, parties)
    const text = await keptOn(page, parties)
    expect(text).to.match(/^[\w-]+(?:\.[\w-]+){4}$/)
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Download a copy')])
    expect(download.suggestedFilename()).to.equal(`assay-${parties.issuer.organisationId}.jwe`)
    const file = await download.path()
    await page.reload()
    expect(await page.isVisible('#holders li')).to.equal(false)
    await page.fill('#unlock-passphrase', 'another passphrase')
    await page.click('#unlock button')
    await page.waitForFunction(() => document.querySelector('#unlock-error')?.textContent)
    expect(await page.innerText('#unlock-error')).to.equal(
      'Nothing that this browser keeps is under this passphrase.',
    )

    const elsewhere = await browser.newContext()
    const other = await elsewhere.newPage()
    await other.goto(`${parties.relay.url}/credentials`)
    await other.click('#import-box summary')
    await other.setInputFiles('#import-file', file)
    await other.fill('#import-passphrase', PASSPHRASE)
    await other.click('#import button')
    await other.waitForSelector('#holders ul li')
    expect(await other.innerText('#holders')).to.include('Identity check, level basic, valid until')
    await elsewhere.close()
  })

  it('is locked once it was left, also where the browser keeps the page for whoever comes back', async () => {
    const page = await open('/credentials')
    await createHolderOn(page, parties)
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
    expect(await page.isVisible('#unlock')).to.equal(true)
    expect(await page.$$('#holders li')).to.deep.equal([])
  })

  it('refuses what is no credential of its own, and says why', async () => {
    const page = await open('/credentials')
    await createHolderOn(page, parties)
    const refused = async (text: string): Promise<string> => {
      await page.fill('#add-text', text)
      await page.click('#add button')
      await page.waitForFunction(() => document.querySelector('#add-error')?.textContent)
      const said = await page.innerText('#add-error')
      await page.fill('#add-text', '')
      return said
    }
    const { credential } = await parties.issue('bearer-1', undefined)
    expect(await refused('{')).to.equal('This is not JSON.')
    expect(await refused('{"a":1}')).to.match(/^This is no credential/)
    expect(
      await refused(JSON.stringify({ ...credential, organisation: parties.asker.organisationId })),
    ).to.include('no secret is unlocked')
    const mine = await parties.issue('anna-2', await page.innerText('.commitment'))
    const altered = { ...mine.credential, fields: { ...mine.credential.fields, birthDate: '20200101' } }
    expect(await refused(JSON.stringify(altered))).to.match(/^It can’t be used with your secret/)
    const stolen = { ...(await parties.issue('anna-3', `${'0'.repeat(62)}11`)).credential }
    expect(await refused(JSON.stringify(stolen))).to.include('the secret is not that of the holder')
    await addCredentialOn(page, JSON.stringify(credential))
    expect(await page.$$('#holders ul li')).to.have.length(1)
  })

  it('makes no second secret over one that is kept, and removes one only when asked twice', async () => {
    const page = await open('/credentials')
    await createHolderOn(page, parties)
    await page.click('#create-box summary')
    await page.fill('#create-organisation', parties.issuer.organisationId)
    await page.fill('#create-passphrase', PASSPHRASE)
    await page.fill('#create-again', PASSPHRASE)
    await page.click('#create button')
    await page.waitForFunction(() => document.querySelector('#create-error')?.textContent)
    expect(await page.innerText('#create-error')).to.include('keeps a secret for this organisation already')
    await page.click('text=Remove…')
    expect(await keptOn(page, parties)).not.to.equal('')
    await page.click('text=Yes, remove')
    expect(await keptOn(page, parties)).to.equal('')
    expect(await page.isVisible('#kept-none')).to.equal(true)
  })

  it('says what is the matter with a request: unknown, over, answered, or of an issuer of whom nothing is kept', async () => {
    const unknown = await open(`/challenge/chl_${'0'.repeat(26)}`)
    await unknown.waitForSelector('#told .word')
    expect(await unknown.innerText('#told')).to.include('Not found')
    const { challenge_id } = await parties.ask({ issuers: [parties.asker.organisationId] })
    const page = await open('/credentials')
    await settleOn(page, parties)
    await unlockOn(page, `${parties.relay.url}/challenge/${challenge_id}`)
    await page.waitForFunction(() =>
      document.querySelector('#answer-hint')?.textContent?.startsWith('This takes'),
    )
    expect(await page.innerText('#answer-hint')).to.include(parties.asker.organisationId)
    expect(await page.isVisible('#answer-form')).to.equal(false)
  })

  it('says of a request that took too many wrong answers that it is over, and no more what would come', async () => {
    const { challenge_id } = await parties.ask()
    const routes = challengeRoutesOf(parties.app, parties.asker.apiKey)
    for (let tries = 0; tries < 5; tries++) await routes.answer(challenge_id, NO_PROOF)
    const page = await open(`/challenge/${challenge_id}`)
    await page.waitForSelector('#told .word')
    expect(await page.innerText('#told')).to.match(/^Closed.*too many answers to it were wrong/s)
    expect(await page.isVisible('#intro')).to.equal(false)
  })

  it('copies the number that the issuer needs, and says where it could not', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await open('/credentials')
    const holder = await createHolderOn(page, parties)
    await page.click('text=Copy the number')
    await page.waitForSelector('button:text-is("Copied")')
    expect(await page.evaluate(() => navigator.clipboard.readText())).to.equal(holder)
    await page.waitForSelector('button:text-is("Copy the number")')
    await page.evaluate(() => {
      Clipboard.prototype.writeText = () => Promise.reject(new DOMException('denied', 'NotAllowedError'))
    })
    await page.click('text=Copy the number')
    await page.waitForSelector('button:text-is("Could not copy: select the number")')
  })

  it('keeps tokens and consents beside, and answers with each what it is asked', async () => {
    const page = await open('/credentials')
    const holder = await createHolderOn(page, parties)
    const { apiKey } = parties.issuer
    const tokens = tokenRoutesOf(parties.app, apiKey)
    const consents = consentRoutesOf(parties.app, apiKey)
    const audience = 'https://gate.example'
    // One person at this organisation, whatever is issued to them.
    const token = await tokens.issued({ subject: 'anna-4', audience, ttl: 86_400, holder })
    const consent = await consents.logged({ subjectId: 'anna-4', holder })
    await addCredentialOn(page, JSON.stringify(token), 1)
    await addCredentialOn(page, JSON.stringify(consent.credential), 2)
    expect(await page.innerText('#holders')).to.match(/Token, valid until .*\n*.*Consent/)

    const newsletter = { purpose: 'newsletter', controller: CONTROLLER }
    for (const [circuit_id, inputs, question, notLearnt, answer] of [
      ['token_validation', { audience }, 'a valid token', 'Whom the token is about', 'YES'],
      ['token_validation', { audience: 'https://other.example' }, 'a valid token', 'what it claims', 'NO'],
      ['consent_verification', newsletter, 'a consent that is in force', 'The other purposes', 'YES'],
      ['consent_verification', { ...newsletter, purpose: 'ads' }, 'a consent', 'when it was given', 'NO'],
    ] as const) {
      const asked = await parties.ask({ circuit_id, inputs, purpose: 'gate' })
      await unlockOn(page, `${parties.relay.url}/challenge/${asked.challenge_id}`)
      await page.waitForSelector('#send:not([aria-disabled])')
      expect(await page.innerText('#question')).to.include(question)
      expect(await page.locator('#credential option').count(), 'only what fits').to.equal(1)
      expect(await page.innerText('#decision')).to.match(new RegExp(`^Your answer is ${answer}`))
      expect(await page.innerText('#learnt')).to.include(notLearnt)
      expect(await sendOn(page)).to.include(`Sent: ${answer}`)
      const { state, result } = await parties.told(asked.challenge_id)
      expect(state).to.equal('verified')
      expect(result).to.include({ decision: answer === 'YES' ? 1 : 0, binding: 'holder' })
    }
    await tokens.revoke(token.tokenId)
    const late = await parties.ask({ circuit_id: 'token_validation', inputs: { audience }, purpose: 'gate' })
    await unlockOn(page, `${parties.relay.url}/challenge/${late.challenge_id}`)
    // The page asks nobody whether it was revoked; whoever asked is told.
    expect(await sendOn(page)).to.include('Sent: YES')
    const { state, reason_codes } = await parties.told(late.challenge_id)
    expect([state, reason_codes]).to.deep.equal(['open', ['CREDENTIAL_REVOKED']])
  })

  it('sends no other answer than it showed, when the time of a credential passes before it is sent', async () => {
    const page = await open('/credentials')
    const holder = await createHolderOn(page, parties)
    const audience = 'https://gate.example'
    const tokens = tokenRoutesOf(parties.app, parties.issuer.apiKey)
    await addCredentialOn(page, JSON.stringify(await tokens.issued({ audience, ttl: 3600, holder })))
    const asked = await parties.ask({ circuit_id: 'token_validation', inputs: { audience }, purpose: 'gate' })
    await unlockOn(page, `${parties.relay.url}/challenge/${asked.challenge_id}`)
    await page.waitForSelector('#send:not([aria-disabled])')
    expect(await page.innerText('#decision')).to.equal('Your answer is YES.')
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.url())
    })
    await page.clock.setSystemTime(Date.now() + 3_601_000)
    expect(await sendOn(page)).to.match(/^Not sent\s+Your answer was YES, and is another by now/)
    expect(sent).to.deep.equal([])
    expect((await parties.told(asked.challenge_id)).state).to.equal('open')
    await page.waitForSelector('#send:has-text("send NO"):not([aria-disabled])')
    expect(await page.innerText('#decision')).to.match(/^Your answer is NO/)
  })

  it('shows nothing that the asker wrote', async () => {
    const { challenge_id } = await parties.ask({ purpose: 'Click evil.example' })
    const page = await open(`/challenge/${challenge_id}`)
    await page.waitForSelector('#request:not([hidden])')
    const shown = await page.innerText('body')
    expect(shown).not.to.include('evil')
    expect(shown).to.include(parties.asker.organisationId).and.to.include('none proven')
  })

  it('does not freeze while it proves', async () => {
    const page = await open('/credentials')
    await settleOn(page, parties)
    const { challenge_id } = await parties.ask()
    await unlockOn(page, `${parties.relay.url}/challenge/${challenge_id}`)
    await page.waitForSelector('#send:not([aria-disabled])')
    // What it says, and how often the page's own thread had a turn meanwhile.
    await page.evaluate(() => {
      const scope = globalThis as typeof globalThis & { stages: [string, number][] }
      const stage = document.querySelector('#stage') as Element
      scope.stages = []
      new MutationObserver(() => scope.stages.push([stage.textContent ?? '', 0])).observe(stage, {
        childList: true,
        characterData: true,
        subtree: true,
      })
      setInterval(() => {
        const last = scope.stages.at(-1)
        if (last) last[1] += 1
      }, 10)
    })
    await sendOn(page)
    const stages = await page.evaluate(
      () => (globalThis as typeof globalThis & { stages: [string, number][] }).stages,
    )
    expect(stages.map(([said]) => said.split(/[ ,]/)[0])).to.deep.equal([
      'Fetching',
      'Proving',
      'Sending',
      '',
    ])
    expect(stages[1]?.[1]).to.be.greaterThan(5)
    expect(page.workers()).to.have.length(1)
  })

  it('answers by keyboard alone', async () => {
    const page = await open('/credentials')
    await settleOn(page, parties)
    const { challenge_id } = await parties.ask()
    await page.goto(`${parties.relay.url}/challenge/${challenge_id}`)
    await page.waitForSelector('#unlock:not([hidden])')
    const active = () => page.evaluate(() => document.activeElement?.id)
    for (let i = 0; i < 12 && (await active()) !== 'unlock-passphrase'; i += 1)
      await page.keyboard.press('Tab')
    await page.keyboard.type(PASSPHRASE)
    await page.keyboard.press('Enter')
    await page.waitForSelector('#send:not([aria-disabled])')
    expect(await active()).to.equal('answer-title')
    for (let i = 0; i < 6 && (await active()) !== 'send'; i += 1) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#told[data-verdict="good"]')
  })

  for (const colorScheme of ['light', 'dark'] as const)
    it(`axe finds nothing in any state, ${colorScheme}, and nothing is cut off on the narrowest screen`, async () => {
      await context.close()
      await openContext({ colorScheme, viewport: PHONE })
      const clean = async (page: Page, state: string) => {
        expect(await breaches(page), state).to.deep.equal([])
        await page.setViewportSize(NARROWEST)
        expect(await page.evaluate(() => document.documentElement.scrollWidth), state).to.equal(
          NARROWEST.width,
        )
        await page.setViewportSize(PHONE)
      }
      const page = await open('/credentials')
      await clean(page, 'nothing kept')
      await page.click('#import-box summary')
      await page.click('#import button')
      await clean(page, 'a form with an error')
      await settleOn(page, parties)
      await clean(page, 'a credential')
      const { challenge_id } = await parties.ask()
      await page.goto(`${parties.relay.url}/challenge/${challenge_id}`)
      await page.waitForSelector('#unlock:not([hidden])')
      await clean(page, 'locked')
      await page.fill('#unlock-passphrase', PASSPHRASE)
      await page.click('#unlock button')
      await page.waitForSelector('#send:not([aria-disabled])')
      await clean(page, 'about to answer')
      await sendOn(page)
      await clean(page, 'answered')
      await page.reload()
      await page.waitForSelector('#told .word')
      expect(await page.innerText('#told')).to.include('Closed')
      await clean(page, 'closed')
    })

  it('says without JavaScript that nothing is sent', async () => {
    await context.close()
    await openContext({ javaScriptEnabled: false })
    const page = await open('/credentials')
    expect(await page.innerText('noscript')).to.include('Nothing was sent.')
  })
})
