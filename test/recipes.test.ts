/**
 * What the recipes of CONTRIBUTING.md add in several files: each of its parts must know it. A failure names the file
 * that was forgotten. Files that may be missing are read, not imported: else nothing here would run.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { ENTRY_TYPES } from '../src/domain/audit/schemas.ts'
import { eventsOf, WEBHOOK_EVENTS } from '../src/domain/webhooks/events.ts'

const STATEMENTS = 'src/domain/proofs/statements'
const ROOT = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const filesOf = (folder: string, extension: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => `${folder}/${name}`)

/** A file, and what it has to say. */
type Part = readonly [file: string, text: string]

/** @returns the files that are missing, or say nothing of it */
const forgotten = (parts: readonly Part[]): string[] =>
  parts
    .filter(([file, text]) => !existsSync(join(ROOT, file)) || !read(file).includes(text))
    .map(([file, text]) => `${file}: ${text}`)

describe('recipes', () => {
  it('name files and folders that exist', () => {
    const paths =
      read('CONTRIBUTING.md').match(/`(?:src|test|assembly|bench|circuits|docs)\/[\w./-]+`/g) ?? []
    expect(paths.length).to.be.greaterThan(20)
    const gone = paths.map((path) => path.slice(1, -1)).filter((path) => !existsSync(join(ROOT, path)))
    expect(gone).to.deep.equal([])
  })

  it('a route: every file of routes is in the list of the server', () => {
    const list = read('src/server/routes.ts')
    const files = filesOf('src/domain', '.ts').filter((file) => /\/routes(-[a-z0-9-]+)?\.ts$/.test(file))
    const missing = files.filter((file) => !list.includes(`'../${file.slice('src/'.length)}'`))
    expect(missing.map((file) => `src/server/routes.ts: ${file}`)).to.deep.equal([])
  })

  it('a circuit: has its program, its mapper, its place in the catalogue, its keys, a row, a statement and a good input', () => {
    const catalogue = read('src/circuits/catalogue.ts').match(/(?<=\/mappers\/)\w+/g) ?? []
    const programs = filesOf('circuits', '.circom').flatMap(
      (file) => file.match(/(?<=^circuits\/)\w+(?=\.)/) ?? [],
    )
    const ofRules = read(`${STATEMENTS}/rules.ts`)
    const stated = (id: string): Part[] => [
      [`${STATEMENTS}/${id}.ts`, `/mappers/${id}.ts'`],
      [`${STATEMENTS}/index.ts`, `./${id}.ts'`],
    ]
    expect(catalogue.length).to.be.greaterThan(10)
    for (const id of new Set([...programs, ...catalogue])) {
      const parts: Part[] = [
        [`circuits/${id}.circom`, 'pragma circom'],
        [`src/circuits/mappers/${id}.ts`, `'${id}'`],
        ['src/circuits/catalogue.ts', `/${id}.ts'`],
        ['circuits/keys/artifacts.json', `"${id}"`],
        ['circuits/README.md', `| ${id} |`],
        ...(ofRules.includes(`/mappers/${id}.ts'`) ? [] : stated(id)),
        [`test/support/circuits/inputs/${id}.ts`, 'export const goodInput'],
      ]
      expect(forgotten(parts)).to.deep.equal([])
    }
  })

  it('a circuit with a route: is asked by it, and has a row where the routes are told', () => {
    const asked = filesOf(STATEMENTS, '.ts').flatMap((file) =>
      [...read(file).matchAll(/export const (\w+) = circuitQuestion\(\{\s+circuit: (\w+)\.id/g)].map(
        ([, question = '']) => ({ question, id: basename(file, '.ts') }),
      ),
    )
    expect(asked.length).to.be.greaterThan(5)
    const parts = asked.flatMap(({ question, id }): Part[] => [
      [`${STATEMENTS}/index.ts`, `\n  ${question},`],
      ['docs/circuits.md', `| \`${id.replaceAll('_', '-')}\` |`],
    ])
    expect(forgotten(parts)).to.deep.equal([])
  })

  it('a core function: has its kernel, its export, its face, a twin that is read easily, and tests', () => {
    const exported = ['index', 'field-index'].map((name) => read(`assembly/${name}.ts`)).join()
    /** What another one is made of. */
    const parts = ['memory', 'field-elements', 'poseidon', 'nullifier-snapshot']
    const notAssembly = ['index', 'instance', 'errors', 'poseidon-tags']
    const faces = filesOf('src/core', '.ts').map((file) => basename(file, '.ts'))
    const names = new Set([...faces, ...(exported.match(/(?<=from '\.\/)[\w-]+/g) ?? [])])
    for (const name of names) {
      if (parts.includes(name) || notAssembly.includes(name)) continue
      const files: Part[] = [
        [`assembly/${name}.ts`, 'export function'],
        [`src/core/${name}.ts`, 'export '],
        [`test/support/reference/${name}.ts`, 'export const'],
        [`test/core/${name}.test.ts`, 'support/circuits/'],
      ]
      expect(forgotten(files)).to.deep.equal([])
      expect(exported, `assembly/index.ts or field-index.ts: ${name}`).to.include(`from './${name}'`)
    }
  })

  it('an event: some entry announces it, and receivers are told what they get', () => {
    const announced = new Set(ENTRY_TYPES.flatMap((type) => eventsOf(type, undefined)))
    const unannounced = WEBHOOK_EVENTS.filter((event) => !announced.has(event))
    expect(unannounced.map((event) => `src/domain/webhooks/events.ts: ${event}`)).to.deep.equal([])
    const parts = WEBHOOK_EVENTS.flatMap((event): Part[] => [
      ['src/server/webhooks-description.ts', `'${event}'`],
      ['docs/webhooks.md', `| \`${event}\` |`],
    ])
    expect(forgotten(parts)).to.deep.equal([])
  })

  it('a page: has its script, its title, its answer and its entry for knip', () => {
    const knip = (JSON.parse(read('knip.json')) as { entry: string[] }).entry
    const entries = knip.find((entry) => entry.startsWith('src/web/'))?.match(/\w+/g) ?? []
    const pages = readdirSync(join(ROOT, 'src/web'))
      .filter((name) => name.endsWith('.html') && name !== 'shell.html')
      .map((name) => name.slice(0, -'.html'.length))
    for (const page of pages) {
      const parts: Part[] = [
        [`src/web/${page}.ts`, 'import '],
        ['src/bin/build-steps/build-web.ts', `\n  ${page}: `],
        ['src/domain/system/pages.ts', `readonly ${page}: Served`],
      ]
      expect(forgotten(parts)).to.deep.equal([])
      expect(entries, 'knip.json').to.include(page)
    }
  })
})
