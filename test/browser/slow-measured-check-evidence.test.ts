/** A large evidence file in Chromium: read as a stream, with a page that stays usable and memory that stays small. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type CheckPages, startCheckPages, toldOn } from '../support/check-page.ts'
import { exported, revokeKey } from '../support/domain/exports.ts'
import { largeEvidence } from '../support/large-evidence.ts'
import { onEmbedded } from '../support/servers/database.ts'

const MEBIBYTE = 1_048_576
/** 1024 is what the page is made for; a machine of CI has less time. */
const EVIDENCE_MIB = Number(process.env.EVIDENCE_MIB ?? 256)
/** Longer than this, people notice. */
const MAX_STALL_MS = 200
/** Beyond what the page takes before, and less than the file: most of it are pieces that nobody has cleared away yet. */
const MAX_GROWTH_BYTES = 160 * MEBIBYTE
const SAMPLE_MS = 200

/** Notes the longest time between two pictures, and tasks that hold the page up (Long Tasks, 50 ms and more). */
const WATCH = `
  window.stalls = { frameMs: 0, taskMs: 0, frames: 0 }
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) stalls.taskMs = Math.max(stalls.taskMs, duration)
  }).observe({ type: 'longtask' })
  let last = performance.now()
  const watch = (now) => {
    stalls.frameMs = Math.max(stalls.frameMs, now - last)
    stalls.frames++
    last = now
    requestAnimationFrame(watch)
  }
  requestAnimationFrame(watch)`

interface Stalls {
  readonly frameMs: number
  readonly taskMs: number
  readonly frames: number
}

/** Memory of the browser's processes that show pages, in bytes. */
const pageBytes = async (pids: readonly number[]): Promise<number> => {
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')))
  return texts.reduce((sum, text) => sum + 1024 * Number(/^RssAnon:\s+(\d+) kB/m.exec(text)?.[1] ?? 0), 0)
}

onEmbedded.describe(`evidence of ${EVIDENCE_MIB} MiB on the page that checks, in Chromium`, function () {
  this.timeout(1_800_000)
  let pages: CheckPages
  let folder: string

  before(async () => {
    ;[pages, folder] = await Promise.all([startCheckPages(), mkdtemp(join(tmpdir(), 'assay-evidence-'))])
    await revokeKey(pages.app, pages.owner)
  })
  after(async () => {
    await pages?.close()
    await rm(folder, { recursive: true })
  })

  it('is valid, does not freeze the page, and takes no more memory than a small one', async () => {
    const file = join(folder, 'evidence.ndjson')
    const { text } = await exported(pages.app, pages.owner, 'evidence')
    await writeFile(file, largeEvidence(pages.app, text, EVIDENCE_MIB * MEBIBYTE))
    expect((await stat(file)).size).to.be.at.least(EVIDENCE_MIB * MEBIBYTE)
    await pages.fresh()
    pages.context.setDefaultTimeout(0)
    const page = await pages.open()
    const session = await (pages.context.browser() ?? expect.fail('no browser')).newBrowserCDPSession()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    const pids = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
    await page.evaluate(WATCH)
    const before = await pageBytes(pids)
    let most = before
    const sampling = setInterval(() => {
      pageBytes(pids).then((bytes) => {
        most = Math.max(most, bytes)
      }, expect.fail)
    }, SAMPLE_MS)
    const startedAt = performance.now()
    await page.setInputFiles('input[type="file"]', file)
    const told = await toldOn(page)
    const tookSeconds = (performance.now() - startedAt) / 1000
    clearInterval(sampling)
    const stalls = (await page.evaluate('stalls')) as Stalls
    const mib = (bytes: number) => Math.round(bytes / MEBIBYTE)
    const figures = `${EVIDENCE_MIB} MiB in ${tookSeconds.toFixed(1)} s; longest task of the page ${Math.round(stalls.taskMs)} ms, longest time between two pictures ${Math.round(stalls.frameMs)} ms (${stalls.frames} pictures); memory ${mib(before)} MiB before, at most ${mib(most)} MiB`
    process.stdout.write(`      ${figures}\n`)
    expect(told, JSON.stringify(told)).to.include({ word: 'Valid', tone: 'good' })
    expect(stalls.taskMs, figures).to.be.lessThan(MAX_STALL_MS)
    expect(most - before, figures).to.be.lessThan(MAX_GROWTH_BYTES)
  })
})
