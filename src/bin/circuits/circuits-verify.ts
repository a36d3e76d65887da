/**
 * `npm run circuits:verify` checks that powers, constraints, proving and verification keys are those of the record
 * (circuits/keys/artifacts.json, or that of CIRCUITS_DIR), with the keys of versions that were replaced, that the powers are well-formed and each proving key follows
 * from its circuit and them, and that as many put secrets into both as the record's kind of setup needs. Ends with a
 * non-zero status on any difference. Takes about two minutes; with ids, only those circuits are looked at.
 * @module
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { powersOfTau, zKey } from 'snarkjs'
import { readPowersContributions, readTranscript } from '../../circuits/artifacts/key-files.ts'
import {
  ARTIFACT_ENDINGS,
  type ArtifactKind,
  type CircuitRecord,
  formerKeyFile,
  type PowersRecord,
  powersFault,
  setupFault,
  sha256Hex,
} from '../../circuits/artifacts/setup-record.ts'
import { CIRCUITS } from '../../circuits/catalogue.ts'
import { buildCircuits } from '../build-steps/build-circuits.ts'
import { artifactFile, hashFile, KEYS, readRecord } from './circuits-files.ts'
import { readConstraints } from './circuits-size.ts'
import { prepareCurve } from './curve.ts'

interface InMemory {
  readonly type: 'mem'
  readonly data: Uint8Array
}

/** snarkjs leaves files open, but not what is in memory. */
const inMemory = async (file: string): Promise<InMemory> => ({ type: 'mem', data: await readFile(file) })

/** Everything about the powers that differs from what it must be, in words. */
const powersDifferences = async (record: PowersRecord, powers: InMemory): Promise<string[]> => {
  const found: string[] = []
  const hash = sha256Hex(powers.data)
  if (hash !== record.sha256) found.push(`SHA-256 is ${hash}`)
  // By what the file says, not by what the record says of it.
  const contributions = readPowersContributions(powers.data)
  if (!isDeepStrictEqual(contributions, record.contributions)) found.push('another history of contributions')
  const fault = powersFault({ ...record, contributions })
  if (fault !== undefined) found.push(fault)
  if (!(await powersOfTau.verify(powers))) found.push('these are not powers that the contributions made')
  return found
}

/** Everything about one circuit that differs from what it must be, in words. */
const differences = async (
  id: string,
  record: CircuitRecord,
  powersRecord: PowersRecord,
  powers: InMemory,
): Promise<string[]> => {
  const found: string[] = []
  for (const kind of Object.keys(ARTIFACT_ENDINGS) as ArtifactKind[]) {
    const hash = await hashFile(artifactFile(id, kind))
    if (hash !== record.sha256[kind]) found.push(`${kind} has SHA-256 ${hash}`)
  }
  for (const { version, vkey } of record.former ?? []) {
    const name = formerKeyFile(id, version)
    const hash = existsSync(join(KEYS, name)) ? await hashFile(join(KEYS, name)) : undefined
    if (hash !== vkey) found.push(hash === undefined ? `${name} is missing` : `${name} has SHA-256 ${hash}`)
  }
  const constraints = await readConstraints(artifactFile(id, 'r1cs'))
  if (constraints !== record.constraints) found.push(`${constraints} constraints`)
  const [r1cs, zkey] = [await inMemory(artifactFile(id, 'r1cs')), await inMemory(artifactFile(id, 'zkey'))]
  const transcript = readTranscript(zkey.data)
  if (!isDeepStrictEqual(transcript, record.transcript)) found.push('another history of contributions')
  const fault = setupFault(powersRecord, { ...record, transcript })
  if (fault !== undefined) found.push(fault)
  if (!(await zKey.verifyFromR1cs(r1cs, powers, zkey)))
    found.push('the proving key does not follow from circuit and powers')
  const verificationKey: unknown = JSON.parse(await readFile(artifactFile(id, 'vkey'), 'utf8'))
  if (!isDeepStrictEqual(await zKey.exportVerificationKey(zkey), verificationKey))
    found.push('the verification key is not that of the proving key')
  return found
}

const report = (what: string, found: readonly string[]): void => {
  console.log(`${what}: ${found.length === 0 ? 'ok' : found.join('; ')}`)
  if (found.length > 0) process.exitCode = 1
}

const ids = process.argv.slice(2)
const asked = ids.length === 0 ? CIRCUITS : CIRCUITS.filter(({ id }) => ids.includes(id))
if (asked.length < ids.length) {
  console.error(`usage: npm run circuits:verify [ID…], of ${CIRCUITS.map(({ id }) => id).join(', ')}`)
  process.exit(2)
}
await buildCircuits()
await prepareCurve()
const record = readRecord()
const powers = await inMemory(join(KEYS, record.powers.file))
report(record.powers.file, await powersDifferences(record.powers, powers))
for (const { id } of asked) {
  const circuit = record.circuits[id]
  report(
    id,
    circuit === undefined ? ['not in the record'] : await differences(id, circuit, record.powers, powers),
  )
}
for (const id of Object.keys(record.circuits))
  if (!CIRCUITS.some((circuit) => circuit.id === id)) report(id, ['in the record, but no circuit'])
