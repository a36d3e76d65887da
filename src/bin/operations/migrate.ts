/** `assay migrate`: brings the schema up to date, and says what it does. @module */
import { loadConfig } from '../../config/config.ts'
import { openDatabase } from '../../store/database.ts'
import { type MigrationStep, SCHEMA_VERSION } from '../../store/migrate.ts'
import { startProgress } from './progress.ts'

export const runMigrations = async (): Promise<void> => {
  const { databaseUrl, dataDir } = loadConfig()
  const progress = startProgress()
  let applied = 0
  const onMigration = ({ name, number, of }: MigrationStep): void => {
    applied = number
    progress.step(`${number} of ${of}: ${name}`)
  }
  try {
    const database = await openDatabase({ databaseUrl, dataDir, onMigration })
    await database.close()
  } finally {
    progress.end()
  }
  const done = applied === 0 ? 'was up to date' : `is up to date; migrations applied: ${applied}`
  console.log(`The schema ${done} (${SCHEMA_VERSION}).`)
}
