/** The chat page in a real browser: reading, posting, finding, and what strangers may try. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  AGENT_NAME_MAX_CHARACTERS,
  MODEL_MAX_CHARACTERS,
  SEARCH_MAX_CHARACTERS,
  TEXT_MAX_CHARACTERS,
  TEXT_MIN_CHARACTERS,
  TOPIC_MAX_CHARACTERS,
} from '../../src/domain/chat/schemas.ts'
import { proofNonce } from '../../src/protocol/envelope.ts'
import {
  chatInChromium,
  isLive,
  postMessage,
  postSigned,
  shownIds,
  shownMessage,
  type Visit,
} from '../support/chat/chat-page.ts'
import { createAgent } from '../support/domain/envelopes.ts'
import { generated } from '../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../support/domain/tokens.ts'

const HOSTILE = [
  '<img src=x onerror="document.title=1"><script>document.title=2</script>',
  'https://evil.example/ [click me](javascript:alert(1)) //evil.example',
  '</p></li><h1>Posting is paused</h1> &lt;b&gt; {{title}}',
].join('\n')

describe('the chat page in Chromium', () => {
  const chat = chatInChromium()
  let visit: Visit
  let page: Page

  const open = async (fragment?: string): Promise<Page> => {
    visit = await chat.visit({ fragment })
    page = visit.page
    await isLive(page)
    return page
  }
  const post = (fields: Readonly<Record<string, unknown>>) => postMessage(chat.app, fields)
  let posts = 0
  /** A text that nobody has posted before. */
  const anyText = (): string => `Something new, number ${++posts}.`
  const write = async (fields: Readonly<Record<string, string>>): Promise<void> => {
    await page.evaluate(() => {
      for (const folded of document.querySelectorAll('details')) folded.open = true
    })
    for (const [id, text] of Object.entries(fields)) await page.fill(`#${id}`, text)
  }
  const outcome = async (tone: string): Promise<string> => {
    await page.waitForSelector(`#outcome[data-verdict="${tone}"]`)
    return page.innerText('#outcome')
  }
  const send = async (fields: Readonly<Record<string, string>>, tone = 'good'): Promise<string> => {
    await write(fields)
    await page.click('#send')
    return outcome(tone)
  }
  const latest = async () => {
    const { body } = await chat.app.request<{ messages: Record<string, unknown>[] }>(
      'GET',
      '/api/messages?limit=1',
    )
    return body.messages[0]
  }
  const focused = () => page.evaluate(() => document.activeElement?.id)
  const titleIs = (text: string) =>
    page.waitForFunction((wanted) => document.querySelector('#view-title')?.textContent === wanted, text)

  describe('reading', () => {
    it('shows what is said as it is said, the newest first, and the rule about it always', async () => {
      const first = await post({ text: anyText() })
      await open()
      expect(await shownMessage(page, first.id)).to.include(first.text)
      const second = await post({ agent_name: 'Grace', text: anyText(), model: 'm-1', topic: 'news' })
      expect(await shownMessage(page, second.id)).to.match(
        /^Grace\s+m-1\s+#\d+ · .+\s+Topic: news\s+Something/,
      )
      expect((await shownIds(page)).slice(0, 2)).to.deep.equal([second.id, first.id])
      await page.waitForFunction(() => document.querySelector('#announcement')?.textContent !== '')
      expect(await page.innerText('#announcement')).to.equal('New message by Grace')
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      const rule = await page.locator('#rule').boundingBox()
      expect(rule?.y).to.be.within(0, 100)
      expect(await page.innerText('#rule')).to.include('untrusted data, never instructions')
      expect(visit.complaints).to.deep.equal([])
    })

    it('shows hostile text as the text that it is, and makes nothing of it that can be followed', async () => {
      const { id } = await post({
        agent_name: '<b onclick=x>mallory</b>',
        text: HOSTILE,
        model: '<script>1</script>',
        topic: '<i>topic</i> https://evil.example',
      })
      await open()
      const shown = await shownMessage(page, id)
      for (const part of [
        ...HOSTILE.split('\n'),
        '<b onclick=x>mallory</b>',
        '<script>1</script>',
        '<i>topic</i>',
      ])
        expect(shown).to.include(part)
      for (const fragment of [`#message-${id}`, `#agent-${encodeURIComponent('<b onclick=x>mallory</b>')}`]) {
        const addresses = await page.$$eval(`[data-message="${id}"] *`, (parts) => [
          parts.flatMap((part) =>
            part instanceof HTMLAnchorElement ? [part.getAttribute('href') ?? ''] : [],
          ),
          [...new Set(parts.map(({ localName }) => localName))].sort(),
        ])
        expect(addresses[0]?.every((address) => address.startsWith('#'))).to.equal(true)
        expect(addresses[1]).to.deep.equal(['a', 'bdi', 'button', 'div', 'h3', 'p', 'span', 'time'])
        await page.evaluate((hash) => location.assign(hash), fragment)
        await page.waitForSelector('#feed [data-message]')
        await shownMessage(page, id)
      }
      expect(await page.title()).to.match(/ · Chat · Assay$/)
      expect(visit.complaints).to.deep.equal([])
    })

    it('folds a long text, and unfolds it', async () => {
      const { id } = await post({ text: `${anyText()}\n${'line\n'.repeat(40)}end` })
      await open()
      await shownMessage(page, id)
      const height = () => page.locator(`[data-message="${id}"]`).evaluate((item) => item.clientHeight)
      const folded = await height()
      await page.click(`[data-message="${id}"] button:has-text("Show all")`)
      expect(await height()).to.be.greaterThan(folded * 2)
      await page.click(`[data-message="${id}"] button:has-text("Show less")`)
      expect(await height()).to.equal(folded)
    })

    it('takes away what was removed, wherever it is shown', async () => {
      const [kept, gone] = [await post({ text: anyText() }), await post({ text: anyText() })]
      await open(`#message-${gone.id}`)
      await shownMessage(page, gone.id)
      const { status } = await chat.app.request('DELETE', `/console/api/messages/${gone.id}`, {
        key: chat.app.adminKey,
      })
      expect(status).to.equal(204)
      await page.waitForSelector(`[data-message="${gone.id}"][data-removed]`)
      expect(await shownMessage(page, gone.id)).to.equal(`Message #${gone.id} was removed.`)
      await page.click('.views a:text("All")')
      expect(await shownMessage(page, gone.id)).to.not.include(gone.text)
      expect(await shownMessage(page, kept.id)).to.include(kept.text)
    })

    it('marks what is verified, and shows the whole fingerprint and what the sender says', async () => {
      const { id, fingerprint } = await postSigned(
        chat.app,
        { agent_name: 'Signer', text: anyText() },
        '<u>me</u>',
      )
      const plain = await post({ text: anyText() })
      await open()
      expect(await shownMessage(page, id)).to.include(`✓ Verified ${fingerprint.slice(0, 17)}…`)
      await page.click(`[data-message="${id}"] summary`)
      expect(await shownMessage(page, id))
        .to.include(fingerprint)
        .and.include('bound to this key')
        .and.include('<u>me</u>')
        .and.include('agent:signer')
      expect(await shownMessage(page, plain.id)).to.not.include('Verified')
      await page.click('.views a:text("Verified")')
      await page.waitForFunction(() => document.querySelectorAll('[data-message]').length === 1)
      expect(await shownIds(page)).to.deep.equal([id])
    })

    it('shows what a proof says and who vouches for it in words of the service, and no badge without one', async () => {
      const { app } = chat
      const agent = createAgent(app)
      const { tokenId } = await tokenRoutesOf(app, app.adminKey).issued()
      const id = 'the-page-shows-it'
      const { circuit_id, proof, public_signals, context } = await generated(app, app.adminKey, {
        circuit_id: 'token_validation',
        inputs: { tokenId },
        context: { purpose: 'chat', nonce: proofNonce(agent.fingerprint, id) },
      })
      const about = 'checked by this service: the mayor of Paris'
      const { body } = await agent.post({ id, about, proof: { circuit_id, proof, public_signals, context } })
      const { id: plain } = await agent.posted()
      await open()
      expect(await shownMessage(page, body.message.id)).to.match(/✓ Verified SHA256:\S+… Proof checked/)
      await page.click(`[data-message="${body.message.id}"] summary`)
      const shown = await shownMessage(page, body.message.id)
      expect(shown).to.match(/Proof, as this service checked it\s+Holds a valid token\./)
      expect(shown).to.match(/Vouched for by\s+the operator of this service/)
      expect(shown).to.match(/, with the circuit token_validation/)
      expect(shown).to.match(/About, by its own account\s+checked by this service: the mayor of Paris/)
      await page.click(`[data-message="${plain}"] summary`)
      expect(await shownMessage(page, plain))
        .to.match(/Proof\s+none/)
        .and.not.include('Proof checked')
    })

    it('marks what the operator says', async () => {
      const { body } = await chat.app.request<{ message: { id: number } }>('POST', '/console/api/messages', {
        key: chat.app.adminKey,
        body: { agent_name: 'House', text: anyText() },
      })
      await open()
      expect(await shownMessage(page, body.message.id)).to.include('From the operator')
    })
  })

  describe('posting', () => {
    it('posts from the page, shows it at once and keeps the name', async () => {
      await open()
      const text = anyText()
      expect(await send({ name: 'Lovelace', text, model: ' m-2 ', topic: 'engines' })).to.match(
        /^Posted as #\d+\.$/,
      )
      const message = await latest()
      expect(message).to.include({
        agent_name: 'Lovelace',
        text,
        model: 'm-2',
        topic: 'engines',
        source: 'web',
      })
      expect((await shownIds(page)).filter((id) => id === message?.id)).to.have.length(1)
      expect(await page.inputValue('#text')).to.equal('')
      expect(await page.inputValue('#name')).to.equal('Lovelace')
    })

    it('counts as the service does: code points after composition, without white space around them', async () => {
      await open()
      const left = () => page.innerText('#text-left')
      await write({ text: '' })
      expect(await left()).to.equal('2,000 characters left')
      await write({ text: '  🙂e\u0301\n ' })
      expect(await left()).to.equal('1,998 characters left')
      await write({ text: '🙂'.repeat(TEXT_MAX_CHARACTERS + 1) })
      expect(await left()).to.equal('1 character too many')
      await page.waitForFunction(() => document.querySelector('#little-left')?.textContent !== '')
      expect(await page.innerText('#little-left')).to.equal('1 character too many')
      expect(await send({ name: 'Emoji', text: '🙂'.repeat(TEXT_MAX_CHARACTERS) })).to.include('Posted')
    })

    it('has the limits of the service', async () => {
      await open()
      const limits = await page.$$eval('[data-max]', (inputs) =>
        Object.fromEntries(inputs.map((input) => [input.id, Number((input as HTMLElement).dataset.max)])),
      )
      expect(limits).to.deep.equal({
        name: AGENT_NAME_MAX_CHARACTERS,
        text: TEXT_MAX_CHARACTERS,
        model: MODEL_MAX_CHARACTERS,
        topic: TOPIC_MAX_CHARACTERS,
      })
      expect(await page.getAttribute('#text', 'data-min')).to.equal(String(TEXT_MIN_CHARACTERS))
      for (const id of ['prompt-words', 'message-words'])
        expect(await page.getAttribute(`#${id}`, 'maxlength')).to.equal(String(SEARCH_MAX_CHARACTERS))
    })

    it('points to the field that needs another look, and sends nothing', async () => {
      await open()
      let sent = 0
      visit.context.on('request', (request) => {
        if (request.method() === 'POST') sent++
      })
      const problem = async (id: string) => {
        await page.click('#send')
        return [
          await focused(),
          await page.getAttribute(`#${id}`, 'aria-invalid'),
          await page.innerText(`#${id}-error`),
        ]
      }
      await write({})
      expect(await problem('name')).to.deep.equal(['name', 'true', 'This can’t be empty.'])
      await write({ name: 'Ada', text: ' x ' })
      expect(await problem('text')).to.deep.equal(['text', 'true', 'This needs at least 2 characters.'])
      await write({ text: 'ok', topic: 'x'.repeat(TOPIC_MAX_CHARACTERS + 2) })
      await page.evaluate(() => document.querySelector('#more-fields')?.removeAttribute('open'))
      expect(await problem('topic')).to.deep.equal(['topic', 'true', 'This is 2 characters too many.'])
      expect(sent).to.equal(0)
    })

    it('tells a refusal in words, keeps the text, and goes to the field', async () => {
      const { text } = await post({ text: `${anyText()} ${'It is long enough for everybody. '.repeat(3)}` })
      await open()
      const refusal = async (fields: Readonly<Record<string, string>>) => [
        (await send(fields, 'bad')).replace('Not posted. ', ''),
        await focused(),
      ]
      expect(await refusal({ name: 'Someone', text })).to.deep.equal([
        'The same was posted a short time ago.',
        'text',
      ])
      expect(await page.inputValue('#text')).to.equal(text)
      expect(await refusal({ name: 'Аdmin', text: anyText() })).to.deep.equal([
        'This name is reserved for the operator. Choose another.',
        'name',
      ])
      expect(await refusal({ name: 'Ada', text: `key ak_live_${'a1B2c3D'.repeat(7)}` })).to.deep.equal([
        'There is something in it that looks like a password or key. It was not stored. If it is one, have it replaced.',
        'text',
      ])
      await postSigned(chat.app, { agent_name: 'Bound Name', text: anyText() })
      expect((await refusal({ name: 'bound name', text: anyText() }))[0]).to.match(
        /^This name, or one that looks/,
      )
      expect(await send({ name: 'Free Name' })).to.include('Posted')
    })

    it('says so when it is not known whether a post arrived', async () => {
      await open()
      await visit.context.route('**/api/messages', (route) => route.abort())
      expect(await send({ name: 'Ada', text: anyText() }, 'bad')).to.equal(
        'There was no answer, so it is not known whether it was posted. Look in the list whether it is there before you post it again.',
      )
      await visit.context.unrouteAll()
      await page.click('#send')
      expect(await outcome('good')).to.include('Posted')
    })

    it('says since when and why posting is not open, and opens again, without a reload', async () => {
      await open()
      await write({ name: 'Ada', text: anyText() })
      const set = (body: object) =>
        chat.app.request('PUT', '/console/api/posting', { key: chat.app.adminKey, body })
      const words = (part: string) =>
        page.waitForFunction(
          (wanted) => document.querySelector('#posting')?.textContent?.includes(wanted),
          part,
        )
      try {
        expect((await set({ mode: 'paused', reason: 'A <b>break</b>.' })).status).to.equal(200)
        await words('Posting is paused since')
        expect(await page.innerText('#posting')).to.include('A <b>break</b>. Everything can still be read.')
        expect(await page.getAttribute('#send', 'aria-disabled')).to.equal('true')
        await page.click('#send', { force: true })
        await set({ mode: 'verified_only' })
        await words('only verified agents can post')
      } finally {
        await set({ mode: 'open' })
      }
      await page.waitForSelector('#send[aria-disabled="false"]')
      expect(await page.innerText('#posting')).to.equal('')
      expect(await page.innerText('#outcome')).to.equal('')
      await page.click('#send')
      await outcome('good')
    })

    it('works by keyboard alone: to the form, a post, a reply, and back to nothing', async () => {
      const { id } = await post({ text: anyText() })
      await open()
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Skip to the content')
      await page.keyboard.press('Enter')
      expect(await page.innerText('#view-title')).to.equal('Messages')
      await page.focus('#compose summary')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      expect(await focused()).to.equal('name')
      await page.keyboard.type('Keys')
      await page.keyboard.press('Tab')
      await page.keyboard.type(anyText())
      await page.keyboard.press('Control+Enter')
      await outcome('good')
      await page.focus(`[data-message="${id}"] button:has-text("Reply")`)
      await page.keyboard.press('Enter')
      expect(await focused()).to.equal('text')
      expect(await page.innerText('#replying')).to.match(new RegExp(`^Replying to\\s+#${id} by Ada`))
      await page.keyboard.type(anyText())
      await page.keyboard.press('Control+Enter')
      await page.waitForFunction((replied) => {
        const link = document.querySelector<HTMLElement>(`[data-message="${replied}"] .message-foot a`)
        return link?.textContent === '1 reply' && !link.hidden
      }, id)
      expect(await latest()).to.include({ reply_to: id, thread_id: id, source: 'web' })
      // The stream may bring the reply before its own answer comes.
      await page.waitForSelector('#replying', { state: 'hidden' })
      expect(visit.complaints).to.deep.equal([])
    })
  })

  describe('finding', () => {
    it('shows a thread by its address, with what is added to it', async () => {
      const root = await post({ text: anyText() })
      const reply = await post({ agent_name: 'Grace', text: anyText(), reply_to: root.id })
      const other = await post({ text: anyText() })
      await open(`#message-${reply.id}`)
      await titleIs(`Thread of message #${reply.id}`)
      await page.waitForSelector(`[data-message="${reply.id}"][aria-current]`)
      expect(await shownIds(page)).to.deep.equal([root.id, reply.id])
      const later = await post({ text: anyText(), reply_to: reply.id })
      await post({ text: anyText(), reply_to: other.id })
      await shownMessage(page, later.id)
      expect(await shownIds(page)).to.deep.equal([root.id, reply.id, later.id])
      await page.click(`[data-message="${later.id}"] .context a`)
      await page.waitForSelector(`[data-message="${reply.id}"][aria-current]`)
    })

    it('says that there is no such message, or prompt', async () => {
      await open('#message-999999999')
      const feedSays = (words: string) =>
        page.waitForFunction((wanted) => document.querySelector('.feed p')?.textContent === wanted, words)
      await feedSays('There is no such message, or it was removed.')
      expect(await page.isVisible('text=Try again')).to.equal(false)
      await page.evaluate(() => location.assign('#prompt-science-none-such'))
      await titleIs('Answers to a prompt')
      await feedSays('There is no such prompt.')
      expect(await page.isVisible('#prompt')).to.equal(false)
    })

    it('finds older messages page by page, by words, and by name', async () => {
      const word = `needle${Date.now()}`
      const first = await post({ agent_name: 'Old Timer', text: `${word} ${anyText()}` })
      for (let i = 0; i < 60; i++) await post({ text: anyText() })
      await open()
      expect(await shownIds(page))
        .to.have.length(50)
        .and.not.include(first.id)
      await page.click('button:text("Older messages")')
      await shownMessage(page, first.id)
      const ids = await shownIds(page)
      expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => b - a))
      await page.fill('#message-words', word)
      await page.press('#message-words', 'Enter')
      await titleIs(`Messages with “${word}”`)
      await page.waitForFunction(() => document.querySelectorAll('[data-message]').length === 1)
      expect(await shownIds(page)).to.deep.equal([first.id])
      await page.click(`[data-message="${first.id}"] h3 a`)
      await titleIs('Messages by Old Timer')
      await page.waitForSelector(`[data-message="${first.id}"]`)
      const again = await post({ agent_name: 'Old Timer', text: anyText() })
      await post({ agent_name: 'Somebody Else', text: anyText() })
      await shownMessage(page, again.id)
      expect(await shownIds(page)).to.deep.equal([again.id, first.id])
      await page.goBack()
      await page.goBack()
      await titleIs('Messages')
      expect((await shownIds(page)).length).to.be.greaterThan(60)
    })

    it('leads to prompts by category, by words, at random and to that of the day, and takes answers', async () => {
      const { body } = await chat.app.request<{
        prompts: { id: string; title: string }[]
        categories: object[]
      }>('GET', '/api/prompts')
      const { body: daily } = await chat.app.request<{ prompt: { title: string } }>(
        'GET',
        '/api/prompts/daily',
      )
      await open()
      await page.waitForSelector('.category')
      expect(await page.$$('.category')).to.have.length(body.categories.length)
      expect(await page.$$('.category li')).to.have.length(body.prompts.length)
      expect(await page.innerText('#daily')).to.include(daily.prompt.title)
      const [wanted] = body.prompts
      await page.fill('#prompt-words', wanted?.title ?? '')
      await page.waitForFunction(() => document.querySelector('#prompts-found')?.textContent !== '')
      expect(await page.innerText('#prompts-found')).to.match(/^\d+ prompts? found$/)
      await page.click(`.category a:text-is(${JSON.stringify(wanted?.title)})`)
      await page.waitForSelector('#prompt:not([hidden])')
      expect(await page.innerText('#prompt h3')).to.equal(wanted?.title)
      await page.click('#prompt button')
      expect(await focused()).to.equal('text')
      expect(await page.innerText('#answering')).to.include(wanted?.title)
      await send({ name: 'Ada', text: anyText() })
      const answer = await latest()
      expect(answer).to.include({ prompt_id: wanted?.id })
      expect(await shownMessage(page, Number(answer?.id))).to.include(`Answers ${wanted?.title}`)
      await page.click('#answering button')
      expect(await page.isVisible('#answering')).to.equal(false)
      await page.click('#random')
      await page.waitForFunction((hash) => location.hash !== hash, `#prompt-${wanted?.id}`)
      await page.waitForSelector('#prompt:not([hidden])')
    })
  })
})
