/** The official conformance suite against the real server, in both eras of the protocol. */
import { join } from 'node:path'
import { expect } from 'chai'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { runConformance } from '../../support/chat/mcp-conformance.ts'
import { onEmbedded } from '../../support/servers/database.ts'

/** Each entry with its reason. */
const EXPECTED_FAILURES = join(import.meta.dirname, '../../vectors/mcp-expected-failures.yaml')

/** Scenarios that need no tool of the suite's own: these must pass whole. The last one is run without being scored. */
const PASSED: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'resources-list',
    'prompts-list',
    'sep-2164-resource-not-found',
    'dns-rebinding-protection',
    'caching',
    'input-required-result-unsupported-methods',
    'http-header-validation',
  ],
}

onEmbedded.describe('the MCP conformance suite', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  for (const [revision, scenarios] of Object.entries(PASSED)) {
    it(`finds nothing wrong in revision ${revision} but what is listed with its reason`, async () => {
      const { status, output } = await runConformance(`${app.url}/mcp`, revision, EXPECTED_FAILURES)
      expect(status, output).to.equal(0)
      for (const scenario of scenarios)
        expect(output).to.match(new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`))
    })
  }

  it('notices what is not listed, and a path that speaks no MCP', async () => {
    const unlisted = await runConformance(`${app.url}/mcp`, '2025-11-25')
    expect(unlisted.status).to.equal(1)
    expect(unlisted.output).to.include('✗ tools-call-simple-text')
    const elsewhere = await runConformance(`${app.url}/api/messages`, '2025-11-25', EXPECTED_FAILURES)
    expect(elsewhere.status).to.equal(1)
    expect(elsewhere.output).to.include('✗ server-initialize')
  })
})
