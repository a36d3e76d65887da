/** What whoever only verifies proofs loads. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { build } from 'esbuild'
import { filesBelow, read } from '../support/sources.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MOST_GZIP_BYTES = 60 * 1024

describe('assay/verifying', () => {
  it(`takes at most ${MOST_GZIP_BYTES / 1024} KiB as gzip, and no package`, async () => {
    const { outputFiles, metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: ['src/circuits/verifying/verifying.ts'],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
      metafile: true,
    })
    const [bundle] = outputFiles
    expect(gzipSync(bundle?.contents ?? '').length).to.be.within(1, MOST_GZIP_BYTES)
    expect(Object.keys(metafile.inputs).filter((file) => file.includes('node_modules'))).to.deep.equal([])
  })

  it('replaces what setup and tests alone use: snarkjs, with its curves, and the BN254 of noble', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    expect(Object.keys(dependencies)).to.not.include.members(['snarkjs'])
    const others = filesBelow('src', '.ts').filter((file) => !file.startsWith('src/bin/'))
    const imports = /from '(?:snarkjs|ffjavascript|wasmcurves.*|@noble\/curves\/bn254\.js)'/
    expect(others.filter((file) => imports.test(read(file)))).to.deep.equal([])
    const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean }> }
    for (const name of ['snarkjs', 'ffjavascript', 'wasmcurves', 'wasmbuilder'])
      expect(lock.packages[`node_modules/${name}`]?.dev, name).to.equal(true)
  })
})
