/** axe-core in a page of the browser. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE_FILE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Serious or not: any breach of WCAG 2.2 A or AA that axe finds in what the page shows now. */
export const breaches = async (page: Page): Promise<string[]> => {
  await page.evaluate(await readFile(AXE_FILE, 'utf8'))
  const found = await page.evaluate(async (values) => {
    const { axe } = globalThis as typeof globalThis & {
      axe: { run(options: RunOptions): Promise<AxeResults> }
    }
    return (await axe.run({ runOnly: { type: 'tag', values } })).violations
  }, RULES)
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
