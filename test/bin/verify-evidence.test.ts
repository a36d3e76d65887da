/** `assay verify-evidence`: evidence of a real server holds, and whatever is done to it is found. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text as readText } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { open as openZip, type ZipFile } from 'yauzl'
import { ZipFile as ZipWriter } from 'yazl'
import { examine, type Report } from '../../src/bin/evidence/verify-evidence.ts'
import { nextLink } from '../../src/domain/exports/evidence.ts'
import { NOTE_ED25519 } from '../../src/protocol/checkpoint/note.ts'
import { checkpointText, signatureLine } from '../../src/protocol/checkpoint/signed-note.ts'
import { CHAIN_START, EVIDENCE_ENTRY, EVIDENCE_TYPE } from '../../src/protocol/evidence/evidence-format.ts'
import { writeJws } from '../../src/protocol/jws.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { exported, revokeKey, verifySomething } from '../support/domain/exports.ts'
import { startCommand } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'
import { rotate, rotateNoticed } from '../support/rotation.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { createWitness } from '../support/witnesses.ts'

const CLI = join(import.meta.dirname, '../../build/cli.js')

/** Another log, and numbers that no log has. */
const NO_LOG_OF_IT = [1, 64, -1, 1.5, '0', '1', null]

const run = async (...args: string[]) => {
  const program = startCommand(process.execPath, [CLI, 'verify-evidence', ...args])
  const status = await program.ended()
  return { status, text: program.lines.join('\n'), errors: program.errors() }
}

describe('npx assay verify-evidence', function () {
  this.timeout(60_000)
  const directory = temporaryDirectories()
  let app: TestApp
  let owner: TestOrganisation
  let evidence = ''
  let jwks = ''
  let jwksPq = ''
  let keys = ''
  let pqKeys = ''

  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    const other = await app.organisation()
    // Entries of others between its own, in stretches of several lengths.
    for (let i = 0; i < 4; i++) {
      await revokeKey(app, owner)
      for (let j = 0; j < i; j++) await revokeKey(app, other)
    }
    await verifySomething(app, owner)
    await revokeKey(app, other)
    evidence = (await exported(app, owner, 'evidence')).text
    jwks = (await app.request('GET', '/.well-known/jwks.json')).bytes.toString()
    jwksPq = (await app.request('GET', '/.well-known/jwks-pq.json')).bytes.toString()
  })
  beforeEach(async () => {
    keys = await file(jwks, 'jwks.json')
    pqKeys = await file(jwksPq, 'jwks-pq.json')
  })

  const file = async (content: string | Uint8Array, name = 'evidence'): Promise<string> => {
    const path = join(await directory(), name)
    await writeFile(path, content)
    return path
  }
  const check = async (content: string | Uint8Array, keyFile: string | undefined = keys): Promise<Report> =>
    examine(await file(content), { keys: keyFile })
  const reasonOf = async (content: string | Uint8Array): Promise<string> => {
    const { holds, reason, line } = await check(content)
    expect(holds).to.equal(false)
    return line === null ? String(reason) : `${reason} ${line}`
  }
  const lines = () => evidence.trimEnd().split('\n')
  const lineCount = () => lines().length
  const withLines = (change: (lines: string[]) => string[]) => `${change(lines()).join('\n')}\n`

  /** The chain made right again after a change, as a forger would. */
  const rechained = (changed: readonly string[]): string => {
    let link = CHAIN_START
    const made = changed.slice(0, -1).map((line) => {
      const text = line.replace(/,"chain":"[0-9a-f]{64}"\}$/, '')
      link = nextLink(link, text)
      return `${text},"chain":"${link}"}`
    })
    const manifest = JSON.parse(changed.at(-1) ?? '')
    return `${[...made, JSON.stringify({ ...manifest, chain: link })].join('\n')}\n`
  }

  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const x = String(publicKey.export({ format: 'jwk' }).x)
  const signed = (message: Uint8Array) => sign(null, message, privateKey)
  /** The evidence with another checkpoint, whose manifest a key of our own signed. */
  const withCheckpoint = (checkpoint: string): string => {
    const { jws: _, ...manifest } = JSON.parse(lines().at(-1) ?? '')
    const changed = { ...manifest, checkpoint }
    const jws = writeJws({ alg: 'EdDSA', kid: 'own', typ: EVIDENCE_TYPE }, changed, signed)
    return withLines((all) => [...all.slice(0, -1), JSON.stringify({ ...changed, jws })])
  }
  /** A checkpoint of the tree of the evidence, which the same key signed under a name. */
  const checkpointAs = (name: string): string => {
    const { treeSize, root } = JSON.parse(lines().at(-1) ?? '')
    const text = checkpointText(name, treeSize, Buffer.from(root, 'hex'))
    const key = { name, type: NOTE_ED25519, publicKey: Buffer.from(x, 'base64url') }
    return `${text}\n${signatureLine(key, signed(Buffer.from(text)))}`
  }

  it('finds nothing wrong with what the service exports, in each of its forms', async () => {
    const forms = {
      ndjson: evidence,
      json: (await exported(app, owner, 'evidence', { format: 'json' })).text,
    }
    for (const content of Object.values(forms)) {
      const report = await check(content)
      expect(report).to.include({
        holds: true,
        reason: null,
        organisationId: owner.organisationId,
        complete: true,
      })
      expect(report.entries).to.be.greaterThan(8)
      expect(report.issuer).to.equal(app.url)
    }
    const { bytes: archive } = await app.request('GET', '/api/export/evidence?format=zip', {
      key: owner.apiKey,
    })
    expect(await check(archive)).to.include({ holds: true, complete: true })
    // Another program reads the archive too.
    const opened = await new Promise<ZipFile>((resolve, reject) =>
      file(archive).then((path) =>
        openZip(path, { autoClose: true }, (error, made) => (error ? reject(error) : resolve(made))),
      ),
    )
    expect(opened.entryCount).to.equal(2)
  })

  it('takes an archive only as the service made it: unpacked, another file could take the place of the checked one', async () => {
    const archiveOf = async (files: readonly (readonly [name: string, content: string])[]) => {
      const archive = new ZipWriter()
      for (const [name, content] of files) archive.addBuffer(Buffer.from(content), name)
      archive.end()
      return buffer(archive.outputStream)
    }
    const whole = [EVIDENCE_ENTRY, evidence] as const
    expect(await check(await archiveOf([whole]))).to.include({ holds: true })
    for (const [files, message] of [
      [[whole, [EVIDENCE_ENTRY, 'forged']], /more than one/],
      [[[EVIDENCE_ENTRY, 'forged'], whole], /more than one/],
      [[whole, [EVIDENCE_ENTRY.toUpperCase(), 'forged']], /more than one/],
      [[whole, ['more.txt', '']], /more than one/],
      [[['VERIFY.txt', '']], /holds no evidence/],
    ] as const) {
      expect(await rejection(check(await archiveOf(files))))
        .to.include({ name: 'EvidenceFileError' })
        .and.have.property('message')
        .that.matches(message)
    }
  })

  it('takes line ends of Unicode for text', async () => {
    const text = '\u2028 \u2029 \u0085 \r'
    app.services.eventLog.record({
      type: 'request',
      at: Date.now(),
      organisation: owner.organisationId,
      requestId: text,
      method: 'GET',
      route: '/',
      status: 200,
      durationMs: 1,
      actor: 'key',
      actorId: 'key_1',
      keyId: null,
      ip: '192.0.2.1',
    })
    for (const format of ['ndjson', 'json']) {
      const content = (await exported(app, owner, 'evidence', { format })).text
      expect(content).to.contain('\u2028')
      expect(await check(content)).to.include({ holds: true, reason: null })
    }
  })

  it('takes an empty window, one that begins among the rows, and one that a limit has cut', async () => {
    const empty = await exported(app, owner, 'evidence', { since: '2001-01-01', until: '2001-01-02' })
    expect(await check(empty.text)).to.include({ holds: true, rows: 0, entries: 0, complete: true })
    const { at } = JSON.parse(lines()[6] ?? '') as { at: string }
    const later = await check((await exported(app, owner, 'evidence', { since: at })).text)
    expect(later).to.include({ holds: true, since: at })
    for (let limit = 1; limit < 12; limit++) {
      const cut = await check((await exported(app, owner, 'evidence', { limit: String(limit) })).text)
      expect(cut).to.include({ holds: true, rows: limit, complete: false })
      expect(cut.gaps).to.deep.equal(['LIMIT_REACHED'])
    }
  })

  it('prints what it found, with its status', async () => {
    const path = await file(evidence)
    const good = await run('--keys', keys, '--pq-keys', pqKeys, path)
    expect([good.status, good.errors]).to.deep.equal([0, ''])
    expect(good.text)
      .to.match(/^The evidence holds\.\n/)
      .and.contain(owner.organisationId)
    // By half of its signatures, it says so.
    const half = await run('--keys', keys, path)
    expect([half.status, half.text.split('\n')[0]]).to.deep.equal([
      0,
      'The evidence holds by its Ed25519 signatures. The log’s ML-DSA-44 cosignature was not checked: give --pq-keys.',
    ])
    const { text } = await run('--json', '--keys', keys, path)
    expect(JSON.parse(text)).to.deep.equal(await check(evidence))
    const bad = await run('--keys', keys, await file(evidence.slice(0, -300)))
    expect(bad.status).to.equal(1)
    expect(bad.text).to.match(/^The evidence does not hold: /)
    const keyless = await run(path)
    expect(keyless.status).to.equal(2)
    expect(keyless.text).to.contain('--keys')
    for (const args of [
      ['/nowhere'],
      ['--keys', '/nowhere', path],
      ['--keys', path, path],
      ['--pq-keys', keys, path],
      [],
    ]) {
      const unclear = await run(...args)
      expect([unclear.status, unclear.text]).to.deep.equal([2, ''])
      expect(unclear.errors).not.to.equal('')
    }
  })

  it('finds every changed, added and missing byte', async () => {
    const bytes = Buffer.from(evidence)
    const place = fc.nat(bytes.length - 1)
    const changed = fc.tuple(place, fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
      const copy = Buffer.from(bytes)
      copy[at] = (copy[at] ?? 0) ^ by
      return copy
    })
    const removed = place.map((at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]))
    const added = fc
      .tuple(place, fc.nat(255))
      .map(([at, value]) => Buffer.concat([bytes.subarray(0, at), Buffer.of(value), bytes.subarray(at)]))
    await fc.assert(
      fc.asyncProperty(fc.oneof(changed, removed, added), async (tampered) => {
        // The newline behind the last line claims nothing.
        fc.pre(!tampered.equals(bytes) && tampered.toString().trimEnd() !== evidence.trimEnd())
        const report = await check(tampered).catch((error: Error) => {
          expect(error.name).to.equal('EvidenceFileError')
          return { holds: false }
        })
        expect(report.holds).to.equal(false)
      }),
      { numRuns: 400 },
    )
  })

  it('finds every line that is missing, doubled or moved', async () => {
    for (let place = 0; place < lineCount() - 1; place++) {
      const without = withLines((all) => all.filter((_, i) => i !== place))
      expect(await reasonOf(without)).to.match(place === 0 ? /^NOT_EVIDENCE 1$/ : /^CHAIN_BROKEN/)
      const doubled = withLines((all) => all.flatMap((line, i) => (i === place ? [line, line] : [line])))
      expect(await reasonOf(doubled)).to.match(/^(CHAIN_BROKEN|NOT_EVIDENCE)/)
      if (place < 2) continue
      const moved = withLines((all) =>
        all.map((line, i) => all[i === place ? i - 1 : i === place - 1 ? i + 1 : i] ?? line),
      )
      expect(await reasonOf(moved)).to.match(/^CHAIN_BROKEN/)
    }
  })

  it('finds where a file was cut, and what was put behind it', async () => {
    expect(await reasonOf(withLines((all) => all.slice(0, -1)))).to.equal(`CUT_OFF ${lineCount() - 1}`)
    expect(await reasonOf(withLines((all) => all.slice(0, 1)))).to.equal('CUT_OFF 1')
    expect(await reasonOf('')).to.equal('NOT_EVIDENCE 0')
    expect(await reasonOf('hello\n')).to.equal('NOT_EVIDENCE 1')
    expect(await reasonOf(withLines((all) => [...all, '{}']))).to.equal(`TRAILING_DATA ${lineCount() + 1}`)
    expect(await reasonOf(withLines((all) => [...all, all.at(-1) ?? '']))).to.match(/^TRAILING_DATA/)
    const document = (await exported(app, owner, 'evidence', { format: 'json' })).text
    expect(await reasonOf(document.split('\n').slice(0, -2).join('\n'))).to.match(/^(CUT_OFF|CHAIN_BROKEN)/)
  })

  it('finds what a forger has chained again', async () => {
    const forge = (
      change: (row: Record<string, unknown>) => void,
      which: (row: Record<string, unknown>) => boolean,
    ) => {
      const place = lines().findIndex((line) => which(JSON.parse(line)))
      const row = JSON.parse(lines()[place] ?? '')
      change(row)
      return rechained(lines().map((line, i) => (i === place ? JSON.stringify(row) : line)))
    }
    const isRequest = (row: Record<string, unknown>) => row.type === 'request'
    const isLeaf = (row: Record<string, unknown>) =>
      row.type === 'merkle.leaf' && (row.between as []).length > 0
    const isFact = (row: Record<string, unknown>) => row.type === 'verify'
    expect(await reasonOf(forge((row) => Object.assign(row, { status: 500 }), isRequest))).to.equal(
      'MANIFEST_MISMATCH',
    )
    for (const change of [
      { digest: 'ab'.repeat(32) },
      { leafHash: 'ab'.repeat(32) },
      { auditEvent: 'chat' },
      { at: '2026-01-01T00:00:00.000Z' },
    ])
      expect(await reasonOf(forge((row) => Object.assign(row, change), isLeaf))).to.match(/^ROW_MISMATCH/)
    for (const change of [{ digest: 'ab'.repeat(32) }, { type: 'prove' }, { circuitId: 'kyc' }, { index: 0 }])
      expect(await reasonOf(forge((row) => Object.assign(row, change), isFact))).to.match(/^ROW_MISMATCH/)
    expect(
      await reasonOf(forge((row) => Object.assign(row, { between: ['ab'.repeat(32)] }), isLeaf)),
    ).to.match(/^ROOT_MISMATCH/)
    expect(await reasonOf(forge((row) => Object.assign(row, { between: [] }), isLeaf))).to.match(
      /^ROOT_MISMATCH/,
    )
    const isHeader = (row: Record<string, unknown>) => row.type === 'header'
    for (const log of NO_LOG_OF_IT)
      for (const which of [isHeader, isLeaf, isFact, isRequest]) {
        const named = (row: Record<string, unknown>): void => {
          const { chain } = row
          delete row.chain
          Object.assign(row, { log, chain })
        }
        const reason = await reasonOf(forge(named, which))
        // A log that there may be is refused at the first row that has an index of another one.
        expect(reason, JSON.stringify(log)).to.match(/^LOG_UNKNOWN/)
      }
    // What JavaScript can make no text of.
    const no = { toString: 1, valueOf: 1 }
    for (const name of ['issuer', 'organisationId', 'since', 'until'])
      expect(await reasonOf(forge((row) => Object.assign(row, { [name]: no }), isHeader)), name).to.equal(
        'NOT_EVIDENCE 1',
      )
    for (const [change, which] of [
      [{ at: no }, isRequest],
      [{ at: no }, isLeaf],
      [{ type: no }, isRequest],
    ] as const)
      expect(await reasonOf(forge((row) => Object.assign(row, change), which))).to.match(/^ROW_MISMATCH/)
    const shorter = rechained(lines().filter((line) => !line.includes('"type":"request"')))
    expect(await reasonOf(shorter)).to.match(/^COUNT_MISMATCH/)
    const manifest = (change: object) =>
      withLines((all) => [
        ...all.slice(0, -1),
        JSON.stringify({ ...JSON.parse(all.at(-1) ?? ''), ...change }),
      ])
    expect(await reasonOf(manifest({ complete: false }))).to.equal('MANIFEST_MISMATCH')
    expect(await reasonOf(manifest({ gaps: [no] }))).to.match(/^MANIFEST_MISMATCH/)
    for (const log of NO_LOG_OF_IT)
      expect(await reasonOf(manifest({ log })), JSON.stringify(log)).to.equal(`LOG_UNKNOWN ${lineCount()}`)
    expect(await reasonOf(manifest({ after: [] }))).to.match(/^ROOT_MISMATCH/)
    expect(await reasonOf(manifest({ root: 'ab'.repeat(32) }))).to.match(/^ROOT_MISMATCH/)
    expect(await reasonOf(manifest({ checkpoint: 'x' }))).to.equal('MANIFEST_MISMATCH')
    const deep = `{"type":"manifest","more":${'['.repeat(10_000)}${']'.repeat(10_000)},`
    expect(await reasonOf(evidence.replace('{"type":"manifest",', deep))).to.match(/^MANIFEST_MISMATCH/)
    const twice = evidence.replace('{"type":"manifest",', '{"type":"manifest","rows":0,')
    expect(await reasonOf(twice)).to.match(/^MANIFEST_MISMATCH/)
  })

  it('believes only the keys that it is given', async () => {
    const other = await rejection(check(evidence, await file('{}')))
    expect(other).to.have.property('name', 'EvidenceFileError')
    const { keys: published } = JSON.parse(jwks) as { keys: { kid: string; x?: string; crv?: string }[] }
    const { jws } = JSON.parse(lines().at(-1) ?? '') as { jws: string }
    const { kid } = JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString())
    const without = await file(JSON.stringify({ keys: published.filter((key) => key.kid !== kid) }))
    expect(await check(evidence, without)).to.include({ holds: false, reason: 'KEY_UNKNOWN' })
    const another = published.find((key) => key.crv === 'Ed25519' && key.kid !== kid)
    const swapped = published.map((key) => (key.kid === kid ? { ...another, kid } : key))
    expect(await check(evidence, await file(JSON.stringify({ keys: swapped })))).to.include({
      holds: false,
      reason: 'SIGNATURE_INVALID',
    })
    const alone = await file(JSON.stringify({ keys: published.filter((key) => key.kid === kid) }))
    expect(await check(evidence, alone)).to.include({ holds: false, reason: 'CHECKPOINT_INVALID' })
  })

  it('demands the log’s own ML-DSA-44 cosignature where its keys are given', async () => {
    const of = async (content: string, given: object = JSON.parse(jwksPq)) =>
      examine(await file(content), { keys, pqKeys: await file(JSON.stringify(given), 'given.json') })
    expect(await of(evidence)).to.include({ holds: true, reason: null, cosigned: true })
    expect(await check(evidence)).to.include({ holds: true, cosigned: null })
    const { keys: published } = JSON.parse(jwksPq) as { keys: { alg: string; pub: string }[] }
    const bent = published.map((key) => ({
      ...key,
      pub: `${key.pub.slice(0, 9)}${key.pub[9] === 'A' ? 'B' : 'A'}${key.pub.slice(10)}`,
    }))
    // A key of another id signed nothing that stands there.
    const other = { holds: false, reason: 'COSIGNATURE_MISSING', cosigned: false }
    expect(await of(evidence, { keys: bent })).to.include(other)
    for (const useless of [{ keys: [] }, JSON.parse(jwks), { keys: [{ alg: 'ML-DSA-44', pub: 'AA' }] }])
      expect(await rejection(of(evidence, useless))).to.have.property('name', 'EvidenceFileError')
  })

  it('holds the tree to a policy of witnesses, where one is given', async () => {
    const of = async (policy: string, keyFile: string | undefined = keys) =>
      examine(await file(evidence), { keys: keyFile, witnesses: await file(policy, 'policy') })
    const { key } = createWitness('w1.example')
    expect(await of(key)).to.include({ holds: false, reason: 'WITNESSES_MISSING' })
    expect(await of(key)).to.deep.include({ witnesses: [] })
    expect(await examine(await file(evidence), { witnesses: await file(key, 'policy') })).to.include({
      holds: false,
    })
    const [log = ''] = (await app.request('GET', '/checkpoint/keys')).bytes.toString().split('\n')
    expect(await of(`log ${log}\nwitness A ${key}\nquorum none`)).to.include({ holds: true, reason: null })
    const other = createWitness(new URL(app.url).host, 0x01)
    expect(await of(`log ${other.key}\nquorum none`)).to.include({ reason: 'WITNESSES_MISSING' })
    const problem = await rejection(of('witness A'))
    expect(String(problem)).to.include('Line 1')
  })

  it('holds of a log that was begun anew, and says its name', async () => {
    const own = await file(JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'own', x }] }), 'own')
    const { host } = new URL(app.url)
    const of = async (origin: string) => check(withCheckpoint(checkpointAs(origin)), own)
    for (const origin of [host, `${host}/2`, `${host}/17`])
      expect(await of(origin)).to.include({ holds: true, reason: null, origin })
    for (const origin of [`${host}/1`, `${host}/2/3`, `${host}/2/log/1`, `${host}/log/1`, 'other.example/2'])
      expect(await of(origin), origin).to.include({ holds: false, reason: 'CHECKPOINT_INVALID' })
    const { text } = await run('--keys', own, await file(withCheckpoint(checkpointAs(`${host}/2`))))
    expect(text).to.include(`\nlog           0, begun anew as ${host}/2\n`)
    expect((await run('--keys', keys, await file(evidence))).text).not.to.include('\nlog ')
  })

  it('takes no signature of another tree for one of its own, also where nobody gave the service’s keys', async () => {
    await revokeKey(app, owner)
    const published = (await app.request('GET', '/checkpoint')).bytes.toString()
    const [log = ''] = (await app.request('GET', '/checkpoint/keys')).bytes.toString().split('\n')
    const policy = await file(`log ${log}\nquorum none`)
    const found = await examine(await file(withCheckpoint(published)), { pqKeys, witnesses: policy })
    expect(found).to.include({ holds: false, reason: 'CHECKPOINT_INVALID', cosigned: false })
    const right = await examine(await file(evidence), { pqKeys, witnesses: policy })
    expect(right).to.include({ holds: null, reason: 'KEYS_NEEDED', cosigned: true })
  })

  it('still holds after the keys were rotated and the log has grown', async () => {
    await rotate(app, 'results')
    await rotateNoticed(app, 'log')
    await revokeKey(app, owner)
    const now = await file((await app.request('GET', '/.well-known/jwks.json')).bytes, 'now.json')
    expect(await check(evidence, now)).to.include({ holds: true })
    const again = (await exported(app, owner, 'evidence')).text
    expect(await check(again, now)).to.include({ holds: true })
    expect(await check(again, keys)).to.include({ holds: false, reason: 'KEY_UNKNOWN' })
  })

  it('reads what a shell unpacks', async () => {
    const path = await file(evidence, EVIDENCE_ENTRY)
    const { stdout, status } = await pipe(path)
    expect([status, stdout.startsWith('The evidence holds by its Ed25519 signatures.')]).to.deep.equal([
      0,
      true,
    ])
  })

  /** The file on standard input. */
  const pipe = async (path: string) => {
    const { spawn } = await import('node:child_process')
    const child = spawn(process.execPath, [CLI, 'verify-evidence', '--keys', keys, '-'])
    Readable.from([await readFile(path)]).pipe(child.stdin)
    const [stdout, status] = await Promise.all([
      readText(child.stdout),
      new Promise<number | null>((resolve) => child.once('exit', resolve)),
    ])
    return { stdout, status }
  }
})
