/** What may be in packages that others use under terms of their own, and how they are called. */
import { expect } from 'chai'
import { intruders } from '../../src/bin/packages/bundles.ts'
import { renamed } from '../../src/bin/packages/library.ts'
import { libraryManifest, readRootManifest } from '../../src/bin/packages/manifest.ts'
import { LIBRARIES, type Library } from '../../src/bin/packages/table.ts'
import { ROOT } from '../support/sources.ts'

const library = (suffix: string): Library => LIBRARIES.find((one) => one.suffix === suffix) as Library

describe('packages', () => {
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
  })
})
