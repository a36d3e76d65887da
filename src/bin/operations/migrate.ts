/** `assay migrate`: brings the schema up to date, begins logs that are missing, and says what it does. @module */
import { loadConfig } from '../../config/config.ts'
import { countLogs, growLogs } from '../../ledger/growth.ts'
import { type Database, openDatabase } from '../../store/database.ts'
import { type MigrationStep, SCHEMA_VERSION } from '../../store/migrate.ts'
import { startProgress } from './progress.ts'

export const runMigrations = async (): Promise<void> => {
  const { databaseUrl, dataDir, logShards } = loadConfig()
  const progress = startProgress()
  let applied = 0
  let begun = 0
  const onMigration = ({ name, number, of }: MigrationStep): void => {
    applied = number
    progress.step(`${number} of ${of}: ${name}`)
  }
  const beginLogs = async (database: Database): Promise<void> => {
    const there = await countLogs(database.knex)
    if (there >= logShards) return
    progress.step(`${there} to ${logShards} logs`)
    await growLogs(database, logShards)
    begun = logShards - there
  }
  try {
    const database = await openDatabase({ databaseUrl, dataDir, onMigration })
    try {
      await beginLogs(database)
    } finally {
      await database.close()
    }
  } finally {
    progress.end()
  }
  const done = applied === 0 ? 'was up to date' : `is up to date; migrations applied: ${applied}`
  console.log(`The schema ${done} (${SCHEMA_VERSION}).`)
  if (begun > 0) console.log(`Logs begun: ${begun}, of ${logShards}.`)
}
