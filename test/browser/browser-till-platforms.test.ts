/** Outcomes that differ between platforms: the same payments on a Node terminal and in Chromium, both as they are built. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { Browser, BrowserContext } from 'playwright-core'
import type { ListedPayment, PaymentPage } from '../../src/domain/payments/schemas.ts'
import type { TerminalCreated } from '../../src/domain/terminals/schemas.ts'
import type { PaymentInput, PaymentResult, Terminal, TerminalOptions } from '../../src/terminal/index.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { ok } from '../support/client.ts'
import { keyTill } from '../support/domain/tills.ts'
import { eventually } from '../support/eventually.ts'
import {
  callTill,
  openTerminalPage,
  openTill,
  serveTerminalPage,
  type TerminalScope,
} from '../support/terminal-page.ts'

const BUILD = join(import.meta.dirname, '../../build')
const MINUTE_MS = 60_000
const DAY_MS = 24 * 3_600_000
/** The core begins with the magic number of WebAssembly, in base64. */
const CORE = /AGFzbQ[\w+/]+=*/

interface Step {
  readonly what: string
  readonly input: unknown
  /** How far the terminal's clock is from that of the service. */
  readonly atMs: number
  /** The code of the refusal; absent: it is accepted. */
  readonly refused?: string
  /** What the service makes of it once it is uploaded: its status, and the code of a refusal. */
  readonly ends?: readonly [status: ListedPayment['status'], reason: string | null]
}

const A_MONTH_AGO = -31 * DAY_MS
const THEN = -29 * DAY_MS
const [TAMPERED, TAMPERED_WITH] = [33.33, 33.34]
const ACCEPTED = ['accepted', null] as const

const pounds = (cardToken: string, amount: number, more: object = {}) => ({ cardToken, amount, ...more })
const accepted = (what: string, input: unknown, ends: Step['ends'] = ACCEPTED, atMs = THEN): Step => ({
  what,
  input,
  atMs,
  ends,
})
const refused = (what: string, input: unknown, code: string, atMs = THEN): Step => ({
  what,
  input,
  atMs,
  refused: code,
})

/** All pounds that wait come to £400.00, which is the most that may. */
const OFFLINE: readonly Step[] = [
  accepted('too old when it arrives', pounds('tok_old', 10), ['rejected', 'TOO_OLD'], A_MONTH_AGO),
  refused('taken back before', pounds('tok_void', 3), 'DOUBLE_SPEND', A_MONTH_AGO),
  accepted('a payment', pounds('tok_1', 12.5)),
  refused('replayed', pounds('tok_1', 12.5), 'DOUBLE_SPEND'),
  refused('replayed with another amount', pounds('tok_1', 1), 'DOUBLE_SPEND'),
  refused('over the limit of a payment', pounds('tok_2', 250.01), 'LIMIT_EXCEEDED'),
  accepted('at the limit of a payment', pounds('tok_2', 250)),
  accepted('without decimals', pounds('tok_3', 100, { currency: 'JPY' })),
  accepted('with three decimals', pounds('tok_4', 1.234, { currency: 'KWD' })),
  refused('with too many decimals', pounds('tok_5', 1.005), 'amount_precision'),
  refused('in no currency', pounds('tok_5', 1, { currency: 'gbp' }), 'currency_invalid'),
  refused('of nothing', pounds('tok_5', 0), 'validation_failed'),
  refused('a card number', pounds('4111 1111 1111 1111', 1), 'pan_not_allowed'),
  refused('half a surrogate pair', pounds('tok_\ud83d', 1), 'validation_failed'),
  refused('no payment at all', null, 'validation_failed'),
  accepted('beyond ASCII', pounds('tok_üñ€😀', 7.07, { customerId: 'zoë', paymentMethod: 'qr' })),
  accepted('with an id of its own', pounds('tok_6', 20, { transactionId: 'order-1' })),
  refused('an id once more', pounds('tok_7', 20, { transactionId: 'order-1' }), 'TRANSACTION_CONFLICT'),
  accepted('tampered with on its way', pounds('tok_8', TAMPERED), ['rejected', 'INVALID_MAC']),
  accepted('used at another till', pounds('tok_elsewhere', 40), ['conflict', 'DOUBLE_SPEND']),
  refused('over the sum that may wait', pounds('tok_9', 27.11), 'LIMIT_EXCEEDED'),
  accepted('up to the sum that may wait', pounds('tok_9', 27.1)),
  refused('once the oldest has expired', pounds('tok_10', 1, { currency: 'EUR' }), 'LIMIT_EXCEEDED', 0),
]
const AHEAD: readonly Step[] = [accepted('with a clock ahead', pounds('tok_11', 5), ACCEPTED, 10 * MINUTE_MS)]
const REVOKED: readonly Step[] = [
  accepted('under a key that is revoked', pounds('tok_12', 5), ['late', 'KEY_REVOKED'], 0),
]

/** One terminal, wherever it runs. */
interface Platform {
  call<M extends Exclude<keyof Terminal, 'on'>>(
    method: M,
    ...args: Parameters<Terminal[M]>
  ): Promise<Awaited<ReturnType<Terminal[M]>>>
  setClock(now: number): Promise<void>
  /** Lets it reach the service, which it doesn't at first. */
  connect(isConnected: boolean): void
  close(): Promise<unknown>
}

type Options = Omit<TerminalOptions, 'storage'>

const tamper = (body: string): string =>
  body.replaceAll(`"amount":${TAMPERED},`, `"amount":${TAMPERED_WITH},`)

const onNode = async (options: Options): Promise<Platform> => {
  const { createTerminal, journalStorage }: typeof import('../../src/terminal/node.ts') = await import(
    pathToFileURL(join(BUILD, 'terminal-node.js')).href
  )
  const folder = await mkdtemp(join(tmpdir(), 'assay-platform-'))
  let [now, isConnected] = [0, false]
  const terminal = await createTerminal({
    ...options,
    storage: journalStorage(folder),
    clock: { now: () => now },
    fetch: (input, init) =>
      isConnected
        ? fetch(input, typeof init?.body === 'string' ? { ...init, body: tamper(init.body) } : init)
        : Promise.reject(new TypeError('cut')),
  })
  return {
    call: async (method, ...args) => (terminal[method] as (...given: unknown[]) => never)(...args),
    setClock: async (to) => {
      now = to
    },
    connect: (to) => {
      isConnected = to
    },
    close: async () => {
      await terminal.close()
      await rm(folder, { recursive: true })
    },
  }
}

const inChromium = async (context: BrowserContext, address: string, options: Options): Promise<Platform> => {
  let isConnected = false
  await context.route(`${options.baseUrl}/**`, (route) => {
    if (!isConnected) return route.abort()
    const body = route.request().postData()
    return body === null ? route.continue() : route.continue({ postData: tamper(body) })
  })
  const page = await openTerminalPage(context, address)
  await openTill(page, options)
  return {
    call: (method, ...args) => callTill(page, method, ...args),
    setClock: (now) =>
      page.evaluate((to) => {
        ;(globalThis as TerminalScope).now = to
      }, now),
    connect: (to) => {
      isConnected = to
    },
    close: () => context.close(),
  }
}

/** Presents payments, one after the other. @param now Unix ms, of the service */
const present = async (platform: Platform, steps: readonly Step[], now: number): Promise<PaymentResult[]> => {
  const results: PaymentResult[] = []
  for (const { input, atMs } of steps) {
    await platform.setClock(now + atMs)
    results.push(await platform.call('pay', input as PaymentInput))
  }
  await platform.setClock(now)
  return results
}

/** What a terminal without the service answers to all, and knows then. */
const offline = async (platform: Platform, now: number) => {
  await platform.setClock(now + A_MONTH_AGO)
  const taken = await platform.call('pay', pounds('tok_void', 3))
  const isVoid = await platform.call('void', taken.transactionId)
  const results = await present(platform, OFFLINE, now)
  const [pending, status, voidable] = [
    await platform.call('pending'),
    await platform.call('status'),
    await platform.call('voidable'),
  ]
  return { taken, isVoid, results, pending, status, voidable }
}

const upload = async (platform: Platform): Promise<void> => {
  platform.connect(true)
  await eventually('everything is uploaded', async () => (await platform.call('flush')).pending === 0)
  platform.connect(false)
  // A probe that runs is joined, and may have begun before.
  await eventually('the service is out of reach', async () => !(await platform.call('probe')))
}

const codeOf = ({ accepted, error = '' }: PaymentResult): string | undefined =>
  accepted ? undefined : error.split(':')[0]

describe('the same payments on Node and in Chromium', function () {
  this.timeout(300_000)
  let app: TestApp
  let browser: Browser
  let pages: Awaited<ReturnType<typeof serveTerminalPage>>
  /** How far the service's clock is ahead of the real one. */
  let shiftMs = 0
  const clock = { now: () => Date.now() + shiftMs }
  before(async () => {
    ;[app, browser, pages] = await Promise.all([
      startTestApp({ clock }),
      launchChromium(),
      serveTerminalPage(),
    ])
  })
  after(async () => {
    await browser?.close()
    await app?.close()
    pages?.close()
  })

  it('are decided by the same core', async () => {
    const [node, chromium] = await Promise.all(
      ['node', 'browser'].map(async (name) => {
        const program = await readFile(join(BUILD, `terminal-${name}.js`), 'utf8')
        return CORE.exec(program)?.[0]
      }),
    )
    expect(node).to.have.length.above(10_000)
    expect(chromium).to.equal(node)
  })

  /** One terminal on both platforms. */
  const onBoth = async (shop: TestOrganisation) => {
    const terminal = await ok<TerminalCreated>(app, 'POST', '/console/api/terminals', {
      key: shop.apiKey,
      body: { label: 'Till' },
    })
    const { apiKey, merchantId, terminalId, terminalSecret } = terminal
    const secrets = { apiKey, merchantId, terminalId, terminalSecret }
    const options = { baseUrl: app.url, ...secrets, limits: { storedSumLimit: 400 } }
    const context = await browser.newContext()
    return {
      terminal,
      node: await onNode(options),
      chromium: await inChromium(context, pages.address, options),
    }
  }

  /** How payments ended at the service, and what the terminal was told of those that were refused. */
  const endsOf = async (shop: TestOrganisation, terminalId: string, platform: Platform) => {
    const path = `/console/api/payments?terminalId=${terminalId}&limit=100`
    const { payments } = await ok<PaymentPage>(app, 'GET', path, { key: shop.apiKey })
    const { rejected } = await platform.call('status')
    return { payments, rejected }
  }

  it('come to the same: offline to the byte, and at the service whichever of the two uploads', async () => {
    const ends: object[] = []
    for (const uploading of ['node', 'chromium'] as const) {
      const shop = await app.organisation()
      const other = await keyTill(app, shop)
      expect((await other.validate(other.payment({ cardToken: 'tok_elsewhere' }))).body.valid).to.equal(true)
      const { terminal, node, chromium } = await onBoth(shop)
      try {
        shiftMs = 0
        const now = Date.now()
        const here = await offline(node, now)
        expect(await offline(chromium, now)).to.deep.equal(here)
        expect(here.results.map(codeOf)).to.deep.equal(OFFLINE.map(({ refused }) => refused))
        expect(here).to.deep.include({ isVoid: true })
        expect(here.pending.sums).to.deep.equal({ GBP: '400.00', JPY: '100', KWD: '1.234' })

        const till = uploading === 'node' ? node : chromium
        await upload(till)
        const later = await present(till, AHEAD, now)
        till.connect(true)
        await eventually('it is told to come again', async () => {
          const { pending, error = '' } = await till.call('flush')
          return pending === 1 && error.startsWith('CLOCK_SKEW: ')
        })
        shiftMs = 6 * MINUTE_MS
        await upload(till)
        later.push(...(await present(till, REVOKED, now)))
        await app.request('DELETE', `/console/api/keys/${terminal.keyId}`, { key: shop.apiKey })
        await upload(till)

        const steps = [...OFFLINE, ...AHEAD, ...REVOKED]
        const results = [...here.results, ...later]
        const { payments, rejected } = await endsOf(shop, terminal.terminalId, till)
        const ended = steps.flatMap(({ what, ends: expected }, place) => {
          if (expected === undefined) return []
          const id = results[place]?.transactionId
          const found = payments.filter(({ transactionId }) => transactionId === id)
          const told = rejected.find(({ transactionId }) => transactionId === id)
          expect(
            found.map(({ status, reason }) => [status, reason]),
            what,
          ).to.deep.equal([expected])
          return found.map(({ amount, currency, assurance, timestamp }) => ({
            ...{ what, amount, currency, assurance, ageMs: now - Date.parse(timestamp ?? '') },
            told: told && [told.status, told.code, told.message],
          }))
        })
        expect(payments).to.have.length(ended.length)
        ends.push(ended)
      } finally {
        await Promise.all([node.close(), chromium.close()])
      }
    }
    expect(ends[1]).to.deep.equal(ends[0])
  })
})
