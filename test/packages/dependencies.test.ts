/** What the repository is made of besides its own code: which scripts run when it is installed, under which terms, and what packages tell of it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { judge } from '../../src/bin/audit-check.ts'
import { BOM_FILE, LICENCES_FILE, writeBom } from '../../src/bin/packages/bom.ts'
import { ROOT, read } from '../support/sources.ts'

interface Locked {
  readonly version: string
  readonly license?: string
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
}

/** Terms that what is published may be under: all may be part of a work under GPL-3.0-or-later. */
const PUBLISHED: readonly string[] = [
  ...['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', 'GPL-3.0'],
  ...['MIT AND Apache-2.0', '(MIT AND Zlib)', '(BSD-3-Clause OR GPL-2.0)'],
]
/** Besides those, of what only builds and tests. */
const TOOLS: readonly string[] = [
  ...['Python-2.0', 'PSF-2.0', 'MPL-2.0', 'Unlicense', 'MIT/X11'],
  ...['MIT OR Apache-2.0', '(WTFPL OR MIT)', '(MIT OR CC0-1.0)'],
]
/** Tools whose package.json names no terms, and what their text says. */
const UNNAMED: Readonly<Record<string, string>> = {
  'node_modules/@meeco/sd-jwt': 'Apache-2.0, in its LICENSE',
  'node_modules/esprima': 'BSD-2-Clause, in the heads of its files',
}

const { packages } = JSON.parse(read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, Locked>>
}
const locked = Object.entries(packages).filter(([path]) => path !== '')
const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

describe('dependencies', () => {
  it('run no script when they are installed, but those that package.json allows or refuses by name', () => {
    const { allowScripts } = JSON.parse(read('package.json')) as {
      readonly allowScripts: Readonly<Record<string, boolean>>
    }
    const scripted = locked
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => nameOf(path))
    expect([...new Set(scripted)].sort()).to.deep.equal(Object.keys(allowScripts).sort())
  })

  it('are all under terms that a work under GPL-3.0-or-later may be made with', () => {
    const strange = locked.filter(([path, { license = '', dev }]) => {
      const isAllowed = PUBLISHED.includes(license) || (dev && (TOOLS.includes(license) || path in UNNAMED))
      return !isAllowed
    })
    expect(strange.map(([path, { license }]) => `${path}: ${license}`)).to.deep.equal([])
    expect(Object.keys(UNNAMED).filter((path) => packages[path]?.license !== undefined)).to.deep.equal([])
  })
})

describe('the audit of dependencies', () => {
  const weak = (severity: string) => ({ severity, range: '<2.0.0' })
  const audit = (vulnerabilities: Readonly<Record<string, { severity: string; range: string }>>) => ({
    vulnerabilities,
  })
  const noAudits = { statusCode: 404, message: '404 Not Found - POST https://registry.example/bulk' }

  it('fails for any weakness in what is published, of the pages as well, and for a high one in what builds', () => {
    const all = audit({ koa: weak('low'), preact: weak('low'), mocha: weak('moderate'), c8: weak('high') })
    expect(judge(audit({ koa: weak('low') }), all, ['preact'])).to.deep.equal({
      faults: [
        'koa <2.0.0: low, in what is published',
        'preact <2.0.0: low, in what is published',
        'c8 <2.0.0: high',
      ],
      skipped: undefined,
    })
    expect(judge(audit({}), audit({ mocha: weak('moderate') }), ['preact'])).to.deep.equal({
      faults: [],
      skipped: undefined,
    })
  })

  it('is skipped only where the registry has no audits, and forgets no weakness that one answer named', () => {
    expect(judge(noAudits, noAudits, [])).to.deep.equal({ faults: [], skipped: noAudits.message })
    for (const failed of [
      { message: 'request to https://registry.example failed, reason: ECONNRESET' },
      { statusCode: 503, message: '503 Service Unavailable' },
      { error: { summary: 'This command requires an existing lockfile.' } },
      {},
    ])
      expect(judge(failed, noAudits, []).faults, JSON.stringify(failed)).to.have.length(1)
    const koa = 'koa <2.0.0: low, in what is published'
    expect(judge(audit({ koa: weak('low') }), noAudits, []).faults).to.deep.equal([koa])
    expect(judge(audit({ koa: weak('low') }), {}, []).faults).to.deep.equal([
      koa,
      'npm audit failed: no answer',
    ])
  })
})

describe('the bill of materials of a package', () => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-bom-'))
  after(() => rmSync(directory, { recursive: true }))

  it('names what is inside, what is installed beside it with all that it needs, and the licences', () => {
    const contents = { name: '@firm/assay', version: '1.2.3', license: 'Apache-2.0' } as const
    writeBom(directory, ROOT, { ...contents, held: ['preact', 'typescript'], beside: ['koa'] })
    const bom = JSON.parse(readFileSync(join(directory, BOM_FILE), 'utf8'))
    expect(bom).to.include({ bomFormat: 'CycloneDX' })
    expect(bom.metadata.component).to.deep.include({
      name: '@firm/assay',
      version: '1.2.3',
      purl: 'pkg:npm/%40firm/assay@1.2.3',
    })
    const names: string[] = bom.components.map(({ name }: { name: string }) => name)
    expect(names).to.include.members(['preact', 'typescript', 'koa', 'koa-compose', 'http-errors'])
    expect(names).not.to.include.members(['mocha', 'pg', 'esbuild'])
    const refs: string[] = bom.components.map((one: Record<string, string>) => one['bom-ref'])
    const version = (name: string) => `${name}@${packages[`node_modules/${name}`]?.version}`
    expect(bom.dependencies[0]).to.deep.equal({
      ref: '@firm/assay@1.2.3',
      dependsOn: ['koa', 'preact', 'typescript'].map(version),
    })
    for (const { ref, dependsOn } of bom.dependencies.slice(1)) {
      expect(refs).to.include(ref)
      expect(refs).to.include.members(dependsOn)
    }
    for (const { hashes, licenses } of bom.components)
      expect([hashes[0].alg, licenses.length]).to.deep.equal(['SHA-512', 1])
    const lines = readFileSync(join(directory, LICENCES_FILE), 'utf8').trimEnd().split('\n')
    expect(lines[0]).to.equal('@firm/assay 1.2.3: Apache-2.0')
    expect(lines.length).to.equal(refs.length + 1)
    expect(lines).to.include(`koa ${packages['node_modules/koa']?.version}: MIT`)
  })
})
