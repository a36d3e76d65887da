/** The image: made by the Dockerfile's own steps in a clean folder, run as its user with a root that it can't write to. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { clientOf } from '../support/client.ts'
import { type Image, makeImage } from '../support/image.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { freePort } from '../support/servers/server-process.ts'

const UID = 65_532
const MAX_MB = 200

onEmbedded.describe('the image', function () {
  this.timeout(1_200_000)
  let image: Image | undefined
  before(function () {
    if (process.getuid?.() !== 0 || spawnSync('unshare', ['--mount', 'true']).status !== 0) {
      console.log('      SKIPPED: only root can have a root of its own (unshare --mount)')
      return this.skip()
    }
    image = makeImage()
  })
  after(() => image?.remove())

  it('holds what runs, and nothing that builds or tests it', () => {
    const app = join(image?.root ?? '', 'app')
    expect(readdirSync(app)).to.have.members([
      ...['LICENSE', 'NOTICE', 'README.md', 'build', 'circuits', 'node_modules', 'package.json'],
      ...['package-lock.json', 'LICENSES.txt', 'sbom.cdx.json'],
    ])
    const files = readdirSync(app, { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => /\.(r1cs|sym|ptau|circom)$|(^|\/)\.env|^src\//.test(file))).to.deep.equal(
      [],
    )
    for (const name of ['esbuild', 'typescript', 'tsx', 'assemblyscript', 'circom', 'mocha'])
      expect(existsSync(join(app, 'node_modules', name)), name).to.equal(false)
    const { stdout } = spawnSync('du', ['-sm', app], { encoding: 'utf8' })
    expect(Number.parseInt(stdout, 10)).to.be.at.most(MAX_MB)
  })

  it('serves and proves as its user, writes to its data only, is healthy, and stops in order', async () => {
    const PORT = String(await freePort())
    const url = `http://127.0.0.1:${PORT}`
    const server = image?.start({ PORT, BASE_URL: url, LOG_LEVEL: 'warn' })
    if (server === undefined) throw new Error('no image')
    let said = ''
    for (const stream of [server.stdout, server.stderr])
      stream?.on('data', (text) => {
        said += String(text)
      })
    const ended = once(server, 'exit')
    try {
      while (!said.includes('Try it:')) {
        if (server.exitCode !== null) throw new Error(said)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect(said).to.include('Admin key: kept in /data/admin.key')
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
      expect(status).to.match(new RegExp(`^Uid:\\s+${UID}\\s+${UID}\\s+${UID}\\s+${UID}$`, 'm'))
      const key = readFileSync(join(image?.root ?? '', 'data/admin.key'), 'utf8').trim()
      const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
      const client = clientOf(url)
      const { body: result } = await client.request<{ decision: string }>('POST', '/verify', { key, body })
      expect(result.decision).to.equal('YES')
      expect(spawnSync('sh', ['-c', image?.health({ PORT }) ?? 'false']).status).to.equal(0)
    } finally {
      server.kill('SIGTERM')
    }
    expect((await ended)[0], said).to.equal(0)
    expect(spawnSync('sh', ['-c', image?.health({ PORT }) ?? 'true']).status).to.equal(1)
  })
})
