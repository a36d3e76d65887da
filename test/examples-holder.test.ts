/** examples/holder.ts: what it keeps, whom it asks, and that it sends nothing unasked. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { ChallengeMade } from '../src/domain/proofs/challenges/schemas.ts'
import { sharedApp, type TestApp, type TestOrganisation } from './support/app.ts'
import { demandSuccess } from './support/client.ts'
import { ANNA } from './support/domain/kyc.ts'
import { AGE_QUESTION, challengeRoutesOf } from './support/domain/presentations.ts'
import { startProgram } from './support/programs.ts'
import { type ScriptedServer, startScriptedServer } from './support/servers/scripted-server.ts'
import { ROOT } from './support/sources.ts'

/** What the program needs beside its own folder, where it keeps its file. */
const CHECKOUT = ['build', 'examples', 'node_modules', 'package.json', 'src', 'tsconfig.json']

describe('the example of a holder', function () {
  this.timeout(120_000)
  let folder: string
  let app: TestApp
  let owner: TestOrganisation
  let elsewhere: ScriptedServer
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-holder-'))
    for (const name of CHECKOUT) symlinkSync(join(ROOT, name), join(folder, name))
    app = await sharedApp()
    owner = await app.organisation()
    elsewhere = await startScriptedServer()
    const made = await run(['create', owner.organisationId])
    const body = { userId: 'anna', data: ANNA, holder: made.lines.join() }
    const issued = await app.request<object>('POST', '/api/kyc/verify', { key: owner.apiKey, body })
    writeFileSync(join(folder, 'issued.json'), JSON.stringify(demandSuccess(issued)))
  })
  after(async () => {
    await elsewhere.close()
    rmSync(folder, { recursive: true })
  })

  const run = async (args: readonly string[], { service = app.url, input = '' } = {}) => {
    const env = { HOLDER_PASSPHRASE: 'correct horse battery staple', ASSAY_URL: service }
    const example = startProgram('examples/holder.ts', args, { cwd: folder, env, input })
    return { status: await example.ended(), lines: example.lines, errors: example.errors() }
  }
  const held = () => readFileSync(join(folder, 'holder.jwe'), 'utf8')
  const challenges = () => challengeRoutesOf(app, owner.apiKey)
  const asked = (): Promise<ChallengeMade> => challenges().asked(AGE_QUESTION)
  const stateOf = async ({ challenge_id }: ChallengeMade) => {
    const { state, attempts } = demandSuccess(await challenges().find(challenge_id))
    return [state, attempts]
  }

  it('keeps the old file until the new one is whole, and both for nobody else', async () => {
    const before = held()
    // So that nothing can be written there.
    mkdirSync(join(folder, 'holder.jwe.new'))
    expect((await run(['add', 'issued.json'])).status).to.equal(1)
    expect(held()).to.equal(before)
    rmdirSync(join(folder, 'holder.jwe.new'))
    const { status, errors } = await run(['add', 'issued.json'])
    expect(status, errors).to.equal(0)
    expect(held()).not.to.equal(before)
    expect(statSync(join(folder, 'holder.jwe')).mode & 0o777).to.equal(0o600)
  })

  it('sends nothing before somebody said y', async () => {
    const challenge = await asked()
    for (const input of ['', 'n\n', '\n']) {
      const { status, lines, errors } = await run(['answer', challenge.request_url], { input })
      expect([status, lines.at(-1)], errors).to.deep.equal([1, 'The answer is YES.'])
      expect(errors).to.include('Send the proof of it? [y/N]').and.to.include('Nothing was sent.')
    }
    expect(await stateOf(challenge)).to.deep.equal(['open', 0])
    const { status, lines, errors } = await run(['answer', challenge.request_url], { input: 'y\n' })
    expect(status, errors).to.equal(0)
    expect(lines.slice(-2)).to.deep.equal(['The answer is YES.', 'The proof was received.'])
    expect((await stateOf(challenge))[0]).to.equal('verified')
  })

  it('asks no service but its own, and takes no question that is meant for another or leads to it', async () => {
    const { request_url, challenge_id } = await asked()
    const refused = async (address: string, service?: string) => {
      const { status, errors } = await run(['answer', address], { input: 'y\n', ...(service && { service }) })
      expect(status, errors).to.equal(1)
      return errors
    }
    const path = new URL(request_url).pathname
    expect(await refused(`${elsewhere.url}${path}`)).to.include(`no address of ${app.url}`)
    expect(elsewhere.requests).to.deep.equal([])
    const { body } = await challenges().request(challenge_id)
    const here = `${elsewhere.url}/answer`
    for (const question of [
      { ...body, context: { ...body.context, aud: elsewhere.url } },
      { ...body, answer_url: here },
    ]) {
      elsewhere.on(path, () => ({ body: question }))
      expect(await refused(`${elsewhere.url}${path}`, elsewhere.url)).to.include(`${app.url}`)
    }
    elsewhere.on(path, () => ({ status: 302, headers: { location: request_url } }))
    // Not even the question that it leads to is read.
    expect(await refused(`${elsewhere.url}${path}`, elsewhere.url)).to.equal('fetch failed\n')
    // It never came to the files that the secret would go into.
    expect(elsewhere.requests).to.deep.equal([path, path, path])
    expect(await stateOf({ challenge_id } as ChallengeMade)).to.deep.equal(['open', 0])
  })
})
