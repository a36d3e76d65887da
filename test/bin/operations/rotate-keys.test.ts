/** `assay rotate-keys`, as it is built: beside a server on PostgreSQL, between two starts of one on the embedded database. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { PublishedJwk } from '../../../src/keys/jwks.ts'
import { KEY_MEMORY_MS, PUBLISHED_AHEAD_MS } from '../../../src/keys/succession.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { type CliRun, runCli } from '../../support/run-cli.ts'
import { DATABASE_URL } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'

const MASTER_KEY = randomBytes(32).toString('hex')
const ADMIN_API_KEY = 'admin-key-of-the-rotation'

describe('npx assay rotate-keys', function () {
  this.timeout(180_000)
  const clock = movedClock()
  let app: TestApp
  // Before its directory goes.
  afterEach(() => app.close())
  const directory = temporaryDirectories()
  let env: Record<string, string>
  let owner: TestOrganisation

  const start = async () => {
    app = await startTestApp({
      clock,
      env: { MASTER_KEY, ADMIN_API_KEY, DATA_DIR: env.DATA_DIR ?? 'memory' },
    })
  }
  beforeEach(async () => {
    env = { MASTER_KEY, DATA_DIR: DATABASE_URL === undefined ? await directory() : 'memory' }
    await start()
    owner = await app.organisation()
  })

  /** Runs the command where it can be: a server on the embedded database is stopped for it. */
  const rotate = async (...args: string[]): Promise<CliRun> => {
    const { databaseUrl } = app.config
    if (databaseUrl !== undefined) {
      const run = await runCli(['rotate-keys', ...args], { ...env, DATABASE_URL: databaseUrl })
      await pause(KEY_MEMORY_MS)
      return run
    }
    expect((await runCli(['rotate-keys', ...args], env)).errors).to.include('in use by process')
    await app.close()
    const run = await runCli(['rotate-keys', ...args], env)
    await start()
    return run
  }
  const tokens = () => tokenRoutesOf(app, owner.apiKey)
  const kidOf = (jws: string): string =>
    JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString()).kid
  const idsAt = async (path: string): Promise<string[]> =>
    (await app.request<{ keys: PublishedJwk[] }>('GET', path)).body.keys.map(({ kid }) => kid)
  /** What the command says of a key. */
  const lineOf = ({ output }: CliRun, ...words: string[]): string =>
    output.split('\n').find((line) => words.every((word) => line.split(/ +/).includes(word))) ??
    expect.fail(`no line of ${words.join(' ')} in ${output}`)
  const valid = async (token: string) => {
    const { valid, reasonCodes } = (await tokens().validate({ token })).body
    return valid || reasonCodes
  }

  it('publishes new keys, which sign when everybody knows them; what the old ones signed stays valid', async () => {
    const { token } = await tokens().issued({ ttl: 3600 })
    const run = await rotate()
    expect([run.status, run.errors]).to.deep.equal([0, ''])
    const made = lineOf(run, 'new', 'tokens', 'Ed25519')
    const kid = made.split(/ +/)[3] ?? ''
    expect(made).to.match(/is published, and signs from \d{4}-\d\d-\d\dT/)
    expect(lineOf(run, 'replaced', 'tokens', 'Ed25519'))
      .to.include(kidOf(token))
      .and.match(/of \d{4}-.* signs until \d{4}-.*, and stays published$/)
    expect(run.output)
      .to.include('new       issuer       EdDSA-Poseidon')
      .and.not.match(/^\w+ +log /m)
    expect(await idsAt('/.well-known/jwks.json')).to.include.members([kid, kidOf(token)])
    expect(await idsAt('/.well-known/issuer-keys')).to.have.length(2)
    expect(kidOf((await tokens().issued()).token), 'not yet').to.equal(kidOf(token))

    clock.offsetMs = PUBLISHED_AHEAD_MS
    const fresh = (await tokens().issued()).token
    expect(kidOf(fresh)).to.equal(kid)
    expect([await valid(fresh), await valid(token)]).to.deep.equal([true, true])
    expect(await idsAt('/.well-known/jwks.json')).to.include(kidOf(token))
  })

  it('ends keys that leaked: nobody is shown them, and what they signed is refused; the log has it', async () => {
    const { token } = await tokens().issued()
    const [issuer = ''] = await idsAt('/.well-known/issuer-keys')
    const leaked = kidOf(token)
    const run = await rotate('--leaked', leaked, '--leaked', issuer)
    expect([run.status, run.errors]).to.deep.equal([0, ''])
    expect(lineOf(run, 'ended', 'tokens', 'Ed25519', leaked)).to.match(/leaked, ended \d{4}-/)
    expect(lineOf(run, 'ended', 'issuer', issuer)).to.match(/leaked, ended \d{4}-/)
    expect(await idsAt('/.well-known/jwks.json')).to.not.include(leaked)
    expect(await idsAt('/.well-known/issuer-keys'))
      .to.have.length(1)
      .and.not.include(issuer)
    expect(await valid(token)).to.deep.equal(['KEY_UNKNOWN'])
    const fresh = (await tokens().issued()).token
    expect(lineOf(run, 'new', 'tokens', 'Ed25519')).to.include(kidOf(fresh))
    expect(await valid(fresh)).to.equal(true)

    const { body } = await app.request<{ entries: { entry: string }[] }>('GET', '/api/audit?type=account', {
      key: ADMIN_API_KEY,
    })
    const entry = body.entries.find((one) => one.entry.includes('"keys.rotated"'))?.entry ?? '{}'
    expect(JSON.parse(entry).data.keys).to.deep.include({
      change: 'ended',
      purpose: 'tokens',
      alg: 'Ed25519',
      kid: leaked,
      at: Date.parse(/ended (\S+)$/.exec(lineOf(run, 'ended', leaked))?.[1] ?? ''),
    })
  })

  it('changes nothing, with status 1, for an id that is no key of the service, or one of the log', async () => {
    const before = await idsAt('/.well-known/jwks.json')
    const { kid } = await app.services.signers.current('log', 'Ed25519')
    for (const id of ['-unknown', kid]) {
      const { status, output, errors } = await rotate('--leaked', id)
      expect([status, output]).to.deep.equal([1, ''])
      expect(errors.startsWith(`${id} is `)).to.equal(true)
      expect(errors).to.include('Nothing was changed')
    }
    expect(await idsAt('/.well-known/jwks.json')).to.deep.equal(before)
  })

  it('rotates nothing where there is no key yet', async () => {
    const { status, errors } = await runCli(['rotate-keys'], { MASTER_KEY, DATA_DIR: await directory() })
    expect([status, errors]).to.deep.equal([
      1,
      'This database has no keys yet, since no server has started on it.\n',
    ])
  })
})
