/** Proving and verification keys are used only as their record says. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ArtifactError, loadArtifacts } from '../../src/circuits/artifacts/artifacts.ts'
import {
  type Contribution,
  type PowersType,
  setupFault,
  sha256Hex,
  type Transcript,
  transcriptSha256,
} from '../../src/circuits/artifacts/setup-record.ts'
import { CIRCUITS } from '../../src/circuits/catalogue.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { rejection } from '../support/rejection.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const KEYS = join(import.meta.dirname, '../../circuits/keys')

type Fields = Record<string, unknown>

describe('artifacts', () => {
  const newDirectory = temporaryDirectories()
  const copyOfKeys = async (): Promise<string> => {
    const directory = await newDirectory()
    await cp(KEYS, directory, { recursive: true, filter: (name) => !name.endsWith('.ptau') })
    return directory
  }

  it('are the same from another directory', async () => {
    const loaded = loadArtifacts(await copyOfKeys())
    for (const { id } of CIRCUITS) {
      const { load, ...known } = loaded[id]
      expect({ ...known, ...(await load()), load: artifacts[id].load }).to.deep.equal(artifacts[id])
    }
  })

  it('are read for proofs when they are needed, once, and only as they were at the start', async () => {
    const directory = await copyOfKeys()
    const { load } = loadArtifacts(directory).yesno
    const file = join(directory, 'yesno.zkey')
    const bytes = await readFile(file)
    const refused = async (): Promise<void> => {
      const error = await rejection(load())
      expect(error).to.be.instanceOf(ArtifactError)
      expect(error.message).to.include('yesno.zkey')
    }
    await writeFile(file, Buffer.concat([bytes, Buffer.of(0)]))
    await refused()
    await writeFile(file, bytes.subarray(1))
    await refused()
    await rm(file)
    await refused()
    await writeFile(file, bytes)
    const loaded = await load()
    expect(loaded.zkey.buffer).to.be.instanceOf(SharedArrayBuffer)
    expect(Buffer.from(loaded.zkey).equals(bytes)).to.equal(true)
    await rm(file)
    expect(await load()).to.equal(loaded)
  })

  for (const name of ['yesno.zkey', 'yesno.vkey.json', 'simple_yesno.zkey']) {
    it(`are refused by name when ${name} was altered or is missing`, async () => {
      const directory = await copyOfKeys()
      const file = join(directory, name)
      const bytes = await readFile(file)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      await writeFile(file, bytes)
      expect(() => loadArtifacts(directory)).to.throw(ArtifactError, name)
      await rm(file)
      expect(() => loadArtifacts(directory)).to.throw(ArtifactError, name)
    })
  }

  it('have the verification keys of versions that were replaced, unaltered, by their names', async () => {
    const name = 'kyc@1.0.0.vkey.json'
    const directory = await copyOfKeys()
    const file = join(directory, name)
    const key = JSON.parse(await readFile(file, 'utf8'))
    expect(loadArtifacts(directory).kyc.formerKeys).to.deep.equal(new Map([['1.0.0', key]]))
    expect(loadArtifacts(directory).yesno.formerKeys).to.deep.equal(new Map())
    await writeFile(file, JSON.stringify({ ...key, nPublic: 1 }))
    expect(() => loadArtifacts(directory)).to.throw(ArtifactError, name)
    await rm(file)
    expect(() => loadArtifacts(directory)).to.throw(ArtifactError, name)
  })

  it('are refused when the keys are for another version than the circuit', async () => {
    const directory = await copyOfKeys()
    const file = join(directory, 'artifacts.json')
    const record = JSON.parse(await readFile(file, 'utf8'))
    const { version: _, ...unversioned } = record.circuits.kyc
    for (const [kyc, version] of [
      [{ ...unversioned, version: '2.0.1' }, '2.0.1'],
      // What tells no version is of the first one.
      [unversioned, '1.0.0'],
    ] as const) {
      await writeFile(file, JSON.stringify({ ...record, circuits: { ...record.circuits, kyc } }))
      const complaint = `kyc: the keys are for version ${version}, the circuit is 2.0.0`
      expect(() => loadArtifacts(directory)).to.throw(ArtifactError, complaint)
    }
  })

  it('are refused when the record says nothing of a circuit, or of another witness program', async () => {
    const directory = await copyOfKeys()
    const file = join(directory, 'artifacts.json')
    const record = JSON.parse(await readFile(file, 'utf8'))
    const { yesno, ...others } = record.circuits
    await writeFile(file, JSON.stringify({ ...record, circuits: others }))
    expect(() => loadArtifacts(directory)).to.throw(ArtifactError, 'yesno')
    const altered = { ...yesno, sha256: { ...yesno.sha256, wasm: yesno.sha256.r1cs } }
    await writeFile(file, JSON.stringify({ ...record, circuits: { ...others, yesno: altered } }))
    expect(() => loadArtifacts(directory)).to.throw(ArtifactError, 'yesno.wasm')
    await rm(file)
    expect(() => loadArtifacts(directory)).to.throw(ArtifactError, 'artifacts.json')
  })

  /** What loading says when the record of yesno and of the powers, and the verification key of yesno, are others. */
  const complaint = async (
    alter: (yesno: Fields, powers: Fields) => void,
    alterKey: (vkey: Fields) => void = () => undefined,
  ): Promise<string> => {
    const directory = await copyOfKeys()
    const [file, keyFile] = [join(directory, 'artifacts.json'), join(directory, 'yesno.vkey.json')]
    const vkey: Fields = JSON.parse(await readFile(keyFile, 'utf8'))
    alterKey(vkey)
    await writeFile(keyFile, JSON.stringify(vkey))
    const record = JSON.parse(await readFile(file, 'utf8'))
    record.circuits.yesno.sha256.vkey = sha256Hex(JSON.stringify(vkey))
    alter(record.circuits.yesno, record.powers)
    await writeFile(file, JSON.stringify(record))
    try {
      loadArtifacts(directory)
      return 'loaded'
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error
      return error.message
    }
  }
  const ada = { name: 'Ada', hash: '0a' }
  const beacon = { name: 'beacon', hash: '0b', beacon: true }

  it('are refused without a secret in either phase, which a beacon is not', async () => {
    const { transcript } = JSON.parse(await readFile(join(KEYS, 'artifacts.json'), 'utf8')).circuits.yesno
    for (const contributions of [[], [beacon]]) {
      const bare = { ...transcript, contributions }
      const keys = await complaint((yesno) => Object.assign(yesno, { transcript: bare }))
      expect(keys).to.include('yesno: no secret contribution')
      const powers = await complaint((_, record) => Object.assign(record, { contributions }))
      expect(powers).to.include('powers-13.ptau: no secret contribution')
    }
  })

  it('are refused with a kind of setup that is unknown, or that too few contributed to', async () => {
    for (const setup of ['public', 'none', undefined, 1])
      expect(await complaint((yesno) => Object.assign(yesno, { setup }))).to.include('yesno: the setup is')
    for (const setup of ['none', undefined])
      expect(await complaint((_, powers) => Object.assign(powers, { setup }))).to.include(
        '.ptau: the setup is',
      )
    for (const setup of ['multi-party', 'public'])
      expect(await complaint((_, powers) => Object.assign(powers, { setup }))).to.include(
        `.ptau: ${setup}, with 1`,
      )
    const many = { setup: 'public', contributions: [ada, ada, beacon] }
    expect(await complaint((_, powers) => Object.assign(powers, many))).to.equal('loaded')
    const claimed = (yesno: Fields, powers: Fields) => {
      Object.assign(powers, many)
      Object.assign(yesno, { setup: 'multi-party' })
    }
    expect(await complaint(claimed)).to.include('yesno: multi-party, with 1')
  })

  it('are of several parties only where both phases are', () => {
    const powers = (setup: PowersType) => ({ file: '', sha256: '', setup, contributions: [ada, ada] })
    const sha256 = { zkey: '', vkey: '', wasm: '', r1cs: '', sym: '' }
    const circuit = (contributions: Contribution[]) => ({
      setup: 'multi-party' as const,
      constraints: 1,
      sha256,
      transcript: { circuitHash: '', contributions },
    })
    expect(setupFault(powers('public'), circuit([ada, ada]))).to.equal(undefined)
    expect(setupFault(powers('multi-party'), circuit([ada, ada]))).to.equal(undefined)
    expect(setupFault(powers('single-party'), circuit([ada, ada]))).to.include('powers of a single party')
    const withBeacon = [ada, { ...ada, beacon: true as const }]
    expect(setupFault(powers('public'), circuit(withBeacon))).to.include('with 1 secret')
  })

  it('are refused when the verification key is another one, or for other signals, whatever its hash', async () => {
    const same = () => undefined
    const other: Fields = JSON.parse(await readFile(join(KEYS, 'simple_yesno.vkey.json'), 'utf8'))
    const complaints = [
      (key: Fields) => Object.assign(key, { vk_delta_2: key.vk_gamma_2 }),
      (key: Fields) => Object.assign(key, { vk_gamma_2: key.vk_delta_2 }),
      (key: Fields) => Object.assign(key, { vk_beta_2: key.vk_delta_2 }),
      (key: Fields) => Object.assign(key, { vk_alpha_1: ['1', '2', '1'] }),
      (key: Fields) => Object.assign(key, { IC: (key.IC as unknown[]).toReversed() }),
      (key: Fields) => Object.assign(key, { IC: (key.IC as unknown[]).slice(1) }),
      (key: Fields) => Object.assign(key, { protocol: 'plonk' }),
    ]
    for (const alter of complaints)
      expect(await complaint(same, alter)).to.include(
        'yesno: the verification key is not that of the proving',
      )
    expect(await complaint(same, (key) => Object.assign(key, other))).to.include('is for 4 public signals')
    expect(await complaint(same)).to.equal('loaded')
  })

  it('are refused when the proving key has another history than the record', async () => {
    const renamed = (yesno: Fields) => {
      const { contributions } = yesno.transcript as Transcript
      const transcript = { ...(yesno.transcript as Transcript), contributions: [...contributions, ada] }
      Object.assign(yesno, { transcript })
    }
    expect(await complaint(renamed)).to.include('yesno: the proving key has another history')
  })

  it('rest on at least one contribution of randomness, which the transcript names', async () => {
    const { powers, circuits } = JSON.parse(await readFile(join(KEYS, 'artifacts.json'), 'utf8'))
    for (const { id } of CIRCUITS) {
      const { setup } = artifacts[id]
      expect(setup.type).to.equal('single-party')
      expect(setup.contributions).to.be.at.least(1)
      expect(setup.transcriptSha256).to.equal(transcriptSha256(powers.sha256, circuits[id]))
      expect(transcriptSha256('other powers', circuits[id])).to.not.equal(setup.transcriptSha256)
      const transcript = { ...circuits[id].transcript, contributions: [] }
      const bare = transcriptSha256(powers.sha256, { ...circuits[id], transcript })
      expect(bare).to.not.equal(setup.transcriptSha256)
    }
  })
})
