/** The holder's page as somebody uses it, with an issuer and an asker, and a record of all that browsers send. */
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import type { Credential } from '../../src/circuits/credential.ts'
import type { ChallengeMade, ChallengeTold } from '../../src/domain/proofs/challenges/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from './app.ts'
import { ok } from './client.ts'
import { ANNA } from './domain/kyc.ts'
import { AGE_QUESTION, challengeRoutesOf } from './domain/presentations.ts'
import { type RecordingRelay, startRecordingRelay } from './servers/recording-relay.ts'

export const PASSPHRASE = 'correct horse battery staple'
/** A key is derived and a proof made, on whatever machine this is. */
export const PATIENCE_MS = 120_000

export interface Parties {
  readonly app: TestApp
  /** Browsers reach the service through it. */
  readonly relay: RecordingRelay
  readonly issuer: TestOrganisation
  readonly asker: TestOrganisation
  /** Checks somebody, as the issuer. */
  issue(userId: string, holder: string | undefined): Promise<{ readonly credential: Credential }>
  /** Asks for an age, as the asker. */
  ask(changes?: object): Promise<ChallengeMade>
  told(challengeId: string): Promise<ChallengeTold>
  close(): Promise<void>
}

/** @param shiftMs how far the service's clock is ahead */
export const startParties = async (shiftMs: () => number = () => 0): Promise<Parties> => {
  const relay = await startRecordingRelay()
  const clock = { now: () => Date.now() + shiftMs() }
  const app = await startTestApp({ env: { BASE_URL: relay.url }, clock })
  relay.leadTo(Number(new URL(app.url).port))
  const [issuer, asker] = [await app.organisation(), await app.organisation()]
  const challenges = challengeRoutesOf(app, asker.apiKey)
  return {
    app,
    relay,
    issuer,
    asker,
    issue: (userId, holder) =>
      ok(app, 'POST', '/api/kyc/verify', { key: issuer.apiKey, body: { userId, data: ANNA, holder } }),
    ask: (changes = {}) =>
      challenges.asked({ ...AGE_QUESTION, issuers: [issuer.organisationId], ...changes }),
    told: async (id) => (await challenges.find(id)).body,
    async close() {
      await relay.close()
      await app.close()
    },
  }
}

/** Creates a secret for the issuer. @returns its commitment */
export const createHolderOn = async (
  page: Page,
  { issuer: { organisationId } }: Parties,
): Promise<string> => {
  await page.click('#create-box summary')
  await page.fill('#create-organisation', organisationId)
  await page.fill('#create-passphrase', PASSPHRASE)
  await page.fill('#create-again', PASSPHRASE)
  await page.click('#create button')
  return page.innerText(`[data-organisation="${organisationId}"] .commitment`)
}

/** Adds what an issuer gave. @param count how many there are then */
export const addCredentialOn = async (page: Page, text: string, count = 1): Promise<void> => {
  if (!(await page.isVisible('#add-text'))) await page.click('#add-box summary')
  await page.fill('#add-text', text)
  await page.click('#add button')
  await page.waitForFunction((n) => document.querySelectorAll('#holders ul li').length === n, count)
}

/** Somebody gets a credential, on the page that shows that nothing is kept. */
export const settleOn = async (
  page: Page,
  parties: Parties,
  userId = `anna-${randomUUID()}`,
): Promise<{ readonly userId: string; readonly credential: Credential }> => {
  const answer = await parties.issue(userId, await createHolderOn(page, parties))
  await addCredentialOn(page, JSON.stringify(answer))
  return { userId, credential: answer.credential }
}

/** Opens what is kept, at an address. */
export const unlockOn = async (page: Page, address: string): Promise<void> => {
  await page.goto(address)
  await page.waitForSelector('#unlock:not([hidden])')
  await page.fill('#unlock-passphrase', PASSPHRASE)
  await page.click('#unlock button')
  await page.waitForSelector('#lock:not([hidden])')
}

/** Proves and sends. @returns what the page says of it */
export const sendOn = async (page: Page): Promise<string> => {
  await page.waitForSelector('#send:not([aria-disabled])')
  await page.click('#send')
  await page.waitForSelector('#told .word')
  return page.innerText('#told')
}

/** What the browser keeps of the issuer's: a JWE. */
export const keptOn = (page: Page, { issuer }: Parties): Promise<string> =>
  page.evaluate((key) => localStorage.getItem(key) ?? '', `assay/holder/${issuer.organisationId}`)
