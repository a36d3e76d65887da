/** Examples as their readers run them: copied into a project of their own, with the packages in the place of this repository. */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { transform } from 'esbuild'
import { signWebhook } from '../../src/protocol/webhook/webhook.ts'
import { sharedApp, type TestApp } from '../support/app.ts'
import { demandSuccess } from '../support/client.ts'
import { installedPackages, type Project } from '../support/packages.ts'
import { startCommand } from '../support/programs.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { ROOT } from '../support/sources.ts'

/** The server, for the example that starts one. */
const BUILT = '../build/cli.js'
const INSTALLED = 'node_modules/assay/build/cli.js'

onEmbedded.describe('examples with the published packages', function () {
  this.timeout(600_000)
  let project: Project
  let app: TestApp
  before(async () => {
    project = await installedPackages()
    app = await sharedApp()
  })

  /** Writes an example into the project, as JavaScript. @throws Error when something of it is not published */
  const copy = async (name: string): Promise<string> => {
    const text = readFileSync(join(ROOT, `examples/${name}.ts`), 'utf8')
      .replace(BUILT, INSTALLED)
      .replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")
    expect(text, `${name} leads into this repository`).not.to.match(/'\.\.\//)
    const { code } = await transform(text, { loader: 'ts', format: 'esm', target: 'es2022' })
    return project.write(`${name}.js`, code)
  }
  const start = (
    file: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    input = '',
  ) => startCommand(process.execPath, [file, ...args], { cwd: project.directory, env, input })
  /** @returns what it printed */
  const finish = async (...started: Parameters<typeof start>): Promise<string> => {
    const example = start(...started)
    const status = await example.ended()
    const printed = example.lines.join('\n')
    expect(status, `${printed}\n${example.errors()}`).to.equal(0)
    return printed
  }

  it('holder keeps a credential and answers with it', async () => {
    const file = await copy('holder')
    const { apiKey: key, organisationId } = await app.organisation()
    const post = async <T>(path: string, body: object): Promise<T> =>
      demandSuccess(await app.request<T>('POST', path, { key, body }))
    const env = { HOLDER_PASSPHRASE: 'correct horse battery staple', ASSAY_URL: app.url }
    const holder = await finish(file, ['create', organisationId], env)
    const document = { type: 'passport', number: 'X1234567', country: 'GB', expiresAt: '2041-01-01' }
    const data = { givenName: 'Ada', familyName: 'Byron', dateOfBirth: '1990-12-10', document }
    const issued = await post<object>('/api/kyc/verify', { userId: 'ada', holder, data })
    await project.write('issued.json', JSON.stringify(issued))
    expect(await finish(file, ['add', 'issued.json'], env)).to.match(/^Kept 1/)
    const inputs = { minLevel: 'basic', minAge: 18 }
    const asked = { circuit_id: 'kyc', inputs, purpose: 'age-check', issuers: [organisationId] }
    const challenge = await post<{ request_url: string }>('/v1/proofs/challenge', asked)
    const said = await finish(file, ['answer', challenge.request_url], env, 'y\n')
    expect(said).to.include('The answer is YES.').and.to.include('The proof was received.')
  })

  it('verify checks all of a result', async () => {
    const { apiKey } = await app.organisation()
    await copy('verify-checks')
    const said = await finish(await copy('verify'), [app.url], { ASSAY_API_KEY: apiKey })
    expect(said.split('\n').filter((line) => line.startsWith('✓'))).to.have.lengthOf(13)
  })

  it('agent-chat signs what it posts, and hears the reply', async () => {
    const example = start(await copy('agent-chat'), [app.url])
    const [, id] = /^Posted as #(\d+), verified as /.exec(await example.line(/^Posted as #/)) ?? []
    const body = { agent_name: 'Bob', text: 'Read, and understood.', reply_to: Number(id) }
    expect((await app.request('POST', '/api/messages', { body })).status).to.equal(201)
    expect(await example.ended(), example.errors()).to.equal(0)
    expect(example.lines).to.include('"Bob" replied: "Read, and understood."')
    expect(statSync(join(project.directory, 'assay-agent-key.json')).mode & 0o777).to.equal(0o600)
  })

  it('age-check asks the service, with its page', async () => {
    const { apiKey } = await app.organisation()
    await mkdir(join(project.directory, 'age-check'))
    for (const name of ['page.html', 'page.js', 'page.css'])
      await copyFile(join(ROOT, 'examples/age-check', name), join(project.directory, 'age-check', name))
    const site = start(await copy('age-check/server'), ['0'], { ASSAY_URL: app.url, ASSAY_API_KEY: apiKey })
    try {
      const url = (await site.line(/^listening on /)).replace('listening on ', '')
      expect((await fetch(url)).status).to.equal(200)
      const asked = await fetch(`${url}/question`, { method: 'POST' })
      expect(((await asked.json()) as { request_url: string }).request_url).to.include(
        `${app.url}/challenge/chl_`,
      )
    } finally {
      await site.kill()
    }
  })

  it('wallet-credential gets a credential for its key', async () => {
    const { apiKey: key } = await app.organisation()
    const document = { type: 'passport', number: 'X1234567', country: 'GB', expiresAt: '2041-01-01' }
    const data = { givenName: 'Ada', familyName: 'Byron', dateOfBirth: '1990-12-10', document }
    demandSuccess(await app.request('POST', '/api/kyc/verify', { key, body: { userId: 'ada', data } }))
    const env = { ASSAY_URL: app.url, ASSAY_API_KEY: key }
    const { format } = JSON.parse(await finish(await copy('wallet-credential'), ['ada'], env))
    expect(format).to.equal('dc+sd-jwt')
  })

  it('webhook-receiver takes what the service signed, and nothing else', async () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    // Without TLS, as behind what terminates it.
    const receiver = start(await copy('webhook-receiver'), ['0'], { ASSAY_WEBHOOK_SECRET: secret })
    try {
      const url = (await receiver.line(/^listening on /)).replace('listening on ', '')
      const delivery = {
        delivery_id: 'dlv_000000000000000000000001',
        event: 'proof.verified',
        created_at: new Date().toISOString(),
        data: {},
      }
      const rawBody = JSON.stringify(delivery)
      const signed = (by: string) =>
        signWebhook({
          deliveryId: delivery.delivery_id,
          event: delivery.event,
          timestamp: Math.floor(Date.now() / 1000),
          rawBody,
          secret: by,
        })
      const statusOf = async (headers: Record<string, string>) =>
        (await fetch(url, { method: 'POST', headers, body: rawBody })).status
      expect(await statusOf(signed(secret))).to.equal(204)
      await receiver.line(/^proof\.verified dlv_0+1 /)
      expect(await statusOf(signed(`whsec_${Buffer.alloc(32).toString('base64')}`))).to.equal(401)
    } finally {
      await receiver.kill()
    }
  })

  it('offline-payments loses no payment, with the server that was installed', async () => {
    const printed = await finish(await copy('offline-payments'), [])
    expect(printed.split('\n').at(-1)).to.equal('No payment was lost, none was stored twice.')
  })
})
