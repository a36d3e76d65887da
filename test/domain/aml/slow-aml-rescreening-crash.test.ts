/**
 * Servers that are killed while they screen people again: everybody is screened in the end, and nobody's finding, entry or alert is
 * there twice. CRASH_ROUNDS sets how often they are killed (default 3).
 */
import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { Finding } from '../../../src/domain/aml/schemas-subscriptions.ts'
import type { TestOrganisation } from '../../support/app.ts'
import { type Client, clientOf, ok } from '../../support/client.ts'
import { type Listed, screeningRoutesOf } from '../../support/domain/screening.ts'
import { eventually } from '../../support/eventually.ts'
import { type Program, startProgram } from '../../support/programs.ts'
import { createPostgresDatabase, onEmbedded, onPostgres } from '../../support/servers/database.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const PROGRAM = join(import.meta.dirname, '../../support/programs/serve.ts')
const PEOPLE = 480
const AT_A_TIME = 16
const KILL_WITHIN_MS = 400

const SYLLABLES = 'ba du ki mo ze fa lu pi go re ta nu si wo ha ye vum tol dir gax'.split(' ')
/** Words that have nothing to do with each other, so that each person is found by one entry alone. */
const word = (text: string): string =>
  [...hash('sha256', text, 'buffer').subarray(0, 6)]
    .map((byte) => SYLLABLES[byte % SYLLABLES.length])
    .join('')
const nameOf = (i: number): string => `${word(`given ${i}`)} ${word(`family ${i}`)}`
/** Every third of them is listed, in the round's own state. */
const listed = (round: number): Listed[] => [
  { id: 'other', name: 'Zacharias Quirin Unbeteiligt' },
  ...Array.from({ length: PEOPLE / 3 }, (_, i) => ({
    id: `p-${3 * i}`,
    name: nameOf(3 * i),
    ...(round > 0 && { birthDate: `19${10 + round}-01-01` }),
  })),
]

interface Running extends Client {
  readonly program: Program
  readonly adminKey: string
}

describe('people who are screened again by servers that are killed', () => {
  const masterKey = randomBytes(32).toString('hex')
  const adminKey = `admin-${randomBytes(16).toString('hex')}`

  const start = async (target: string): Promise<Running> => {
    const program = startProgram(PROGRAM, [target, masterKey, adminKey])
    const [, url = ''] = /^listening (.+)$/.exec(await program.line(/^listening /)) ?? []
    return { ...clientOf(url), program, adminKey }
  }
  const end = async ({ program }: Running): Promise<void> => {
    program.child.kill('SIGTERM')
    expect(await program.ended(), program.errors()).to.equal(0)
  }
  const begin = async (server: Running): Promise<TestOrganisation> => {
    const owner = await ok<TestOrganisation>(server, 'POST', '/console/api/organisations', {
      key: adminKey,
      body: { name: 'Shop' },
    })
    const routes = screeningRoutesOf(server, owner.apiKey)
    await routes.upload(listed(0).slice(0, 1))
    for (let i = 0; i < PEOPLE; i += AT_A_TIME)
      await Promise.all(
        Array.from({ length: AT_A_TIME }, (_, n) =>
          routes.subscribed({ userId: `u-${i + n}`, name: nameOf(i + n) }),
        ),
      )
    return owner
  }
  const all = async (server: Running, key: string): Promise<Finding[]> => {
    const found: Finding[] = []
    let cursor: string | null = null
    do {
      const page = await screeningRoutesOf(server, key).findings({ limit: '100', ...(cursor && { cursor }) })
      found.push(...page.findings)
      cursor = page.nextCursor
    } while (cursor !== null)
    return found
  }
  /** @param rounds lists that were loaded, each with another state of every entry */
  const expectAllOnce = async (server: Running, key: string, rounds: number): Promise<void> => {
    const findings = await all(server, key)
    const open = findings.filter(({ status }) => status === 'open')
    const wanted = listed(0)
      .slice(1)
      .map(({ id }) => `${id} u-${id.slice(2)}`)
    expect(open.map(({ entryId, userId }) => `${entryId} ${userId}`)).to.have.members(wanted)
    // Rounds that were overtaken by the next need not have been found, but nothing was found twice in any.
    const states = findings.map(({ entryDigest, userId }) => `${entryDigest} ${userId}`)
    expect(new Set(states).size).to.equal(states.length)
    expect(findings.length).to.be.at.most(rounds * wanted.length)
    const { alerts } = await ok<{ alerts: { type: string; count: number }[] }>(
      server,
      'GET',
      '/api/security/alerts',
      {
        key,
      },
    )
    const counts = alerts.filter(({ type }) => type === 'aml_finding').map(({ count }) => count)
    expect(counts.reduce((sum, count) => sum + count, 0)).to.equal(findings.length)
  }

  const killedInBetween = async (server: Running, key: string, round: number): Promise<void> => {
    await screeningRoutesOf(server, key).upload(listed(round))
    await pause((round * 137) % KILL_WITHIN_MS)
    await server.program.kill()
  }

  onEmbedded.it('are all screened, and found once, by the next on the embedded database', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'assay-rescreening-'))
    try {
      let server = await start(directory)
      const { apiKey } = await begin(server)
      for (let round = 1; round <= ROUNDS; round++) {
        await killedInBetween(server, apiKey, round)
        server = await start(directory)
      }
      await screeningRoutesOf(server, apiKey).settled(400_000)
      await expectAllOnce(server, apiKey, ROUNDS)
      await end(server)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  onPostgres.it('are all screened, and found once, by the server that is left', async () => {
    const fresh = await createPostgresDatabase()
    try {
      const survivor = await start(fresh.url)
      const { apiKey } = await begin(survivor)
      for (let round = 1; round <= ROUNDS; round++)
        await killedInBetween(await start(fresh.url), apiKey, round)
      // Before it has heard of the list it is behind with nobody.
      await eventually('somebody is found', async () => (await all(survivor, apiKey)).length > 0, {
        patienceMs: 60_000,
      })
      await screeningRoutesOf(survivor, apiKey).settled(400_000)
      await expectAllOnce(survivor, apiKey, ROUNDS)
      await end(survivor)
    } finally {
      await fresh.drop()
    }
  })

  onPostgres.it('are screened by one of two servers each, and found once', async () => {
    const fresh = await createPostgresDatabase()
    try {
      const [a, b] = await Promise.all([start(fresh.url), start(fresh.url)])
      const { apiKey } = await begin(a)
      await screeningRoutesOf(b, apiKey).upload(listed(1))
      for (const server of [a, b]) await screeningRoutesOf(server, apiKey).settled(400_000)
      await expectAllOnce(a, apiKey, 1)
      const screened = async (server: Running): Promise<number> => {
        const { body } = await server.request<string>('GET', '/metrics', { key: adminKey })
        return Number(/aml_rescreened_total\{outcome="screened"\} (\d+)/.exec(String(body))?.[1] ?? 0)
      }
      expect((await screened(a)) + (await screened(b))).to.equal(PEOPLE)
      await Promise.all([end(a), end(b)])
    } finally {
      await fresh.drop()
    }
  })
})
