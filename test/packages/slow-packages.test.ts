/** Each package, packed and installed in an empty project: what it brings, how large it is, and that its types are found. What it does is in slow-everywhere. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { readWebPackages } from '../../src/bin/build-steps/build-web.ts'
import { LIBRARIES } from '../../src/bin/packages/table.ts'
import { TYPES_PROGRAM } from '../support/package-starts.ts'
import { broughtBy, installedPackages, type Project, typeFaults } from '../support/packages.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { ROOT } from '../support/sources.ts'
import { callsProgram } from '../support/typed-client.ts'

onEmbedded.describe('published packages', function () {
  this.timeout(600_000)
  let project: Project
  before(async () => {
    project = await installedPackages()
  })

  it('bring no dependency but those that their line names', async () => {
    const namesOf = async (name: string) =>
      (await broughtBy(project, name)).map((place) => place.split('node_modules/').at(-1) ?? '')
    expect(await namesOf('assay')).to.include.members(['koa', 'pg'])
    for (const { suffix, dependencies } of LIBRARIES) {
      const name = `assay${suffix}`
      const [own, ...others] = await namesOf(name)
      expect(own).to.equal(name)
      expect(others, name).to.include.members(dependencies)
      // What these need themselves is by the same people.
      if (dependencies.length > 0)
        expect(others.filter((other) => !other.startsWith('@noble/'))).to.deep.equal([])
      else expect(others, name).to.deep.equal([])
      const files = await readdir(join(project.directory, 'node_modules', name))
      expect(files).to.include.members([
        'LICENSE',
        'NOTICE',
        'sbom.cdx.json',
        'LICENSES.txt',
        'README.md',
        'package.json',
        'index.js',
        'index.d.ts',
      ])
    }
  })

  it('have types that every resolution finds, and that refuse what is wrong', async () => {
    const file = await project.write('use.ts', TYPES_PROGRAM)
    for (const resolution of ['Node16', 'NodeNext', 'Bundler'] as const)
      expect(typeFaults(file, resolution), resolution).to.deep.equal([])
  })

  it('assay-client takes the example of every operation, and no member that there is none', async () => {
    expect(typeFaults(await project.write('calls.ts', callsProgram()), 'NodeNext')).to.deep.equal([])
  })

  it('assay is the server with what it runs on, and nothing that builds it', async () => {
    const directory = join(ROOT, 'build/packages/assay')
    const manifest = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'))
    const builders = ['assemblyscript', 'circom', 'circomlib', 'esbuild', 'tsx', 'typescript']
    expect(Object.keys(manifest.dependencies)).to.include.members([
      'koa',
      'knex',
      'pg',
      '@electric-sql/pglite',
    ])
    expect(builders.filter((name) => name in manifest.dependencies)).to.deep.equal([])
    expect(manifest).not.to.have.any.keys('scripts', 'devDependencies', 'private')
    const files = await readdir(directory, { recursive: true })
    expect(files.filter((file) => /\.(ptau|r1cs|sym|map)$/.test(file))).to.deep.equal([])
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(directory, manifest.bin.assay),
      '--help',
    ])
    expect(stdout).to.include('serve')
  })

  it('assay names all whose code is in its pages, in NOTICE and in its bill of materials', async () => {
    const textOf = (name: string) => readFile(join(ROOT, 'build/packages/assay', name), 'utf8')
    const [notice, bom] = [await textOf('NOTICE'), JSON.parse(await textOf('sbom.cdx.json'))]
    const held = readWebPackages()
    expect(held).to.include.members(['preact', '@preact/signals-core', '@noble/post-quantum', 'jsqr'])
    expect(held.filter((name) => !notice.includes(`\n${name} `))).to.deep.equal([])
    expect(bom.components.map(({ name }: { name: string }) => name)).to.include.members(held)
  })

  it('are as large as docs/packages.md says', async () => {
    const page = await readFile(join(ROOT, 'docs/packages.md'), 'utf8')
    for (const { suffix, entries } of LIBRARIES)
      for (const { path, maxGzipKib } of entries) {
        const name = `assay${suffix}${path.slice(1)}`
        const [, size, limit] =
          new RegExp(`^\\| \`${name}\` \\| ([\\d.]+) \\| (\\d+) \\|`, 'm').exec(page) ?? []
        expect(Number(limit), name).to.equal(maxGzipKib)
        const readme = await readFile(
          join(project.directory, `node_modules/assay${suffix}/README.md`),
          'utf8',
        )
        const [, found] = new RegExp(`\`${name}\` ([\\d.]+) KiB`).exec(readme) ?? []
        expect(Number(found), `${name} in docs/packages.md`).to.be.closeTo(Number(size), 0.5)
      }
  })
})
