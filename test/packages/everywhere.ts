/**
 * `npm run test:packages`: what READMEs of packages begin with, in the oldest Node that we support, in the newest, in Deno, in Bun, and built by Vite
 * in Chromium, in a page and in a worker of it; and the server in both Nodes. It installs them from the registry, so it is no part of the suite.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { expect } from 'chai'
import { LIBRARIES } from '../../src/bin/packages/table.ts'
import { sharedApp } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { clientOf } from '../support/client.ts'
import { STARTS } from '../support/package-starts.ts'
import { createProject, makePackages, type Project, run } from '../support/packages.ts'
import { json, startTargetServer } from '../support/servers/target-server.ts'

/** As the registry has them, and where they are then. */
const NODES = {
  'Node 20.19.0': ['node-oldest@npm:node@20.19.0', 'node_modules/node-oldest/bin/node'],
  'the newest Node': ['node@latest', 'node_modules/node/bin/node'],
} as const
const NODE_PACKAGES = Object.values(NODES).map(([name]) => name)
const RUNTIMES: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  ...Object.fromEntries(Object.entries(NODES).map(([name, [, program]]) => [name, [program]])),
  Deno: ['node_modules/deno/deno', 'run', '--quiet', '--allow-all', '--node-modules-dir=manual'],
  Bun: ['node_modules/bun/bin/bun.exe', 'run'],
}
const skipped = new Set<string>()
after(() => {
  for (const runtime of skipped)
    console.log(`\n  !! The registry has no ${runtime} for this machine: it was NOT TRIED.`)
})

/** @returns where a runtime is; skips the test where the registry has none for this machine, which is said at the end of the run */
const findRuntime = (context: Mocha.Context, directory: string, runtime: string, file: string): string => {
  const program = join(directory, file)
  if (existsSync(program)) return program
  skipped.add(runtime)
  return context.skip()
}

/** Before a program in a worker: what it prints, its page prints. */
const TO_PAGE = "console.log = (...parts) => postMessage(parts.join(' '))"
/** After a program in a page. */
const START_WORKER = `
console.log('WORKER')
const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
worker.onmessage = ({ data }) => console.log(data)
worker.onerror = ({ message }) => { throw new Error(message) }`
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

describe('packages everywhere', () => {
  let project: Project
  before(async () => {
    await makePackages()
    project = await createProject(
      LIBRARIES.map(({ suffix }) => `assay${suffix}`),
      [...NODE_PACKAGES, 'deno@latest', 'bun@latest', 'vite@latest'],
    )
  })
  after(() => project?.remove())

  for (const [runtime, [command, ...args]] of Object.entries(RUNTIMES))
    for (const [name, start] of Object.entries(STARTS))
      it(`${name} in ${runtime}`, async function () {
        const program = findRuntime(this, project.directory, runtime, command)
        const version = (await run(project.directory, program, '--version')).split('\n')[0]
        const { program: text, prints } = await start(await sharedApp())
        await project.write('start.js', text)
        expect(await project.run(program, ...args, 'start.js')).to.match(prints)
        console.log(`      ${version}`)
      })

  for (const [name, start] of Object.entries(STARTS))
    it(`${name}, built by Vite, in Chromium, in a page and in a worker of it`, async () => {
      const app = await sharedApp()
      const { inBrowser, prints } = await start(app)
      const { inBrowser: inWorker } = await start(app)
      await mkdir(join(project.directory, 'src'), { recursive: true })
      await project.write('index.html', '<!doctype html><script type="module" src="/src/main.js"></script>')
      // Programs that wait at their top level are modules.
      await project.write('vite.config.js', "export default { worker: { format: 'es' } }")
      await project.write('src/main.js', `${inBrowser}\n${START_WORKER}`)
      await project.write('src/worker.js', `${TO_PAGE}\n${inWorker}\nconsole.log('END')`)
      await project.run(
        'npx',
        'vite',
        'build',
        '--logLevel',
        'warn',
        '--base',
        '/project/',
        '--target',
        'es2022',
      )
      const browser = await launchChromium()
      try {
        const page = await browser.newPage()
        let printed = ''
        // On the service's own address, so that the page may ask it.
        await page.route(`${app.url}/project/**`, async (route) => {
          const path = new URL(route.request().url()).pathname.slice('/project/'.length)
          const contentType = TYPES[extname(path)] ?? 'text/plain'
          await route.fulfill({ contentType, body: await readFile(join(project.directory, 'dist', path)) })
        })
        const ended = new Promise<void>((resolve, reject) => {
          page.on('console', (message) => {
            if (message.text() === 'END') resolve()
            else if (message.type() === 'log') printed += `${message.text()}\n`
          })
          page.on('pageerror', reject)
        })
        await page.goto(`${app.url}/project/index.html`)
        await ended
        const [byPage, byWorker] = printed.split('WORKER\n')
        expect(byPage).to.match(prints)
        expect(byWorker).to.match(prints)
      } finally {
        await browser.close()
      }
    })
})

/** Of all files, as they are counted in the registry; a disk's blocks make it some 20 % more. */
const MAX_INSTALLED_MB = 135
/** Of the processor, until it serves: what a first start takes is this, on as many cores as there are and are free. */
const MAX_FIRST_START_CPU_S = 4.5
const TICKS_PER_SECOND = 100

/** Bytes of all files below a directory. */
const bytesBelow = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Seconds of the processor that a process took until now (proc(5): utime and stime); undefined where the system doesn't tell. */
const processorSeconds = async (pid: number | undefined): Promise<number | undefined> => {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  const [user, system] = line?.split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
  return user === undefined || system === undefined ? undefined : (user + system) / TICKS_PER_SECOND
}

describe('the package assay', () => {
  let project: Project
  /** Beside it, since what it needs is counted. */
  let nodes: Project
  before(async () => {
    project = await createProject(['assay'], ['--ignore-scripts'])
    nodes = await createProject([], NODE_PACKAGES)
  })
  after(async () => {
    await project?.remove()
    await nodes?.remove()
  })

  const startIn = async (directory: string, node: string, env: Readonly<Record<string, string>> = {}) => {
    const started = performance.now()
    const server = spawn(node, [join(project.directory, 'node_modules/.bin/assay'), 'serve'], {
      cwd: directory,
      env: { ...process.env, PORT: '0', DATABASE_URL: '', REDIS_URL: '', LOG_LEVEL: 'silent', ...env },
    })
    const stopped = once(server, 'exit')
    let errors = ''
    server.stderr.on('data', (part) => {
      errors += part
    })
    const printed = await new Promise<string>((resolve, reject) => {
      let text = ''
      // It is read to its end: a server whose output nobody takes has not stopped in order.
      server.stdout.on('data', (part) => {
        text += part
        if (text.includes('Admin key')) resolve(text)
      })
      stopped.then(() => reject(new Error(`it did not start: ${errors}`)))
    })
    const wall = (performance.now() - started) / 1000
    const processor = await processorSeconds(server.pid)
    const [, url = ''] = /listening on (\S+)/.exec(printed) ?? []
    return { server, stopped, url, wall, processor }
  }

  it(`is installed without a compiler, in at most ${MAX_INSTALLED_MB} MB`, async () => {
    const megabytes = (await bytesBelow(join(project.directory, 'node_modules'))) / 1e6
    console.log(`      ${megabytes.toFixed(1)} MB`)
    expect(megabytes).to.be.at.most(MAX_INSTALLED_MB)
  })

  it('serves, proves, answers agents, tells a collector, and stops', async () => {
    const collector = await startTargetServer()
    for (const signal of ['traces', 'metrics']) collector.on(`/v1/${signal}`, json({}))
    try {
      const { directory } = project
      const { server, stopped, url, wall, processor } = await startIn(directory, process.execPath, {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      })
      try {
        console.log(`      listening after ${wall.toFixed(1)} s, ${processor} s of the processor`)
        if (processor !== undefined) expect(processor).to.be.at.most(MAX_FIRST_START_CPU_S)
        const key = (await readFile(join(project.directory, 'data/admin.key'), 'utf8')).trim()
        const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
        const client = clientOf(url)
        const result = await client.request<{ decision: string }>('POST', '/verify', { key, body })
        expect(result.body.decision).to.equal('YES')
        expect((await client.request('GET', '/docs')).status).to.equal(200)
        const asked = await client.request<string>('POST', '/mcp', {
          headers: { Accept: 'application/json, text/event-stream' },
          body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
        })
        expect(asked.status, JSON.stringify(asked.body)).to.equal(200)
        expect(JSON.stringify(asked.body)).to.include('inputSchema')
      } finally {
        server.kill('SIGTERM')
      }
      expect((await stopped)[0]).to.equal(0)
      const told = collector.requests.map(({ path }) => path)
      expect(told).to.include.members(['/v1/traces', '/v1/metrics'])
    } finally {
      await collector.close()
    }
  })

  for (const [runtime, [, file]] of Object.entries(NODES))
    it(`serves and proves in ${runtime}`, async function () {
      const node = findRuntime(this, nodes.directory, runtime, file)
      const directory = await mkdtemp(join(nodes.directory, 'server-'))
      const { server, stopped, url } = await startIn(directory, node)
      try {
        const key = (await readFile(join(directory, 'data/admin.key'), 'utf8')).trim()
        const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
        const result = await clientOf(url).request<{ proof: string }>('POST', '/verify', { key, body })
        expect(result.body.proof).to.match(/^zk1\./)
      } finally {
        server.kill('SIGTERM')
      }
      expect((await stopped)[0]).to.equal(0)
      console.log(`      ${(await run(directory, node, '--version')).trim()}`)
    })
})
