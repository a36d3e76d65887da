/** A DNS server on a UDP port of this machine that knows what a test tells it. */
import { createRequire } from 'node:module'
import type DNS from 'dns2'

// The package's default export can't be imported as a value under our module settings.
const dns2 = createRequire(import.meta.url)('dns2') as typeof DNS
const { Packet } = dns2

type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT'
/** `SILENT` never answers. */
type Fault = 'SERVFAIL' | 'REFUSED' | 'SILENT'

const RECORD_TYPES: readonly RecordType[] = ['A', 'AAAA', 'CNAME', 'TXT']
/** RFC 1035 §4.1.1 */
const RESPONSE_CODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const

export interface DnsServer {
  /** `127.0.0.1:port` */
  readonly address: string
  /** All questions so far, in order. */
  readonly queries: { readonly name: string; readonly type: string }[]
  /** Replaces the records of a type, one a value (AAAA with all eight groups); none leaves the name as it was before. */
  set(name: string, type: RecordType, values: readonly string[]): void
  /** Lets every question about a name fail, until called with undefined. */
  fail(name: string, fault: Fault | undefined): void
  /** Lets every answer about a name wait. */
  delay(name: string, ms: number): void
  close(): Promise<void>
}

const DATA_FIELD = { A: 'address', AAAA: 'address', CNAME: 'domain', TXT: 'data' } as const

/** Names without any record are NXDOMAIN; with records, but none of the type, an empty answer. */
export const startDnsServer = async (): Promise<DnsServer> => {
  const names = new Map<string, Map<RecordType, readonly string[]>>()
  const faults = new Map<string, Fault>()
  const delays = new Map<string, number>()
  const queries: { name: string; type: string }[] = []
  const waiting = new Set<NodeJS.Timeout>()

  const server = dns2.createUDPServer((request, respond) => {
    const response = Packet.createResponseFromRequest(request)
    const [question] = request.questions
    if (!question) return
    const name = question.name.toLowerCase()
    const type = RECORD_TYPES.find((known) => Packet.TYPE[known] === question.type)
    queries.push({ name, type: type ?? String(question.type) })
    const fault = faults.get(name)
    if (fault === 'SILENT') return
    const records = names.get(name)
    if (fault) response.header.rcode = RESPONSE_CODES[fault]
    else if (!records) response.header.rcode = RESPONSE_CODES.NXDOMAIN
    else if (type) {
      for (const value of records.get(type) ?? []) {
        const record = new Packet.Resource(name, Packet.TYPE[type], Packet.CLASS.IN, 0)
        response.answers.push(Object.assign(record, { [DATA_FIELD[type]]: value }))
      }
    }
    const ms = delays.get(name)
    if (ms) waiting.add(setTimeout(() => respond(response), ms))
    else respond(response)
  })
  await server.listen(0, '127.0.0.1')

  return {
    address: `127.0.0.1:${server.address().port}`,
    queries,
    set: (name, type, values) => {
      const records = names.get(name.toLowerCase()) ?? new Map<RecordType, readonly string[]>()
      if (values.length > 0) records.set(type, values)
      else records.delete(type)
      if (records.size > 0) names.set(name.toLowerCase(), records)
      else names.delete(name.toLowerCase())
    },
    fail: (name, fault) => {
      if (fault) faults.set(name.toLowerCase(), fault)
      else faults.delete(name.toLowerCase())
    },
    delay: (name, ms) => {
      delays.set(name.toLowerCase(), ms)
    },
    close() {
      // Answers that still wait would be sent on a closed socket.
      for (const timer of waiting) clearTimeout(timer)
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
