/** `assay sign-envelope`, the built program. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Posted } from '../../src/domain/chat/schemas.ts'
import type { RelayEnvelope } from '../../src/protocol/envelope.ts'
import { sharedApp } from '../support/app.ts'
import { someName, someText } from '../support/domain/envelopes.ts'
import { startCommand } from '../support/programs.ts'
import { fingerprintReference, verifyReference } from '../support/reference/relay-envelope.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const CLI = join(import.meta.dirname, '../../build/cli.js')

describe('npx assay sign-envelope', function () {
  this.timeout(60_000)
  const directory = temporaryDirectories()

  const run = async (...args: string[]) => {
    const program = startCommand(process.execPath, [CLI, 'sign-envelope', ...args])
    const status = await program.ended()
    return { status, text: program.lines.join('\n'), errors: program.errors() }
  }
  const signed = async (key: string, ...args: string[]): Promise<RelayEnvelope> => {
    const { status, text, errors } = await run('--key', key, '--audience', 'assay.example', ...args)
    expect(status, errors).to.equal(0)
    return JSON.parse(text)
  }
  const MESSAGE = ['--name', 'Ada', '--text', 'Good morning.']

  it('makes a key that only its owner can read, tells its fingerprint, and signs with it ever after', async () => {
    const key = join(await directory(), 'agent-key.pem')
    const first = await run('--key', key, '--audience', 'assay.example', ...MESSAGE)
    expect(first.status).to.equal(0)
    expect((await stat(key)).mode & 0o777).to.equal(0o600)
    const envelope: RelayEnvelope = JSON.parse(first.text)
    expect(first.errors).to.include(fingerprintReference(envelope.key.x))
    expect(verifyReference({ ...envelope })).to.equal(true)
    expect(envelope).to.deep.include({
      agent_id: 'Ada',
      params: { agent_name: 'Ada', text: 'Good morning.' },
    })
    const again = await signed(
      key,
      ...MESSAGE,
      '--topic',
      'weather',
      '--reply-to',
      '7',
      '--about',
      'Early riser.',
    )
    expect(again.key).to.deep.equal(envelope.key)
    expect(again).to.deep.include({
      about: 'Early riser.',
      params: { agent_name: 'Ada', text: 'Good morning.', topic: 'weather', reply_to: 7 },
    })
  })

  it('takes keys in PEM and JWK, and no others', async () => {
    const folder = await directory()
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const file = join(folder, 'key.json')
    await writeFile(file, JSON.stringify(privateKey.export({ format: 'jwk' })))
    expect((await signed(file, ...MESSAGE)).key.x).to.equal(publicKey.export({ format: 'jwk' }).x)
    const wrong = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const secret = wrong.export({ format: 'pem', type: 'pkcs8' }).toString()
    for (const [name, content] of [
      ['p256.pem', secret],
      ['text.pem', 'hello'],
      ['broken.json', '{"kty":'],
    ] as const) {
      const path = join(folder, name)
      await writeFile(path, content)
      const { status, errors } = await run('--key', path, '--audience', 'assay.example', ...MESSAGE)
      expect([status, errors.trim()]).to.deep.equal([
        1,
        `${path} holds no Ed25519 private key in PEM (PKCS #8) or JWK.`,
      ])
      expect(await readFile(path, 'utf8')).to.equal(content)
    }
  })

  it('says which flags are missing', async () => {
    const key = join(await directory(), 'key.pem')
    expect((await run('--key', key, ...MESSAGE)).errors).to.include('--audience <host>, or --post <url>')
    expect((await run('--key', key, '--audience', 'a')).errors).to.include('--name and --text')
    expect(existsSync(key), 'a key nobody was told of').to.equal(false)
    expect((await run('--key', key, '--audience', 'a', '--remove', 'x')).errors).to.include('id of a message')
  })

  it('says what is wrong with the service that it is to post to', async () => {
    const key = join(await directory(), 'key.pem')
    const server = createServer((_request, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const post = (to: string) => run('--key', key, '--post', to, ...MESSAGE)
    const gateway = await post(url)
    await new Promise((resolve) => server.close(resolve))
    const gone = await post(url)
    const nonsense = await post('localhost')
    expect(gateway.status).to.equal(1)
    expect(gateway.errors).to.include(`${url} answered 502 with what is not JSON`)
    expect([gone.status, gone.errors.trim()]).to.deep.equal([
      1,
      `${url} does not answer: connect ECONNREFUSED ${new URL(url).host}`,
    ])
    expect(nonsense.status).to.equal(1)
    expect(nonsense.errors).to.include('It must be an http or https URL.')
  })

  it('posts what it signed, and takes it back', async () => {
    const app = await sharedApp()
    const key = join(await directory(), 'key.pem')
    const to = ['--key', key, '--post', app.url]
    const text = someText()
    const posted = await run(...to, '--name', someName(), '--text', text)
    expect(posted.status, posted.errors).to.equal(0)
    const { message }: Posted = JSON.parse(posted.text)
    expect(message).to.deep.include({ text, verified: true })
    const refused = await run(...to, '--name', 'admin', '--text', text)
    expect([refused.status, JSON.parse(refused.text).error]).to.deep.equal([3, 'name_reserved'])
    const removed = await run(...to, '--remove', String(message.id))
    expect([removed.status, removed.text]).to.deep.equal([0, ''])
    expect((await app.request('GET', `/api/messages/${message.id}`)).status).to.equal(404)
  })

  it('is what assay/envelope exports, for other programs', async () => {
    const { signEnvelope } = await import('assay/envelope')
    const envelope = signEnvelope(
      { agent_id: 'ada', audience: 'assay.example', action: 'chat.post', params: {} },
      new Uint8Array(32).fill(1),
    )
    expect(verifyReference({ ...envelope })).to.equal(true)
  })
})
