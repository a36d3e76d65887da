/** What may be in packages that others use under terms of their own, and how they are called. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { intruders } from '../../src/bin/packages/bundles.ts'
import { renamed } from '../../src/bin/packages/library.ts'
import { libraryManifest, readRootManifest } from '../../src/bin/packages/manifest.ts'
import { copyFiles, serverReadme } from '../../src/bin/packages/server-package.ts'
import { LIBRARIES, type Library } from '../../src/bin/packages/table.ts'
import { templateName } from '../../src/store/embedded/pglite-template.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { ROOT } from '../support/sources.ts'

const library = (suffix: string): Library => LIBRARIES.find((one) => one.suffix === suffix) as Library

describe('packages', () => {
  const newDirectory = temporaryDirectories()

  it('hold no file that their line does not list, and under Apache-2.0 nothing of the GPL', () => {
    const own = ['src/bin/packages/contents/verify/index.ts', 'src/core/index.ts']
    expect(intruders(library('-verify'), { own, packages: ['canonicalize'] })).to.deep.equal([])
    expect(
      intruders(library('-verify'), { own: ['src/circuits/mappers/kyc.ts'], packages: [] }),
    ).to.deep.equal(['-verify holds src/circuits/mappers/kyc.ts, which its line does not list'])
    for (const name of ['snarkjs', 'circomlib', 'circom', 'ffjavascript', 'wasmcurves'])
      expect(intruders(library('-terminal'), { own: [], packages: [name] })).to.deep.equal([
        `-terminal is under Apache-2.0 and holds ${name}`,
      ])
  })

  it('that are under Apache-2.0 are those whose own files are listed as such', () => {
    const apache = LIBRARIES.filter(({ licence }) => licence === 'Apache-2.0')
    expect(apache.map(({ suffix }) => suffix)).to.deep.equal(['-verify', '-client', '-terminal'])
  })

  it('have the name that the build is told, everywhere', () => {
    const text = "npm install assay-verify; import 'assay-verify/proof'; docs/assay-verify; @x/assay-verify"
    expect(renamed(text, '@firm/checks')).to.equal(
      "npm install @firm/checks-verify; import '@firm/checks-verify/proof'; docs/assay-verify; @x/assay-verify",
    )
    const root = readRootManifest(ROOT)
    const manifest = libraryManifest(
      library('-verify'),
      root,
      '@firm/checks',
      'git+https://example.com/checks.git',
    )
    expect(manifest.name).to.equal('@firm/checks-verify')
    expect(manifest.repository).to.deep.equal({ type: 'git', url: 'git+https://example.com/checks.git' })
    expect(manifest.version).to.equal(root.version)
    expect(manifest.publishConfig).to.deep.equal({ access: 'public', provenance: true })
    // Elsewhere than where a repository publishes from, npm refuses what demands provenance.
    const homeless = libraryManifest(library('-verify'), root, 'assay', undefined)
    expect(homeless.publishConfig).to.deep.equal({ access: 'public' })
    expect(serverReadme(ROOT, '@firm/checks'))
      .to.include('npm install @firm/checks\n')
      .and.to.include(
        '`@firm/checks-client`, `@firm/checks-verify`, `@firm/checks-terminal`, `@firm/checks-proving`',
      )
  })

  it('of the server has nothing that a killed program, a ceremony or a removed circuit left in its folders', async () => {
    const [root, directory] = [await newDirectory(), await newDirectory()]
    const wanted = [
      ...['circuits/keys/artifacts.json', 'circuits/keys/kyc.zkey'],
      ...['circuits/keys/kyc.vkey.json', 'circuits/keys/kyc@1.0.0.vkey.json'],
      ...['build/circuits/kyc.wasm', 'build/web/assets/chat.js', `build/${templateName()}`],
    ]
    const others = [
      ...['circuits/keys/draft-x/next', 'circuits/keys/keys.lock', 'circuits/keys/powers-13.ptau'],
      ...[
        'build/circuits/kyc.r1cs',
        'build/circuits/removed.wasm',
        'build/web/chat.js.map',
        'build/server.js',
      ],
    ]
    for (const file of [...wanted, ...others]) {
      await mkdir(dirname(join(root, file)), { recursive: true })
      await writeFile(join(root, file), '')
    }
    copyFiles(root, directory)
    const copied = await readdir(directory, { recursive: true, withFileTypes: true })
    const files = copied
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
    expect(files).to.have.members(wanted.map((file) => join(directory, file)))
  })
})
