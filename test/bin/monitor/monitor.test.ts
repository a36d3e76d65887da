/** `npx assay monitor` as it is built: a log that does what it should, every way in which one doesn't, and a real service. */

import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { createLogClient, UnreachableLog } from '../../../src/bin/monitor/log-client.ts'
import { createLogMonitor } from '../../../src/bin/monitor/log-monitor.ts'
import { createMonitor } from '../../../src/bin/monitor/monitor.ts'
import { readState, writeState } from '../../../src/bin/monitor/monitor-state.ts'
import type { AuditPage } from '../../../src/domain/audit/schemas.ts'
import { readWitnessPolicy } from '../../../src/protocol/checkpoint/witness-policy.ts'
import { sharedApp, type TestOrganisation } from '../../support/app.ts'
import { revokeKey, verifySomething } from '../../support/domain/exports.ts'
import { eventually } from '../../support/eventually.ts'
import { startCommand } from '../../support/programs.ts'
import { leafHash, rootOf } from '../../support/reference/merkle.ts'
import { rejection } from '../../support/rejection.ts'
import { type CliRun, runCli } from '../../support/run-cli.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { json, startTargetServer } from '../../support/servers/target-server.ts'
import { createTestLog, type Served, serveLog, type TestLog } from '../../support/tlog.ts'
import { createWitness, SEEN_AT } from '../../support/witnesses.ts'

const CLI = join(import.meta.dirname, '../../../build/cli.js')
const LEAVES = 700

describe('npx assay monitor', function () {
  this.timeout(60_000)
  const temporary = temporaryDirectories()
  let log: TestLog
  let served: Served
  let server: Server
  let url = ''
  let state = ''

  before(() => {
    log = createTestLog('log.example', LEAVES)
  })
  beforeEach(async () => {
    const keys = `${log.keys.join('\n')}\n`
    served = { note: log.note(300), keys, leaves: log.leaves }
    const started = await serveLog(served)
    server = started.server
    url = started.url
    state = join(await temporary(), 'state.json')
    const first = { size: 300, root: rootOf(log.leaves.slice(0, 300)).toString('hex'), note: served.note }
    await writeState(state, { origin: log.origin, keys, newest: first, newestEntry: null })
  })
  afterEach(() => {
    server.close()
    server.closeAllConnections()
  })

  const run = (...args: string[]): Promise<CliRun> =>
    runCli(['monitor', url, '--state', state, '--once', ...args])
  const kept = async () => (await readState(state)) ?? expect.fail('nothing is kept')
  const newest = async () => (await kept()).newest?.size
  /** Looks once, as a monitor that was started again does. @returns what was found */
  const look = async (policy?: string, from = url, now = Date.now()): Promise<string[]> => {
    const round = createMonitor({
      log: createLogClient(from),
      policy: policy === undefined ? undefined : readWitnessPolicy(policy),
      clock: { now: () => now },
      apiKey: undefined,
      state: await kept(),
      remember: (next) => writeState(state, next),
    })
    return (await round()).findings.map(({ code }) => code)
  }

  it('accepts what goes on from the newest checkpoint, which it keeps over its own end', async () => {
    await rm(state)
    const first = await run()
    expect(first.status, first.errors).to.equal(0)
    expect(first.output).to.include('compare them with what others have').and.include('300 entries')
    for (const size of [300, 301, 512, 513, LEAVES]) {
      served.note = log.note(size)
      expect(await look()).to.deep.equal([])
      expect(await newest()).to.equal(size)
    }
    // An older one that the log still goes on from, as a cache may have it, is no fault of the log.
    served.note = log.note(299)
    expect(await look()).to.deep.equal([])
    expect(await newest()).to.equal(LEAVES)
  })

  it('shows the name of a log as text, whatever it would tell a terminal', async () => {
    const hostile = createTestLog('log.example\u001b[2J', 5)
    const other = await serveLog({
      note: hostile.note(5),
      keys: `${hostile.keys.join('\n')}\n`,
      leaves: hostile.leaves,
    })
    const file = join(await temporary(), 'other.json')
    const { status, output, errors } = await runCli(['monitor', other.url, '--state', file, '--once'])
    other.server.close()
    expect(status, errors).to.equal(0)
    expect(output).to.include('5 entries').and.not.include('\u001b')
  })

  it('finds a fork, a rewritten log, one that shrank, and what it did not sign, and forgets nothing meanwhile', async () => {
    const rewritten = [...log.leaves.slice(0, 130), leafHash(Buffer.of(1)), ...log.leaves.slice(131)]
    served.note = log.note(300, { leaves: rewritten })
    const { status, errors } = await run()
    expect(status).to.equal(1)
    expect(errors).to.include('LOG_FORKED').and.include(log.note(300).split('\n')[2])
    expect(errors).to.include(served.note.split('\n')[2])
    served.leaves = rewritten
    served.note = log.note(640, { leaves: rewritten })
    expect(await look()).to.deep.equal(['LOG_INCONSISTENT'])
    // Tiles of another tree than the one that is signed prove nothing, however well they fit what was seen.
    served.leaves = log.leaves
    expect(await look()).to.deep.equal(['TILES_INVALID'])
    served.note = log.note(640)
    served.leaves = rewritten
    expect(await look(), 'nor do those of a log that does go on').to.deep.equal(['TILES_INVALID'])
    served.leaves = log.leaves
    served.note = log.note(200, { leaves: rewritten })
    expect(await look(), 'an older tree that is none of the log’s').to.deep.equal(['LOG_INCONSISTENT'])
    served.leaves = log.leaves.slice(0, 200)
    served.note = log.note(200)
    expect(await look()).to.deep.equal(['LOG_SHRANK'])
    served.leaves = rewritten
    expect(await look()).to.deep.equal(['TILES_INVALID'])
    served.leaves = log.leaves
    const [text = '', classical = '', postQuantum = ''] = log.note(400).split(/(?=— )/)
    for (const [note, code] of [
      ['nothing', 'CHECKPOINT_MALFORMED'],
      [createTestLog('other.example', 5).note(5), 'ORIGIN_MISMATCH'],
      [createTestLog('log.example', 400).note(400), 'CHECKPOINT_UNSIGNED'],
      [text + postQuantum, 'CHECKPOINT_UNSIGNED'],
      [text + classical, 'COSIGNATURE_MISSING'],
      [text + classical + postQuantum.replace(/.{8}\n$/, 'AAAAAAA=\n'), 'COSIGNATURE_INVALID'],
    ] as const) {
      served.note = note
      expect(await look()).to.deep.equal([code])
    }
    expect(await newest()).to.equal(300)
    served.note = log.note(400)
    expect(await look()).to.deep.equal([])
  })

  it('is not told by tiles that fit both roots but not each other', async () => {
    // 512 leaves: two full tiles, whose roots are published above them and make the new root. The old root comes from the leaves.
    const others = Array.from({ length: 512 }, (_, i) => leafHash(Buffer.from(`other ${i}`)))
    const roots = [rootOf(others.slice(0, 256)), rootOf(others.slice(256))]
    const forged = createServer((request, response) => {
      const path = request.url ?? ''
      const from = path.endsWith('/000') ? 0 : 256
      if (path === '/checkpoint') response.end(log.note(512, { root: rootOf(others) }))
      else if (path.startsWith('/tile/1/')) response.end(Buffer.concat(roots))
      else response.end(Buffer.concat(log.leaves.slice(from, from + 256)))
    })
    await new Promise<void>((resolve) => forged.listen(0, '127.0.0.1', resolve))
    const { port } = forged.address() as AddressInfo
    expect(await look(undefined, `http://127.0.0.1:${port}`)).to.deep.equal(['TILES_INVALID'])
    forged.close()
    forged.closeAllConnections()
  })

  it('demands the witnesses of a policy, and the keys that it was given', async () => {
    const witness = createWitness('w.example')
    const policy = `witness w ${witness.key}\nquorum w\n`
    expect(await look(policy)).to.deep.equal(['WITNESSES_MISSING'])
    const file = join(await temporary(), 'policy')
    await writeFile(file, policy)
    expect(await run('--witnesses', file)).to.include({ status: 1 })
    served.note += witness.cosign(served.note)
    const seen = SEEN_AT * 1000
    expect(await look(policy, url, seen)).to.deep.equal([])
    // A copy that stands still has been cosigned as well, and longer and longer ago.
    expect(await look(policy, url, seen + 900_000)).to.deep.equal([])
    expect(await look(policy, url, seen + 901_000)).to.deep.equal(['WITNESSES_LATE'])
    expect(await look(`log ${log.keys[0]}\n${policy}`, url, seen)).to.deep.equal([])
    expect((await run('--witnesses', file, '--max-age', '604800')).errors).to.include('WITNESSES_LATE')
    await writeFile(file, createTestLog('log.example', 1).keys.join('\n'))
    expect((await run('--keys', file)).errors).to.include('CHECKPOINT_UNSIGNED')
  })

  it('follows no log whose signatures it could not all check, and says which keys are wrong', async () => {
    const [ed25519 = '', mlDsa44 = ''] = log.keys
    const file = join(await temporary(), 'keys.txt')
    const first = await kept()
    for (const [keys, why] of [
      ['<html>busy</html>\n', 'Line 1 of'],
      ['{"error":{"code":"busy"}}', 'Line 1 of'],
      [`${ed25519}\n${mlDsa44.slice(0, -8)}\n`, 'Line 2 of'],
      [`${ed25519}\n`, 'no ML-DSA-44 key'],
      [`# ours\n\n${mlDsa44}\n`, 'no Ed25519 key'],
      ['', 'no Ed25519 key'],
    ] as const) {
      await writeFile(file, keys)
      const given = await run('--keys', file)
      expect([given.status, given.errors.includes(file)], keys).to.deep.equal([2, true])
      expect(given.errors).to.include(why)
      await writeState(state, { ...first, keys })
      const known = await run()
      expect([known.status, known.errors.includes(state)], keys).to.deep.equal([2, true])
      await rm(state)
      served.keys = keys
      const fetched = await run()
      expect([fetched.status, fetched.errors.includes(`${url}/checkpoint/keys`)], keys).to.deep.equal([
        2,
        true,
      ])
      expect(await readState(state), 'nothing is kept').to.equal(undefined)
    }
    await writeFile(file, `# ours\r\n${ed25519}\r\n\r\n ${mlDsa44}\r\n`)
    const { status, errors } = await run('--keys', file)
    expect(status, errors).to.equal(0)
    served.note = log.note(300).replace(/— .*\n$/, '')
    expect((await run('--keys', file)).errors).to.include('COSIGNATURE_MISSING')
  })

  it('keeps its state to itself, and ends where it can’t be written', async () => {
    const folder = await temporary()
    const own = join(folder, 'state.json')
    await writeState(own, await kept())
    const args = ['monitor', url, '--state', own, '--interval', '1', '--metrics', '0']
    const monitor = startCommand(process.execPath, [CLI, ...args])
    try {
      await monitor.line(/300 entries/)
      const second = await runCli(['monitor', url, '--state', own, '--once'])
      expect(second.status).to.equal(2)
      expect(second.errors).to.include(`${own} is in use by process ${monitor.child.pid}`)
      await rm(folder, { recursive: true })
      served.note = log.note(301)
      expect(await monitor.ended()).to.equal(2)
      expect(monitor.errors()).to.include('ENOENT')
    } finally {
      await monitor.kill()
    }
    expect((await run()).status, 'after the end of one').to.equal(0)
    expect((await run()).status, 'and of another').to.equal(0)
  })

  it('holds checkpoints that come at once against each other', async () => {
    const { keys, newest: first } = await kept()
    const monitor = createLogMonitor({
      log: createLogClient(url),
      state: { origin: log.origin, keys, newest: first, newestEntry: null },
      remember: async () => undefined,
    })
    const other = [...log.leaves.slice(0, 300), leafHash(Buffer.of(1))]
    const notes = [log.note(301), log.note(301, { leaves: other })]
    const found = await Promise.all(notes.map((note) => monitor.observe(note, undefined)))
    expect(found.map((one) => one?.code)).to.deep.equal([undefined, 'LOG_FORKED'])
  })

  it('hands out what was signed where no tiles tell whether it goes on', async () => {
    served.note = log.note(600)
    served.leaves = log.leaves.slice(0, 100)
    const { errors, status } = await run()
    expect(status).to.equal(2)
    const roots = [log.note(300), served.note].map((note) => note.split('\n')[2] ?? '')
    for (const root of roots) expect(errors).to.include(root)
    // Also at a first look, after which it is not told yet that the log does not answer.
    const monitor = startCommand(process.execPath, [CLI, 'monitor', url, '--state', state])
    try {
      await eventually('both are printed', async () => roots.every((root) => monitor.errors().includes(root)))
    } finally {
      await monitor.kill()
    }
  })

  it('waits for a log that is asked too often no longer than its time', async () => {
    const busy = createServer((_, response) => {
      response.writeHead(429, { 'Retry-After': '60' }).end()
    })
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    const { port } = busy.address() as AddressInfo
    const begun = performance.now()
    const client = createLogClient(`http://127.0.0.1:${port}`, 0, { until: AbortSignal.timeout(300) })
    // Its timer alone keeps no process alive.
    const alive = setTimeout(() => undefined, 10_000)
    expect(await rejection(client.checkpoint())).to.be.instanceOf(UnreachableLog)
    expect(performance.now() - begun).to.be.below(5_000)
    expect(await rejection(client.keys()), 'nothing more is asked').to.be.instanceOf(UnreachableLog)
    clearTimeout(alive)
    busy.close()
    busy.closeAllConnections()
  })

  it('ends when it is told to, in the middle of a look, and claims nothing', async () => {
    let isAsked = false
    const busy = createServer((_, response) => {
      isAsked = true
      response.writeHead(429, { 'Retry-After': '60' }).end()
    })
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    const { port } = busy.address() as AddressInfo
    const args = ['monitor', `http://127.0.0.1:${port}`, '--state', state]
    const monitor = startCommand(process.execPath, [CLI, ...args])
    try {
      await eventually('it looks', () => isAsked)
      const begun = performance.now()
      monitor.child.kill('SIGTERM')
      expect(await monitor.ended()).to.equal(2)
      expect(performance.now() - begun).to.be.below(10_000)
      expect(monitor.errors()).to.equal('')
    } finally {
      await monitor.kill()
      busy.close()
      busy.closeAllConnections()
    }
  })

  it('can’t say anything of a log that does not answer, or with a state that is damaged', async () => {
    served.isAway = true
    expect((await run()).status).to.equal(2)
    served.isAway = false
    served.note = log.note(600)
    served.leaves = log.leaves.slice(0, 100)
    expect(await look()).to.deep.equal(['UNREACHABLE'])
    expect(await newest()).to.equal(300)
    await writeFile(state, '{"origin": "log.example"')
    const { status, errors } = await run()
    expect(status).to.equal(2)
    expect(errors).to.include('is damaged')
  })

  it('takes an audit log that answers something else, or goes round, for one that does not answer', async () => {
    const service = await startTargetServer()
    const page = { entries: [], checkpoint: served.note, nextCursor: null, log: 0 }
    const entry = { index: 9, entry: null, leafHash: 'ab'.repeat(32) }
    const entriesOf = (answer: object): Promise<unknown> => {
      service.on('/api/audit', json({ ...page, ...answer }))
      return createLogClient(service.url).entries('key', undefined)
    }
    try {
      expect(await entriesOf({ entries: [entry] })).to.have.property('entries')
      for (const answer of [
        { entries: [null] },
        { entries: [{ ...entry, index: null }] },
        { entries: [{ ...entry, index: 9.5 }] },
        { entries: [{ ...entry, leafHash: 5 }] },
        { entries: [{ ...entry, entry: {} }] },
        { nextCursor: { toString: 1 } },
        { nextCursor: undefined },
        { nextCursor: 'next' },
        { nextCursor: '\ud800' },
        { entries: Array.from({ length: 1001 }, (_, i) => ({ ...entry, index: 2000 - i })) },
      ])
        expect(await rejection(entriesOf(answer)), JSON.stringify(answer)).to.be.instanceOf(UnreachableLog)
      // Not yet under the checkpoint, so that it is not looked for.
      const later = { ...entry, index: 400 }
      for (const entries of [[later], [later, later], [{ ...later, index: -1 }]]) {
        service.on('/api/audit', json({ ...page, entries, nextCursor: '400' }))
        const round = createMonitor({
          log: { ...createLogClient(url), entries: createLogClient(service.url).entries },
          policy: undefined,
          apiKey: 'key',
          state: await kept(),
          remember: async () => undefined,
        })
        expect((await round()).findings.map(({ code }) => code)).to.deep.equal(['UNREACHABLE'])
      }
    } finally {
      await service.close()
    }
  })

  it('says in a line that it can’t listen where its measures are wanted, and finds nothing', async () => {
    const args = ['monitor', url, '--state', state, '--once', '--metrics', new URL(url).port]
    const monitor = startCommand(process.execPath, [CLI, ...args])
    expect(await monitor.ended()).to.equal(2)
    expect(monitor.errors()).to.match(/^[^\n]*EADDRINUSE[^\n]*\n$/)
  })

  it('runs a command once for what it finds, again after it was gone, and shows what it measures', async () => {
    const heard = join(await temporary(), 'heard')
    const args = ['monitor', url, '--state', state, '--interval', '1', '--metrics', '0']
    const monitor = startCommand(process.execPath, [CLI, ...args, '--alert', `cat >> ${heard}`])
    try {
      const metricsUrl = (await monitor.line(/^Metrics are at /)).split(' ').at(-1) ?? ''
      const metrics = async () => (await fetch(metricsUrl)).text()
      await monitor.line(/300 entries/)
      expect(await metrics())
        .to.match(/^assay_monitor_tree_size 300$/m)
        .and.match(/^assay_monitor_finding\{code="LOG_FORKED"\} 0$/m)
      const alerts = async () => (await readFile(heard, 'utf8').catch(() => '')).split('\n').filter(Boolean)
      const good = served.note
      served.note = log.note(300, { root: leafHash(Buffer.of(1)) })
      await eventually('it is told', async () => (await alerts()).length === 1)
      const rounds = async () => Number(/^assay_monitor_rounds_total (\d+)$/m.exec(await metrics())?.[1])
      const before = await rounds()
      await eventually('it looked again', async () => (await rounds()) > before + 1, { pauseMs: 50 })
      const [told = ''] = await alerts()
      expect(await alerts()).to.have.length(1)
      expect(JSON.parse(told)).to.include({ url, origin: 'log.example', code: 'LOG_FORKED' })
      expect((JSON.parse(told) as { checkpoints: string[] }).checkpoints).to.deep.equal([good, served.note])
      expect(await metrics()).to.match(/^assay_monitor_finding\{code="LOG_FORKED"\} 1$/m)
      served.note = good
      await eventually('it is gone', async () => /LOG_FORKED"\} 0$/m.test(await metrics()), { pauseMs: 50 })
      served.note = log.note(300, { root: leafHash(Buffer.of(1)) })
      await eventually('it is told again', async () => (await alerts()).length === 2, { pauseMs: 50 })
    } finally {
      monitor.child.kill('SIGTERM')
    }
    expect(await monitor.ended()).to.equal(1)
  })

  it('follows a real service, and the entries of an organisation in it', async () => {
    const app = await sharedApp()
    const [owner, other] = [await app.organisation(), await app.organisation()]
    await rm(state)
    const own = ({ apiKey }: TestOrganisation) =>
      runCli(['monitor', app.url, '--state', state, '--once', '--api-key', apiKey])
    for (let i = 0; i < 2; i++) {
      await revokeKey(app, owner)
      await verifySomething(app, owner)
      const { status, errors } = await own(owner)
      expect(status, errors).to.equal(0)
    }
    const { body } = await app.request<AuditPage>('GET', '/api/audit', { key: owner.apiKey })
    const { index, leafHash: newestHash } = body.entries[0] ?? expect.fail()
    expect((await kept()).newestEntry).to.deep.equal({ index, leafHash: newestHash })
    // Another organisation has no such entry: whoever takes one off the list is found out.
    const { status, errors } = await own(other)
    expect(status).to.equal(1)
    expect(errors).to.include('ENTRY_MISSING')
  })

  it('finds entries that were changed, or are at another place', async () => {
    const entry = '{"id":"1"}'
    const leaves = [...log.leaves.slice(0, 9), leafHash(Buffer.from(entry))]
    const note = log.note(10, { leaves })
    served = Object.assign(served, { note, leaves })
    const listed = (changes: object) => ({
      index: 9,
      entry,
      leafHash: leaves[9]?.toString('hex'),
      ...changes,
    })
    const first = { size: 10, root: rootOf(leaves).toString('hex'), note }
    for (const [changes, codes] of [
      [{}, []],
      [{ entry: '{"id":"2"}' }, ['ENTRY_CHANGED']],
      [{ index: 8 }, ['ENTRY_NOT_IN_LOG']],
      [{ entry: null }, ['ENTRY_HIDDEN']],
    ] as const) {
      const client = createLogClient(url)
      const round = createMonitor({
        log: {
          ...client,
          entries: async () =>
            ({ entries: [listed(changes)], checkpoint: note, nextCursor: null }) as unknown as AuditPage,
        },
        policy: undefined,
        apiKey: 'key',
        state: { ...(await kept()), newest: first, newestEntry: null },
        remember: async () => undefined,
      })
      expect((await round()).findings.map(({ code }) => code)).to.deep.equal(codes)
    }
  })
})
