/**
 * `npm run circuits:record` brings the record up to date after lines of the circuits have moved: witness programs and
 * symbols name lines, so their hashes change where the constraints don't. Keys stay as they are. The programs are kept
 * for servers that don't compile (circuits/witness-programs.br). Ends with a non-zero
 * status where constraints have changed: those need keys of their own, by `npm run circuits:setup`.
 * @module
 */
import type { CircuitRecord } from '../../circuits/artifacts/setup-record.ts'
import { buildCircuits } from '../build-steps/build-circuits.ts'
import { artifactFile, hashFile, lockKeys, readRecord, writeRecord } from './circuits-files.ts'
import { keepPrograms } from './witness-programs.ts'

const REBUILT = ['wasm', 'sym'] as const

/** @returns undefined where the constraints are not the recorded ones */
const upToDate = async (id: string, circuit: CircuitRecord): Promise<CircuitRecord | undefined> => {
  if ((await hashFile(artifactFile(id, 'r1cs'))) !== circuit.sha256.r1cs) return undefined
  const [wasm, sym] = (await Promise.all(REBUILT.map((kind) => hashFile(artifactFile(id, kind))))) as [
    string,
    string,
  ]
  return { ...circuit, sha256: { ...circuit.sha256, wasm, sym } }
}

lockKeys()
await buildCircuits()
const record = readRecord()
const circuits = { ...record.circuits }
for (const [id, circuit] of Object.entries(record.circuits)) {
  const next = await upToDate(id, circuit)
  if (next === undefined) {
    console.error(`${id}: its constraints have changed; npm run circuits:setup ${id} makes keys for them`)
    process.exitCode = 1
  } else if (REBUILT.some((kind) => next.sha256[kind] !== circuit.sha256[kind])) {
    circuits[id] = next
    console.log(`${id}: recorded`)
  }
}
await writeRecord({ ...record, circuits })
if (process.exitCode === undefined) await keepPrograms()
