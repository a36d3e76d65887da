/** Opens the journal given, says so and waits to be killed. */
import { journalStorage } from '../../../src/terminal/storage/journal.ts'

const [directory = ''] = process.argv.slice(2)
try {
  await journalStorage(directory).open()
  console.log('open')
  setInterval(() => {}, 60_000)
} catch (error) {
  console.log(error instanceof Error && 'code' in error ? error.code : String(error))
}
