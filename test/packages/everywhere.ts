/**
 * `npm run test:packages`: what READMEs of packages begin with, in the newest Node, in Deno, in Bun, and built by Vite in Chromium. It installs
 * them from the registry, so it is no part of the suite.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { expect } from 'chai'
import { LIBRARIES } from '../../src/bin/packages/table.ts'
import { sharedApp } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { clientOf } from '../support/client.ts'
import { STARTS } from '../support/package-starts.ts'
import { createProject, makePackages, type Project, run } from '../support/packages.ts'

const RUNTIMES = {
  'this Node': [process.execPath],
  'the newest Node': ['node_modules/node/bin/node'],
  Deno: ['node_modules/deno/deno', 'run', '--quiet', '--allow-all', '--node-modules-dir=manual'],
  Bun: ['node_modules/bun/bin/bun.exe', 'run'],
} as const
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

describe('packages everywhere', () => {
  let project: Project
  before(async () => {
    await makePackages()
    project = await createProject(
      LIBRARIES.map(({ suffix }) => `assay${suffix}`),
      ['node@latest', 'deno@latest', 'bun@latest', 'vite@latest'],
    )
  })
  after(() => project?.remove())

  for (const [runtime, [command, ...args]] of Object.entries(RUNTIMES))
    for (const [name, start] of Object.entries(STARTS))
      it(`${name} in ${runtime}`, async function () {
        const program = command.startsWith('/') ? command : join(project.directory, command)
        if (!existsSync(program)) {
          console.log(`      SKIPPED: the registry has no ${runtime} for this machine`)
          return this.skip()
        }
        const version = (await run(project.directory, program, '--version')).split('\n')[0]
        const { program: text, prints } = await start(await sharedApp())
        await project.write('start.js', text)
        expect(await project.run(program, ...args, 'start.js')).to.match(prints)
        console.log(`      ${version}`)
      })

  for (const [name, start] of Object.entries(STARTS))
    it(`${name}, built by Vite, in Chromium`, async () => {
      const app = await sharedApp()
      const { inBrowser, prints } = await start(app)
      await mkdir(join(project.directory, 'src'), { recursive: true })
      await project.write('index.html', '<!doctype html><script type="module" src="/src/main.js"></script>')
      await project.write('src/main.js', `${inBrowser}\nconsole.log('END')`)
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
        expect(printed).to.match(prints)
      } finally {
        await browser.close()
      }
    })
})

const MAX_INSTALLED_MB = 170

/** Bytes of all files below a directory. */
const bytesBelow = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

describe('the package assay', () => {
  let project: Project
  before(async () => {
    project = await createProject(['assay'], ['--ignore-scripts'])
  })
  after(() => project?.remove())

  it(`is installed without a compiler, in at most ${MAX_INSTALLED_MB} MB`, async () => {
    const megabytes = (await bytesBelow(join(project.directory, 'node_modules'))) / 1e6
    console.log(`      ${megabytes.toFixed(0)} MB`)
    expect(megabytes).to.be.at.most(MAX_INSTALLED_MB)
  })

  it('serves, proves and stops', async () => {
    const started = performance.now()
    const server = spawn(join(project.directory, 'node_modules/.bin/assay'), ['serve'], {
      cwd: project.directory,
      env: { ...process.env, PORT: '0', DATABASE_URL: '', REDIS_URL: '', LOG_LEVEL: 'silent' },
    })
    const stopped = once(server, 'exit')
    try {
      const printed = await new Promise<string>((resolve) => {
        let text = ''
        // It is read to its end: a server whose output nobody takes has not stopped in order.
        server.stdout.on('data', (part) => {
          text += part
          if (text.includes('Admin key')) resolve(text)
        })
      })
      console.log(`      listening after ${((performance.now() - started) / 1000).toFixed(1)} s`)
      const [, url = ''] = /listening on (\S+)/.exec(printed) ?? []
      const key = (await readFile(join(project.directory, 'data/admin.key'), 'utf8')).trim()
      const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
      const client = clientOf(url)
      const result = await client.request<{ decision: string }>('POST', '/verify', { key, body })
      expect(result.body.decision).to.equal('YES')
      expect((await client.request('GET', '/docs')).status).to.equal(200)
    } finally {
      server.kill('SIGTERM')
    }
    expect((await stopped)[0]).to.equal(0)
  })
})
