/**
 * What READMEs of packages begin with, in the oldest Node that we support, in the newest, in Deno, in Bun, and built by Vite in Chromium, in a
 * page and in a worker of it; and the server in both Nodes. The registry has all of these; so, as the files beside it, which install our packages,
 * it is run by `npm run test:packages`.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { sharedApp } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { clientOf } from '../support/client.ts'
import { STARTS, type Start } from '../support/package-starts.ts'
import { broughtBy, createProject, installedPackages, type Project, run } from '../support/packages.ts'
import { json, startTargetServer } from '../support/servers/target-server.ts'

/** As the registry has them, and where they are then. */
const NODES = {
  'Node 20.19.0': ['node-oldest@npm:node@20.19.0', 'node_modules/node-oldest/bin/node'],
  'the newest Node': ['node@latest', 'node_modules/node/bin/node'],
} as const
const RUNTIMES: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  ...Object.fromEntries(Object.entries(NODES).map(([name, [, program]]) => [name, [program]])),
  Deno: ['node_modules/deno/deno', 'run', '--quiet', '--allow-all', '--node-modules-dir=manual'],
  Bun: ['node_modules/bun/bin/bun.exe', 'run'],
}
const VITE = 'node_modules/vite/bin/vite.js'
const TOOLS = [...Object.values(NODES).map(([name]) => name), 'deno@latest', 'bun@latest', 'vite@latest']

const skipped = new Set<string>()
after(() => {
  for (const runtime of skipped)
    console.log(`\n  !! The registry has no ${runtime} for this machine: it was NOT TRIED.`)
})

let project: Project
/** In a project of their own, since they are no part of what we publish. */
let tools: Project
before(async () => {
  // The one waits for the network while the other computes.
  ;[project, tools] = await Promise.all([installedPackages(), createProject([], TOOLS)])
})
after(() => tools?.remove())

/** @returns where a runtime is; skips the test where the registry has none for this machine, which is said at the end of the run */
const findRuntime = (context: Mocha.Context, runtime: string, file: string): string => {
  const program = join(tools.directory, file)
  if (existsSync(program)) return program
  skipped.add(runtime)
  return context.skip()
}

/** `assay-verify/pq` is written to files of this name. */
const fileOf = (name: string): string => name.replace('/', '-')

/** Before a program in a worker: what it prints, its page prints. */
const TO_PAGE = "console.log = (...parts) => postMessage(parts.join(' '))"
/** After a program in a page. */
const startWorker = (file: string): string => `
console.log('WORKER')
const worker = new Worker(new URL('./${file}-worker.js', import.meta.url), { type: 'module' })
worker.onmessage = ({ data }) => console.log(data)
worker.onerror = ({ message }) => { throw new Error(message) }`
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

describe('packages everywhere', () => {
  for (const [runtime, [command, ...args]] of Object.entries(RUNTIMES))
    it(`do in ${runtime} what their READMEs begin with`, async function () {
      const program = findRuntime(this, runtime, command)
      const app = await sharedApp()
      await Promise.all(
        Object.entries(STARTS).map(async ([name, start]) => {
          const { program: text, prints } = await start(app)
          const file = `start-${fileOf(name)}.js`
          await project.write(file, text)
          expect(await project.run(program, ...args, file), name).to.match(prints)
        }),
      )
      console.log(`      ${(await run(tools.directory, program, '--version')).split('\n')[0]}`)
    })
})

describe('packages, built by Vite, in Chromium, in a page and in a worker of it', () => {
  const starts = new Map<string, Start>()
  let browser: Browser
  before(async () => {
    const app = await sharedApp()
    await mkdir(join(project.directory, 'src'), { recursive: true })
    for (const [name, start] of Object.entries(STARTS)) {
      const file = fileOf(name)
      const [inPage, inWorker] = [await start(app), await start(app)]
      starts.set(name, inPage)
      const script = `<script type="module" src="/src/${file}.js"></script>`
      await project.write(`${file}.html`, `<!doctype html>${script}`)
      await project.write(`src/${file}.js`, `${inPage.inBrowser}\n${startWorker(file)}`)
      const worker = `${TO_PAGE}\n${inWorker.inBrowser}\nconsole.log('END')`
      await project.write(`src/${file}-worker.js`, worker)
    }
    const pages = [...starts.keys()].map((name) => `${fileOf(name)}.html`)
    // Programs that wait at their top level are modules.
    const config = `export default { worker: { format: 'es' }, build: { rollupOptions: { input: ${JSON.stringify(pages)} } } }`
    await project.write('vite.config.js', config)
    const options = ['--logLevel', 'warn', '--base', '/project/', '--target', 'es2022']
    await project.run(process.execPath, join(tools.directory, VITE), 'build', ...options)
    browser = await launchChromium()
  })
  after(() => browser?.close())

  for (const name of Object.keys(STARTS))
    it(`${name} does what its README begins with`, async () => {
      const app = await sharedApp()
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
      await page.goto(`${app.url}/project/${fileOf(name)}.html`)
      await ended
      const [byPage, byWorker] = printed.split('WORKER\n')
      const { prints } = starts.get(name) as Start
      expect(byPage).to.match(prints)
      expect(byWorker).to.match(prints)
      await page.close()
    })
})

/** Of the package and all that it needs, file by file; a disk's blocks make it some 20 % more. */
const MAX_INSTALLED_MB = 135
/**
 * Processor time of a first start until it serves, in loads of the TypeScript compiler: a program of others, of which this
 * machine tells how fast it is today.
 */
const MAX_FIRST_START_LOADS = 25
const TICKS_PER_SECOND = 100

/** Bytes of a package's own files. */
const bytesOf = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = entries
    .filter((entry) => entry.isFile() && !entry.parentPath.slice(directory.length).includes('node_modules'))
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Seconds of the processor that a process took until now (proc(5): utime and stime); undefined where the system doesn't tell. */
const processorSeconds = async (pid: number | undefined): Promise<number | undefined> => {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  const [user, system] = line?.split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
  return user === undefined || system === undefined ? undefined : (user + system) / TICKS_PER_SECOND
}

/** Seconds of the processor in which Node loads the TypeScript compiler: the least of three. */
const secondsOfALoad = (): number => {
  const load =
    "require('typescript'); const { user, system } = process.cpuUsage(); console.log((user + system) / 1e6)"
  const once = () => Number(execFileSync(process.execPath, ['-e', load], { encoding: 'utf8' }))
  return Math.min(once(), once(), once())
}

describe('the package assay', () => {
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
    const places = await broughtBy(project, 'assay')
    const sizes = await Promise.all(places.map((place) => bytesOf(join(project.directory, place))))
    const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6
    console.log(`      ${megabytes.toFixed(1)} MB`)
    expect(megabytes).to.be.at.most(MAX_INSTALLED_MB)
  })

  it('serves, proves, answers agents, tells a collector, and stops', async () => {
    const collector = await startTargetServer()
    for (const signal of ['traces', 'metrics']) collector.on(`/v1/${signal}`, json({}))
    try {
      const directory = await mkdtemp(join(project.directory, 'server-'))
      const { server, stopped, url, wall, processor } = await startIn(directory, process.execPath, {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      })
      try {
        console.log(`      listening after ${wall.toFixed(1)} s, ${processor} s of the processor`)
        if (processor !== undefined) expect(processor / secondsOfALoad()).to.be.at.most(MAX_FIRST_START_LOADS)
        const key = (await readFile(join(directory, 'data/admin.key'), 'utf8')).trim()
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
      const node = findRuntime(this, runtime, file)
      const directory = await mkdtemp(join(project.directory, 'server-'))
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
