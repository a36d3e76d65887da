/**
 * Phase 2 of the setup: `npm run circuits:setup yesno` makes a new proving key for a circuit whose constraints
 * changed, from the powers and this machine's own randomness, and writes its verification key and its record. What
 * was proven with the old key can't be verified with the new one.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { zKey } from 'snarkjs'
import { readPowersContributions, readTranscript } from '../../circuits/artifacts/key-files.ts'
import {
  ARTIFACT_ENDINGS,
  type CircuitRecord,
  formerKeyFile,
  type PowersRecord,
  powersFault,
  type SetupType,
  sha256Hex,
  versionOf,
} from '../../circuits/artifacts/setup-record.ts'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import { buildCircuits } from '../build-steps/build-circuits.ts'
import {
  artifactFile,
  hashFile,
  KEYS,
  lockKeys,
  place,
  readRecord,
  withDrafts,
  writeRecord,
} from './circuits-files.ts'
import { readConstraints } from './circuits-size.ts'
import { prepareCurve } from './curve.ts'
import { keepPrograms } from './witness-programs.ts'

const ENTROPY_BYTES = 64

/**
 * Multiplies a secret that nobody knows into a proving key. It comes from the operating system's generator and never
 * leaves this process; snarkjs mixes 64 bytes more of its own into it.
 */
export const contribute = (from: string, to: string, name: string): Promise<Uint8Array> =>
  zKey.contribute(from, to, name, randomBytes(ENTROPY_BYTES).toString('hex'))

/**
 * Keeps the verification key that is replaced, where it is that of another version: proofs of that one can be verified with it.
 * Keys that are made anew for one version are nobody's to rely on.
 */
const keepFormer = async (
  id: string,
  version: string,
  circuit: CircuitRecord | undefined,
): Promise<CircuitRecord['former']> => {
  if (circuit === undefined || versionOf(circuit) === version) return circuit?.former
  const replaced = versionOf(circuit)
  // After a crash the new one may stand there already, and the former one has been kept.
  if ((await hashFile(artifactFile(id, 'vkey'))) === circuit.sha256.vkey)
    await copyFile(artifactFile(id, 'vkey'), join(KEYS, formerKeyFile(id, replaced)))
  return [...(circuit.former ?? []), { version: replaced, vkey: circuit.sha256.vkey }]
}

/** A proving key in a directory of drafts. */
interface NewKey {
  readonly id: string
  readonly draft: string
  /** Who knew the randomness of this key. */
  readonly setup: SetupType
}

const vkeyOf = (draft: string): string => `${draft}${ARTIFACT_ENDINGS.vkey}`

/** Makes what follows from a new proving key: the verification key, beside it, and what is recorded of both. */
const describeKey = async (
  { id, draft, setup }: NewKey,
  former: CircuitRecord | undefined,
): Promise<CircuitRecord> => {
  const vkey = vkeyOf(draft)
  await writeFile(vkey, `${JSON.stringify(await zKey.exportVerificationKey(draft), undefined, 2)}\n`)
  const built = (['wasm', 'r1cs', 'sym'] as const).map((kind) => hashFile(artifactFile(id, kind)))
  const [wasm = '', r1cs = '', sym = ''] = await Promise.all(built)
  const version = findCircuit(id)?.version ?? ''
  return {
    version,
    former: await keepFormer(id, version, former),
    setup,
    constraints: await readConstraints(artifactFile(id, 'r1cs')),
    sha256: { zkey: await hashFile(draft), vkey: await hashFile(vkey), wasm, r1cs, sym },
    transcript: readTranscript(await readFile(draft)),
  }
}

/**
 * Puts new proving keys in their places, with what follows from them: the verification keys and the record. Everything is
 * made before anything is placed, and the record comes last: whatever a crash leaves is refused, and made by the next
 * run. Only while {@link lockKeys} keeps others off.
 * @param powers those that they were made from; the recorded ones where absent
 */
export const adoptKeys = async (keys: readonly NewKey[], powers?: PowersRecord): Promise<void> => {
  const record = readRecord()
  const circuits = { ...record.circuits }
  for (const key of keys) circuits[key.id] = await describeKey(key, record.circuits[key.id])
  for (const { id, draft } of keys) {
    await place(draft, artifactFile(id, 'zkey'))
    await place(vkeyOf(draft), artifactFile(id, 'vkey'))
  }
  await writeRecord({ powers: powers ?? record.powers, circuits })
}

/** The one file of powers beside the proving keys. */
const findPowers = (): string => {
  const [file, ...others] = readdirSync(KEYS).filter((name) => name.endsWith('.ptau'))
  if (file === undefined || others.length > 0) throw new Error(`${KEYS} must hold exactly one .ptau file`)
  return file
}

/** What is recorded of the powers. Who made them only their operator can say, once for each file. */
const describePowers = async (): Promise<PowersRecord> => {
  const file = findPowers()
  const bytes = await readFile(join(KEYS, file))
  const { powers } = readRecord()
  const sha256 = sha256Hex(bytes)
  const setup = powers.sha256 === sha256 ? powers.setup : 'single-party'
  return { file, sha256, setup, contributions: readPowersContributions(bytes) }
}

/**
 * Why keys of these circuits alone can't be made from the powers, in words. The record names the powers of all keys, which it
 * would say of keys that are of others.
 */
const otherPowersFault = (powers: PowersRecord, ids: readonly string[]): string | undefined => {
  const record = readRecord()
  if (record.powers.sha256 === powers.sha256) return undefined
  const others = Object.keys(record.circuits).filter((id) => !ids.includes(id))
  return others.length === 0
    ? undefined
    : `these are not the powers of the keys that are recorded: make those of ${others.join(', ')} anew as well, in the same run`
}

/** Makes the keys of all before it adopts any. */
const setUp = (ids: readonly string[], powers: PowersRecord): Promise<void> =>
  withDrafts(KEYS, async (drafts) => {
    const keys = ids.map((id): NewKey => ({ id, draft: join(drafts, id), setup: 'single-party' }))
    const bare = join(drafts, 'bare')
    for (const { id, draft } of keys) {
      const r1cs = await readFile(artifactFile(id, 'r1cs'))
      await zKey.newZKey({ type: 'mem', data: r1cs }, join(KEYS, powers.file), bare)
      await contribute(bare, draft, 'assay')
    }
    await adoptKeys(keys, powers)
  })

const run = async (given: readonly string[]): Promise<void> => {
  const ids = [...new Set(given)]
  const unknown = ids.filter((id) => findCircuit(id) === undefined)
  if (ids.length === 0 || unknown.length > 0) {
    console.error(`usage: npm run circuits:setup ID…, of ${CIRCUITS.map(({ id }) => id).join(', ')}`)
    process.exit(2)
  }
  lockKeys()
  const powers = await describePowers()
  const fault = powersFault(powers) ?? otherPowersFault(powers, ids)
  if (fault !== undefined) throw new Error(`${powers.file}: ${fault}`)
  await buildCircuits()
  await prepareCurve()
  await setUp(ids, powers)
  for (const id of ids) console.log(`${id}: new keys in ${KEYS}; commit them once`)
  await keepPrograms()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run(process.argv.slice(2))
