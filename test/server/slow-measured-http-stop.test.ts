/** SIGTERM under load: whatever was sent is answered. On the embedded database, or on the one that DATABASE_URL names. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { type Answers, askUntilRefused } from '../support/servers/patient-client.ts'
import { createScratchDatabase } from '../support/servers/scratch-database.ts'
import { startServerProcess } from '../support/servers/server-process.ts'

const ROUNDS = Number(process.env.STOP_ROUNDS ?? 20)
const CLIENTS = 16
/** Connections that are opened for one request each: some lie in the kernel's queue when the server stops accepting. */
const NEW_CONNECTION_CLIENTS = 4
const LOAD_MS = 600
const MAX_STOP_MS = 10_000
const ADMIN_KEY = 'admin-key-of-the-stop-test'

const requestOf = (connection: string): string => {
  const body = JSON.stringify({ data: { age: 12 } })
  return (
    `POST /verify HTTP/1.1\r\nHost: assay\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: ${connection}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

const sum = (answers: readonly Answers[]): Answers => ({
  answered: answers.reduce((total, { answered }) => total + answered, 0),
  reset: answers.reduce((total, { reset }) => total + reset, 0),
  unanswered: answers.reduce((total, { unanswered }) => total + unanswered, 0),
})

/** Starts a server, loads it, stops it in the middle. */
const round = async (env: Record<string, string>) => {
  const server = await startServerProcess({ ADMIN_API_KEY: ADMIN_KEY, RATE_LIMITS: 'off', ...env })
  const port = Number(new URL(server.url).port)
  const request = requestOf('keep-alive')
  const first: Promise<void>[] = []
  const clients = Array.from({ length: CLIENTS }, () => {
    let onFirst: (() => void) | undefined
    first.push(new Promise((resolve) => (onFirst = resolve)))
    return askUntilRefused({ port, request, keepsConnection: true, onFirst })
  })
  const others = Array.from({ length: NEW_CONNECTION_CLIENTS }, () =>
    askUntilRefused({ port, request: requestOf('close'), keepsConnection: false }),
  )
  // However slow the machine is, each client has work under way when the server is stopped.
  await Promise.all([setTimeout(LOAD_MS), ...first])
  const startedAt = performance.now()
  const code = await server.end('SIGTERM')
  const ms = performance.now() - startedAt
  return { code, ms, kept: sum(await Promise.all(clients)), opened: sum(await Promise.all(others)) }
}

const stopInRounds = async (name: string, env: () => Record<string, string>): Promise<void> => {
  const rounds: Awaited<ReturnType<typeof round>>[] = []
  for (let i = 0; i < ROUNDS; i++) rounds.push(await round(env()))
  const kept = sum(rounds.map((each) => each.kept))
  const opened = sum(rounds.map((each) => each.opened))
  const slowest = Math.max(...rounds.map(({ ms }) => ms))
  process.stdout.write(
    `      ${name}, ${ROUNDS} rounds: kept connections ${JSON.stringify(kept)}, new ones ${JSON.stringify(opened)}, ` +
      `stopped within ${slowest.toFixed(0)} ms\n`,
  )
  expect(rounds.map(({ code }) => code)).to.deep.equal(rounds.map(() => 0))
  expect(slowest).to.be.below(MAX_STOP_MS)
  expect(kept.answered).to.be.at.least(ROUNDS * CLIENTS)
  expect([kept.reset, kept.unanswered, opened.reset, opened.unanswered]).to.deep.equal([0, 0, 0, 0])
}

describe('SIGTERM under load', function () {
  this.timeout(900_000)

  it('resets no request that was sent, on the embedded database', async function () {
    if (process.env.DATABASE_URL) return this.skip()
    const folders: string[] = []
    try {
      await stopInRounds('embedded', () => {
        const folder = mkdtempSync(join(tmpdir(), 'assay-stop-'))
        folders.push(folder)
        return { DATA_DIR: folder }
      })
    } finally {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    }
  })

  it('resets no request that was sent, on PostgreSQL', async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) return this.skip()
    const scratch = await createScratchDatabase(DATABASE_URL)
    const MASTER_KEY = randomBytes(32).toString('hex')
    try {
      await stopInRounds('PostgreSQL', () => ({ DATABASE_URL: scratch.url, MASTER_KEY }))
    } finally {
      await scratch.drop()
    }
  })
})
