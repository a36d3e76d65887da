/** The server as a whole: starting, what it prints and keeps, closing. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadConfig } from '../../src/config/config.ts'
import { SealingError } from '../../src/keys/sealing.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { sharedApp, startTestApp } from '../support/app.ts'
import { clientOf, isSuccess, ok } from '../support/client.ts'
import { NODE_FLAGS } from '../support/programs.ts'
import { startBreakingProxy } from '../support/servers/breaking-proxy.ts'
import { createScratchDatabase } from '../support/servers/scratch-database.ts'
import { freePort } from '../support/servers/server-process.ts'

/** As it is built and shipped. */
const PROGRAM = join(import.meta.dirname, '../../build/server.js')
/** Empty, or Node would pass the parent's on: the bundle says little of which sources ran. */
const NODE_V8_COVERAGE = ''
const CONTROL_C = '\x03'

/** Starts the program. */
const launch = (env: Record<string, string>) => {
  const child: ChildProcess = spawn(process.execPath, [...NODE_FLAGS, PROGRAM], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_V8_COVERAGE,
      LOG_LEVEL: 'silent',
      PORT: '0',
      PROVER_TABLE_MB: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  const ended = once(child, 'exit').then(([code]: unknown[]) => code)
  const ready = new Promise<void>((resolve) => {
    const read = (text: unknown) => {
      printed += String(text)
      if (printed.includes('Try it:')) resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
  })
  return {
    printed: () => printed,
    /** Once it is ready or has ended. */
    settled: Promise.race([ready, ended]),
    ended,
    /** Waits until it has printed this. */
    says: async (text: string) => {
      while (child.stdout !== null && !printed.includes(text)) await once(child.stdout, 'data')
    },
    stop: (signal: NodeJS.Signals = 'SIGTERM') => {
      child.kill(signal)
      return ended
    },
  }
}

/** Runs the program until it is ready or ends. */
const run = async (env: Record<string, string>) => {
  const program = launch(env)
  await program.settled
  return { ...program, url: /listening on (\S+)/.exec(program.printed())?.[1] ?? '' }
}

const me = async (url: string, key: string): Promise<number> =>
  (await clientOf(url).request('GET', '/console/api/me', { key })).status

describe('server', () => {
  let folder: string
  const running: RunningServer[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-server-'))
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()))
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (env: Record<string, string> = {}) => {
    const server = await startServer(loadConfig({ PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: folder, ...env }))
    running.push(server)
    return server
  }

  describe('as a program', () => {
    it('prints address, place of data and, on the first start only, where the admin key is; ends in order', async () => {
      const first = await run({ DATA_DIR: folder })
      const key = readFileSync(join(folder, 'admin.key'), 'utf8').trim()
      expect(first.url).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
      expect(first.printed()).to.contain(`Data: ${folder}`)
      expect(key).to.match(/^ak_live_[0-9A-Za-z]{49}$/)
      // What isn't a terminal may be a log.
      expect(first.printed()).to.contain(`Admin key: kept in ${join(folder, 'admin.key')}\n`)
      expect(first.printed()).to.not.contain('ak_live_')
      for (const name of ['admin.key', 'master.key']) {
        expect(statSync(join(folder, name)).mode & 0o777, name).to.equal(0o600)
      }
      expect(await me(first.url, key)).to.equal(200)
      expect(await first.stop('SIGTERM')).to.equal(0)

      const second = await run({ DATA_DIR: folder })
      expect(second.printed()).to.not.contain('Admin key')
      expect(await me(second.url, key)).to.equal(200)
      expect(await second.stop('SIGINT')).to.equal(0)
    })

    it('shows the admin key on a terminal, and elsewhere none, even where it is kept nowhere', async function () {
      if (spawnSync('script', ['--version']).status !== 0) {
        console.log('      SKIPPED: script is not installed (apt-get install bsdutils)')
        return this.skip()
      }
      // Gives the program a terminal of its own.
      const child = spawn('script', ['-qefc', `exec "${process.execPath}" "${PROGRAM}"`, '/dev/null'], {
        env: {
          ...process.env,
          ...{ NODE_V8_COVERAGE, LOG_LEVEL: 'silent', PORT: '0', DATA_DIR: folder },
          ...{ DATABASE_URL: '', REDIS_URL: '' },
        },
      })
      const ended = once(child, 'exit')
      let printed = ''
      child.stdout.on('data', (text) => {
        printed += String(text)
      })
      while (!printed.includes('Try it:')) await once(child.stdout, 'data')
      child.stdin.write(CONTROL_C)
      expect((await ended)[0]).to.equal(0)
      const key = readFileSync(join(folder, 'admin.key'), 'utf8').trim()
      expect(printed).to.match(/Admin key \(shown this once, kept in .*admin\.key\): ak_live_/)
      expect(printed).to.contain(key)
      const unkept = await run({ DATA_DIR: 'memory' })
      expect(unkept.printed()).to.contain('set ADMIN_API_KEY').and.not.contain('ak_live_')
      expect(await unkept.stop()).to.equal(0)
    })

    it('says what is wrong in one line and exits with 1', async () => {
      const occupied = createServer().listen(0, '127.0.0.1')
      await once(occupied, 'listening')
      const address = occupied.address()
      const port = address !== null && typeof address === 'object' ? String(address.port) : ''
      const cases: [Record<string, string>, RegExp][] = [
        [{ PORT: port, DATA_DIR: 'memory' }, new RegExp(`could not start. PORT ${port} .* is in use`)],
        [{ DATABASE_URL: 'postgres://127.0.0.1/assay' }, /could not start. MASTER_KEY must be set/],
        [{ DATA_DIR: '/proc/nope' }, /could not start. DATA_DIR must be a directory that can be written to/],
        [
          { DATA_DIR: '/proc/nope', MASTER_KEY: 'ab'.repeat(32), ADMIN_API_KEY: 'chosen-by-the-operator' },
          /could not start. DATA_DIR must be a directory that can be written to/,
        ],
        [
          { DATA_DIR: `${PROGRAM}/data` },
          /could not start. DATA_DIR must be a directory that can be written to/,
        ],
        [{ LOG_LEVEL: 'loud' }, /could not start. LOG_LEVEL must be one of/],
        [
          { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/assay', MASTER_KEY: 'ab'.repeat(32) },
          /could not start. DATABASE_URL names 127.0.0.1:1, which can't be used: connect ECONNREFUSED/,
        ],
      ]
      try {
        await Promise.all(
          cases.map(async ([env, message]) => {
            const { ended, printed } = await run(env)
            expect(await ended).to.equal(1)
            expect(printed()).to.match(message)
            expect(printed().trim().split('\n')).to.have.length(1)
            expect(printed()).to.not.contain('hunter2')
          }),
        )
      } finally {
        occupied.close()
      }
    })
  })

  it('stops in order within 10 s, whatever a client that never finishes and more signals do', async () => {
    const { url, says, stop } = await run({ DATA_DIR: folder })
    const { port } = new URL(url)
    const stuck = connect(Number(port), '127.0.0.1').on('error', () => undefined)
    stuck.write('POST /console/api/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    stuck.write('Content-Length: 100\r\n\r\n{')
    // A request of its own, answered after the other has arrived.
    await clientOf(url).request('GET', '/health/live')
    const stoppedAt = performance.now()
    const ended = stop()
    await says('SIGTERM: finishing')
    await Promise.all([stop('SIGTERM'), stop('SIGINT')])
    expect(await ended).to.equal(0)
    expect(performance.now() - stoppedAt).to.be.below(10_000)
    stuck.destroy()
  })

  it('stops in order at a signal that comes while it starts', async () => {
    const port = String(await freePort())
    const { stop } = launch({ DATA_DIR: 'memory', PORT: port })
    const isAlive = () =>
      clientOf(`http://127.0.0.1:${port}`)
        .request('GET', '/health/live')
        .then(isSuccess, () => false)
    // It listens long before it is ready.
    while (!(await isAlive())) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await stop()).to.equal(0)
  })

  describe('admin key', () => {
    it('that was revoked stays revoked, whatever the next starts are told', async () => {
      const ADMIN_API_KEY = 'chosen-by-the-operator'
      const first = await start({ ADMIN_API_KEY })
      expect(first.services.generatedAdminKey).to.equal(undefined)
      expect(existsSync(join(folder, 'admin.key'))).to.equal(false)
      const client = clientOf(first.url)
      const key = ADMIN_API_KEY
      const { keys } = await ok<{ keys: { keyId: string }[] }>(client, 'GET', '/console/api/keys', { key })
      await ok(client, 'DELETE', `/console/api/keys/${keys[0]?.keyId}`, { key })
      expect(await me(first.url, ADMIN_API_KEY)).to.equal(401)
      await first.close()

      const second = await start({ ADMIN_API_KEY })
      expect(await me(second.url, ADMIN_API_KEY)).to.equal(401)
      await second.close()
      const third = await start()
      expect(third.services.generatedAdminKey).to.equal(undefined)
    })

    it('that is chosen later works beside the generated one', async () => {
      const first = await start()
      const generated = first.services.generatedAdminKey ?? ''
      await first.close()
      const second = await start({ ADMIN_API_KEY: 'chosen-by-the-operator' })
      expect(await me(second.url, 'chosen-by-the-operator')).to.equal(200)
      expect(await me(second.url, generated)).to.equal(200)
    })
  })

  it('refuses a database that was sealed under another master key', async () => {
    const first = await start({ MASTER_KEY: '11'.repeat(32) })
    await first.close()
    const failure = await start({ MASTER_KEY: '22'.repeat(32) }).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(SealingError)
    const again = await start({ MASTER_KEY: '11'.repeat(32) })
    expect((await clientOf(again.url).request('GET', '/health')).status).to.equal(200)
  })

  it('answers probes while it starts: alive, not ready', async () => {
    const port = String(await freePort())
    let started = false
    const server = start({ PORT: port, DATA_DIR: 'memory' }).finally(() => {
      started = true
    })
    const url = `http://127.0.0.1:${port}`
    const probe = async (path: string) => {
      const { status, body } = await clientOf(url).request('GET', path)
      return { status, body }
    }
    try {
      // It listens before the database is opened, so these are answered meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 20))
      const [live, ready, other] = await Promise.all(
        ['/health/live', '/health/ready', '/v1/metrics'].map(probe),
      )
      expect(started).to.equal(false)
      expect(live).to.deep.equal({ status: 200, body: { live: true } })
      expect(ready).to.deep.equal({ status: 503, body: { ready: false } })
      expect(other?.status).to.equal(503)
      expect(other?.body).to.include({ error: 'unavailable', retry_after: 2 })
    } finally {
      await server
    }
    expect(await probe('/health/ready')).to.deep.equal({ status: 200, body: { ready: true } })
  })

  it('calls itself by the port that was picked, or by BASE_URL', async () => {
    const app = await sharedApp()
    const servers = async (server: { url: string }) => {
      const document = await ok<{ servers: { url: string }[] }>(
        clientOf(server.url),
        'GET',
        '/v1/openapi.json',
      )
      return document.servers.map(({ url }) => url)
    }
    expect(await servers(app)).to.deep.equal([app.url])
    const named = await start({ BASE_URL: 'https://assay.example', DATA_DIR: 'memory' })
    expect(await servers(named)).to.deep.equal(['https://assay.example'])
  })

  it('marks its cookie Secure when it is reached over HTTPS', async () => {
    const app = await startTestApp({ env: { BASE_URL: 'https://assay.example' } })
    try {
      const account = { email: 'ada@shop.example', password: 'correct horse battery' }
      await app.request('POST', '/console/api/accounts', { body: { ...account, organisation: 'Shop' } })
      const { headers } = await app.request('POST', '/console/api/session', { body: account })
      expect(headers.get('set-cookie')).to.match(/; Secure$/)
    } finally {
      await app.close()
    }
  })

  it('shows metrics to everybody, unless METRICS_TOKEN closes them', async () => {
    const open = await sharedApp()
    expect((await open.request('GET', '/metrics')).status).to.equal(200)
    const closed = await startTestApp({ env: { METRICS_TOKEN: 'scrape' } })
    try {
      const { apiKey } = await closed.organisation()
      const narrow = await closed.request<{ apiKey: string }>('POST', '/console/api/keys', {
        key: apiKey,
        body: { scopes: ['verify'] },
      })
      const status = async (bearer?: string) => (await closed.request('GET', '/metrics', { bearer })).status
      expect(await status()).to.equal(401)
      expect(await status('scrapf')).to.equal(401)
      expect(await status(narrow.body.apiKey)).to.equal(403)
      expect(await status('scrape')).to.equal(200)
      expect(await status(apiKey)).to.equal(200)
    } finally {
      await closed.close()
    }
  })

  it('finishes requests that are open when it closes, then accepts no more', async () => {
    const app = await startTestApp()
    const { apiKey } = await app.organisation()
    const body = JSON.stringify({ label: 'till' })
    const open = request(`${app.url}/console/api/terminals`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    })
    open.flushHeaders()
    // The server has the request, and waits for its body.
    await once(open, 'continue')
    const closed = app.close()
    open.end(body)
    const [response] = (await once(open, 'response')) as [IncomingMessage]
    response.resume()
    expect(response.statusCode).to.equal(201)
    await closed
    const refused = await app.request('GET', '/health/live').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Error)
  })

  it('answers 503 while PostgreSQL is away', async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) return this.skip()
    const scratch = await createScratchDatabase(DATABASE_URL)
    const proxy = await startBreakingProxy(scratch.url)
    try {
      const { url } = await start({
        DATABASE_URL: proxy.url,
        MASTER_KEY: 'ab'.repeat(32),
        ADMIN_API_KEY: 'chosen-by-the-operator',
      })
      await proxy.close()
      for (const path of ['/console/api/me', '/console/api/keys']) {
        const answer = await clientOf(url).request('GET', path, { key: 'chosen-by-the-operator' })
        expect(answer.status, path).to.equal(503)
        expect(answer.headers.get('retry-after')).to.equal('1')
        expect(answer.body).to.include({ error: 'unavailable' })
      }
    } finally {
      await Promise.all(running.splice(0).map((server) => server.close()))
      await scratch.drop()
    }
  })

  it('shares one database with others: keys hold everywhere, revocations within a second', async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) return this.skip()
    const scratch = await createScratchDatabase(DATABASE_URL)
    try {
      const env = {
        DATABASE_URL: scratch.url,
        MASTER_KEY: randomBytes(32).toString('hex'),
        ADMIN_API_KEY: 'chosen-by-the-operator',
      }
      const [one, two] = await Promise.all([start(env), start(env)])
      const [client, key] = [clientOf(one.url), env.ADMIN_API_KEY]
      const { apiKey, keyId } = await ok<{ apiKey: string; keyId: string }>(
        client,
        'POST',
        '/console/api/keys',
        {
          key,
          body: { label: 'shared' },
        },
      )
      expect([await me(one.url, apiKey), await me(two.url, apiKey)]).to.deep.equal([200, 200])
      await ok(client, 'DELETE', `/console/api/keys/${keyId}`, { key })
      await new Promise((resolve) => setTimeout(resolve, 1050))
      expect([await me(one.url, apiKey), await me(two.url, apiKey)]).to.deep.equal([401, 401])
      const sets = await Promise.all([one, two].map(({ services }) => services.signers.jwks()))
      expect(sets[0]).to.deep.equal(sets[1])
      expect(sets[0]?.keys).to.have.length(15)
    } finally {
      await Promise.all(running.splice(0).map((server) => server.close()))
      await scratch.drop()
    }
  })
})
