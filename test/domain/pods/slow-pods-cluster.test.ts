/**
 * Two server processes on one PostgreSQL and one Redis: the limit of pods holds over both to the request, and a pod
 * that is suspended on one verifies on none.
 */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { PodCreated } from '../../../src/domain/pods/schemas.ts'
import { createScratchDatabase } from '../../support/app.ts'
import { type ServerProcess, startServerProcess } from '../../support/servers/server-process.ts'

const ADMIN_KEY = 'admin-key-of-the-pods-test'
const REQUESTS = 1200
const LIMIT = 1000
const CLIENTS = 16
const ATTEMPTS = 5

interface Answer {
  readonly status: number
  readonly remaining: number
  readonly body: Record<string, unknown>
}

const call = async (
  server: ServerProcess,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<Answer> => {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return {
    status: answer.status,
    remaining: Number(answer.headers.get('x-ratelimit-remaining')),
    body: await answer.json(),
  }
}

describe('pods on two servers', () => {
  const { DATABASE_URL, REDIS_URL } = process.env
  const servers: ServerProcess[] = []
  let database: Awaited<ReturnType<typeof createScratchDatabase>>
  let pod: PodCreated
  let countedLocally = 0

  before(async function () {
    if (!DATABASE_URL || !REDIS_URL) {
      console.log('      SKIPPED: needs DATABASE_URL and REDIS_URL')
      return this.skip()
    }
    database = await createScratchDatabase(DATABASE_URL)
    const redis = new URL(REDIS_URL)
    redis.searchParams.set('keyPrefix', `assay-test-${randomBytes(6).toString('hex')}:`)
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.href,
      MASTER_KEY: randomBytes(32).toString('hex'),
      ADMIN_API_KEY: ADMIN_KEY,
      RATE_LIMIT_PER_MINUTE: '5',
      DATA_DIR: 'memory',
      TRUST_PROXY: '127.0.0.1/32',
      LOG_LEVEL: 'warn',
    }
    servers.push(...(await Promise.all([startServerProcess(env), startServerProcess(env)])))
    for (const { process: child } of servers) {
      child.stdout?.on('data', (text) => {
        if (String(text).includes('counted locally')) countedLocally++
      })
    }
    const made = await call(one(), 'POST', '/console/api/organisations', operator(), { name: 'Pods' })
    const owner = { 'x-api-key': String(made.body.apiKey) }
    const created = await call(one(), 'POST', '/console/api/pods', owner, { name: 'Pod' })
    expect(created.status).to.equal(201)
    pod = created.body as unknown as PodCreated
  })

  after(async () => {
    const codes = await Promise.all(servers.map((server) => server.end()))
    await database?.drop()
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  const one = () => servers[0] as ServerProcess
  const operator = () => ({ 'x-api-key': ADMIN_KEY })
  const fromAddress = (address: string) => ({ 'x-pod-key': pod.podKey, 'x-forwarded-for': address })
  /** Refused for its body, after it was counted. */
  const ask = (index: number, address: string) => {
    const server = servers[index % servers.length] as ServerProcess
    return call(server, 'POST', `/pod/${pod.podId}/verify`, fromAddress(address), {})
  }

  /** All requests from one address, on both servers. */
  const askAll = async (address: string): Promise<Answer[]> => {
    const answers: Answer[] = []
    let next = 0
    const client = async (): Promise<void> => {
      while (next < REQUESTS) answers.push(await ask(next++, address))
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    return answers
  }

  it('an address gets exactly 1,000 answers in an hour, whichever server it asks', async () => {
    // Where Redis is too slow each server counts for itself, and says so; then another address is counted.
    let answers: Answer[] = []
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      countedLocally = 0
      answers = await askAll(`198.51.100.${10 + attempt}`)
      if (countedLocally === 0) break
    }
    expect(countedLocally, 'Redis was too slow each time').to.equal(0)
    const counted = answers.filter(({ status }) => status === 422)
    expect(counted).to.have.length(LIMIT)
    expect(answers.filter(({ status }) => status === 429)).to.have.length(REQUESTS - LIMIT)
    expect(counted.map(({ remaining }) => remaining).sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: LIMIT }, (_, index) => index),
    )
    expect((await ask(0, '198.51.100.2')).status).to.equal(422)
    expect((await ask(1, '198.51.100.2')).remaining).to.equal(LIMIT - 2)
  })

  it('a pod that is suspended on one server is refused by the other at once', async () => {
    const path = `/pod/${pod.podId}/verify`
    const verify = (server: ServerProcess) =>
      call(server, 'POST', path, fromAddress('198.51.100.3'), { a: 1 })
    for (const server of servers) expect((await verify(server)).status).to.equal(200)
    const moved = await call(one(), 'PATCH', `/console/api/pods/${pod.podId}`, operator(), {
      status: 'SUSPENDED',
    })
    expect(moved.status).to.equal(200)
    for (const server of servers) expect((await verify(server)).body.error).to.equal('pod_suspended')
  })
})
