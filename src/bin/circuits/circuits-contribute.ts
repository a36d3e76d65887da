/**
 * `npm run circuits:contribute [-- --name NAME] [ID…]` multiplies one more secret into the proving keys of all
 * circuits, or of the named ones. Nobody can forge proofs as long as one contributor forgot theirs here (phase 2), and
 * one of those who made the powers (phase 1) did so too.
 * @module
 */
import { join } from 'node:path'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import { buildCircuits } from '../build-steps/build-circuits.ts'
import { artifactFile, hashFile, KEYS, readRecord, withDrafts } from './circuits-files.ts'
import { adoptKey, contribute } from './circuits-setup.ts'
import { prepareCurve } from './curve.ts'

const arguments_ = process.argv.slice(2)
const named = arguments_.indexOf('--name')
const [, name = 'anonymous'] = named < 0 ? [] : arguments_.splice(named, 2)
const ids = arguments_.length > 0 ? arguments_ : CIRCUITS.map(({ id }) => id)
const unknown = ids.find((id) => findCircuit(id) === undefined)
if (unknown !== undefined) {
  console.error(`There is no circuit ${unknown}.`)
  process.exit(2)
}
// The record has the hashes of what the key is for.
await buildCircuits()
await prepareCurve()
for (const id of ids) {
  const known = readRecord().circuits[id]
  if (known !== undefined && known.sha256.r1cs !== (await hashFile(artifactFile(id, 'r1cs')))) {
    console.error(`${id} has changed since its key was made: run npm run circuits:setup ${id}.`)
    process.exit(1)
  }
  const { transcript } = await withDrafts(KEYS, async (drafts) => {
    const next = join(drafts, 'next')
    await contribute(artifactFile(id, 'zkey'), next, name)
    return adoptKey(id, next, known?.setup ?? 'single-party')
  })
  const { contributions } = transcript
  console.log(`${id}: contribution ${contributions.length}, ${contributions.at(-1)?.hash}`)
}
