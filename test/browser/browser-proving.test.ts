/** `assay/proving` in a page of another origin: it fetches a circuit's files, proves, verifies, and the server agrees. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import type { OfflinePaymentStatement, ProofVerdict, Proved } from '../../src/circuits/proving/proving.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { asking } from '../support/circuits/circuit-questions.ts'
import { terminalTill } from '../support/domain/tills.ts'
import { rejection } from '../support/rejection.ts'

const FILES: Readonly<Record<string, { file: string; type: string }>> = {
  '/': { file: join(import.meta.dirname, 'proving-page.html'), type: 'text/html' },
  '/proving-page.js': { file: join(import.meta.dirname, 'proving-page.js'), type: 'text/javascript' },
  '/proving.js': { file: join(import.meta.dirname, '../../build/proving.js'), type: 'text/javascript' },
}
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src *"

/** What proving-page.js puts into the page. */
interface PageScope {
  isReady?: boolean
  provePayment(
    claim: OfflinePaymentStatement,
  ): Promise<Proved & { verdict: ProofVerdict; altered: ProofVerdict }>
}

const prove = (page: Page, claim: OfflinePaymentStatement) =>
  page.evaluate((given) => (globalThis as typeof globalThis & PageScope).provePayment(given), claim)

describe('proofs in Chromium', () => {
  let browser: Browser
  let app: TestApp
  let owner: TestOrganisation
  let pages: Server
  let page: Page

  before(async () => {
    pages = createServer(async (request, response) => {
      const found = FILES[request.url ?? '']
      if (!found) {
        response.writeHead(404).end()
        return
      }
      response
        .writeHead(200, { 'content-type': found.type, 'content-security-policy': POLICY })
        .end(await readFile(found.file))
    }).listen(0, '127.0.0.1')
    await once(pages, 'listening')
    const address = pages.address()
    ;[browser, app] = await Promise.all([launchChromium(), startTestApp()])
    owner = await app.organisation()
    page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`)
    await page.waitForFunction(() => (globalThis as typeof globalThis & PageScope).isReady)
  })
  after(async () => {
    await browser?.close()
    await app?.close()
    pages.close()
    pages.closeAllConnections()
  })

  const claim = async (): Promise<OfflinePaymentStatement> => {
    const till = await terminalTill(app, owner)
    const { proofData, timestamp, ...made } = till.payment({ at: Date.now() - 500 })
    expect((await till.sync([{ ...made, proofData, timestamp }])).body.synced).to.equal(1)
    return {
      payment: { ...made, proof: proofData, timestamp: Number(timestamp) },
      terminalSecret: till.terminalSecret ?? '',
      baseUrl: app.url,
      organisationId: owner.organisationId,
      merchantId: till.merchantId,
      limit: 50,
    }
  }

  it("shows a terminal's payment under a strict content security policy, and the server accepts it", async () => {
    const { proof, publicSignals, verdict, altered } = await prove(page, await claim())
    expect(verdict).to.deep.equal({ valid: true })
    expect(altered).to.deep.equal({ valid: false, reason: 'PROOF_INVALID' })
    const { status, body } = await asking(app, 'offline-validation')(owner.apiKey, {
      proof,
      publicInputs: publicSignals,
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.deep.include({ offline_valid: true, reasonCodes: [] })
  })

  it('are not made of a payment above its limit', async () => {
    const error = await rejection(prove(page, { ...(await claim()), limit: 1 }))
    expect(error.message).to.contain('RangeError: amount must be from 0 to 100')
  })
})
