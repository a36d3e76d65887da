/**
 * Takes the pictures of docs/console.md: a shop with a bit of everything, as its owner sees it, page by page.
 * Usage: npm run docs:pictures [-- FOLDER]; default: docs/pictures. With PICTURES_OF=phone or dark: to look at, not to keep.
 * @module
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startTestApp, type TestApp } from '../app.ts'
import { launchChromium } from '../chromium.ts'
import { ok } from '../client.ts'
import { settledOn, signInOn } from '../console-page.ts'
import { signIn } from '../domain/accounts.ts'
import { agentRoutesOf, newAgentKey } from '../domain/agents.ts'
import { CONTROLLER, consentRoutesOf } from '../domain/consents.ts'
import { ANNA, kycRoutesOf } from '../domain/kyc.ts'
import { createPod } from '../domain/pods.ts'
import { generated, PERSON } from '../domain/proof-api.ts'
import { listedText, screeningRoutesOf } from '../domain/screening.ts'
import { addMember } from '../domain/team.ts'
import { ticketRoutesOf } from '../domain/tickets.ts'
import { terminalTill } from '../domain/tills.ts'
import { tokenRoutesOf } from '../domain/tokens.ts'
import { ROOT } from '../sources.ts'

const [, , folder = join(ROOT, 'docs/pictures')] = process.argv
const { PICTURES_OF = 'desktop' } = process.env
const VIEWPORT = PICTURES_OF === 'phone' ? { width: 390, height: 844 } : { width: 1280, height: 800 }

const OWNER = { email: 'owner@shop.example', password: 'correct horse battery staple' }
const LISTED = { id: 'kept-1', name: 'Ivan Arkadyevich Testov', birthDate: '1961-04-12' }
const RULES = { rules: [{ field: 'age', op: 'gte', value: 18 }] }

const sellSomething = async (app: TestApp, key: string): Promise<void> => {
  const { merchantId, organisationId } = await ok<{ merchantId: string; organisationId: string }>(
    app,
    'GET',
    '/console/api/me',
    { key },
  )
  const till = await terminalTill(app, { apiKey: key, merchantId, organisationId }, { floorLimit: 40 })
  for (const amountMinor of [1250, 480, 2999, 999]) await till.validate(till.payment({ amountMinor }))
  await till.sync([till.payment({ amountMinor: 750 }), till.payment({ amountMinor: 320 })])
  const spent = till.payment({ amountMinor: 1100, cardToken: 'tok_spent_twice' })
  await till.validate(spent)
  await till.validate(till.payment({ amountMinor: 1100, cardToken: 'tok_spent_twice', nonce: 1 }))
}

const checkSomebody = async (app: TestApp, key: string): Promise<void> => {
  const { document: _, ...incomplete } = ANNA
  const people = kycRoutesOf(app, key)
  await people.verified('anna')
  await people.verify({ userId: 'bob', data: incomplete })
  const consents = consentRoutesOf(app, key)
  for (const purpose of ['newsletter', 'analytics'])
    await consents.logged({ subjectId: 'anna', purposes: [purpose], controller: CONTROLLER })
  const screening = screeningRoutesOf(app, key)
  await screening.subscribed({ userId: 'ivan', name: LISTED.name, dateOfBirth: LISTED.birthDate })
  const tokens = tokenRoutesOf(app, key)
  for (const subject of ['member-7', 'member-8']) await tokens.issued({ subject })
  const tickets = ticketRoutesOf(app, key)
  for (let ticket = 0; ticket < 3; ticket++) await tickets.issued()
}

const proveSomething = async (app: TestApp, key: string): Promise<void> => {
  for (const age of [36, 17, 52])
    await ok(app, 'POST', '/verify', { key, body: { data: { age }, options: RULES } })
  for (const value of [18, 65])
    await generated(app, key, {
      circuit_id: 'yesno',
      inputs: { data: PERSON, rules: [{ field: 'age', op: 'gte', value }] },
    })
}

const connect = async (app: TestApp, key: string): Promise<void> => {
  await createPod(app, key)
  await agentRoutesOf(app, key).active(await newAgentKey())
  await ok(app, 'POST', '/api/webhooks', {
    key,
    // A public address; nothing happens any more that would be sent there.
    body: { url: 'https://93.184.216.34/assay', label: 'Order service', events: ['proof.spent'] },
  })
  await ok(app, 'POST', '/console/api/organisations', { key, body: { name: 'Corner café' } })
  await addMember(app, { key }, 'viewer')
}

/** Addresses of pages, and what is opened on them before the picture is taken. */
const PICTURES: Readonly<
  Record<string, readonly [path: string, prepare?: (page: Page) => Promise<unknown>]>
> = {
  home: ['/console'],
  payments: ['/console/payments'],
  people: ['/console/people'],
  screening: ['/console/screening'],
  proof: [
    '/console/proofs',
    async (page) => {
      await page.click('td button:has-text("Show and check")')
      await page.waitForSelector('dialog .findings li')
    },
  ],
  log: ['/console/log'],
  exports: ['/console/exports'],
  agents: ['/console/agents'],
  team: ['/console/team'],
  organisations: ['/console/organisations'],
}

const lists = mkdtempSync(join(tmpdir(), 'assay-pictures-'))
writeFileSync(join(lists, 'kept.ftm.json'), listedText([LISTED]))
const app = await startTestApp({ env: { AML_LISTS: lists } })
const browser = await launchChromium()
try {
  const { adminKey: key } = app
  await connect(app, key)
  await sellSomething(app, key)
  await checkSomebody(app, key)
  await proveSomething(app, key)
  const { invitation } = await ok<{ invitation: string }>(app, 'POST', '/console/api/invitations', {
    key,
    body: { email: OWNER.email, role: 'owner' },
  })
  await ok(app, 'POST', '/console/api/invitations/accept', {
    body: { invitation, password: OWNER.password },
  })
  const { headers } = await signIn(app, OWNER)
  await ok(app, 'POST', '/console/api/keys', { headers, body: { label: 'web shop', scopes: ['verify'] } })
  const context = await browser.newContext({
    viewport: VIEWPORT,
    locale: 'en-GB',
    colorScheme: PICTURES_OF === 'dark' ? 'dark' : 'light',
  })
  const page = await context.newPage()
  await page.goto(`${app.url}/console`)
  await signInOn(page, OWNER)
  await page.waitForSelector('.sidebar')
  mkdirSync(folder, { recursive: true })
  for (const [name, [path, prepare]] of Object.entries(PICTURES)) {
    await page.goto(app.url + path)
    await page.waitForSelector('.sidebar')
    await settledOn(page)
    await prepare?.(page)
    await page.screenshot({ path: join(folder, `console-${name}.png`) })
    console.log(`console-${name}.png`)
  }
} finally {
  await browser.close()
  await app.close()
  rmSync(lists, { recursive: true })
}
process.exit()
