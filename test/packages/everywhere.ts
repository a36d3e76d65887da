/**
 * `npm run test:packages`: what READMEs of packages begin with, in the newest Node, in Deno, in Bun, and built by Vite in Chromium. It installs
 * them from the registry, so it is no part of the suite.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { expect } from 'chai'
import { LIBRARIES } from '../../src/bin/packages/table.ts'
import { sharedApp } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
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
            else printed += `${message.text()}\n`
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
