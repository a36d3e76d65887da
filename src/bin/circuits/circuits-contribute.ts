/**
 * `npm run circuits:contribute [-- --name NAME] [ID…]` multiplies one more secret into the proving keys of all
 * circuits, or of the named ones. Nobody can forge proofs as long as one contributor forgot theirs here (phase 2), and
 * one of those who made the powers (phase 1) did so too.
 * @module
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readTranscript } from '../../circuits/artifacts/key-files.ts'
import type { CircuitRecord } from '../../circuits/artifacts/setup-record.ts'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import { buildCircuits } from '../build-steps/build-circuits.ts'
import { artifactFile, hashFile, KEYS, lockKeys, readRecord, withDrafts } from './circuits-files.ts'
import { adoptKeys, contribute } from './circuits-setup.ts'
import { prepareCurve } from './curve.ts'

const refuse = (why: string): never => {
  console.error(why)
  process.exit(2)
}

/** @returns the name of who contributes, and the ids of the circuits whose keys are meant */
const readArguments = (given: readonly string[]): { name: string; ids: readonly string[] } => {
  const ids = [...given]
  const named = ids.indexOf('--name')
  const [, name = ''] = named < 0 ? ['', 'anonymous'] : ids.splice(named, 2)
  if (name === '' || name.startsWith('--') || findCircuit(name) !== undefined)
    refuse('--name takes a name, of no circuit: npm run circuits:contribute [-- --name NAME] [ID…]')
  const unknown = ids.find((id) => findCircuit(id) === undefined)
  if (unknown !== undefined) refuse(`There is no circuit ${unknown}.`)
  return { name, ids: ids.length > 0 ? ids : CIRCUITS.map(({ id }) => id) }
}

/** Why nobody may contribute to the key of a circuit as it lies there, in words. */
const keyFault = async (id: string, { sha256, transcript }: CircuitRecord): Promise<string | undefined> => {
  if (sha256.r1cs !== (await hashFile(artifactFile(id, 'r1cs'))))
    return `${id} has changed since its key was made: run npm run circuits:setup ${id}.`
  const found = readTranscript(await readFile(artifactFile(id, 'zkey')))
  // It may have more: a crash leaves a key whose last contribution is not recorded yet.
  const contributions = found.contributions.slice(0, transcript.contributions.length)
  return isDeepStrictEqual({ ...found, contributions }, transcript)
    ? undefined
    : `The key of ${id} lacks contributions that artifacts.json records: take all files from whoever contributed last.`
}

const { name, ids } = readArguments(process.argv.slice(2))
lockKeys()
// The record has the hashes of what the key is for.
await buildCircuits()
await prepareCurve()
const { circuits } = readRecord()
for (const id of ids) {
  const known = circuits[id]
  const fault = known && (await keyFault(id, known))
  if (fault !== undefined) {
    console.error(fault)
    process.exit(1)
  }
}
for (const id of ids) {
  await withDrafts(KEYS, async (drafts) => {
    const next = join(drafts, 'next')
    await contribute(artifactFile(id, 'zkey'), next, name)
    await adoptKeys([{ id, draft: next, setup: circuits[id]?.setup ?? 'single-party' }])
  })
  const { contributions } = readTranscript(await readFile(artifactFile(id, 'zkey')))
  console.log(`${id}: contribution ${contributions.length}, ${contributions.at(-1)?.hash}`)
}
