import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { baseKernels, fieldKernels, poseidonConstants } from '../../src/bin/build-steps/build-field.ts'
import { sha256Rounds } from '../../src/bin/build-steps/build-sha256.ts'
import { pairingConstants } from '../../src/bin/build-steps/pairing-constants.ts'
import { proverModule } from '../../src/circuits/proving/proving-instance.ts'
import { verifierModule } from '../../src/circuits/verifying/key-verifier.ts'
import { fieldModule } from '../../src/core/field.ts'
import { coreModule } from '../../src/core/index.ts'

const ROOT = new URL('../../', import.meta.url)

describe('the core as it is built', () => {
  it('has compression functions that their generator still writes', () => {
    expect(readFileSync(new URL('assembly/sha256-rounds.ts', ROOT), 'utf8')).to.equal(sha256Rounds())
  })

  it('has arithmetic of the fields, and constants of Poseidon and of the pairing, that their generator still writes', () => {
    expect(readFileSync(new URL('assembly/field-kernels.ts', ROOT), 'utf8')).to.equal(fieldKernels())
    expect(readFileSync(new URL('assembly/base-kernels.ts', ROOT), 'utf8')).to.equal(baseKernels())
    expect(readFileSync(new URL('assembly/poseidon-constants.ts', ROOT), 'utf8')).to.equal(
      poseidonConstants(),
    )
    expect(readFileSync(new URL('assembly/pairing-constants.ts', ROOT), 'utf8')).to.equal(pairingConstants())
  })

  it('fits 48 KiB and embeds the bytes that were compiled', () => {
    const bytes = readFileSync(new URL('build/core.wasm', ROOT))
    expect(bytes.length).to.be.at.most(48 * 1024)
    for (const name of ['core', 'field', 'prover', 'verifier']) {
      const compiled = readFileSync(new URL(`build/${name}.wasm`, ROOT)).toString('base64')
      expect(readFileSync(new URL(`build/${name}-wasm.ts`, ROOT), 'utf8')).to.include(compiled)
    }
  })

  it('imports its memory and nothing else, so it has no clock, no randomness and no input', () => {
    for (const module of [coreModule(), fieldModule(), proverModule(), verifierModule()])
      expect(WebAssembly.Module.imports(module)).to.deep.equal([
        { module: 'env', name: 'memory', kind: 'memory' },
      ])
  })

  it('keeps its fixed buffers below the first shard of a nullifier set', () => {
    const memory = new WebAssembly.Memory({ initial: 1 })
    const { exports } = new WebAssembly.Instance(coreModule(), { env: { memory } })
    const { SET_BASE, SET_COEFFICIENTS } = exports as Record<string, WebAssembly.Global>
    expect(SET_BASE?.value).to.be.greaterThan(SET_COEFFICIENTS?.value)
    expect(SET_BASE?.value).to.equal(65_536)
  })
})

describe('programs as they are built', () => {
  it('are ASCII, which takes half the memory', () => {
    for (const name of ['server', 'circuit-worker', 'cli'])
      expect(readFileSync(new URL(`build/${name}.js`, ROOT), 'latin1'), name).to.not.match(/[\x80-\xff]/)
  })
})
