/**
 * A server that does nothing but screen people again, for tests of several at a time. Arguments: database URL, lease in ms. Prints
 * `screening`, and when it is ended `screened` and how many people it has.
 */
import { openDatabase } from '../../../src/store/database.ts'
import { startScreeningServer } from '../domain/screening-servers.ts'

const [databaseUrl = '', leaseMs = ''] = process.argv.slice(2)
const database = await openDatabase({ databaseUrl, dataDir: 'memory' })
const server = await startScreeningServer(database, 'org_00000000000000000000000000')
const screening = server.rescreen(Number(leaseMs))
process.stdout.write('screening\n')
process.once('SIGTERM', async () => {
  await screening.close()
  process.stdout.write(`screened ${await server.screened()}\n`)
  await server.close()
  await database.close()
})
