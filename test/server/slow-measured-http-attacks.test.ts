/** Attacks on the built server from outside, on the embedded database: what they cost in memory, and others in time. */
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { residentBytes, unreadConnection, watchLiveness } from '../support/servers/attack.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'

const MIB = 2 ** 20
const ATTACK_MS = 5_000
const CIRCUIT = 'kyc'
/** 4 MB each. */
const UNREAD_ANSWERS = 600
const MAX_GROWTH_MIB = 100
/** Beside what the machine itself makes others wait, which is measured first. */
const MAX_FLOOD_GROWTH_MIB = 400
const MAX_P99_MS = 50
const QUIET_MS = 2_000
const CONNECTIONS_AT_ONCE = 10
const CONNECTIONS_PAUSE_MS = 30

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const getRequest = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: assay\r\n${headers}\r\n`

onEmbedded.describe('under attack', function () {
  this.timeout(240_000)
  let server: ServerProcess
  const sockets: Socket[] = []

  beforeEach(async () => {
    server = await startServerProcess({ DATA_DIR: 'memory', RATE_LIMITS: 'off' })
    await (await fetch(`${server.url}/api/circuits/${CIRCUIT}/zkey`)).arrayBuffer()
    // Until the prover has warmed up, which has nothing to do with anybody's attack.
    await pause(3_000)
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await server.end('SIGKILL')
  })

  /** @returns growth of memory at its most, and how much longer others wait than before, for the 99th percentile */
  const measure = async (name: string, attack: () => Promise<void>) => {
    const stopBefore = watchLiveness(server.url)
    await pause(QUIET_MS)
    const quiet = await stopBefore()
    const before = residentBytes(server.process.pid)
    const stop = watchLiveness(server.url)
    await attack()
    let most = before
    for (const until = performance.now() + ATTACK_MS; performance.now() < until; await pause(50))
      most = Math.max(most, residentBytes(server.process.pid))
    const { p99, probes } = await stop()
    const growth = (most - before) / MIB
    process.stdout.write(
      `      ${name}: ${growth.toFixed(0)} MiB, p99 of ${probes} probes ${p99.toFixed(1)} ms (before: ${quiet.p99.toFixed(1)} ms)\n`,
    )
    return { growth, p99: p99 - quiet.p99 }
  }
  /** Not all at once: how many connections a second the machine takes is another question. */
  const open = async (connections: number, request: string): Promise<void> => {
    for (let i = 0; i < connections; i++) {
      sockets.push(unreadConnection(server.url, request))
      if (i % CONNECTIONS_AT_ONCE === 0) await pause(CONNECTIONS_PAUSE_MS)
    }
  }

  for (const connections of [1, 6, 600]) {
    it(`${UNREAD_ANSWERS} unread answers of 4 MB on ${connections} connections take little memory`, async () => {
      const request = getRequest(`/api/circuits/${CIRCUIT}/zkey`).repeat(UNREAD_ANSWERS / connections)
      const { growth, p99 } = await measure(`zkey, ${connections} connections`, () =>
        open(connections, request),
      )
      expect(growth).to.be.below(MAX_GROWTH_MIB)
      expect(p99).to.be.below(MAX_P99_MS)
    })
  }

  it('unread answers that are made for each request are bounded in all', async () => {
    const { growth, p99 } = await measure('openapi.json', () =>
      open(UNREAD_ANSWERS, getRequest('/v1/openapi.json')),
    )
    expect(growth).to.be.below(MAX_GROWTH_MIB)
    expect(p99).to.be.below(MAX_P99_MS)
  })

  it('requests that wait behind an unread answer are bounded in all', async () => {
    const request = getRequest(`/api/circuits/${CIRCUIT}/zkey`) + getRequest('/').repeat(5_000)
    const { growth } = await measure('waiting requests', () => open(100, request))
    // Half a million requests are read, and what was made of those that were cut off is garbage for a while.
    expect(growth).to.be.below(MAX_FLOOD_GROWTH_MIB)
  })

  it('a Content-Type of thousands of spaces takes no time', async () => {
    const request =
      'POST /console/api/session HTTP/1.1\r\nHost: assay\r\nContent-Length: 2\r\n' +
      `Content-Type: application/json${' '.repeat(15_700)}x\r\n\r\n{}`
    const { p99 } = await measure('Content-Type', () => open(20, request.repeat(20)))
    expect(p99).to.be.below(MAX_P99_MS)
  })
})
