/**
 * Has data verified, and then trusts nobody: checks the signature against the published keys, the proof against the
 * published verification key, and that all of it answers exactly the question that was asked.
 *
 * With a server that runs (`npm start`) and its key; the address is the server's `BASE_URL`:
 *
 *     ASSAY_API_KEY=… npx tsx examples/verify.ts [http://127.0.0.1:8080]
 *
 * The checks are in verify-checks.ts.
 */
import { AssayError, createClient } from 'assay-client'
import { type Asked, checkResult } from './verify-checks.ts'

const issuer = process.argv[2] ?? 'http://127.0.0.1:8080'
const apiKey = process.env.ASSAY_API_KEY ?? ''

const asked: Asked = {
  data: { name: 'Ada', age: 36 },
  options: {
    circuit_id: 'yesno',
    rules: [{ field: 'age', op: 'gte', value: 18 }],
    ttl: 3600,
    nonce: crypto.randomUUID(),
  },
}

const stop = (why: string): never => {
  console.error(why)
  process.exit(1)
}

const assay = createClient({ baseUrl: issuer, key: apiKey })
const result = await assay
  .verify(asked)
  .catch((error: unknown) =>
    stop(
      error instanceof AssayError
        ? error.message
        : `No server answers at ${issuer}. Start one with npm start, or name another address.`,
    ),
  )
// All organisations of a service share its keys: this must be a result of ours.
const { organisationId: organisation } = await assay.getMe()
const decision = await checkResult({ issuer, organisation }, asked, result, console.log)
console.log(`${result.verificationId}: ${decision}`)
