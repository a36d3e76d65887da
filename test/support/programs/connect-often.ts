/** Several clients at once, each with a new connection for each request, on the ports given, each until it is refused. */
import { writeSync } from 'node:fs'
import { askUntilRefused } from '../servers/patient-client.ts'

const CLIENTS = 16
const request = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

for (const port of process.argv.slice(2).map(Number)) {
  writeSync(1, `asking ${port}\n`)
  const asking = Array.from({ length: CLIENTS }, () =>
    askUntilRefused({ port, request, keepsConnection: false }),
  )
  writeSync(1, `${JSON.stringify({ port, answers: await Promise.all(asking) })}\n`)
}
