/** The proxy of compose.yaml: its Caddyfile, read and run by Caddy before servers of the test. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { sharedApp, type TestApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { demandCaddy } from '../support/outside-programs.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { freePort } from '../support/servers/server-process.ts'
import { json, startTargetServer, type TargetServer } from '../support/servers/target-server.ts'
import { read } from '../support/sources.ts'

const CADDYFILE = 'deploy/proxy/Caddyfile'

onEmbedded.describe('the proxy', function () {
  this.timeout(60_000)
  let app: TestApp
  /** In the place of the second server, which is not ready. */
  let other: TargetServer
  let folder: string
  let proxy: ChildProcess | undefined
  let url: string
  before(async function () {
    demandCaddy(this)
    app = await sharedApp()
    other = await startTargetServer()
    other.on('/health/ready', json({}, 503))
    other.on('/api/prompts/daily', json({ by: 'the other' }))
    folder = mkdtempSync(join(tmpdir(), 'assay-proxy-'))
    url = `http://127.0.0.1:${await freePort()}`
    const servers = [app.url, other.url].map((one) => new URL(one).host)
    const text = read(CADDYFILE)
      .replace(':80 {', `${url} {`)
      .replace('assay-1:8080 assay-2:8080', servers.join(' '))
    const file = join(folder, 'Caddyfile')
    writeFileSync(file, `{\n\tadmin off\n}\n${text}`)
    const env = { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    proxy = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], { env, stdio: 'ignore' })
    const isUp = () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    const asked = () => other.requests.filter(({ path }) => path === '/health/ready').length
    // What it made of the first answer holds by the time that it asks again.
    await eventually('the proxy', async () => (await isUp()) && asked() > 1, { pauseMs: 50 })
  })
  after(async () => {
    if (proxy?.kill()) await once(proxy, 'exit')
    await other?.close()
    if (folder) rmSync(folder, { recursive: true })
  })

  it('has a file that Caddy takes, written as Caddy writes it', () => {
    execFileSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', CADDYFILE], { stdio: 'pipe' })
    expect(execFileSync('caddy', ['fmt', CADDYFILE], { encoding: 'utf8' })).to.equal(read(CADDYFILE))
  })

  it('keeps metrics inside, and everything from a server that is not ready', async () => {
    expect((await fetch(`${app.url}/metrics`)).status).to.equal(200)
    expect((await fetch(`${url}/metrics`)).status).to.equal(404)
    const before = other.requests.length
    for (let i = 0; i < 20; i++) expect((await fetch(`${url}/api/prompts/daily`)).status).to.equal(200)
    const asked = other.requests.slice(before).filter(({ path }) => path !== '/health/ready')
    expect(asked).to.deep.equal([])
  })

  it('passes streams on as they come', async () => {
    const stop = new AbortController()
    const { body } = await fetch(`${url}/api/stream?since=0`, { signal: stop.signal })
    const first = await body?.getReader().read()
    expect(new TextDecoder().decode(first?.value)).to.match(/^(retry|event|id|:)/)
    stop.abort()
  })

  it('gives a server requests once it is ready, and says who calls, whatever the caller says', async () => {
    other.on('/health/ready', json({}))
    const seen = () => other.requests.find(({ path }) => path === '/api/prompts/daily')
    const ask = async () => {
      await fetch(`${url}/api/prompts/daily`, { headers: { 'X-Forwarded-For': '203.0.113.9' } })
      return seen() !== undefined
    }
    await eventually('a request to the other server', ask, { pauseMs: 50 })
    expect(seen()?.headers['x-forwarded-for']).to.equal('127.0.0.1')
  })
})
