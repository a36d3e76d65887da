import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { cp, mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import pg from 'pg'
import { type Clock, systemClock } from '../../src/clock.ts'
import { AppError } from '../../src/errors.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import { createSigners, type Signers } from '../../src/keys/signers.ts'
import { type Checkpoints, createCheckpoints } from '../../src/ledger/checkpoints/checkpoint.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { createLog } from '../../src/ledger/tree/log.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { callerOf, claiming, emptyLog, ledgerOn, together } from '../support/ledger.ts'
import { verifyConsistency } from '../support/reference/merkle-proofs.ts'
import { rotateNoticed } from '../support/rotation.ts'
import { DATABASE_URL, onPostgres, openTestDatabase } from '../support/servers/database.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { readCheckpoint } from '../support/sigstore.ts'

const ORIGIN = 'log.example:8080'
const SEALING = createSealing(new Uint8Array(32).fill(7))

interface Server {
  readonly database: Database
  readonly ledger: Ledger
  readonly checkpoints: Checkpoints
  readonly signers: Signers
  /** What was said to be inconsistent. */
  readonly reasons: string[]
}

let serial = 0

const serverOn = async (
  database: Database,
  options: { directory?: string; origin?: string; clock?: Clock; afterHead?: () => Promise<void> } = {},
): Promise<Server> => {
  const { directory, origin = ORIGIN, clock = systemClock, afterHead } = options
  const log = createLog(database)
  const reasons: string[] = []
  const signers = await createSigners({ database, sealing: SEALING, clock })
  const checkpoints = createCheckpoints({
    database,
    log: {
      ...log,
      async head() {
        const head = await log.head()
        await afterHead?.()
        return head
      },
    },
    signers,
    clock,
    origin,
    directory,
    onInconsistency: (reason) => reasons.push(reason),
  })
  return { database, signers, ledger: await ledgerOn(database), checkpoints, reasons }
}

const append = ({ ledger }: Pick<Server, 'ledger'>, count: number) =>
  ledger.append(callerOf('org_1'), together(Array.from({ length: count }, () => claiming(`key ${serial++}`))))

/** The public key and note key id of a purpose's key, computed here from what the JWK set says. */
const publishedKey = async (signers: Signers, type: number, origin = ORIGIN) => {
  const { kid } = await (type === 1
    ? signers.current('log', 'Ed25519')
    : signers.postQuantum('log', 'ML-DSA-44'))
  const jwk = (await signers.jwks()).keys.find((key) => key.kid === kid)
  const bytes = Buffer.from(jwk?.x ?? jwk?.pub ?? '', 'base64url')
  const id = createHash('sha256').update(`${origin}\n`).update(Buffer.of(type)).update(bytes).digest()
  return { bytes, jwk, id: id.subarray(0, 4) }
}

const signatureOf = (note: string, id: Buffer): Buffer => {
  const signatures = note
    .split('\n')
    .filter((line) => line.startsWith('\u2014 '))
    .map((line) => Buffer.from(line.split(' ')[2] ?? '', 'base64'))
  const found = signatures.find((signature) => signature.subarray(0, 4).equals(id))
  if (found === undefined) throw new Error('no signature of this key')
  return found.subarray(4)
}

const codeOf = (error: unknown): string => (error instanceof AppError ? error.code : String(error))
const refusal = ({ checkpoints }: Server) => checkpoints.latest().then(() => 'signed', codeOf)

describe('checkpoints', () => {
  const directories = temporaryDirectories()
  let database: Database
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  beforeEach(() => emptyLog(database))

  it('are notes that an outside verifier accepts, and no other key or text', async () => {
    const server = await serverOn(database)
    await append(server, 300)
    const { note, size, root } = await server.checkpoints.latest()
    const { id, jwk } = await publishedKey(server.signers, 1)
    const publicKey: KeyObject = createPublicKey({ key: { ...jwk }, format: 'jwk' })
    const read = readCheckpoint(note, { id, origin: ORIGIN, publicKey })
    expect(read).to.deep.include({ origin: ORIGIN, logSize: 300n, rest: [] })
    expect(read.logHash.equals(root)).to.equal(true)
    expect({ size, root: Buffer.from(root).toString('hex') }).to.deep.equal(await server.ledger.head())
    const forged = note.replace('\n300\n', '\n301\n')
    expect(() => readCheckpoint(forged, { id, origin: ORIGIN, publicKey })).to.throw()
    await server.ledger.close()
  })

  it('carry an ML-DSA-44 cosignature over the message of C2SP tlog-cosignature', async () => {
    const now = 1_763_700_000_123
    const server = await serverOn(database, { clock: { now: () => now } })
    await append(server, 5)
    const { note, root } = await server.checkpoints.latest()
    const { id, bytes } = await publishedKey(server.signers, 6)
    const signed = signatureOf(note, id)
    expect(signed).to.have.length(8 + 2420)
    expect(signed.readBigUInt64BE()).to.equal(1_763_700_000n)
    const message = Buffer.concat([
      Buffer.from('subtree/v1\n\0'),
      Buffer.of(ORIGIN.length),
      Buffer.from(ORIGIN),
      signed.subarray(0, 8),
      Buffer.of(ORIGIN.length),
      Buffer.from(ORIGIN),
      Buffer.alloc(8),
      Buffer.from('0000000000000005', 'hex'),
      root,
    ])
    expect(ml_dsa44.verify(signed.subarray(8), message, bytes)).to.equal(true)
    expect(ml_dsa44.verify(signed.subarray(8), Buffer.concat([message, Buffer.of(0)]), bytes)).to.equal(false)
    await server.ledger.close()
  })

  it('name their keys as verifier keys of C2SP signed-note', async () => {
    const server = await serverOn(database)
    const [ed25519, mlDsa] = await server.checkpoints.verifierKeys()
    for (const [text, type] of [
      [ed25519, 1],
      [mlDsa, 6],
    ] as const) {
      const { id, bytes } = await publishedKey(server.signers, type)
      const material = Buffer.concat([Buffer.of(type), bytes]).toString('base64')
      expect(text).to.equal(`${ORIGIN}+${id.toString('hex')}+${material}`)
    }
    await server.ledger.close()
  })

  it('are signed once for a size, and cover whatever was committed before they were asked for', async () => {
    const server = await serverOn(database)
    await append(server, 1)
    const first = await server.checkpoints.latest()
    expect((await server.checkpoints.latest()).note).to.equal(first.note)
    for (let round = 0; round < 5; round++) {
      await append(server, 1)
      const asked = await Promise.all(Array.from({ length: 4 }, () => server.checkpoints.latest()))
      for (const { size } of asked) expect(size).to.equal(round + 2)
    }
    await server.ledger.close()
  })

  it('cover what was committed while an earlier caller\u2019s checkpoint was being made', async () => {
    let asked: Promise<{ size: number }> | undefined
    const server = await serverOn(database, {
      async afterHead() {
        if (asked !== undefined) return
        await append(server, 2)
        asked = server.checkpoints.latest()
      },
    })
    await append(server, 3)
    expect((await server.checkpoints.latest()).size).to.equal(3)
    expect((await asked)?.size).to.equal(5)
    await server.ledger.close()
  })

  it('are made one after the other, however many ask and whenever', async () => {
    let [active, most] = [0, 0]
    const server = await serverOn(database, {
      async afterHead() {
        most = Math.max(most, ++active)
        await pause(1)
        active--
      },
    })
    await append(server, 1)
    const asking = Array.from({ length: 6 }, async (_, asker) => {
      for (let round = 0; round < 40; round++) {
        await server.checkpoints.latest()
        if ((round + asker) % 3 === 0) await turn()
      }
    })
    await Promise.all(asking)
    expect(most).to.equal(1)
    await server.ledger.close()
  })

  it('are signed again under a new key or name', async () => {
    const server = await serverOn(database)
    await append(server, 3)
    const first = await server.checkpoints.latest()
    await rotateNoticed({ database, sealing: SEALING, clock: systemClock }, 'log')
    const second = await server.checkpoints.latest()
    expect(second.note).not.to.equal(first.note)
    const { id } = await publishedKey(server.signers, 1)
    expect(signatureOf(second.note, id)).to.have.length(64)
    const moved = await serverOn(database, { origin: 'other.example' })
    expect((await moved.checkpoints.latest()).note).to.match(/^other\.example\n3\n/)
    await Promise.all([server.ledger.close(), moved.ledger.close()])
  })

  it('of two servers that sign at once continue each other', async () => {
    const servers = await Promise.all([
      serverOn(database, { directory: await directories() }),
      serverOn(database, { directory: await directories() }),
    ])
    const log = createLog(database)
    const seen: { size: number; root: Uint8Array }[] = []
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        servers.map(async (server) => {
          await append(server, 3)
          seen.push(await server.checkpoints.latest())
        }),
      )
    }
    seen.sort((a, b) => a.size - b.size)
    for (const [index, later] of seen.entries()) {
      const earlier = seen[index - 1]
      if (earlier === undefined) continue
      const proof = await log.consistency(earlier.size, later.size)
      expect(verifyConsistency(earlier.size, later.size, earlier.root, later.root, proof)).to.equal(true)
    }
    for (const server of servers) {
      expect(server.reasons).to.deep.equal([])
      await server.ledger.close()
    }
  })

  it('are written down before anybody sees them', async () => {
    const directory = await directories()
    const server = await serverOn(database, { directory })
    await append(server, 4)
    const { note, root } = await server.checkpoints.latest()
    expect(await database.knex('ledger_checkpoint').pluck('note')).to.deep.equal([note])
    const mark = await readFile(join(directory, 'checkpoint.high-water'), 'utf8')
    expect(mark).to.equal(`4 ${Buffer.from(root).toString('hex')}\n`)
    await server.ledger.close()
  })

  it('are not signed over a tree that differs from what the database signed', async () => {
    const server = await serverOn(database)
    await append(server, 40)
    await server.checkpoints.latest()
    await append(server, 1)
    await database
      .knex('ledger_entries')
      .where({ idx: 7 })
      .update({ leaf_hash: Buffer.alloc(32, 9) })
    expect(await refusal(server)).to.equal('log_inconsistent')
    expect(server.reasons).to.deep.equal(['the database remembers another root at 40 leaves'])
    await server.ledger.close()
  })

  it('are not signed over a head whose root the hashes do not have, nor where hashes are missing', async () => {
    const server = await serverOn(database)
    await append(server, 300)
    const tile = await database.knex('ledger_tiles').where({ level: 0, tile: 0 }).first()
    await database.knex('ledger_tiles').update({ root: Buffer.alloc(32, 1) })
    expect(await refusal(server)).to.equal('log_inconsistent')
    await database.knex('ledger_tiles').update({ root: Buffer.from(tile.root) })
    expect(await refusal(server)).to.equal('signed')
    await append(server, 1)
    await database.knex('ledger_entries').where({ idx: 299 }).delete()
    expect(await refusal(server)).to.equal('log_inconsistent')
    expect(server.reasons).to.deep.equal([
      'the head remembers another root at 300 leaves',
      'hashes below 300 leaves are missing',
    ])
    await server.ledger.close()
  })

  it('are not signed when the high-water mark is damaged', async () => {
    const directory = await directories()
    const server = await serverOn(database, { directory })
    await append(server, 2)
    await server.checkpoints.latest()
    await writeFile(join(directory, 'checkpoint.high-water'), '2 00\n')
    expect(await refusal(server)).to.equal('log_inconsistent')
    expect(server.reasons[0]).to.include('is damaged')
    await server.ledger.close()
  })

  it('are not signed while the high-water mark cannot be read, which says nothing of the log', async () => {
    const directory = await directories()
    const mark = join(directory, 'checkpoint.high-water')
    const server = await serverOn(database, { directory })
    await append(server, 2)
    await server.checkpoints.latest()
    const text = await readFile(mark)
    await rm(mark)
    await mkdir(mark)
    expect(await refusal(server)).to.equal('unavailable')
    await rmdir(mark)
    await writeFile(mark, text)
    expect(await refusal(server)).to.equal('signed')
    expect(server.reasons).to.deep.equal([])
    await server.ledger.close()
  })
})

const openDatabaseClient = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: DATABASE_URL })
  await client.connect()
  return client
}

describe('a restored older backup', () => {
  const directories = temporaryDirectories()

  /** Signs 10 leaves, takes a backup, signs 20, restores it, grows, and asks at each step. */
  const play = async (
    directory: string,
    {
      open,
      backUp,
      restore,
    }: { open(): Promise<Database>; backUp(): Promise<void>; restore(): Promise<void> },
  ): Promise<void> => {
    const using = async (work: (server: Server) => Promise<void>): Promise<void> => {
      const database = await open()
      const server = await serverOn(database, { directory })
      try {
        await work(server)
      } finally {
        await server.ledger.close()
        await database.close()
      }
    }
    await using(async (server) => {
      await append(server, 10)
      expect((await server.checkpoints.latest()).size).to.equal(10)
    })
    await backUp()
    await using(async (server) => {
      await append(server, 10)
      expect((await server.checkpoints.latest()).size).to.equal(20)
    })
    await restore()
    await using(async (server) => {
      // Smaller than what was signed, as large with other entries, and larger: never a second tree of 20 leaves.
      for (const more of [0, 10, 5]) {
        if (more > 0) await append(server, more)
        expect(await refusal(server)).to.equal('log_inconsistent')
      }
      expect(server.reasons).to.deep.equal([
        'the high-water mark remembers 20 leaves, the tree has 10',
        'the high-water mark remembers another root at 20 leaves',
        'the high-water mark remembers another root at 20 leaves',
      ])
      expect(await server.database.knex('ledger_checkpoint').pluck('size')).to.deep.equal([10])
    })
  }

  it('does not sign a fork: embedded database', async () => {
    const [directory, backup] = await Promise.all([directories(), directories()])
    const cluster = join(directory, 'database')
    await play(directory, {
      open: () => openDatabase({ dataDir: directory }),
      backUp: () => cp(cluster, join(backup, 'database'), { recursive: true }),
      async restore() {
        await rm(cluster, { recursive: true })
        await cp(join(backup, 'database'), cluster, { recursive: true })
      },
    })
  })

  onPostgres.it('does not sign a fork: PostgreSQL', async () => {
    const base = new URL(DATABASE_URL ?? '')
    const [admin, name] = [await openDatabaseClient(), `assay_test_restore_${process.pid}`]
    const url = new URL(base)
    url.pathname = `/${name}`
    const copy = (to: string, from: string) => admin.query(`CREATE DATABASE ${to} TEMPLATE ${from}`)
    const drop = (which: string) => admin.query(`DROP DATABASE IF EXISTS ${which} WITH (FORCE)`)
    try {
      await copy(name, 'template0')
      await play(await directories(), {
        open: () => openDatabase({ databaseUrl: url.href, dataDir: 'memory' }),
        backUp: () => copy(`${name}_backup`, name).then(() => undefined),
        async restore() {
          await drop(name)
          await copy(name, `${name}_backup`)
        },
      })
    } finally {
      await drop(name)
      await drop(`${name}_backup`)
      await admin.end()
    }
  })
})
