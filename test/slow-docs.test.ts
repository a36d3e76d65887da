/**
 * The shell blocks of README.md and docs/, as a reader runs them: in order, in one shell, against a fresh server for each
 * document; and what they print is what the documents say.
 */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pLimit from 'p-limit'
import { readDocuments, valuesOf } from './support/docs/code-blocks.ts'
import { printedDifference } from './support/docs/printed.ts'
import { type Shell, startShell } from './support/docs/shell.ts'
import { type Step, shellBlocks } from './support/docs/shell-blocks.ts'
import { onEmbedded } from './support/servers/database.ts'
import { freePort, type ServerProcess, startServerProcess } from './support/servers/server-process.ts'
import { json, startTargetServer } from './support/servers/target-server.ts'

const ROOT = join(import.meta.dirname, '..')
const DOCUMENTED = 'http://127.0.0.1:8080'
/** So many documents are run at a time: most of what their commands do is to wait. */
const READERS = 3
/** Programs that go to the usual address unless they are told another. */
const TOLD_AS_ARGUMENT = /(npx tsx examples\/(?:verify|agent-chat)\.ts)/g
const TOLD_AS_OPTION = /(npx assay terminal configure)/g
/** What a reader has after `npm ci` and `npm start`, apart from what the server makes. */
const CHECKOUT = ['build', 'circuits', 'examples', 'node_modules', 'package.json', 'src', 'tsconfig.json']

const documents = readDocuments()
  .map(({ name, text }) => ({ name, blocks: shellBlocks(text) }))
  .filter(({ blocks }) => blocks.length > 0)

/** A checkout of the reader's own, with a server that can be started over. */
const openCheckout = async (reachable: string) => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-docs-'))
  for (const name of CHECKOUT) symlinkSync(join(ROOT, name), join(directory, name))
  const port = String(await freePort())
  let server: ServerProcess | undefined
  const stop = async () => {
    await server?.end()
    server = undefined
  }
  const start = async (settings: Readonly<Record<string, string>> = {}) => {
    await stop()
    const env = {
      DATA_DIR: join(directory, 'data'),
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_OPEN_PROXY: 'on',
    }
    server = await startServerProcess({ ...env, ...settings, PORT: port }, directory)
  }
  await start()
  const own = `http://127.0.0.1:${port}`
  const { PATH, HOME } = process.env
  const shell = startShell(directory, { PATH, HOME })
  if (existsSync(join(directory, 'data/admin.key'))) await shell.run('export KEY=$(cat data/admin.key)')
  return {
    shell,
    start,
    stop,
    /** Documents name a server's usual port, which may be taken here, and a public service that isn't there. */
    here: (text: string) =>
      text
        .replaceAll(DOCUMENTED, own)
        .replaceAll('https://api.example.org', reachable)
        .replace(TOLD_AS_ARGUMENT, `$1 ${own}`)
        .replace(TOLD_AS_OPTION, `$1 --url ${own}`),
    async close() {
      await shell.end()
      await stop()
      rmSync(directory, { recursive: true })
    },
  }
}

const serve = async (
  { start, stop }: Awaited<ReturnType<typeof openCheckout>>,
  setting: string,
): Promise<void> => {
  if (setting === 'stopped') return stop()
  if (setting === 'started') return start()
  return start(Object.fromEntries(setting.split(' ').map((pair) => pair.split('=', 2))))
}

/** @returns what is wrong with a step */
const faultOf = async (shell: Shell, { commands, printed }: Step, here: (text: string) => string) => {
  const { status, stdout, stderr } = await shell.run(here(commands))
  if (printed !== undefined) return printedDifference(here(printed), stdout)
  return status === 0 ? undefined : `ended with ${status}: ${stdout}${stderr}`
}

/** Runs a document's blocks. @throws Error with the first step that does or prints something else */
const runDocument = async ({ name, blocks }: (typeof documents)[number]): Promise<void> => {
  const target = await startTargetServer()
  target.on('/members', json([{ name: 'Ada', age: 36, status: 'active' }]))
  const checkout = await openCheckout(target.url)
  try {
    for (const block of blocks) {
      for (const setting of valuesOf(block, 'server')) await serve(checkout, setting)
      if (valuesOf(block, 'not run').length > 0) continue
      for (const step of block.steps) {
        const fault = await faultOf(checkout.shell, step, checkout.here)
        if (fault !== undefined) throw new Error(`${name}:${step.line}: ${fault}`)
      }
    }
  } finally {
    await checkout.close()
    await target.close()
  }
}

onEmbedded.describe('shell blocks', () => {
  /** What each document's run threw, if it did. */
  const runs = new Map<string, Promise<unknown>>()
  before(() => {
    const read = pLimit(READERS)
    for (const document of documents)
      runs.set(
        document.name,
        read(runDocument, document).catch((fault: unknown) => fault),
      )
  })

  for (const { name } of documents)
    it(`of ${name} run as printed`, async function () {
      this.timeout(600_000)
      const fault = await runs.get(name)
      if (fault !== undefined) throw fault
    })

  it('that are not run say why', () => {
    const reasons = documents.flatMap(({ blocks }) => blocks.flatMap((block) => valuesOf(block, 'not run')))
    expect(reasons).to.not.deep.equal([])
    for (const reason of reasons) expect(reason.length).to.be.greaterThan(10)
  })
})
