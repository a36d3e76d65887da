/**
 * Phase 1 of the setup: `npm run circuits:powers` makes powers-13.ptau beside the proving keys (circuits/keys, or
 * CIRCUITS_DIR), powers of a secret number that nobody knows. The number comes from the operating system's generator
 * and never leaves this process. Refuses to replace a file, since every proving key is derived from it; takes minutes.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { curves, powersOfTau } from 'snarkjs'
import { KEYS, lockKeys, place, withDrafts } from './circuits-files.ts'

/** Circuits may have up to 2^13 constraints. */
const POWER = 13
const ENTROPY_BYTES = 64

await mkdir(KEYS, { recursive: true })
lockKeys()
const target = join(KEYS, `powers-${POWER}.ptau`)
if (existsSync(target)) {
  console.error(`${target} exists; every proving key depends on it. Remove it by hand to start anew.`)
  process.exit(1)
}
// With threads of its own, unlike elsewhere: this is the only thing that runs.
const curve = await curves.getCurveFromName('bn128')
try {
  await withDrafts(KEYS, async (drafts) => {
    const [empty, random, prepared] = [join(drafts, '0'), join(drafts, '1'), join(drafts, 'prepared')]
    await powersOfTau.newAccumulator(curve, POWER, empty)
    console.log('drawing the secret, raising it to its powers')
    await powersOfTau.contribute(empty, random, 'assay', randomBytes(ENTROPY_BYTES).toString('hex'))
    console.log('preparing phase 2')
    await powersOfTau.preparePhase2(random, prepared)
    console.log('verifying')
    if (!(await powersOfTau.verify(prepared))) throw new Error('the new powers do not verify')
    await place(prepared, target)
    console.log(`made ${target}`)
  })
} finally {
  await curve.terminate()
}
