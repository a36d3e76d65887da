/** A witness in a process of its own, asked by a client that was written from the specifications (C2SP tlog-witness, tlog-cosignature). */
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { leafHash, rootOf } from '../../support/reference/merkle.ts'
import { startCli } from '../../support/run-cli.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { addBody, cosignedAt, createTestLog, post, show, type TestLog } from '../../support/tlog.ts'
import { startWitness, type WitnessProcess } from '../../support/witness-process.ts'

const NAME = 'witness.example/w1'
const hashOf = (origin: string): string => createHash('sha256').update(origin).digest('hex')

describe('npx assay witness', function () {
  this.timeout(60_000)
  const temporary = temporaryDirectories()
  let directory = ''
  let logs = ''
  let log: TestLog
  let witness: WitnessProcess
  const others: WitnessProcess[] = []
  const start = (...args: string[]) => startWitness(NAME, directory, logs, ...args)
  /** Requests that it kept. */
  const refused = async (): Promise<string[]> => {
    const folder = join(directory, 'refused')
    const read = (await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8'))
    return (await Promise.all(read)).sort()
  }
  const published = async (): Promise<Response> => fetch(`${witness.url}/${hashOf(log.origin)}/checkpoint`)

  beforeEach(async () => {
    directory = join(await temporary(), 'state')
    logs = join(await temporary(), 'logs.txt')
    log = createTestLog('log.example', 40)
    await writeFile(logs, `# ours\n${log.keys.join('\n')}\n`)
    witness = await start()
  })
  afterEach(async () => {
    for (const one of [witness, ...others.splice(0)]) await one.kill()
  })

  it('cosigns what goes on from what it saw, under both of its keys, and shows it to everybody', async () => {
    expect((await published()).status).to.equal(404)
    const before = Math.floor(Date.now() / 1000)
    for (const [from, to] of [
      [0, 3],
      [3, 3],
      [3, 4],
      [4, 37],
    ] as const) {
      const { status, text } = await show(witness.url, log, from, to)
      expect(status, text).to.equal(200)
      expect(text.split('\n')).to.have.length(3)
      for (const key of witness.keys)
        expect(cosignedAt(log.note(to), text, key), key).to.be.within(before, before + 60)
    }
    const note = await (await published()).text()
    const [body = '', lines = ''] = note.split('\n\n')
    expect(`${body}\n`).to.equal(`${log.note(37).split('\n\n')[0]}\n`)
    for (const key of witness.keys) expect(cosignedAt(note, lines, key)).to.be.a('number')
    expect(lines.match(/— log\.example /g)).to.have.length(2)
  })

  it('names the size that it saw to whoever comes with another', async () => {
    expect(await show(witness.url, log, 2, 5)).to.deep.equal({
      status: 409,
      type: 'text/x.tlog.size',
      text: '0\n',
    })
    await show(witness.url, log, 0, 5)
    for (const from of [0, 4])
      expect(await show(witness.url, log, from, 9)).to.deep.equal({
        status: 409,
        type: 'text/x.tlog.size',
        text: '5\n',
      })
    expect((await show(witness.url, log, 5, 9)).status).to.equal(200)
  })

  it('refuses a fork and a roll-back, and keeps the proof of them', async () => {
    await show(witness.url, log, 0, 20)
    const forked = [
      ...log.leaves.slice(0, 19),
      ...Array.from({ length: 9 }, (_, i) => leafHash(Buffer.of(i))),
    ]
    const fork = (size: number) => log.note(size, { leaves: forked })
    // Another tree of the same size, and one that goes on from it.
    const same = fork(20)
    const { status, type } = await post(witness.url, addBody(20, [], same))
    expect({ status, type }).to.deep.equal({ status: 409, type: 'text/plain; charset=utf-8' })
    await eventually('who runs it is told', () =>
      witness.errors().includes('409 for log.example, 20 to 20 entries: '),
    )
    const larger = [log.proof(20, 28), [], log.proof(20, 28).toReversed()].map((proof) =>
      addBody(20, proof, fork(28)),
    )
    for (const body of larger) expect((await post(witness.url, body)).status).to.equal(422)
    // A smaller tree, whichever size it is said to go on from.
    expect((await post(witness.url, addBody(20, [], log.note(19)))).status).to.equal(400)
    expect((await post(witness.url, addBody(19, [], log.note(19)))).status).to.equal(409)
    expect((await post(witness.url, addBody(0, [], log.note(19)))).status).to.equal(409)
    const seen = await (await published()).text()
    expect(seen)
      .to.include('\n20\n')
      .and.not.include(rootOf(forked.slice(0, 20)).toString('base64'))
    // Each once, whatever proof stood before it.
    expect(await refused()).to.have.members([addBody(20, [], same), larger[0]])
    expect((await show(witness.url, log, 20, 21)).status).to.equal(200)
  })

  it('keeps proof of a fork however many requests prove nothing, or little', async () => {
    const junk = [leafHash(Buffer.of(1))]
    expect((await post(witness.url, addBody(0, junk, log.note(3)))).status).to.equal(422)
    await show(witness.url, log, 0, 3)
    expect((await post(witness.url, addBody(3, junk, log.note(3)))).status).to.equal(422)
    expect(await refused(), 'nothing was contradicted').to.deep.equal([])
    for (let size = 4; size < 4 + 20; size++)
      expect((await post(witness.url, addBody(3, junk, log.note(size)))).status).to.equal(422)
    expect(await refused()).to.have.length(16)
    const fork = addBody(3, [], log.note(3, { root: leafHash(Buffer.of(2)) }))
    expect((await post(witness.url, fork)).status).to.equal(409)
    expect(await refused())
      .to.have.length(17)
      .and.to.include(fork)
    expect((await show(witness.url, log, 3, 4)).status).to.equal(200)
  })

  it('answers each fault of a request as the specification says', async () => {
    await show(witness.url, log, 0, 8)
    const stranger = createTestLog('other.example', 9)
    const impostor = createTestLog(log.origin, 9)
    const [body = '', first = '', second = ''] = log.note(9).split(/(?=— )/)
    const broken = `${first.slice(0, -8)}AAAA${first.slice(-4)}`
    const proof = log.proof(8, 9)
    const hash = proof[0] ?? expect.fail()
    for (const [request, status] of [
      ['', 400],
      ['old 8\n', 400],
      [addBody(8, proof, log.note(9)).replace('old', 'new'), 400],
      [addBody('08', proof, log.note(9)), 400],
      [addBody('8 ', proof, log.note(9)), 400],
      [addBody(8, [hash.subarray(1)], log.note(9)), 400],
      [addBody(8, Array(64).fill(hash), log.note(9)), 400],
      [addBody(8, proof, log.note(9)).replace('\n\n', '\nnothing\n\n'), 400],
      [addBody(8, proof, `${log.note(9)}more`), 400],
      [addBody(8, proof, `${body}`), 400],
      [addBody(9, [], log.note(8)), 400],
      [Buffer.concat([Buffer.from(addBody(8, proof, log.note(9))), Buffer.of(0xff)]), 400],
      [addBody(8, [], stranger.note(9)), 404],
      [addBody(8, proof, impostor.note(9)), 403],
      [addBody(8, proof, body + broken + second), 403],
      [addBody(8, proof, body + broken + first + second), 403],
      [addBody(8, proof, log.note(9).replace('\n9\n', '\n7\n')), 403],
      [addBody(8, Array(63).fill(hash), log.note(9)), 422],
      [addBody(8, [hash], log.note(8)), 422],
      [`${addBody(8, proof, log.note(9))}${'— a.example AAAA\n'.repeat(5000)}`, 413],
    ] as const)
      expect((await post(witness.url, request)).status, String(request).slice(0, 200)).to.equal(status)
    expect((await fetch(`${witness.url}/add-checkpoint`)).status).to.equal(405)
    expect((await fetch(`${witness.url}/checkpoint`)).status).to.equal(404)
    // Signatures of strangers beside the log's own are none of its business, and nor are lines that the log added to its text.
    const strangers = stranger
      .note(9)
      .split(/(?=— )/)
      .slice(1)
      .join('')
    expect((await post(witness.url, addBody(8, proof, log.note(9) + strangers))).status).to.equal(200)
    const extended = log.note(10, { extension: 'more of ours\n' })
    const { status, text } = await post(witness.url, addBody(9, log.proof(9, 10), extended))
    expect(status).to.equal(200)
    for (const key of witness.keys) expect(cosignedAt(extended, text, key)).to.be.a('number')
    // Of one key the first line counts, as in Go's note.Open; what somebody put behind it is not handed on.
    const twice = `${log.note(11)}${first}${broken}`
    expect((await post(witness.url, addBody(10, log.proof(10, 11), twice))).status).to.equal(200)
    expect((await (await published()).text()).match(/— log\.example /g)).to.have.length(2)
  })

  it('knows no tree before the first: neither a proof nor another root of nothing', async () => {
    expect((await post(witness.url, addBody(0, [leafHash(Buffer.of(1))], log.note(3)))).status).to.equal(422)
    const other = log.note(0, { root: leafHash(Buffer.of(1)) })
    expect((await post(witness.url, addBody(0, [], other))).status).to.equal(409)
    expect((await show(witness.url, log, 0, 0)).status).to.equal(200)
    expect((await show(witness.url, log, 0, 3)).status).to.equal(200)
  })

  it('decides one request after the other: of many that go on from one size, one is cosigned', async () => {
    await show(witness.url, log, 0, 10)
    const sizes = Array.from({ length: 20 }, (_, i) => 11 + i)
    const answers = await Promise.all(sizes.map((to) => show(witness.url, log, 10, to)))
    const cosigned = answers.flatMap(({ status }, i) => (status === 200 ? [sizes[i]] : []))
    expect(cosigned).to.have.length(1)
    expect(answers.filter(({ status }) => status === 409).map(({ text }) => text)).to.deep.equal(
      Array(19).fill(`${cosigned[0]}\n`),
    )
  })

  it('keeps its keys and what it saw, and its directory to itself', async () => {
    await show(witness.url, log, 0, 12)
    const second = await start().then(
      () => 'started',
      (error: unknown) => String(error),
    )
    expect(second).to.include('is in use by process')
    const { keys } = witness
    await witness.kill()
    witness = await start()
    expect(witness.keys).to.deep.equal(keys)
    expect((await show(witness.url, log, 0, 13)).text).to.equal('12\n')
    witness.child.kill('SIGTERM')
    expect(await witness.ended()).to.equal(0)
    const renamed = await startWitness('witness.example/w2', directory, logs).then(
      () => 'started',
      (error: unknown) => String(error),
    )
    expect(renamed).to.include('has the keys of witness.example/w1')
    witness = await start()
  })

  it('cosigns nothing while it can’t read what it saw', async () => {
    await show(witness.url, log, 0, 12)
    await writeFile(join(directory, 'logs', `${hashOf(log.origin)}.seen`), 'log.example\n1')
    expect((await show(witness.url, log, 12, 13)).status).to.equal(500)
    expect((await show(witness.url, log, 0, 13)).status).to.equal(500)
  })

  it('follows the logs of its file, under a prefix, after it was told to read it again', async () => {
    const other = createTestLog('other.example', 5)
    const asked = await startWitness('w3.example', await temporary(), logs, '--prefix', '/w3/')
    others.push(asked)
    expect(asked.url).to.match(/\/w3$/)
    expect((await show(asked.url, other, 0, 5)).status).to.equal(404)
    await writeFile(logs, `${other.keys[0]}\n`)
    asked.child.kill('SIGHUP')
    await asked.line(/^It follows other\.example$/)
    expect((await show(asked.url, other, 0, 5)).status).to.equal(200)
    expect((await show(asked.url.replace('/w3', ''), other, 0, 5)).status).to.equal(404)
    expect((await show(asked.url, log, 0, 5)).status).to.equal(404)
  })

  it('takes for a prefix only what paths can begin with, as nobody would reach it otherwise', async () => {
    const state = join(await temporary(), 'state')
    const flags = ['--name', 'w5.example', '--directory', state, '--logs', logs, '--port', '0']
    for (const prefix of ['w5', 'https://w5.example/w5', '/w5?', '/w 5', '/wö', '/w/../5', '//w5']) {
      const { child, run } = startCli(['witness', ...flags, '--prefix', prefix])
      child.stdout.once('data', () => child.kill())
      const { status, errors } = await run
      expect(status, prefix).to.equal(1)
      expect(errors, prefix).to.include('--prefix').and.include('It must begin with a slash')
    }
  })

  it('lets a log ask only so often, and others not use up what it may', async () => {
    const asked = await startWitness('w4.example', await temporary(), logs, '--per-minute', '3')
    others.push(asked)
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 3],
    ] as const)
      expect((await show(asked.url, log, from, to)).status).to.equal(200)
    expect((await show(asked.url, log, 3, 4)).status).to.equal(429)
    // Whoever repeats what was cosigned uses up another count.
    for (let i = 0; i < 3; i++) expect((await show(asked.url, log, 3, 3)).status).to.equal(200)
    expect((await show(asked.url, log, 3, 3)).status).to.equal(429)
  })
})
