/**
 * Processes that set statuses and are killed: none is given out twice, and a list that is published afterwards has whatever was
 * acknowledged, since it is made of the rows. CRASH_ROUNDS sets how often (default 3).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { statusPlace } from '../../../src/protocol/status.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { setIn, statusesOn } from '../../support/domain/statuses.ts'
import { type Program, startProgram } from '../../support/programs.ts'
import { createPostgresDatabase, onEmbedded, onPostgres } from '../../support/servers/database.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const PROGRAM = join(import.meta.dirname, '../../support/programs/set-statuses.ts')
const CALLERS = 8
const BEFORE_THE_KILL = 150

const killedLater = async (target: string): Promise<readonly string[]> => {
  const program = startProgram(PROGRAM, [target, String(CALLERS)])
  await enough(program)
  await program.kill()
  return program.lines
}

const enough = async (program: Program): Promise<void> => {
  await program.line(/^kept /)
  while (program.lines.length < BEFORE_THE_KILL) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** @param lines of all processes */
const expectNothingLost = async (target: string, lines: readonly string[]): Promise<void> => {
  const database = await openDatabase(
    target.startsWith('postgres') ? { databaseUrl: target, dataDir: 'memory' } : { dataDir: target },
  )
  try {
    const pairs = lines.map((line) => (/^kept (\d+) set (\d+)$/.exec(line) ?? []).slice(1).map(Number))
    expect(new Set(pairs.flat()).size).to.equal(2 * lines.length)
    const { jwt } = await (await statusesOn(database)).list(0)
    const published = new Set(setIn(jwt))
    const isPublished = (status = 0): boolean => published.has(statusPlace(status).index)
    expect(pairs.filter(([kept, set]) => isPublished(kept) || !isPublished(set))).to.deep.equal([])
    const rows: number[] = await database.knex('revoked_statuses').pluck('status')
    expect(published.size).to.equal(rows.length)
  } finally {
    await database.close()
  }
}

describe('statuses of processes that are killed', () => {
  onPostgres.it('are given out once by all of them, and published if they were acknowledged', async () => {
    const fresh = await createPostgresDatabase()
    try {
      const lines: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const rest = startProgram(PROGRAM, [fresh.url, String(CALLERS), '600'])
        const killed = await Promise.all([killedLater(fresh.url), killedLater(fresh.url)])
        expect(await rest.ended(), rest.errors()).to.equal(0)
        lines.push(...killed.flat(), ...rest.lines)
      }
      await expectNothingLost(fresh.url, lines)
    } finally {
      await fresh.drop()
    }
  })

  onEmbedded.it('are given out once by those that follow each other on the embedded database', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'assay-status-'))
    try {
      const lines: string[] = []
      for (let round = 0; round < ROUNDS; round++) lines.push(...(await killedLater(directory)))
      await expectNothingLost(directory, lines)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
