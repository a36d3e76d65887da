/**
 * The programs of the setup, on keys of the smallest circuit, made of as many of the shipped powers as it needs: randomness is
 * added, and every difference is found. All of the powers take many times as long, and `npm run circuits:verify` has them.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { curves, powersOfTau } from 'snarkjs'
import { buildCircuits } from '../../src/bin/build-steps/build-circuits.ts'
import { prepareCurve } from '../../src/bin/circuits/curve.ts'
import {
  type Artifacts,
  type CircuitArtifacts,
  loadArtifacts,
} from '../../src/circuits/artifacts/artifacts.ts'
import { readPowersContributions, readSection } from '../../src/circuits/artifacts/key-files.ts'
import { type Contribution, sha256Hex } from '../../src/circuits/artifacts/setup-record.ts'
import type { CircuitId } from '../../src/circuits/catalogue.ts'
import { createProofMaker } from '../../src/circuits/proving/groth16.ts'
import { verifyPairing } from '../../src/circuits/verifier.ts'
import { lockDirectory } from '../../src/store/directory-lock.ts'
import { GOOD_INPUTS, goodProof } from '../support/domain/proofs.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const ROOT = join(import.meta.dirname, '../..')
const KEYS = join(ROOT, 'circuits/keys')

const SHIPPED_POWERS = 'powers-13.ptau'
/** 2^9: simple_yesno has 434 constraints. */
const POWERS = 'powers-09.ptau'
/** Too few for any circuit, but it is the powers that are told about first. */
const SMALL_POWER = 4
const BEACON_DOUBLINGS = 10

interface AlteredRecord {
  powers: { setup: string; sha256: string }
  circuits: Record<
    CircuitId,
    {
      setup: string
      sha256: Record<string, string>
      former?: { version: string; vkey: string }[]
      transcript: { contributions: Contribution[] }
    }
  >
}

/** What the types of snarkjs leave out. */
interface Truncating {
  /** Writes the first 2, 4, 8… of powers, each into a file whose name is the template and two digits. */
  truncate(powers: string, template: string): Promise<unknown>
}

onEmbedded.describe('the setup of the circuits', function () {
  this.timeout(300_000)
  const newDirectory = temporaryDirectories()
  /** The keys that are shipped, but for those of simple_yesno, which are of fewer powers. */
  let made: string

  const copyOf = async (keys: string): Promise<string> => {
    const directory = await newDirectory()
    await cp(keys, directory, { recursive: true })
    return directory
  }
  const copyOfKeys = (): Promise<string> => copyOf(made)
  /** Runs a program on a directory of keys. @returns its status and what it said */
  const run = async (program: string, directory: string, ...options: string[]) => {
    const env = { ...process.env, CIRCUITS_DIR: directory }
    const started = promisify(execFile)(
      process.execPath,
      ['--import=tsx', join(ROOT, `src/bin/circuits/circuits-${program}.ts`), ...options],
      { env, cwd: ROOT },
    )
    return started.then(
      ({ stdout }) => ({ status: 0, stdout }),
      ({ code, stdout, stderr }) => ({ status: Number(code), stdout: `${stdout}${stderr}` }),
    )
  }
  const alterRecord = async (directory: string, alter: (record: AlteredRecord) => void): Promise<void> => {
    const file = join(directory, 'artifacts.json')
    const record = JSON.parse(await readFile(file, 'utf8'))
    alter(record)
    await writeFile(file, JSON.stringify(record))
  }
  /** What snarkjs' own program tells about contributions to a key of simple_yesno, digits without spaces. */
  const hashesOfSnarkjs = async (zkey: string): Promise<string> => {
    const files = [join(ROOT, 'build/circuits/simple_yesno.r1cs'), join(made, POWERS), zkey]
    const program = join(ROOT, 'node_modules/snarkjs/build/cli.cjs')
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'zkey', 'verify', ...files])
    return stdout.replaceAll(/\s/g, '')
  }
  /** Powers that somebody, nobody, or a public value contributed to. */
  const makePowers = async (contribution?: 'secret' | 'beacon'): Promise<Uint8Array> => {
    await prepareCurve()
    const curve = await curves.getCurveFromName('bn128')
    const directory = await newDirectory()
    const [empty, next, prepared] = ['0', '1', '2'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await powersOfTau.newAccumulator(curve, SMALL_POWER, empty)
    if (contribution === 'beacon')
      await powersOfTau.beacon(empty, next, 'beacon', 'ab'.repeat(32), BEACON_DOUBLINGS)
    if (contribution === 'secret') await powersOfTau.contribute(empty, next, 'Ada', 'entropy')
    await powersOfTau.preparePhase2(contribution === undefined ? empty : next, prepared)
    return readFile(prepared)
  }
  /** As many of the shipped powers as the circuit needs, which costs less than to make others. */
  const fewerPowers = async (): Promise<Uint8Array> => {
    await prepareCurve()
    const directory = await newDirectory()
    const { truncate } = powersOfTau as typeof powersOfTau & Truncating
    await truncate(join(KEYS, SHIPPED_POWERS), join(directory, 'powers-'))
    return readFile(join(directory, POWERS))
  }
  /** Whether the proof that the first keys made of the good input holds under the second. */
  const proofHolds = async (from: Artifacts, to: Artifacts): Promise<boolean> => {
    const { proof, publicSignals } = await (await createProofMaker(await from.simple_yesno.load()))(
      GOOD_INPUTS.simple_yesno,
    )
    return (await verifyPairing(to.simple_yesno.verificationKey, proof, publicSignals)).valid
  }

  before(async () => {
    made = await mkdtemp(join(tmpdir(), 'assay-ceremony-'))
    await cp(KEYS, made, { recursive: true })
    await rm(join(made, SHIPPED_POWERS))
    const powers = await fewerPowers()
    await writeFile(join(made, POWERS), powers)
    await alterRecord(made, (record) => {
      record.circuits.simple_yesno.setup = 'multi-party'
      // As if all keys were of these.
      record.powers.sha256 = sha256Hex(powers)
    })
    const { status, stdout } = await run('setup', made, 'simple_yesno')
    expect(status, stdout).to.equal(0)
  })
  after(() => rm(made, { recursive: true }))

  it('builds again what a crash left empty', async () => {
    const symbols = join(ROOT, 'build/circuits/yesno.sym')
    const before = await readFile(symbols)
    await writeFile(symbols, '')
    await buildCircuits()
    expect(before.equals(await readFile(symbols))).to.equal(true)
  })

  it('takes the randomness of others, with their names, and makes other keys of it', async () => {
    const directory = await copyOfKeys()
    const contributed = await run('contribute', directory, '--name', 'Ada', 'simple_yesno')
    expect(contributed.status).to.equal(0)
    expect((await run('verify', directory, 'simple_yesno')).status).to.equal(0)
    const [before, after] = [loadArtifacts(made), loadArtifacts(directory)]
    const contentOf = async ({ load, ...rest }: CircuitArtifacts) => ({ ...rest, ...(await load()) })
    expect(await contentOf(after.yesno)).to.deep.equal(await contentOf(before.yesno))
    expect(after.simple_yesno.setup.contributions).to.equal(before.simple_yesno.setup.contributions + 1)
    expect(after.simple_yesno.setup.transcriptSha256).to.not.equal(before.simple_yesno.setup.transcriptSha256)
    const { circuits } = JSON.parse(await readFile(join(directory, 'artifacts.json'), 'utf8'))
    const { name, hash } = circuits.simple_yesno.transcript.contributions.at(-1)
    expect(name).to.equal('Ada')
    expect(contributed.stdout).to.equal(`simple_yesno: contribution 2, ${hash}\n`)
    expect(await hashesOfSnarkjs(join(directory, 'simple_yesno.zkey'))).to.include(hash)
    expect(await proofHolds(after, after)).to.equal(true)
    expect(await proofHolds(before, after)).to.equal(false)
    const { proof, publicSignals } = await goodProof('simple_yesno')
    expect(await verifyPairing(after.simple_yesno.verificationKey, proof, publicSignals)).to.have.property(
      'valid',
      false,
    )
  })

  it('adds to no key that lacks a contribution of the record, and takes no name that is missing or a circuit’s', async () => {
    const directory = await copyOfKeys()
    await alterRecord(directory, ({ circuits }) => {
      circuits.simple_yesno.transcript.contributions.push({ name: 'Ada', hash: '0a' })
    })
    const filesOf = async () => {
      const names = (await readdir(directory)).sort()
      return Promise.all(names.map(async (name) => [name, sha256Hex(await readFile(join(directory, name)))]))
    }
    const before = await filesOf()
    // The first of them has nothing wrong.
    const refused = await run('contribute', directory, '--name', 'Grace', 'yesno', 'simple_yesno')
    expect(refused.status).to.equal(1)
    expect(refused.stdout).to.include('The key of simple_yesno lacks contributions')
    for (const options of [
      ['yesno', '--name'],
      ['--name', 'kyc'],
      ['--name', '--name'],
      ['--name', ''],
    ]) {
      const unnamed = await run('contribute', directory, ...options)
      expect(unnamed.status, options.join(' ')).to.equal(2)
      expect(unnamed.stdout).to.include('--name takes a name')
    }
    expect(await filesOf()).to.deep.equal(before)
  })

  it('lets one program at a time change the keys, and removes the drafts of one that was killed', async () => {
    const directory = await copyOfKeys()
    const before = (await readdir(directory)).sort()
    const unlock = lockDirectory(join(directory, 'keys.lock'))
    const programs = [
      ['contribute', 'simple_yesno'],
      ['setup', 'simple_yesno'],
      ['record'],
      ['powers'],
    ] as const
    for (const [program, ...ids] of programs) {
      const refused = await run(program, directory, ...ids)
      expect(refused.status, program).to.equal(1)
      expect(refused.stdout).to.include(`${directory} is in use by process ${process.pid}`)
    }
    unlock()
    await mkdir(join(directory, 'draft-killed'))
    await writeFile(join(directory, 'draft-killed', 'next'), 'a key')
    expect((await run('record', directory)).status).to.equal(0)
    expect((await readdir(directory)).sort()).to.deep.equal(before)
  })

  it('makes new keys for a circuit, which hold and are of a single party', async () => {
    // Those that were made before all tests, where the record said that the keys were of several parties.
    expect((await run('verify', made, 'simple_yesno')).status).to.equal(0)
    expect(loadArtifacts(made).simple_yesno.setup.type).to.equal('single-party')
    const keysOf = async (from: string) => (await loadArtifacts(from).simple_yesno.load()).zkey
    expect(await keysOf(made)).to.not.deep.equal(await keysOf(KEYS))
    expect((await run('setup', made)).status).to.equal(2)
    expect((await run('setup', made, 'nothing')).status).to.equal(2)
    expect((await run('verify', made, 'nothing')).status).to.equal(2)
    expect((await run('powers', await copyOf(KEYS))).status).to.equal(1)
  })

  it('makes no keys from other powers beside recorded ones, since the record names the powers of all', async () => {
    const directory = await copyOfKeys()
    await alterRecord(directory, ({ powers }) => Object.assign(powers, { sha256: sha256Hex('others') }))
    const filesOf = async () =>
      Promise.all(
        (await readdir(directory)).sort().map(async (name) => [name, await readFile(join(directory, name))]),
      )
    const before = await filesOf()
    const refused = await run('setup', directory, 'simple_yesno')
    expect(refused.status).to.equal(1)
    const { circuits } = JSON.parse(await readFile(join(directory, 'artifacts.json'), 'utf8'))
    const others = Object.keys(circuits).filter((id) => id !== 'simple_yesno')
    expect(refused.stdout).to.include(
      `${POWERS}: these are not the powers of the keys that are recorded: make those of ${others.join(', ')} anew`,
    )
    expect(await filesOf()).to.deep.equal(before)
    // Where there is no other key, they may be new.
    await alterRecord(directory, (record) =>
      Object.assign(record, { circuits: { simple_yesno: record.circuits.simple_yesno } }),
    )
    expect((await run('setup', directory, 'simple_yesno')).status).to.equal(0)
    const { powers } = JSON.parse(await readFile(join(directory, 'artifacts.json'), 'utf8'))
    expect(powers.sha256).to.equal(sha256Hex(await readFile(join(directory, POWERS))))
  })

  it('keeps the verification key of a version that it replaces, and only that', async () => {
    const directory = await copyOfKeys()
    const kept = 'simple_yesno@0.9.0.vkey.json'
    const former = await readFile(join(directory, 'simple_yesno.vkey.json'), 'utf8')
    await alterRecord(directory, ({ circuits }) => Object.assign(circuits.simple_yesno, { version: '0.9.0' }))
    for (const attempt of ['another version', 'the same version again']) {
      expect((await run('setup', directory, 'simple_yesno')).status, attempt).to.equal(0)
      const { formerKeys, verificationKey } = loadArtifacts(directory).simple_yesno
      expect(formerKeys, attempt).to.deep.equal(new Map([['0.9.0', JSON.parse(former)]]))
      expect(verificationKey).to.not.deep.equal(JSON.parse(former))
      expect(await readFile(join(directory, kept), 'utf8')).to.equal(former)
    }
    const maker = await createProofMaker(await loadArtifacts(made).simple_yesno.load())
    const { proof, publicSignals } = await maker(GOOD_INPUTS.simple_yesno)
    expect(await verifyPairing(JSON.parse(former), proof, publicSignals)).to.deep.equal({ valid: true })
    expect((await run('verify', directory, 'simple_yesno')).status).to.equal(0)
    await writeFile(join(directory, kept), `${former} `)
    await alterRecord(directory, ({ circuits }) =>
      circuits.simple_yesno.former?.push({ version: '0.9.1', vkey: sha256Hex(former) }),
    )
    const refused = await run('verify', directory, 'simple_yesno')
    const altered = `${kept} has SHA-256 ${sha256Hex(`${former} `)}`
    const missing = 'simple_yesno@0.9.1.vkey.json is missing'
    expect([refused.status, refused.stdout]).to.deep.equal([
      1,
      `${POWERS}: ok\nsimple_yesno: ${altered}; ${missing}\n`,
    ])
  })

  it('records witness programs anew where lines have moved, and touches neither keys nor what they are for', async () => {
    const directory = await copyOfKeys()
    const before = await readFile(join(directory, 'artifacts.json'), 'utf8')
    await alterRecord(directory, ({ circuits }) => {
      Object.assign(circuits.yesno.sha256, { wasm: 'of other lines', sym: 'of other lines' })
    })
    expect(await run('record', directory)).to.deep.equal({ status: 0, stdout: 'yesno: recorded\n' })
    expect(await readFile(join(directory, 'artifacts.json'), 'utf8')).to.equal(before)
    await alterRecord(directory, ({ circuits }) => {
      Object.assign(circuits.yesno.sha256, { wasm: 'old', r1cs: 'of other constraints' })
    })
    const refused = await run('record', directory)
    expect(refused).to.have.property('status', 1)
    expect(refused.stdout).to.include('yesno: its constraints have changed')
    expect(() => loadArtifacts(directory)).to.throw('yesno.wasm')
  })

  it('refuses powers that nobody put a secret into, and powers that are none', async () => {
    const directory = await copyOfKeys()
    await rm(join(directory, POWERS))
    const file = join(directory, 'powers.ptau')
    const verify = async (powers: Uint8Array, contributions: readonly Contribution[]) => {
      await writeFile(file, powers)
      const record = { file: 'powers.ptau', sha256: sha256Hex(powers), setup: 'single-party', contributions }
      await alterRecord(directory, (whole) => Object.assign(whole, { powers: record }))
      const { status, stdout } = await run('verify', directory, 'yesno')
      expect(status).to.equal(1)
      return stdout.split('\n')[0]
    }
    const secret = 'no secret contribution: anybody could forge proofs'
    const broken = 'these are not powers that the contributions made'

    const bare = await makePowers()
    // By the file, whatever the record says.
    const claimed = [{ name: 'Ada', hash: '0a' }]
    const history = 'another history of contributions'
    expect(await verify(bare, claimed)).to.equal(`powers.ptau: ${history}; ${secret}; ${broken}`)
    const setup = await run('setup', directory, 'yesno')
    expect(setup.status).to.equal(1)
    expect(setup.stdout).to.include(secret)

    const beacon = await makePowers('beacon')
    expect(await verify(beacon, readPowersContributions(beacon))).to.equal(`powers.ptau: ${secret}`)

    const swapped = Buffer.from(await makePowers('secret'))
    const contributions = readPowersContributions(swapped)
    expect(contributions.map(({ name }) => name)).to.deep.equal(['Ada'])
    // Two of the points τ^i.
    const points = readSection(swapped, 2)
    const [third, fourth] = [points.subarray(128, 192), points.subarray(192, 256)].map(Buffer.from)
    fourth?.copy(points, 128)
    third?.copy(points, 192)
    expect(await verify(swapped, contributions)).to.equal(`powers.ptau: ${broken}`)
  })

  it('refuses a kind of setup that the contributions do not bear out', async () => {
    const directory = await copyOfKeys()
    await alterRecord(directory, ({ powers, circuits }) => {
      powers.setup = 'public'
      circuits.simple_yesno.setup = 'multi-party'
    })
    const few = await run('verify', directory, 'simple_yesno')
    expect(few.status).to.equal(1)
    expect(few.stdout).to.include(`${POWERS}: public, with 1 secret contribution`)
    expect(few.stdout).to.include('simple_yesno: multi-party, with 1 secret contribution')
    await alterRecord(directory, ({ circuits }) => {
      circuits.simple_yesno.setup = 'none'
    })
    const none = await run('verify', directory, 'simple_yesno')
    expect(none.status).to.equal(1)
    expect(none.stdout).to.include('simple_yesno: the setup is none')
  })

  it('fails when anything differs from the record, or does not follow from circuit and powers', async () => {
    const directory = await copyOfKeys()
    const record = JSON.parse(await readFile(join(directory, 'artifacts.json'), 'utf8'))
    const { yesno, simple_yesno } = record.circuits
    const write = (circuits: object) =>
      writeFile(join(directory, 'artifacts.json'), JSON.stringify({ ...record, circuits }))

    await write({ simple_yesno: { ...simple_yesno, constraints: 1 }, yesno, other: yesno })
    const recorded = await run('verify', directory, 'simple_yesno')
    expect(recorded.status).to.equal(1)
    expect(recorded.stdout).to.include('simple_yesno: 434 constraints').and.to.include('other: in the record')

    // A key of another circuit, with a record that agrees: only the mathematics can tell.
    for (const ending of ['.zkey', '.vkey.json'])
      await cp(join(made, `yesno${ending}`), join(directory, `simple_yesno${ending}`))
    const { zkey, vkey } = yesno.sha256
    const { transcript } = yesno
    const sha256 = { ...simple_yesno.sha256, zkey, vkey }
    await write({ simple_yesno: { ...simple_yesno, transcript, sha256 }, yesno })
    const foreign = await run('verify', directory, 'simple_yesno')
    expect(foreign.status).to.equal(1)
    expect(foreign.stdout).to.include('simple_yesno: the proving key does not follow from circuit and powers')
  })
})
