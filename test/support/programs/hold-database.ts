/** Opens the embedded database in the directory given and keeps it until it is killed or told to end by SIGTERM. */
import { writeSync } from 'node:fs'
import { openDatabase } from '../../../src/store/database.ts'

const database = await openDatabase({ dataDir: process.argv[2] ?? '' })
writeSync(1, 'open\n')
const timer = setInterval(() => {}, 60_000)
process.once('SIGTERM', async () => {
  clearInterval(timer)
  await database.close()
})
