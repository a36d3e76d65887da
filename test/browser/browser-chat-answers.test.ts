/** The chat page when answers come late, out of turn or not at all. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  chatInChromium,
  isLive,
  postMessage,
  shownIds,
  shownMessage,
  type Visit,
} from '../support/chat/chat-page.ts'
import { eventually } from '../support/eventually.ts'

const FIRST_PAGE = /\/api\/messages\?limit=50$/
const OLDER_PAGE = /\/api\/messages\?limit=50&before=/
const PAGE_MESSAGES = 50

describe('the chat page in Chromium, when answers come late or not at all', () => {
  const chat = chatInChromium()
  let visit: Visit
  let page: Page

  const open = async (options: Parameters<typeof chat.visit>[0] = {}) => {
    visit = await chat.visit(options)
    page = visit.page
    await isLive(page)
  }
  let posts = 0
  const anyText = (): string => `An answer, number ${++posts}.`
  const post = (fields: object = {}) => postMessage(chat.app, { text: anyText(), ...fields })
  const postMany = async (count: number, fields: object = {}): Promise<number[]> => {
    const ids: number[] = []
    for (let i = 0; i < count; i++) ids.push((await post(fields)).id)
    return ids
  }
  /** Has the next such request answered, and keeps the answer back until it is let go. */
  const holdNext = async (url: RegExp) => {
    let [isAnswered, isFree] = [false, false]
    await page.route(
      url,
      async (route) => {
        const response = await route.fetch()
        isAnswered = true
        await eventually('the answer is let go', () => isFree)
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    return {
      answered: () => eventually('the service has answered', () => isAnswered),
      letGo() {
        isFree = true
      },
    }
  }
  const go = (fragment: string) => page.evaluate((hash) => location.assign(hash), fragment)
  const freshSays = (words: string) =>
    page.waitForFunction((wanted) => document.querySelector('.fresh')?.textContent === wanted, words)
  /** The stream has brought a message: it is announced a moment later. */
  const announced = (name: string) =>
    page.waitForFunction(
      (latest) => document.querySelector('#announcement')?.textContent?.endsWith(`by ${latest}`),
      name,
    )
  const expectDense = async () => {
    const ids = await shownIds(page)
    expect(ids).to.deep.equal(ids.map((_, i) => (ids[0] as number) - i))
  }
  const older = async () => {
    const before = await shownIds(page)
    await page.click('button:text("Older messages")')
    await page.waitForFunction(
      (count) => document.querySelectorAll('[data-message]').length > count,
      before.length,
    )
  }

  describe('reading', () => {
    it('shows a thread that is opened by its address with what came before the stream began', async () => {
      const { id } = await post()
      await open()
      let reply: number | undefined
      await page.route(
        FIRST_PAGE,
        async (route) => {
          await page.waitForSelector(`[data-message="${id}"]`)
          reply = (await post({ reply_to: id })).id
          await route.continue()
        },
        { times: 1 },
      )
      await page.goto('about:blank')
      await page.goto(`${chat.app.url}/chat#message-${id}`)
      await isLive(page)
      await eventually('the reply', async () => (await shownIds(page)).includes(reply ?? 0))
      expect(await page.getAttribute(`[data-message="${id}"]`, 'aria-current')).to.equal('true')
    })

    it('tries again what failed: many new messages appear, and no gap is left', async () => {
      await postMany(PAGE_MESSAGES + 10)
      await open()
      await page.click('#pause')
      const ids = await postMany(120)
      await freshSays('Show more than 100 new messages')
      await page.route(FIRST_PAGE, (route) => route.abort())
      await page.click('.fresh')
      await page.waitForSelector('text=Try again')
      expect(await page.isVisible('.fresh')).to.equal(true)
      await page.unroute(FIRST_PAGE)
      await page.click('text=Try again')
      await shownMessage(page, ids.at(-1) as number)
      await older()
      await expectDense()
    })

    it('shows all of many new messages, also where one of those that wait is deleted', async () => {
      const [shown = 0] = await postMany(1)
      await open()
      await page.click('#pause')
      const ids = await postMany(150)
      await freshSays('Show more than 100 new messages')
      const remove = (id: number | undefined) =>
        chat.app.request('DELETE', `/console/api/messages/${id}`, { key: chat.app.adminKey })
      for (const id of [...ids.slice(0, 20), shown]) expect((await remove(id)).status).to.equal(204)
      await page.waitForSelector(`[data-message="${shown}"][data-removed]`)
      await freshSays('Show more than 100 new messages')
      await page.click('.fresh')
      await shownMessage(page, ids.at(-1) as number)
      expect(await shownIds(page)).to.include.members(ids.slice(100))
    })

    it('adds no older page to a list that was read anew meanwhile', async () => {
      await postMany(PAGE_MESSAGES + 10)
      await open()
      await page.click('#pause')
      const ids = await postMany(120)
      await freshSays('Show more than 100 new messages')
      const held = await holdNext(OLDER_PAGE)
      await page.click('button:text("Older messages")')
      await held.answered()
      await page.click('.fresh')
      await shownMessage(page, ids.at(-1) as number)
      const answer = page.waitForResponse(OLDER_PAGE)
      held.letGo()
      await (await answer).finished()
      await older()
      await expectDense()
    })

    it('leaves Try again where a view could not be read anew, whatever comes live', async () => {
      await post({ agent_name: 'Grace' })
      await open({ fragment: '#agent-Grace' })
      await page.waitForSelector('#feed [data-message]')
      await page.route(/agent=Grace/, (route) => route.abort())
      await visit.context.setOffline(true)
      await page.waitForSelector('#connection[data-status="unreachable"]')
      const missed = await postMany(120, { agent_name: 'Grace' })
      await visit.context.setOffline(false)
      await isLive(page)
      await page.waitForSelector('text=Try again')
      const { id } = await post({ agent_name: 'Grace' })
      await freshSays('Show 1 new message')
      await page.unroute(/agent=Grace/)
      await page.click('text=Try again')
      await shownMessage(page, id)
      expect(await shownIds(page)).to.deep.equal([...missed, id].reverse().slice(0, PAGE_MESSAGES))
    })

    it('shows what came live while a view was being read', async () => {
      await open()
      const held = await holdNext(/agent=Late/)
      await go('#agent-Late')
      await held.answered()
      const { id } = await post({ agent_name: 'Late' })
      await announced('Late')
      held.letGo()
      await page.waitForFunction(() => document.querySelector('.feed > p')?.textContent === '')
      expect(await shownIds(page)).to.deep.equal([id])
    })

    it('shows what came to a thread while it was being read from a reply', async () => {
      const root = await post()
      const reply = await post({ reply_to: root.id })
      await open()
      const held = await holdNext(new RegExp(`/api/messages/${reply.id}$`))
      await go(`#message-${reply.id}`)
      await held.answered()
      const later = await post({ agent_name: 'Later', reply_to: reply.id })
      await announced('Later')
      held.letGo()
      await shownMessage(page, later.id)
      expect(await shownIds(page)).to.deep.equal([root.id, reply.id, later.id])
    })

    it('misses nothing in a view that was read before the stream could begin', async () => {
      visit = await chat.visit()
      page = visit.page
      await page.route(FIRST_PAGE, (route) => route.abort())
      await page.goto('about:blank')
      await page.goto(`${chat.app.url}/chat#agent-Early`)
      await page.waitForSelector('text=There is no message by this name.')
      await page.waitForSelector('#connection[data-status="degraded"]')
      const { id } = await post({ agent_name: 'Early' })
      await page.unroute(FIRST_PAGE)
      await isLive(page)
      await shownMessage(page, id)
    })
  })

  describe('posting', () => {
    const send = async (text: string): Promise<void> => {
      await page.evaluate(() => document.querySelector('#compose')?.setAttribute('open', ''))
      await page.fill('#name', 'Ada')
      await page.fill('#text', text)
      await page.click('#send')
    }
    const reply = (id: number) => page.click(`[data-message="${id}"] button:has-text("Reply")`)

    it('counts one’s own reply once in a view that does not list it', async () => {
      const { id } = await post({ agent_name: 'Grace Alone' })
      await open({ fragment: '#agent-Grace%20Alone' })
      await shownMessage(page, id)
      await reply(id)
      await send(anyText())
      await page.waitForSelector('#outcome[data-verdict="good"]')
      await announced('Ada')
      expect(await page.innerText(`[data-message="${id}"] .message-foot a`)).to.equal('1 reply')
    })

    it('keeps what is written and chosen while a post is under way', async () => {
      const { id } = await post()
      await open()
      await shownMessage(page, id)
      const held = await holdNext(/\/api\/messages$/)
      const text = anyText()
      await send(text)
      await held.answered()
      await page.focus('#text')
      await page.keyboard.press('End')
      await page.keyboard.type(' And more')
      await reply(id)
      held.letGo()
      await page.waitForSelector('#outcome[data-verdict="good"]')
      expect(await page.inputValue('#text')).to.equal(`${text} And more`)
      expect(await page.innerText('#replying')).to.include(`#${id} by Ada`)
    })
  })

  describe('looking for prompts', () => {
    it('says where it can be seen that there is no random prompt', async () => {
      await open({ viewport: { width: 390, height: 844 } })
      expect(await page.getAttribute('#catalogue', 'open')).to.equal(null)
      await page.route('**/api/prompts/random', (route) => route.abort())
      await page.click('#random')
      await page.waitForSelector('text=The prompts can’t be had right now.')
    })

    it('keeps what was found when an earlier search fails later', async () => {
      await open()
      let isFree = false
      await page.route(/q=earlier/, async (route) => {
        await eventually('it is let go', () => isFree)
        await route.abort()
      })
      const earlier = page.waitForRequest(/q=earlier/)
      await page.fill('#prompt-words', 'earlier')
      await earlier
      await page.fill('#prompt-words', 'science')
      const found = () => page.innerText('#prompts-found')
      await page.waitForFunction(() => document.querySelector('#prompts-found')?.textContent !== '')
      const words = await found()
      const failure = page.waitForEvent('requestfailed')
      isFree = true
      await failure
      expect(await found())
        .to.equal(words)
        .and.to.match(/ found$/)
    })
  })
})
