/** axe-core in a page of the browser. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE_FILE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const run = async (page: Page, options: RunOptions): Promise<string[]> => {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(await readFile(AXE_FILE, 'utf8'))
  const found = await page.evaluate(async (given) => {
    const { axe } = globalThis as typeof globalThis & {
      axe: { run(options: RunOptions): Promise<AxeResults> }
    }
    return (await axe.run({ ...given, resultTypes: ['violations'] })).violations
  }, options)
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** Serious or not: any breach of WCAG 2.2 A or AA that axe finds in what the page shows now. */
export const breaches = (page: Page): Promise<string[]> =>
  run(page, { runOnly: { type: 'tag', values: TAGS } })

const OF_COLOUR = ['color-contrast', 'link-in-text-block']

/** Of these, the ones that other colours alone can make: they take most of the time. */
export const breachesOfColour = (page: Page): Promise<string[]> =>
  run(page, { runOnly: { type: 'rule', values: OF_COLOUR } })

/** Of these, all others. */
export const breachesOfStructure = (page: Page): Promise<string[]> =>
  run(page, {
    runOnly: { type: 'tag', values: TAGS },
    rules: Object.fromEntries(OF_COLOUR.map((rule) => [rule, { enabled: false }])),
  })
