/**
 * kill -9 at random moments of a process that appends, and of PostgreSQL under it. Every receipt that was
 * acknowledged must be at its index afterwards. CRASH_ROUNDS sets how often (default 3).
 */
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { openDatabase } from '../../src/store/database.ts'
import { expectWholeLog } from '../support/ledger.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { onEmbedded, onPostgres } from '../support/servers/database.ts'
import { type PostgresCluster, startPostgres } from '../support/servers/postgres.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const PROGRAM = join(import.meta.dirname, '../support/programs/append-entries.ts')
const CALLERS = 32
const MIN_LOAD_MS = 50
const MAX_LOAD_MS = 1000

/** Checks the log against all receipts so far: place, hash, and one claim per acknowledged key. */
const expectNothingLost = async (target: string, lines: readonly string[]): Promise<number> => {
  const database = await openDatabase(
    target.startsWith('postgres') ? { databaseUrl: target, dataDir: 'memory' } : { dataDir: target },
  )
  try {
    const entries = await expectWholeLog(database)
    const receipts = lines.filter((line) => line.startsWith('receipt ')).map((line) => line.split(' '))
    for (const [, index, id, leafHash] of receipts) {
      const entry = entries[Number(index)]
      expect(entry?.id, `receipt ${index}`).to.equal(id)
      expect(Buffer.from(entry?.leaf_hash ?? []).toString('hex')).to.equal(leafHash)
    }
    const claims: string[] = await database.knex('ledger_claims').pluck('key')
    expect(new Set(claims).size).to.equal(claims.length)
    expect(claims).to.have.length(entries.length)
    const held = new Set(claims)
    expect(receipts.filter(([, , , , key]) => !held.has(key ?? ''))).to.deep.equal([])
    const refusals = lines.filter(
      (line) => line.startsWith('refused ') && !line.startsWith('refused unavailable '),
    )
    expect(refusals, 'refused for no reason').to.deep.equal([])
    return receipts.length
  } finally {
    await database.close()
  }
}

const report = (what: string, receipts: number): void => {
  process.stdout.write(`      ${what}: ${ROUNDS} kills, ${receipts} acknowledged receipts, all in place\n`)
}

/** Kills the program each round. */
const killRounds = async (target: string): Promise<string[]> => {
  const lines: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const program = startProgram(PROGRAM, [target, `round${round}`, String(CALLERS)])
    await program.line(/^receipt /)
    await pause(randomInt(MIN_LOAD_MS, MAX_LOAD_MS))
    await program.kill()
    lines.push(...program.lines)
  }
  return lines
}

/** Kills PostgreSQL each round while one program goes on. */
const killPostgresRounds = async (cluster: PostgresCluster): Promise<string[]> => {
  const program: Program = startProgram(PROGRAM, [cluster.url, 'database', String(CALLERS)])
  await program.line(/^receipt /)
  for (let round = 0; round < ROUNDS; round++) {
    await pause(randomInt(MIN_LOAD_MS, MAX_LOAD_MS))
    await cluster.kill()
    await pause(randomInt(0, MIN_LOAD_MS))
    await cluster.restart()
    const seen = program.lines.length
    const giveUpAt = performance.now() + 30_000
    while (!program.lines.slice(seen).some((line) => line.startsWith('receipt '))) {
      expect(program.child.exitCode, program.errors()).to.equal(null)
      expect(performance.now(), 'appends again after the restart').to.be.below(giveUpAt)
      await pause(20)
    }
  }
  await program.kill()
  return program.lines
}

describe(`ledger under kill -9, ${ROUNDS} times each`, () => {
  onEmbedded.it('loses nothing on the embedded database when the process is killed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'assay-crash-'))
    try {
      report('process on PGlite', await expectNothingLost(directory, await killRounds(directory)))
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })

  onPostgres.it('loses nothing on PostgreSQL when the process, or PostgreSQL itself, is killed', async () => {
    const cluster = await startPostgres()
    try {
      const lines = await killRounds(cluster.url)
      report('process on PostgreSQL', await expectNothingLost(cluster.url, lines))
      const all = lines.concat(await killPostgresRounds(cluster))
      report('PostgreSQL under the process', await expectNothingLost(cluster.url, all))
    } finally {
      await cluster.stop()
    }
  })
})
