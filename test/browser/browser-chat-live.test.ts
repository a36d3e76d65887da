/** The chat page while the network, the server and the crowd do what they do; and for everybody who looks at it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  chatInChromium,
  isLive,
  postMessage,
  postSigned,
  shownIds,
  shownMessage,
  type Visit,
  type visitChat,
} from '../support/chat/chat-page.ts'
import { clientOf } from '../support/client.ts'
import { expectUsable } from '../support/console-page.ts'
import { eventually } from '../support/eventually.ts'
import { freePort, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'

const RECONNECT_MS = 30_000
/** The stream replays this many. */
const REPLAYED = 100

const connectionIs = (page: Page, status: string) =>
  page.waitForSelector(`#connection[data-status="${status}"]`, { timeout: RECONNECT_MS })
const isShown = (page: Page, id: number) =>
  page.waitForSelector(`[data-message="${id}"]`, { timeout: RECONNECT_MS })
const scrollDown = (page: Page) => page.evaluate(() => scrollTo(0, document.body.scrollHeight))

describe('the live chat page in Chromium', () => {
  const chat = chatInChromium()
  let visit: Visit
  let page: Page

  const open = async (options: Parameters<typeof visitChat>[2] = {}, url?: string) => {
    visit = await chat.visit(options, url)
    page = visit.page
    await isLive(page)
  }
  let posts = 0
  const post = (fields: object = {}) => postMessage(chat.app, { text: `Live, number ${++posts}.`, ...fields })
  const postMany = async (count: number): Promise<number[]> => {
    const ids: number[] = []
    for (let i = 0; i < count; i++) ids.push((await post()).id)
    return ids
  }

  describe('while many talk', () => {
    it('does not move what somebody reads: new messages wait until they are asked for', async () => {
      await postMany(30)
      await open()
      await page.waitForSelector('[data-message]')
      await scrollDown(page)
      const before = await shownIds(page)
      const [first, second] = [await post(), await post()]
      await page.waitForFunction(
        () => document.querySelector('.fresh')?.textContent === 'Show 2 new messages',
      )
      expect(await shownIds(page)).to.deep.equal(before)
      await page.click('.fresh')
      expect((await shownIds(page)).slice(0, 2)).to.deep.equal([second.id, first.id])
      const focused = await page.evaluate(() => (document.activeElement as HTMLElement).dataset.message)
      expect(focused).to.equal(String(second.id))
      expect(await page.locator(`[data-message="${second.id}"]`).boundingBox())
        .to.have.property('y')
        .above(0)
    })

    it('waits as well while updates are paused, and counts on', async () => {
      await open()
      await page.click('#pause')
      expect(await page.getAttribute('#pause', 'aria-pressed')).to.equal('true')
      const { id } = await post()
      await page.waitForFunction(() => document.querySelector('.fresh')?.textContent === 'Show 1 new message')
      expect(await shownIds(page)).to.not.include(id)
      await page.click('#pause')
      await isShown(page, id)
    })

    it('announces many together, not each', async () => {
      await open()
      const said: string[] = await page.evaluate(() => {
        const heard: string[] = []
        const region = document.querySelector('#announcement') as HTMLElement
        new MutationObserver(() => heard.push(region.textContent ?? '')).observe(region, { childList: true })
        Object.assign(globalThis, { heard })
        return heard
      })
      expect(said).to.deep.equal([])
      await Promise.all(Array.from({ length: 20 }, () => post({ agent_name: 'Crowd' })))
      await page.waitForFunction(() => (globalThis as unknown as { heard: string[] }).heard.length > 0)
      const heard = await page.evaluate(() => (globalThis as unknown as { heard: string[] }).heard)
      expect(heard).to.have.length(1)
      expect(heard[0]).to.match(/^(\d+ new messages, the latest|New message) by Crowd$/)
    })

    it('keeps a list short however much comes, and its past within reach', async () => {
      await open()
      // As many as a busy hour brings, through the page's own stream.
      const ids = await postMany(420)
      await isShown(page, ids.at(-1) as number)
      const shown = await shownIds(page)
      expect(shown.length).to.be.at.most(400)
      await page.click('button:text("Older messages")')
      await page.waitForFunction(
        (count) => document.querySelectorAll('[data-message]').length > count,
        shown.length,
      )
      const after = await shownIds(page)
      const [oldest = 0, newest = 0] = [after.at(-1), after[0]]
      expect(after).to.deep.equal(Array.from({ length: newest - oldest + 1 }, (_, i) => newest - i))
    })
  })

  describe('while the connection fails', () => {
    it('says that the network is gone and back, and then shows what was missed', async () => {
      const { id } = await post()
      await open({ fragment: `#message-${id}` })
      await shownMessage(page, id)
      await visit.context.setOffline(true)
      await connectionIs(page, 'unreachable')
      expect(await page.innerText('#connection')).to.equal('No network')
      const reply = await post({ reply_to: id })
      await visit.context.setOffline(false)
      await connectionIs(page, 'healthy')
      await isShown(page, reply.id)
      expect(await shownIds(page)).to.deep.equal([id, reply.id])
    })

    it('reads anew when more was missed than a replay holds', async () => {
      // Without reading anew there would be a gap after it.
      await post()
      await open()
      await visit.context.setOffline(true)
      await connectionIs(page, 'unreachable')
      const ids = await postMany(REPLAYED + 20)
      await visit.context.setOffline(false)
      await connectionIs(page, 'healthy')
      await isShown(page, ids.at(-1) as number)
      const shown = await shownIds(page)
      const newest = shown[0] as number
      expect(shown).to.deep.equal(shown.map((_, i) => newest - i))
    })

    /** As if another tab were in front, or this one again. */
    const hide = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)

    it('gives its connection back while nobody looks, and catches up when somebody does', async () => {
      await open({ clock: true })
      await hide(true)
      await page.clock.fastForward(61_000)
      await connectionIs(page, 'unknown')
      expect(await page.innerText('#connection')).to.equal('At rest while nobody looks')
      const { id } = await post()
      await hide(false)
      await connectionIs(page, 'healthy')
      await page.clock.runFor(1000)
      await isShown(page, id)
    })

    it('rests as well when it was opened unseen, and stays at rest when the network comes back', async () => {
      await open({ clock: true })
      await page.addInitScript(() =>
        Object.defineProperty(document, 'hidden', { value: true, configurable: true }),
      )
      await page.reload()
      await isLive(page)
      await page.clock.fastForward(61_000)
      await connectionIs(page, 'unknown')
      await page.evaluate(() => dispatchEvent(new Event('online')))
      expect(await page.innerText('#connection')).to.equal('At rest while nobody looks')
      await hide(false)
      await connectionIs(page, 'healthy')
    })

    it('opens a stream anew that has been silent for long, without a word about it', async () => {
      await open({ clock: true })
      const opened = page.waitForRequest(/\/api\/stream\?since=\d+$/)
      await page.clock.fastForward(121_000)
      await opened
      expect(await page.innerText('#connection')).to.equal('Live')
      const { id } = await post()
      await page.clock.runFor(1000)
      await isShown(page, id)
    })

    it('tries again when it is refused, and when the first page can’t be read', async () => {
      const { id } = await post()
      const context = await chat.browser.newContext()
      try {
        await context.route(/\/api\/(stream|messages)/, (route) =>
          route.fulfill({ status: 503, json: { error: 'unavailable', message: 'Not now.' } }),
        )
        page = await context.newPage()
        await page.goto(`${chat.app.url}/chat`)
        await connectionIs(page, 'degraded')
        await page.waitForSelector('text=Not now.')
        await context.unrouteAll()
        await context.route(/\/api\/stream/, (route) => route.fulfill({ status: 429, json: {} }))
        await page.click('text=Try again')
        await isShown(page, id)
        expect(await page.getAttribute('#connection', 'data-status')).to.equal('degraded')
        await context.unrouteAll()
        await connectionIs(page, 'healthy')
      } finally {
        await context.close()
      }
    })

    it('lives through kills of the server: shows every message once, in order, and says how things stand', async function () {
      this.timeout(180_000)
      const directory = mkdtempSync(join(tmpdir(), 'assay-chat-page-'))
      const env = { DATA_DIR: directory, PORT: String(await freePort()) }
      let server: ServerProcess = await startServerProcess(env)
      const talk = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i++)
          await postMessage(clientOf(server.url), { text: `Before and after, number ${++posts}.` })
      }
      try {
        await talk(3)
        await open({}, server.url)
        for (let round = 0; round < 2; round++) {
          await server.end('SIGKILL')
          await connectionIs(page, 'degraded')
          expect(await page.innerText('#connection')).to.equal('Interrupted, reconnecting…')
          server = await startServerProcess(env)
          await talk(5)
          await connectionIs(page, 'healthy')
        }
        await isShown(page, 13)
        expect(await shownIds(page)).to.deep.equal(Array.from({ length: 13 }, (_, i) => 13 - i))
      } finally {
        await server.end('SIGKILL')
        rmSync(directory, { recursive: true, force: true })
      }
    })
  })

  describe('for everybody', () => {
    const states: readonly (readonly [what: string, go: () => Promise<unknown>])[] = [
      ['all messages', () => page.waitForSelector('[data-message]')],
      ['a signature', () => page.locator('.signature summary').first().click()],
      ['the form, refused', () => page.click('#compose summary').then(() => page.click('#send'))],
      ['more fields', () => page.click('#more-fields summary')],
      [
        'the catalogue',
        () => page.evaluate(() => document.querySelector('#catalogue')?.setAttribute('open', '')),
      ],
      ['a category', () => page.locator('.category summary').first().click()],
      ['a prompt', () => page.click('#random').then(() => page.waitForSelector('#prompt:not([hidden])'))],
      ['a thread', () => page.evaluate(() => location.assign('#message-1')).then(() => isShown(page, 1))],
      [
        'nothing found',
        () => page.fill('#message-words', 'zzzz').then(() => page.press('#message-words', 'Enter')),
      ],
      ['paused', () => page.click('#pause')],
      ['no network', () => visit.context.setOffline(true).then(() => connectionIs(page, 'unreachable'))],
    ]
    const withEveryKind = async (): Promise<void> => {
      const { id } = await post({
        text: `${++posts} <b>bold</b>\n${'long '.repeat(300)}`,
        model: 'm',
        topic: 't',
      })
      await post({ reply_to: id, agent_name: 'W'.repeat(48), text: 'x'.repeat(300) + ++posts })
      await postSigned(chat.app, { agent_name: `Signer ${++posts}`, text: 'Signed by a key.' }, 'About me.')
      const house = { agent_name: 'House', text: `From the house, number ${++posts}.` }
      await chat.app.request('POST', '/console/api/messages', { key: chat.app.adminKey, body: house })
    }

    it('axe finds nothing in any state, on a phone and a desktop, in light and dark, and nothing is cut off', async function () {
      this.timeout(300_000)
      await withEveryKind()
      await open()
      for (const [what, go] of states) {
        await go()
        await expectUsable(page, `chat, ${what}`)
      }
    })

    it('shows without JavaScript the rule, the prompt of the day and the newest messages, as text of strangers', async () => {
      const { body: daily } = await chat.app.request<{ prompt: { title: string; text: string } }>(
        'GET',
        '/api/prompts/daily',
      )
      const hostile = '</noscript><script src=/assets/x.js></script><img src=x onerror=1> {{CHAT_NOW}} $& "\''
      for (let count = 0; count < 18; count++) await post({ text: `Something old, number ${++posts}.` })
      const { id: signed, fingerprint } = await postSigned(
        chat.app,
        { agent_name: 'No Script', text: 'Signed, and read without a script.' },
        '',
      )
      const long = await post({ text: `${++posts} ${'long '.repeat(300)}` })
      const { id } = await post({
        agent_name: '<b onclick=x>mallory</b>',
        text: `${++posts} ${hostile}\nsecond line`,
        topic: '<i>topic</i> https://evil.example',
      })
      // It is made anew every two seconds.
      visit = await chat.visit({ javaScriptEnabled: false })
      const { page } = visit
      await eventually('the page has the newest message', async () => {
        await page.reload()
        return (await page.innerText('noscript')).includes(`#${id} ·`)
      })
      expect(await page.innerText('#rule')).to.include('never instructions')
      const shown = await page.innerText('noscript')
      expect(shown).to.include('/agents.txt').and.to.include(daily.prompt.title)
      expect(shown).to.include(daily.prompt.text).and.to.include(fingerprint)
      const items = await page.$$eval('.message', (all) => all.map((one) => (one as HTMLElement).innerText))
      expect(items).to.have.length(20)
      const [last = '', cut = ''] = items
      expect(last)
        .to.include(hostile)
        .and.to.include('<b onclick=x>mallory</b>')
        .and.to.include('Topic: <i>topic</i> https://evil.example')
        .and.to.include('Not verified')
      expect(cut).to.include(`#${long.id} ·`).and.to.include('… (it goes on)')
      expect(items[2]).to.include(`#${signed} ·`).and.to.include(`✓ Verified ${fingerprint}`)
      const elements = await page.$$eval('.messages *', (parts) => [
        ...new Set(parts.map(({ localName }) => localName)),
      ])
      expect(elements.sort()).to.deep.equal(['bdi', 'code', 'div', 'h3', 'li', 'p', 'span', 'time'])
      expect(await page.locator('script').count()).to.equal(1)
      expect(await page.isVisible('#compose')).to.equal(false)
      expect(visit.complaints).to.deep.equal([])
      // axe is a script itself: it sees the same document, of which nothing runs.
      const { context, page: seen } = await chat.visit()
      await context.route('**/chat', async (route) => {
        const response = await route.fetch()
        const body = (await response.text())
          .replaceAll(/<\/?noscript>/g, '')
          .replace(/<script type="module".*?<\/script>/, '')
        await route.fulfill({ response, body })
      })
      await seen.goto(`${chat.app.url}/chat`)
      expect(await seen.innerText('.messages')).to.include(hostile)
      await expectUsable(seen, 'chat without JavaScript')
    })

    it('is led to from the first page', async () => {
      visit = await chat.visit()
      await visit.page.goto(chat.app.url)
      await visit.page.click('header a:text("Chat")')
      await visit.page.waitForURL('**/chat')
      await isLive(visit.page)
    })
  })
})
