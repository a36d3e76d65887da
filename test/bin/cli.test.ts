import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { QueuedTransaction } from '../../src/protocol/sync.ts'
import type { FlushReport, PaymentResult, Pending, Status } from '../../src/terminal/index.ts'
import { sharedApp } from '../support/app.ts'
import { NOWHERE } from '../support/domain/terminals.ts'
import { startCommand } from '../support/programs.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { type ScriptedServer, startScriptedServer } from '../support/servers/scripted-server.ts'

const CLI = join(import.meta.dirname, '../../build/cli.js')
const README = join(import.meta.dirname, '../../src/bin/packages/contents/server/README.md')

const run = async (...args: string[]) => {
  const program = startCommand(process.execPath, [CLI, ...args])
  const status = await program.ended()
  return { status, text: program.lines.join('\n'), errors: program.errors() }
}

describe('npx assay terminal', function () {
  this.timeout(60_000)
  const directory = temporaryDirectories()

  /** Runs a command that prints JSON. */
  const read = async <T>(...args: string[]): Promise<{ status: number | null; value: T }> => {
    const { status, text, errors } = await run('terminal', ...args)
    expect(errors).to.equal('')
    return { status, value: JSON.parse(text) as T }
  }

  it('explains itself', async () => {
    const { status, text } = await run('--help')
    expect([status, text]).to.deep.equal([0, text])
    expect(text).to.include('npx assay terminal pay')
    const commands = text.match(/^ {2}(?!help)[a-z-]+(?= )/gm)?.map((command) => command.trim())
    const readme = await readFile(README, 'utf8')
    expect(commands?.filter((command) => !readme.includes(`\`assay ${command}`))).to.deep.equal([])
    expect(commands).to.include('doctor')
    expect((await run('terminal', 'pay', '--help')).text).to.include('--card-token')
  })

  it('pays offline, remembers, and uploads once the server is there', async () => {
    const app = await sharedApp()
    const { apiKey, merchantId } = await app.organisation()
    const state = ['--state', await directory()]
    const configured = await run(
      'terminal',
      'configure',
      ...state,
      '--api-key',
      apiKey,
      '--merchant',
      merchantId,
    )
    expect(configured.status).to.equal(0)
    expect((await stat(join(state[1] ?? '', 'terminal.json'))).mode & 0o777).to.equal(0o600)

    const nowhere = ['--url', NOWHERE]
    const card = ['--card-token', 'tok_1', '--amount', '12.50']
    const paid = await read<PaymentResult>('pay', ...state, ...nowhere, ...card)
    expect([paid.status, paid.value.queued]).to.deep.equal([0, true])
    const again = await read<PaymentResult>('pay', ...state, ...nowhere, ...card)
    expect([again.status, again.value.accepted]).to.deep.equal([3, false])
    const { value: waiting } = await read<Pending>('pending', ...state)
    expect([waiting.count, waiting.sums]).to.deep.equal([1, { GBP: '12.50' }])
    const failed = await read<FlushReport>('flush', ...state, ...nowhere)
    expect([failed.status, failed.value.pending]).to.deep.equal([3, 1])

    await run('terminal', 'configure', ...state, '--url', app.url)
    const { status, value } = await read<FlushReport>('flush', ...state)
    expect([status, value.synced, value.pending]).to.deep.equal([0, 1, 0])
    const online = await read<PaymentResult>('pay', ...state, '--card-token', 'tok_2', '--amount', '1')
    expect(online.value).to.include({ accepted: true, synced: true })
    expect((await read<Status>('status', ...state)).value).to.include({
      online: true,
      pending: 0,
      nullifiers: 2,
    })
  })

  it('keeps to what is stored, whatever the environment says; that counts where nothing is stored', async () => {
    const app = await sharedApp()
    const { apiKey, merchantId } = await app.organisation()
    const folder = await directory()
    const state = ['--state', folder]
    const configure = (env: Record<string, string>, ...args: string[]) =>
      runCli(['terminal', 'configure', ...state, ...args], env)
    const stored = async () => JSON.parse(await readFile(join(folder, 'terminal.json'), 'utf8'))

    const settings = { merchant: merchantId, url: app.url }
    await configure({ ASSAY_API_KEY: apiKey }, '--merchant', merchantId, '--url', app.url)
    expect(await stored()).to.deep.equal({ ...settings, apiKey })
    const others = { ASSAY_API_KEY: 'of a monitor', ASSAY_TERMINAL_SECRET: '' }
    const { errors: said } = await configure(others, '--floor-limit', '5')
    expect(said).to.include('ASSAY_API_KEY is not used, since another is stored: --api-key replaces that.')
    expect(await stored()).to.deep.equal({ ...settings, apiKey, floorLimit: 5 })
    for (const [card, ASSAY_API_KEY] of [
      ['tok_1', 'of a monitor'],
      ['tok_2', ''],
    ] as const) {
      const pay = ['terminal', 'pay', ...state, '--card-token', card, '--amount', '1']
      const { output, errors } = await runCli(pay, { ASSAY_API_KEY })
      expect(JSON.parse(output), errors).to.include({ accepted: true, synced: true })
    }
    // The secret that is stored is not that of another terminal.
    await configure({}, '--terminal-id', 'ter_A', '--terminal-secret', 'of A')
    await configure({ ASSAY_TERMINAL_SECRET: 'of B' }, '--terminal-id', 'ter_B')
    expect(await stored()).to.include({ terminalId: 'ter_B', terminalSecret: 'of B' })
    await configure(others, '--api-key', 'another')
    expect(await stored()).to.include({ apiKey: 'another' })
  })

  /** A server that is slower than a payment may wait for, yet takes what is uploaded with `status`. */
  const slowServer = async (status: 'synced' | 'conflict'): Promise<ScriptedServer> => {
    const server = await startScriptedServer()
    server.on('/api/merchant/payments/validate', () => 'hang')
    server.on(
      '/api/merchant/transactions/sync',
      ({ transactions }: { transactions: QueuedTransaction[] }) => {
        const sent = transactions.map(({ transactionId }, index) => ({ index, transactionId }))
        const refusal = { code: 'DOUBLE_SPEND', message: 'Used before.', retryable: false }
        return {
          body: {
            results: sent.map((item) => ({ ...item, status, assurance: 'mac' })),
            errors: status === 'conflict' ? sent.map((item) => ({ ...item, ...refusal })) : [],
          },
        }
      },
    )
    return server
  }

  it('uploads at once what a slow server did not decide in time, and says what came of it', async () => {
    for (const [status, exit, result] of [
      ['synced', 0, { accepted: true, synced: true, queued: false }],
      ['conflict', 3, { accepted: false, synced: false, queued: false, error: 'DOUBLE_SPEND: Used before.' }],
    ] as const) {
      const server = await slowServer(status)
      const who = ['--state', await directory(), '--api-key', 'k', '--merchant', 'mer_1', '--url', server.url]
      const paid = await read<PaymentResult>('pay', ...who, '--card-token', 'a', '--amount', '1')
      expect(paid.value).to.include(result)
      expect(paid.status).to.equal(exit)
      expect((await read<Pending>('pending', ...who)).value.count).to.equal(0)
      await server.close()
    }
  })

  it('recovers a damaged journal', async () => {
    const folder = await directory()
    const who = ['--state', folder, '--api-key', 'k', '--merchant', 'mer_1', '--url', NOWHERE]
    const ids: string[] = []
    for (const card of ['a', 'b', 'c']) {
      const { value } = await read<PaymentResult>('pay', ...who, '--card-token', card, '--amount', '1')
      ids.push(value.transactionId)
    }
    const file = join(folder, 'journal')
    const bytes = await readFile(file)
    const at = bytes.indexOf('"payment"')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await writeFile(file, bytes)

    const refused = await run('terminal', 'pending', ...who)
    expect(refused.status).to.equal(1)
    expect(refused.errors).to.include(`npx assay terminal recover --state ${folder}`)
    const [, takenBack = '', waits = ''] = ids
    const recovered = await run('terminal', 'recover', '--state', folder, '--void', takenBack)
    expect(recovered.status).to.equal(0)
    expect(recovered.text).to.include('could not be read').and.include(`${file}.damaged-1`)
    expect(recovered.text).to.include('Payments may be among').and.not.include('The list of used cards')
    expect(recovered.text).to.include(`${waits}  1 GBP`).and.not.include(takenBack)
    expect((await read<Pending>('pending', ...who)).value.count).to.equal(1)
    expect((await run('terminal', 'recover', '--state', folder)).text).to.include('intact')
  })

  it('says what is missing or wrong, with a status', async () => {
    const state = ['--state', await directory()]
    const missing = await run('terminal', 'pending', ...state)
    expect([missing.status, missing.errors]).to.deep.equal([1, missing.errors])
    expect(missing.errors).to.include('--api-key')
    const wrong = await run('terminal', 'pay', ...state, '--card-token', 'a', '--amount', 'much')
    expect(wrong.status).to.equal(1)
    expect(wrong.errors).to.include('decimal number')
    const rounded = await run(
      'terminal',
      'pay',
      ...state,
      '--card-token',
      'a',
      '--amount',
      '1.000000000000000001',
    )
    expect([rounded.status, rounded.errors]).to.deep.equal([1, rounded.errors])
    expect(rounded.errors).to.include('15 digits')
  })
})
