/**
 * A TLS receiver of webhooks in a process of its own. Arguments: files of certificate and key. Answers 204, and tells its
 * parent the port, then how many requests have come whenever it is asked.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

const [cert = '', key = ''] = process.argv.slice(2)
let received = 0
const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
  request.resume().on('end', () => {
    received++
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 })
})
process.on('message', () => process.send?.({ received }))
