/** The curve that proofs are made on is prepared once, and again when that failed. */
import { expect } from 'chai'
import { rejection } from '../support/rejection.ts'

// A module of its own: the others have prepared theirs.
const FRESH: string = '../../src/bin/circuits/curve.ts?fresh'

describe('prepareCurve', function () {
  this.timeout(10_000)
  const { compile } = WebAssembly
  let prepared: object | null | undefined
  beforeEach(() => {
    prepared = globalThis.curve_bn128
  })
  afterEach(() => {
    WebAssembly.compile = compile
    // Never nothing: snarkjs would start threads that nobody ends.
    globalThis.curve_bn128 = prepared ?? globalThis.curve_bn128
  })

  it('tries again after it failed', async () => {
    const { prepareCurve }: typeof import('../../src/bin/circuits/curve.ts') = await import(FRESH)
    globalThis.curve_bn128 = null
    WebAssembly.compile = () => Promise.reject(new RangeError('out of memory'))
    expect((await rejection(prepareCurve())).message).to.equal('out of memory')
    WebAssembly.compile = compile
    await prepareCurve()
    expect(globalThis.curve_bn128).to.be.an('object')
  })
})
