/** What a monitor finds of a service with several logs, each of which does in turn what it shouldn't. */

import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { createLogClient } from '../../../src/bin/monitor/log-client.ts'
import { createMonitor } from '../../../src/bin/monitor/monitor.ts'
import type { MonitorState } from '../../../src/bin/monitor/monitor-state.ts'
import { inclusionPath, leafHash, rootOf } from '../../support/reference/merkle.ts'
import { runCli } from '../../support/run-cli.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { createTestLog, type TestLog, tileBytes } from '../../support/tlog.ts'

const ENTRIES = 400
const ENTRY = '{"id":"1"}'
/** Longer ago than a head may take. */
const LONG_AGO = 60_000

/** A log as the service shows it. */
interface Shown {
  readonly log: TestLog
  leaves: Buffer[]
  /** As `/log/{log}/head` answers it. */
  head?: object
}

/** A service that does what it should until a test changes what it shows, or what a path answers. */
const startService = async (count: number) => {
  const first = createTestLog('log.example', 3)
  const shown: Shown[] = Array.from({ length: count }, (_, number) =>
    number === 0
      ? { log: first, leaves: [...first.leaves] }
      : { log: first.beside(number, ENTRIES), leaves: first.beside(number, 10).leaves.slice() },
  )
  const of = (number: number): Shown => shown[number] ?? expect.fail(`there is no log ${number}`)
  const noteOf = (number: number, leaves = of(number).leaves) =>
    of(number).log.note(leaves.length, { leaves })
  /** Appends the head of a log to log 0. */
  const sayHead = (number: number): void => {
    const { leaves } = of(number)
    const data = { log: number, root: rootOf(leaves).toString('hex'), size: leaves.length }
    const entry = JSON.stringify({ data, org: 'log', type: 'ledger.head' })
    const log0 = of(0).leaves
    const index = log0.push(leafHash(Buffer.from(entry))) - 1
    const hashes = inclusionPath(index, log0).map((hash) => hash.toString('hex'))
    of(number).head = { entry, index, hashes, checkpoint: noteOf(0) }
  }
  for (let number = 1; number < count; number++) sayHead(number)
  const answers = new Map<string, number | string>()

  const answerTo = (path: string): string | Buffer | undefined => {
    const [, number = '0', rest = ''] = /^(?:[/]log[/](\d+))?(.*)$/.exec(path) ?? []
    const log = shown[Number(number)]
    if (log === undefined) return undefined
    if (rest === '/checkpoint') return noteOf(Number(number))
    if (rest === '/head') return log.head && JSON.stringify(log.head)
    return tileBytes(log.leaves, rest)
  }
  const server: Server = createServer((request, response) => {
    const path = request.url ?? ''
    const found = [...answers].find(([start]) => path.startsWith(start))?.[1]
    const body = typeof found === 'number' ? undefined : (found ?? answerTo(path))
    response.statusCode = typeof found === 'number' ? found : body === undefined ? 404 : 200
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  let state: MonitorState = {
    ...{ origin: 'log.example', keys: first.keys.join('\n'), newest: null, newestEntry: null },
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    of,
    noteOf,
    sayHead,
    state: () => state,
    setState(next: MonitorState) {
      state = next
    },
    /** What the list of the organisation's entries says. */
    list(log: number, entries: readonly object[]) {
      const page = { log, entries, checkpoint: noteOf(log), nextCursor: null }
      answers.set('/api/audit', JSON.stringify(page))
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

describe('a monitor of several logs', function () {
  this.timeout(60_000)
  const temporary = temporaryDirectories()
  let service: Awaited<ReturnType<typeof startService>>
  const start = async (count: number): Promise<void> => {
    service = await startService(count)
  }
  afterEach(() => service.close())

  const monitor = (apiKey?: string) =>
    createMonitor({
      ...{ log: createLogClient(service.url), policy: undefined, apiKey, state: service.state() },
      remember: async (next) => service.setState(next),
    })
  /** Looks once, as a monitor that was started again does. @returns code and log of each finding */
  const look = async (apiKey?: string): Promise<string[]> =>
    (await monitor(apiKey)()).findings.map(({ code, log }) => `${code} ${log}`)
  const entry = (index: number) => ({
    index,
    entry: ENTRY,
    leafHash: leafHash(Buffer.from(ENTRY)).toString('hex'),
  })
  const grow = (number: number, count = 1): void => {
    const { log, leaves } = service.of(number)
    leaves.push(...log.leaves.slice(leaves.length, leaves.length + count))
  }
  /** Puts off to the past what the state awaits. */
  const wait = (): void => {
    const { logs = {}, ...rest } = service.state()
    const past = Object.entries(logs).map(([number, log]) => [
      number,
      { ...log, ...(log.awaited && { awaited: { ...log.awaited, since: log.awaited.since - LONG_AGO } }) },
    ])
    service.setState({ ...rest, logs: Object.fromEntries(past) })
  }

  it('looks for the organisation’s entries in the log that has them, whichever the service names', async () => {
    await start(3)
    service.of(2).leaves.push(leafHash(Buffer.from(ENTRY)))
    service.sayHead(2)
    service.list(2, [entry(10)])
    expect(await look('key')).to.deep.equal([])
    expect(service.state().logs?.[2]?.newestEntry?.index).to.equal(10)
    for (const log of [1, 0]) {
      service.list(log, [])
      expect(await look('key'), `after a restart, log ${log}`).to.deep.equal(['ENTRY_MISSING 2'])
    }
    const running = monitor('key')
    expect((await running()).findings).to.have.length(1)
    expect((await running()).findings).to.have.length(1)
    for (const log of [-1, 1.5, 64, '2', null]) {
      service.answers.set(
        '/api/audit',
        JSON.stringify({ log, entries: [], checkpoint: service.noteOf(2), nextCursor: null }),
      )
      expect(await look('key'), `log ${log}`).to.deep.equal(['UNREACHABLE 2'])
    }
    service.answers.set('/api/audit', 'no JSON')
    expect(await look('key')).to.deep.equal(['UNREACHABLE 2'])
    service.list(2, [entry(10)])
    expect(await look('key')).to.deep.equal([])
  })

  it('finds what is wrong with a log while others do not answer', async () => {
    await start(4)
    service.list(0, [])
    expect(await look('key')).to.deep.equal([])
    service.answers.set('/log/1/checkpoint', 503).set('/log/2/head', 500).set('/api/audit', 403)
    const { leaves } = service.of(3)
    leaves[4] = leafHash(Buffer.of(1))
    const found = ['UNREACHABLE 1', 'UNREACHABLE 2', 'LOG_FORKED 3', 'UNREACHABLE 0']
    expect(await look('key')).to.deep.equal(found)
    // A service that is down is told of once.
    service.answers.set('/checkpoint', 503)
    expect(await look('key')).to.deep.equal(['UNREACHABLE 0', 'LOG_FORKED 3'])
  })

  it('forgets nothing of the others when log 0 grows', async () => {
    await start(2)
    expect(await look()).to.deep.equal([])
    const running = monitor()
    grow(1)
    service.sayHead(1)
    expect((await running()).findings).to.deep.equal([])
    service.of(0).leaves.push(leafHash(Buffer.of(0)))
    expect((await running()).findings).to.deep.equal([])
    expect(service.state().logs?.[1]?.newest?.size).to.equal(11)
  })

  it('misses a head over restarts, whether there is none or one that is too old', async () => {
    await start(3)
    delete service.of(2).head
    expect(await look()).to.deep.equal([])
    expect(await look(), 'too soon').to.deep.equal([])
    grow(1)
    expect(await look()).to.deep.equal([])
    wait()
    expect(await look()).to.deep.equal(['HEAD_MISSING 1', 'HEAD_MISSING 2'])
    service.sayHead(1)
    service.sayHead(2)
    expect(await look()).to.deep.equal([])
    wait()
    expect(await look(), 'nothing grew').to.deep.equal([])
    grow(1)
    expect(await look(), 'the time begins anew').to.deep.equal([])
  })

  it('finds a log that is hidden below others, and one that was seen', async () => {
    await start(5)
    service.answers.set('/log/2/', 404)
    expect(await look()).to.deep.equal(['LOG_MISSING 2'])
    expect(Object.keys(service.state().logs ?? {})).to.deep.equal(['1', '3', '4'])
    service.answers.set('/log/4/', 404)
    expect(await look()).to.deep.equal(['LOG_MISSING 2', 'LOG_MISSING 4'])
    service.answers.clear()
    expect(await look()).to.deep.equal([])
    // Another page than a checkpoint is no log above the last, and no answer says nothing of it.
    service.answers.set('/log/5/', 'a page').set('/log/7/', 500)
    expect(await look()).to.deep.equal(['UNREACHABLE 7'])
  })

  it('can’t say anything of a log that lacks tiles', async () => {
    await start(2)
    expect(await look()).to.deep.equal([])
    grow(1, 300)
    service.answers.set('/log/1/tile/', 404)
    expect(await look()).to.deep.equal(['UNREACHABLE 1'])
    service.answers.clear()
    expect(await look()).to.deep.equal([])
    // The head is of fewer entries than the log, so that its tiles are asked for.
    service.answers.set('/log/1/tile/', 404)
    expect(await look()).to.deep.equal(['UNREACHABLE 1'])
  })

  it('tells of each log by itself', async () => {
    await start(3)
    const state = join(await temporary(), 'state.json')
    expect(await look()).to.deep.equal([])
    await writeFile(state, JSON.stringify(service.state()))
    for (const number of [1, 2]) service.of(number).leaves[4] = leafHash(Buffer.of(1))
    const alert = 'cat; echo'
    const { status, errors, output } = await runCli([
      ...['monitor', service.url, '--state', state, '--once', '--alert', alert],
    ])
    expect(status).to.equal(1)
    expect(errors).to.include('LOG_FORKED of log 1: ').and.include('LOG_FORKED of log 2: ')
    const alerts = output.split('\n').filter((line) => line.startsWith('{'))
    expect(alerts.map((line) => (JSON.parse(line) as { log: number }).log).sort()).to.deep.equal([1, 2])
  })

  it('tells of each entry by itself', async () => {
    await start(1)
    const state = join(await temporary(), 'state.json')
    await writeFile(state, JSON.stringify(service.state()))
    service.list(
      0,
      [entry(2), entry(1), entry(0)].map((listed) => ({ ...listed, entry: '{"id":"2"}' })),
    )
    const { status, errors, output } = await runCli([
      ...['monitor', service.url, '--state', state, '--once', '--api-key', 'key', '--alert', 'cat; echo'],
    ])
    expect(status, errors).to.equal(1)
    const alerts = output.split('\n').filter((line) => line.startsWith('{'))
    const told = alerts.map((line) => JSON.parse(line) as { code: string; index: number })
    expect(told.map(({ code, index }) => `${code} ${index}`)).to.deep.equal([
      ...['ENTRY_CHANGED 2', 'ENTRY_CHANGED 1', 'ENTRY_CHANGED 0'],
    ])
  })

  it('tells what it finds while another log lets it wait', async () => {
    await start(3)
    expect(await look()).to.deep.equal([])
    service.answers.set('/log/1/head', 429)
    service.of(2).leaves[4] = leafHash(Buffer.of(1))
    const told: string[] = []
    const { findings } = await monitor()(({ code, log }) => void told.push(`${code} ${log}`))
    expect(told).to.deep.equal(['LOG_FORKED 2', 'UNREACHABLE 1'])
    expect(findings.map(({ log }) => log)).to.deep.equal([1, 2])
  })

  it('forgets nothing of a log that it looks at together with others', async () => {
    await start(6)
    const slow = createMonitor({
      ...{ log: createLogClient(service.url), policy: undefined, apiKey: undefined, state: service.state() },
      async remember(next) {
        await pause(20)
        service.setState(next)
      },
    })
    expect((await slow()).findings).to.deep.equal([])
    const { newest, logs = {} } = service.state()
    expect(newest?.size).to.equal(8)
    expect(Object.values(logs).map((log) => log.newest?.size)).to.deep.equal([10, 10, 10, 10, 10])
    expect(Object.values(logs).map((log) => log.awaited?.size)).to.deep.equal([10, 10, 10, 10, 10])
  })

  it('gives up a list of entries that are all wrong', async () => {
    await start(1)
    service.of(0).leaves = service.of(0).log.beside(1, ENTRIES).leaves.slice()
    const entries = Array.from({ length: ENTRIES }, (_, i) => entry(ENTRIES - 1 - i))
    service.list(0, entries)
    expect(await look('key')).to.deep.equal(Array.from({ length: 100 }, () => 'ENTRY_NOT_IN_LOG 0'))
  })
})
