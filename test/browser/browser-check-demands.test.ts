/** The page that checks, in Chromium: credentials for wallets, hidden statuses, and witnesses that somebody demands. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { type CheckPages, expectTold, onCheckPage, paste, toldOn } from '../support/check-page.ts'
import { expectUsable } from '../support/console-page.ts'
import { kycRoutesOf } from '../support/domain/kyc.ts'
import { AGE_QUESTION, challengeRoutesOf, keeperOf, proveKyc } from '../support/domain/presentations.ts'
import { createWallet, sdJwtRoutesOf, shown } from '../support/domain/wallets.ts'
import { DATA, verified } from '../support/verification.ts'
import { createPqWitness, createWitness } from '../support/witnesses.ts'

const USER = 'user 1'

describe('the page that checks and what somebody demands, in Chromium', function () {
  this.timeout(600_000)
  let pages: CheckPages
  let page: Page

  onCheckPage((started, opened) => {
    pages = started
    page = opened
  })

  const key = () => pages.owner.apiKey
  const demand = async (policy: string): Promise<void> => {
    if (!(await page.isVisible('#policy'))) await page.click('summary:text("Demand witnesses")')
    await page.fill('#policy', policy)
  }

  it('a credential for a wallet is genuine, and green for nobody', async () => {
    await kycRoutesOf(pages.app, key()).verified(USER)
    const wallet = await createWallet()
    const { credential } = await sdJwtRoutesOf(pages.app, key()).issued(USER, wallet)
    expectTold(
      await paste(page, credential),
      'Genuine, but whether its holder shows it was not checked',
      'warn',
    )
    await expectUsable(page, 'check credential')
    const question = { aud: 'https://bar.example', nonce: 'n-1' }
    const presented = await paste(page, await shown(credential, ['age_over_18'], wallet, question))
    expect(presented.word).to.equal('Genuine, but whether it was shown to you was not checked')
    expect(presented.text).to.include('https://bar.example').and.include('n-1')
    expect(await page.innerText('dl')).to.include('18 or older when it was issued')
    const [jwt = '', ...rest] = credential.split('~')
    const told = await paste(
      page,
      [jwt, ...rest.slice(1, -1), 'WyJ4IiwiYWdlX292ZXJfMTgiLHRydWVd', ''].join('~'),
    )
    expectTold(told, 'Not valid', 'bad', 'DISCLOSURE_INVALID')
  })

  it('a presentation is green for whoever had asked with its audience and nonce, and for nobody else', async () => {
    await kycRoutesOf(pages.app, key()).verified(USER)
    const wallet = await createWallet()
    const { credential } = await sdJwtRoutesOf(pages.app, key()).issued(USER, wallet)
    const question = { aud: 'https://bar.example', nonce: 'n-1' }
    const presentation = await shown(credential, ['age_over_18'], wallet, question)
    const asked = async (audience: string, nonce: string) => {
      await page.fill('#audience', audience)
      await page.fill('#nonce', nonce)
      // What was found is not by what is demanded now.
      expect(await page.isVisible('#told .verdict')).to.equal(false)
      await page.press('#nonce', 'Enter')
      return toldOn(page)
    }
    await paste(page, credential)
    expect(await page.isVisible('#audience')).to.equal(false)
    await paste(page, presentation)
    await expectUsable(page, 'check presentation')
    const told = expectTold(await asked(question.aud, question.nonce), 'Genuine, and shown to you', 'good')
    expect(told.text).to.match(/showed it to https:\/\/bar\.example under your nonce at .* ago/)
    await expectUsable(page, 'check presentation answered')

    const elsewhere = await asked('https://bar.example/', question.nonce)
    expectTold(elsewhere, 'Not valid', 'bad', 'AUDIENCE_MISMATCH')
    await expectUsable(page, 'check presentation refused')
    expect((await asked(question.aud, 'n-2')).faults).to.deep.equal(['NONCE_MISMATCH'])
    expect((await asked(question.aud, '')).word).to.equal(
      'Genuine, but whether it was shown before was not checked',
    )

    // What was asked for one is asked for no other.
    await asked(question.aud, question.nonce)
    expect(await paste(page, presentation)).to.include({ tone: 'warn' })
    expect([await page.inputValue('#audience'), await page.inputValue('#nonce')]).to.deep.equal(['', ''])
    const file = { name: 'shown.txt', mimeType: 'text/plain', buffer: Buffer.from(presentation) }
    await page.setInputFiles('.give > .acts input[type="file"]', file)
    expect(await toldOn(page)).to.include({ tone: 'warn' })
    expect(await asked(question.aud, question.nonce)).to.include({ tone: 'good' })
    expect((await toldOn(page)).text).to.include('shown.txt')
  })

  it('a proof that hides its status is not green', async () => {
    const keeper = await keeperOf(pages.app, pages.owner)
    const { context } = await challengeRoutesOf(pages.app, key()).asked({
      ...AGE_QUESTION,
      status: 'not_required',
    })
    expectTold(
      await paste(page, await proveKyc(keeper, context, Date.now())),
      'The proof holds: YES, but whether what it is about was revoked, and whether the proof was spent or revoked was not checked',
      'warn',
    )
  })

  it('witnesses count only where their keys were given, and less than the quorum is refused', async () => {
    await verified(pages.app, key(), { data: DATA })
    const note = (await pages.app.request('GET', '/checkpoint')).bytes.toString()
    const [first, second] = [createWitness('w1.example'), createPqWitness('w2.example')]
    const cosigned = note + first.cosign(note) + second.cosign(note)
    const unasked = await paste(page, cosigned)
    expect(unasked).to.include({ word: 'Valid', tone: 'good' })
    expect(unasked.text).to.include('Not checked: Witnesses')
    expect(await page.innerText('.checks')).to.include('w1.example, w2.example')

    await demand(`${first.key}\n${second.key}\n`)
    expect(await page.isVisible('#told .verdict')).to.equal(false)
    expect(await paste(page, cosigned)).to.include({ word: 'Valid', tone: 'good' })
    expect(await page.innerText('.checks')).to.include('2 of the 2 witnesses')
    await expectUsable(page, 'check witnessed')
    const alone = await paste(page, note + first.cosign(note))
    const lone = expectTold(alone, 'Not valid', 'bad', 'WITNESSES_MISSING')
    expect(lone.text).to.include('1 of the 2 witnesses')

    const policy = [`witness A ${first.key}`, `witness B ${second.key}`, 'group G any A B', 'quorum G']
    await page.setInputFiles('.demand input[type="file"]', {
      name: 'policy.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from(policy.join('\n')),
    })
    await page.waitForFunction(() =>
      document.querySelector<HTMLTextAreaElement>('#policy')?.value.includes('quorum G'),
    )
    expect(await paste(page, note + first.cosign(note))).to.include({ word: 'Valid', tone: 'good' })
    expect((await paste(page, note)).faults).to.deep.equal(['WITNESSES_MISSING'])
  })

  it('results stand under a checkpoint that must meet the policy, too', async () => {
    const witness = createWitness('w1.example')
    const answer = await verified(pages.app, key(), {
      data: DATA,
      options: { rules: [{ field: 'age', op: 'gte', value: 18 }] },
    })
    await demand(witness.key)
    expectTold(await paste(page, answer), 'Not valid', 'bad', 'WITNESSES_MISSING')
    await pages.context.route(/\/checkpoint$/, async (route) => {
      const note = await (await route.fetch()).text()
      await route.fulfill({ body: note + witness.cosign(note) })
    })
    expect(await paste(page, answer)).to.include({ word: 'Valid: YES', tone: 'good' })
    await pages.context.unrouteAll()
  })

  it('says nothing under a policy that it can’t read', async () => {
    const note = (await pages.app.request('GET', '/checkpoint')).bytes.toString()
    await demand('witness A nonsense')
    const told = await paste(page, note)
    expect(told).to.include({ word: 'Not verified', tone: 'warn' })
    expect(await page.innerText('#policy-error')).to.include('Line 1')
    await expectUsable(page, 'check policy refused')
    await page.fill('#policy', '')
    await page.click('form.give button[type="submit"]')
    expect(await toldOn(page)).to.include({ word: 'Valid', tone: 'good' })
  })

  it('says nothing while the policy file that was chosen can’t be read', async () => {
    const note = (await pages.app.request('GET', '/checkpoint')).bytes.toString()
    await demand('')
    const choose = (buffer: Buffer) =>
      page.setInputFiles('.demand input[type="file"]', {
        name: 'policy.txt',
        mimeType: 'text/plain',
        buffer,
      })
    const isRefused = async (why: string) => {
      await page.waitForSelector(`#policy-error:text("${why}")`)
      expect(await page.isVisible('#told .verdict')).to.equal(false)
      expect(await paste(page, note)).to.include({ word: 'Not verified', tone: 'warn' })
      expect(await page.innerText('#policy-error')).to.include(why)
    }
    expect(await paste(page, note)).to.include({ tone: 'good' })
    await choose(Buffer.alloc(262_145, '#'))
    await isRefused('larger than any policy')
    await expectUsable(page, 'check policy file refused')
    await page.click('button:text("Go on without the file")')
    expect(await paste(page, note)).to.include({ word: 'Valid', tone: 'good' })
    await page.evaluate(() => {
      const { text } = File.prototype
      File.prototype.text = () => {
        File.prototype.text = text
        return Promise.reject(new DOMException('It is gone.', 'NotReadableError'))
      }
    })
    await choose(Buffer.from('witness'))
    await isRefused('can’t be read')
    await choose(Buffer.from(createWitness('w1.example').key))
    await page.waitForFunction(() => document.querySelector('#policy-error')?.textContent === '')
    expect((await paste(page, note)).faults).to.deep.equal(['WITNESSES_MISSING'])
  })
})
