/** A service with four logs over HTTP: every place names its log, and nothing of one is taken for something of another. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { examine } from '../../src/bin/evidence/verify-evidence.ts'
import { createLogClient } from '../../src/bin/monitor/log-client.ts'
import { createMonitor, type MonitorFinding } from '../../src/bin/monitor/monitor.ts'
import type { LogState, MonitorState } from '../../src/bin/monitor/monitor-state.ts'
import {
  readCheckpoint,
  verifyConsistency,
  verifyHead,
  verifyInclusion,
} from '../../src/bin/packages/contents/verify/index.ts'
import { systemCaller } from '../../src/caller.ts'
import type { AuditPage, ConsistencyProof, InclusionProof } from '../../src/domain/audit/schemas.ts'
import type { ZkpVerified } from '../../src/domain/audit/schemas-zkp.ts'
import type { VerificationResult } from '../../src/domain/verification/schemas.ts'
import type { EventPage } from '../../src/domain/webhooks/schemas.ts'
import { loggedHeads } from '../../src/ledger/tables.ts'
import type { Contents } from '../../src/protocol/evidence/evidence-check.ts'
import { checkCheckpoint, type Verifier } from '../../src/protocol/evidence/evidence-signatures.ts'
import type { TestApp, TestOrganisation } from '../support/app.ts'
import { ok } from '../support/client.ts'
import { proveEntry } from '../support/domain/audit-proofs.ts'
import { exported, exportedRows, linesOf, revokeKey } from '../support/domain/exports.ts'
import { startProgram } from '../support/programs.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { DATA, verified } from '../support/verification.ts'
import {
  answer,
  deliveryOf,
  newPath,
  register,
  requestsTo,
  startWebhookApp,
  until,
  type WebhookApp,
} from '../support/webhooks.ts'

const LOGS = 4
const PROGRAM = join(import.meta.dirname, '../support/programs/check-many-logs.ts')

interface HeadAnswer {
  entry: string
  index: number
  treeSize: number
  hashes: string[]
  checkpoint: string
}

describe('a service with four logs', function () {
  this.timeout(120_000)
  const directory = temporaryDirectories()
  let hooks: WebhookApp
  let app: TestApp
  let host: string
  /** An organisation of each log, by its number. */
  const owners: TestOrganisation[] = []
  before(async () => {
    hooks = await startWebhookApp({ env: { LOG_SHARDS: String(LOGS) } })
    app = hooks.app
    host = new URL(app.url).host
    while (owners.filter(Boolean).length < LOGS) {
      const owner = await app.organisation()
      await revokeKey(app, owner)
      owners[(await auditOf(owner)).log ?? 0] ??= owner
    }
  })
  after(() => hooks.close())

  const auditOf = ({ apiKey: key }: Pick<TestOrganisation, 'apiKey'>, query = ''): Promise<AuditPage> =>
    ok(app, 'GET', `/api/audit${query}`, { key })
  const textAt = async (path: string): Promise<string> => (await app.request('GET', path)).bytes.toString()
  const of = (log: number): TestOrganisation => owners[log] ?? expect.fail(`nobody has log ${log}`)
  const pathOf = (log: number): string => (log === 0 ? '' : `/log/${log}`)
  const originOf = (log: number): string => `${host}${pathOf(log)}`
  const treeOf = async (log: number, note: string) => {
    const keys = await textAt(`${pathOf(log)}/checkpoint/keys`)
    const verdict = readCheckpoint(note, { origin: originOf(log), keys })
    return verdict.valid ? verdict : expect.fail(verdict.reason)
  }

  it('signs the other logs one after the other, with rests in between', async () => {
    const signedAt = async (): Promise<number[]> =>
      (await app.services.database.knex('ledger_checkpoint').where('log', '>', 0)).map((row) => row.signed_at)
    const gaps = async (): Promise<number[]> => {
      const began = app.services.clock.now()
      await Promise.all([1, 2, 3].map((log) => verified(app, of(log).apiKey, { data: DATA })))
      await until('all have signed', async () => (await signedAt()).every((at) => at >= began))
      const [first = 0, second = 0, third = 0] = (await signedAt()).sort((a, b) => a - b)
      return [second - first, third - second]
    }
    // A turn is 60 ms, and the moment is taken after a look at the tree, which takes longer for one log than for the next on a busy machine.
    const rounds = [await gaps(), await gaps(), await gaps()]
    expect(rounds.some((round) => round.every((gap) => gap >= 30))).to.equal(true, `${rounds}`)
  })

  it('names the log beside every place, but log 0', async () => {
    for (const log of [0, 1, 2, 3]) {
      const { apiKey } = of(log)
      const result: VerificationResult = await verified(app, apiKey, {
        data: DATA,
        options: { include_receipt: true },
      })
      const named = log === 0 ? undefined : log
      const page = await auditOf(of(log), '?limit=1')
      const proof = await ok<InclusionProof>(
        app,
        'GET',
        result.receipt?.inclusion.slice(app.url.length) ?? '',
        {
          key: apiKey,
        },
      )
      const looked = await ok<{ log?: number }>(app, 'GET', new URL(result.qrUrl).pathname)
      const listed = await ok<{ results: { log?: number }[] }>(app, 'GET', '/console/api/results', {
        key: apiKey,
      })
      const told = [result, result.receipt, page, page.entries[0], proof, looked, listed.results[0]]
      expect(told.map((one) => one?.log)).to.deep.equal(told.map(() => named))
      expect(page.checkpoint.split('\n')[0]).to.equal(originOf(log))
      const tree = { origin: originOf(log), size: proof.treeSize, root: proof.root }
      expect(verifyInclusion({ ...proof, leafHash: result.merkleLeafHash }, tree)).to.equal(true)
      expect(proof.root).to.equal(result.merkleRoot)
    }
  })

  it('publishes each log under its name, and its head in log 0', async () => {
    for (const log of [1, 2, 3]) {
      const { entries } = await auditOf(of(log), '?limit=1')
      const { index = 0, leafHash = '' } = entries[0] ?? {}
      const head = await ok<HeadAnswer>(app, 'GET', `/log/${log}/head?covers=${index}`)
      const { data } = JSON.parse(head.entry)
      expect(data.size).to.be.above(index)
      const log0 = await treeOf(0, head.checkpoint)
      const tree = { origin: originOf(log), size: data.size, root: data.root }
      expect(verifyHead(head, tree, log0)).to.equal(true)
      for (const other of [
        { ...tree, size: tree.size + 1 },
        { ...tree, origin: originOf((log % 3) + 1) },
        { ...tree, origin: originOf(0) },
        { ...tree, origin: `other.example/log/${log}` },
      ])
        expect(verifyHead(head, other, log0), JSON.stringify(other)).to.equal(false)
      const asked = `/api/audit/inclusion?log=${log}&index=${index}&treeSize=${data.size}`
      const { hashes } = await ok<InclusionProof>(app, 'GET', asked, { key: of(log).apiKey })
      expect(verifyInclusion({ log, index, leafHash, hashes }, tree)).to.equal(true)
      const now = await treeOf(log, await textAt(`/log/${log}/checkpoint`))
      const grown = await ok<ConsistencyProof>(
        app,
        'GET',
        `/api/audit/consistency?from=${data.size}&to=${now.size}`,
        { key: of(log).apiKey },
      )
      expect([grown.log, verifyConsistency(tree, now, grown.hashes)]).to.deep.equal([log, true])
      const tile = await app.request('GET', `/log/${log}/tile/0/000.p/${index + 1}`)
      expect(tile.bytes.subarray(-32).toString('hex')).to.equal(leafHash)
    }
    expect(await textAt('/log/0/checkpoint/keys')).to.equal(await textAt('/checkpoint/keys'))
    for (const path of [
      '/log/4/checkpoint',
      '/log/4/tile/0/000.p/1',
      '/log/4/head',
      '/log/0/head',
      '/log/4/checkpoint/keys',
    ])
      expect((await app.request('GET', path)).status, path).to.equal(404)
  })

  it('takes nothing of one log for something of another', async () => {
    const { apiKey: key } = of(2)
    const { entries } = await auditOf(of(2), '?limit=1')
    const { index = 0, leafHash = '' } = entries[0] ?? {}
    const proof = await ok<InclusionProof>(app, 'GET', `/api/audit/inclusion?index=${index}`, { key })
    const tree = { size: proof.treeSize, root: proof.root }
    const right = { log: 2, index, leafHash, hashes: proof.hashes }
    expect(verifyInclusion(right, { ...tree, origin: originOf(2) })).to.equal(true)
    for (const [inclusion, origin] of [
      [right, undefined],
      [right, originOf(0)],
      [right, originOf(1)],
      [{ ...right, log: 0 }, originOf(2)],
      [{ ...right, log: undefined }, originOf(2)],
      [{ ...right, log: 2.5 }, originOf(2)],
    ] as const)
      expect(verifyInclusion({ ...inclusion }, { ...tree, origin })).to.equal(false)
    const keys = await textAt('/log/2/checkpoint/keys')
    expect(readCheckpoint(await textAt('/log/2/checkpoint'), { origin: host, keys })).to.deep.equal({
      valid: false,
      reason: 'ORIGIN_MISMATCH',
    })
    for (const path of [
      `/api/audit/inclusion?index=${index}&log=1`,
      `/api/audit/inclusion?index=${index}&log=0`,
      '/api/audit?log=3',
      '/api/audit?log=63',
    ]) {
      const { status, body } = await app.request<{ error: string }>('GET', path, { key })
      expect([status, body.error], path).to.deep.equal([400, 'invalid_query'])
    }
    // Its hashes are published as tiles, entries are not.
    const ofLog0 = await app.request<{ log?: number }>('GET', '/api/audit/consistency?from=1&log=0', { key })
    expect([ofLog0.status, ofLog0.body.log]).to.deep.equal([200, undefined])
  })

  it('lets an operator read every log, and nobody’s index leads into another’s', async () => {
    for (const log of [0, 1, 2, 3]) {
      const { organisationId } = of(log)
      const page = await auditOf({ apiKey: app.adminKey }, `?log=${log}&limit=1000`)
      expect(page.log).to.equal(log === 0 ? undefined : log)
      expect(page.entries.some((entry) => entry.organisationId === organisationId)).to.equal(true)
      expect(page.entries.map(({ index }) => index)).to.deep.equal(
        page.entries.map((_, i) => page.treeSize - 1 - i),
      )
    }
    const counted = await ok<{ rows: unknown[] }>(app, 'GET', '/api/audit/pseudonymised', {
      key: app.adminKey,
    })
    expect(counted.rows).to.be.an('array')
    const { entries } = await auditOf(of(1), '?limit=1')
    const { index = 0, leafHash } = entries[0] ?? {}
    expect(leafHash).to.match(/^[0-9a-f]{64}$/)
    // The same index is another entry in the other's log, or none.
    const { status, body } = await app.request<Partial<InclusionProof>>(
      'GET',
      `/api/audit/inclusion?index=${index}`,
      { key: of(3).apiKey },
    )
    if (status !== 404) expect(body).to.include({ log: 3 }).and.not.include({ leafHash })
  })

  describe('evidence of another log than 0', () => {
    const files = async (log: number) => {
      const folder = await directory()
      const { text } = await exported(app, of(log), 'evidence')
      const [file, keys] = [join(folder, 'evidence.ndjson'), join(folder, 'jwks.json')]
      await writeFile(file, text)
      await writeFile(keys, await textAt('/.well-known/jwks.json'))
      return { text, file, keys }
    }

    it('holds by verify-evidence, and by a program that has nothing of ours', async () => {
      for (const log of [1, 2, 3]) {
        const { file, keys } = await files(log)
        expect(await examine(file, { keys })).to.include({ holds: true, reason: null, log })
        const program = startProgram(PROGRAM, [file, keys, host, String(log)])
        expect([await program.ended(), program.errors()]).to.deep.equal([0, ''])
        expect(program.lines.at(-1)).to.include(`of log ${log}, held by`)
        const wrong = startProgram(PROGRAM, [file, keys, host, String((log % 3) + 1)])
        expect(await wrong.ended()).to.equal(1)
      }
    })

    it('holds by that program only with the manifest that was signed', async () => {
      const { text, file, keys } = await files(1)
      const lines = text.trimEnd().split('\n')
      const manifest = JSON.parse(lines.pop() ?? '')
      const { jws }: { jws: string } = manifest
      const [, payload, signature = ''] = jws.split('.')
      const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'x', typ: 'evidence+jws' }))
      for (const changes of [
        { complete: false },
        { jws: `${jws.slice(0, -signature.length)}${Buffer.alloc(64).toString('base64url')}` },
        { jws: `${header.toString('base64url')}.${payload}.${signature}` },
      ]) {
        await writeFile(file, `${[...lines, JSON.stringify({ ...manifest, ...changes })].join('\n')}\n`)
        const program = startProgram(PROGRAM, [file, keys, host, '1'])
        expect(await program.ended(), Object.keys(changes).join()).to.equal(1)
      }
    })

    it('is named in each of its rows, and of log 0 nowhere', async () => {
      const { text } = await files(2)
      const rows = linesOf(text)
      expect(rows.filter((row) => 'index' in row).every(({ log }) => log === 2)).to.equal(true)
      expect([rows[0]?.log, rows.at(-1)?.log]).to.deep.equal([2, 2])
      expect((await exported(app, of(0), 'evidence')).text).to.not.match(/"log":|"head":/)
      expect((await exportedRows(app, of(3))).filter(({ index }) => index !== undefined)[0]?.log).to.equal(3)
      const csv = await exported(app, of(3), 'siem', { format: 'csv' })
      expect(csv.text.split('\r\n')[0]).to.match(/,ip,log$/)
      expect((await exported(app, of(0), 'siem', { format: 'csv' })).text.split('\r\n')[0]).to.match(/,ip$/)
    })

    it('does not hold without its head in log 0, or with another one', async () => {
      const { text } = await files(1)
      const { jws, ...manifest } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')
      const header = JSON.parse(text.split('\n', 1)[0] ?? '')
      const contents = { header, log: 1, manifest, jws, rows: 0, entries: 0 } as Contents
      const { keys } = await ok<{ keys: object[] }>(app, 'GET', '/.well-known/jwks.json')
      const { createPublicKey, verify } = await import('node:crypto')
      const verifier: Verifier = {
        keys,
        verifyEd25519(publicKey, message, signature) {
          const x = Buffer.from(publicKey).toString('base64url')
          return verify(
            null,
            message,
            createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
            signature,
          )
        },
      }
      const faultOf = (changes: object, log = 1) =>
        checkCheckpoint({ ...contents, log, manifest: { ...manifest, ...changes } }, verifier)
      expect(await faultOf({})).to.equal(undefined)
      const { head } = manifest
      const otherHead = JSON.parse(
        (await exported(app, of(2), 'evidence')).text.trimEnd().split('\n').at(-1) ?? '',
      ).head
      for (const wrong of [
        undefined,
        null,
        otherHead,
        { ...head, index: head.index - 1 },
        { ...head, hashes: head.hashes.slice(1) },
        { ...head, entry: head.entry.replace('"log":1', '"log":2') },
        { ...head, checkpoint: manifest.checkpoint },
      ])
        expect(await faultOf({ head: wrong }), JSON.stringify(wrong)?.slice(0, 60)).to.equal('HEAD_INVALID')
      expect(await faultOf({}, 0)).to.equal('CHECKPOINT_INVALID')
      expect(await faultOf({}, 2)).to.equal('CHECKPOINT_INVALID')
    })
  })

  it('tells events of an organisation out of its log, under their cursors', async () => {
    const { apiKey: key } = of(3)
    for (let n = 0; n < 3; n++) await verified(app, key)
    const page = await ok<EventPage>(app, 'GET', '/api/events', { key })
    expect(page.log).to.equal(3)
    expect(page.events.every(({ log }) => log === 3)).to.equal(true)
    const leaves = page.events.filter(({ event }) => event.event === 'merkle.leaf_appended')
    expect(leaves.map(({ event }) => [event.data.log, event.data.merkle_index])).to.deep.equal(
      leaves.map(({ leafIndex }) => [3, leafIndex]),
    )
    const { cursor } = page.events[2] ?? expect.fail('too few')
    const rest = await ok<EventPage>(app, 'GET', `/api/events?after=${cursor}`, { key })
    expect(rest.events).to.deep.equal(page.events.slice(3))
    const since = await ok<EventPage>(app, 'GET', '/api/events?since=2020-01-01T00:00:00Z', { key })
    expect(since.events).to.deep.equal(page.events)
    expect((await ok<EventPage>(app, 'GET', '/api/events', { key: of(0).apiKey })).log).to.equal(undefined)
  })

  it('delivers webhooks of every log, each with its log', async () => {
    for (const log of [0, 1, 3]) {
      const path = newPath()
      hooks.receiver.on(path, answer(200))
      const url = `${hooks.receiver.url}${path}`
      await register(
        app,
        { key: of(log).apiKey },
        { url, events: ['merkle.leaf_appended', 'proof.verified'] },
      )
      await verified(app, of(log).apiKey)
      const events = () => requestsTo(hooks.receiver, path).map(deliveryOf)
      await until('the events', () => new Set(events().map(({ event }) => event)).size === 2)
      const named = log === 0 ? undefined : log
      for (const { data } of events()) expect((data as { log?: number }).log).to.equal(named)
    }
  })

  it('proves in zero knowledge what stands in another log, under that log’s tree alone', async () => {
    const { apiKey: key } = of(1)
    const { entries } = await auditOf(of(1), '?type=account&limit=1')
    const made = await proveEntry(app, key, { index: entries[0]?.index ?? -1 })
    expect(made.publicInputs.context.statement.log).to.equal(1)
    expect([made.inclusion.log, made.checkpoint.split('\n')[0]]).to.deep.equal([1, originOf(1)])
    const ask = (body: object) => ok<ZkpVerified>(app, 'POST', '/api/audit/zkp-verify', { key, body })
    const { proof, publicInputs, checkpoint } = made
    expect(await ask({ proof, publicInputs, checkpoint })).to.include({
      valid: true,
      integrity_verified: true,
    })
    const note = await textAt('/checkpoint')
    expect(await ask({ proof, publicInputs, checkpoint: note })).to.include({
      reason: 'CHECKPOINT_MALFORMED',
    })
    const elsewhere = { ...publicInputs.context, statement: { ...publicInputs.context.statement, log: 2 } }
    expect(
      (await ask({ proof, publicInputs: { ...publicInputs, context: elsewhere } })).integrity_verified,
    ).to.equal(false)
  })

  describe('a monitor', () => {
    const start = async () => {
      const origin = host
      const keys = await textAt('/checkpoint/keys')
      let state: MonitorState = { origin, keys, newest: null, newestEntry: null }
      const log = createLogClient(app.url)
      const remember = async (next: MonitorState): Promise<void> => {
        state = next
      }
      const look = createMonitor({ log, policy: undefined, apiKey: of(2).apiKey, state, remember })
      return { look, state: () => state }
    }

    it('follows all logs, their heads in log 0, and the entries of its organisation', async () => {
      const { look, state } = await start()
      for (let round = 0; round < 3; round++) {
        await verified(app, of(2).apiKey)
        const { findings, entries } = await look()
        expect(findings).to.deep.equal([])
        expect(entries).to.be.above(0)
      }
      expect(Object.keys(state().logs ?? {})).to.deep.equal(['1', '2', '3'])
      expect(state().logs?.[2]?.newest?.note.split('\n')[0]).to.equal(originOf(2))
    })

    it('misses the heads of a log that goes on growing, however often it looks', async () => {
      const { state } = await start()
      let first: Buffer | undefined
      /** As the service, but that log 1 has no newer head than its first. */
      const relay = createServer(async (request, response) => {
        const path = request.url ?? ''
        const { status, bytes } = await app.request('GET', path)
        if (path === '/log/1/head') first ??= bytes
        response.writeHead(status).end(path === '/log/1/head' ? first : bytes)
      }).listen(0, '127.0.0.1')
      await once(relay, 'listening')
      const { port } = relay.address() as AddressInfo
      const look = createMonitor({
        ...{ log: createLogClient(`http://127.0.0.1:${port}`), policy: undefined, apiKey: undefined },
        ...{ state: state(), remember: async () => undefined },
      })
      const found: MonitorFinding[] = []
      const begun = performance.now()
      while (found.length === 0 && performance.now() - begun < 30_000) {
        await verified(app, of(1).apiKey)
        found.push(...(await look()).findings)
        await pause(500)
      }
      expect(found.map(({ code }) => code)).to.deep.equal(['HEAD_MISSING'])
      relay.closeAllConnections()
      relay.close()
    })

    it('sees a log that is another one than its head in log 0, one that is gone, and a forged head', async () => {
      const { look, state } = await start()
      expect((await look()).findings).to.deep.equal([])
      const { newest } = state().logs?.[1] ?? expect.fail('log 1 is not followed')
      const { keys } = state()
      const log = createLogClient(app.url)
      const again = (changes: Partial<LogState>) =>
        createMonitor({
          ...{ log, policy: undefined, apiKey: undefined, remember: async () => undefined },
          state: {
            ...state(),
            logs: { ...state().logs, 1: { ...(state().logs?.[1] as LogState), ...changes } },
          },
        })()
      const forked = await again({ newest: { ...newest, root: 'ab'.repeat(32) } as LogState['newest'] })
      expect(forked.findings.map(({ code }) => code)).to.deep.equal(['LOG_FORKED'])
      // Its keys are those of log 0, whatever was kept.
      const unsigned = await again({ keys })
      expect(unsigned.findings.map(({ code }) => code)).to.deep.equal([])
      const gone = await createMonitor({
        ...{ log, policy: undefined, apiKey: undefined, remember: async () => undefined },
        state: { ...state(), logs: { ...state().logs, 4: state().logs?.[1] as LogState } },
      })()
      expect(gone.findings.map(({ code }) => code)).to.deep.equal(['LOG_MISSING'])
      // An operator who shows another tree of log 3 to whoever cosigns log 0.
      const lie = async (size: number): Promise<void> => {
        const root = Buffer.alloc(32, 7)
        await app.services.ledger.append(systemCaller('log', 'log'), (tx) => {
          tx.add('head/3', 1_000)
          const data = { log: 3, size, root: root.toString('hex') }
          const { index } = tx.append({ type: 'ledger.head', data })
          tx.write(loggedHeads.row({ log: 3, size, root, entry_index: index }))
          return null
        })
      }
      const found = async () => (await look()).findings.map(({ code, log: number }) => [code, number])
      const size = state().logs?.[3]?.newest?.size ?? 0
      await lie(size + 2)
      for (let n = 0; n < 2; n++) await verified(app, of(3).apiKey)
      expect(await found()).to.deep.equal([['LOG_FORKED', 3]])
      // What the log does not have can't be compared.
      await lie(size + 1_000)
      expect(await found()).to.deep.equal([['UNREACHABLE', 3]])
    })
  })
})
