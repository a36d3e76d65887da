/** What the page that checks, and the command line, say of what stands in another log than 0: only what was checked, and witnesses of log 0 alone. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { examine, verifyFile } from '../../src/bin/evidence/verify-evidence.ts'
import type { VerificationResult } from '../../src/domain/verification/schemas.ts'
import type { Contents } from '../../src/protocol/evidence/evidence-check.ts'
import { checkEvidence, readEvidence } from '../../src/web/check/kinds/evidence.ts'
import { checkResult } from '../../src/web/check/kinds/result.ts'
import type { OwnService } from '../../src/web/check/own-service.ts'
import { conclude, type Found } from '../../src/web/check/report.ts'
import type { TestApp, TestOrganisation } from '../support/app.ts'
import { checkServiceOf } from '../support/check-service.ts'
import { exported, verifySomething } from '../support/domain/exports.ts'
import { startManyLogs } from '../support/domain/many-logs.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { verified } from '../support/verification.ts'
import { createWitness } from '../support/witnesses.ts'

type Json = Readonly<Record<string, unknown>>

const EMPTY_LOG = 3
const EMPTY_ROOT = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

describe('what is said of things in another log than 0', function () {
  this.timeout(120_000)
  const directory = temporaryDirectories()
  const witness = createWitness('w.example')
  const policy = `witness w ${witness.key}\nquorum w\n`
  let app: TestApp
  let of: (log: number) => TestOrganisation
  before(async () => {
    ;({ app, of } = await startManyLogs(EMPTY_LOG + 1))
    for (const log of [0, 1, 2]) await verifySomething(app, of(log))
  })
  after(() => app.close())

  const toldOf = (found: Found) => {
    const { verdict, word, text, checks, facts } = conclude(found)
    const faults = checks.flatMap(({ title, fault }) => (fault === undefined ? [] : [`${title}: ${fault}`]))
    const passed = checks.flatMap(({ title, outcome }) => (outcome === 'passed' ? [title] : []))
    return { verdict, word, text, faults, passed, facts: Object.fromEntries(facts ?? []) }
  }

  describe('evidence', () => {
    const evidenceOf = async (log: number): Promise<string> => (await exported(app, of(log), 'evidence')).text
    const contentsOf = async (log: number): Promise<Contents> => {
      const contents = await readEvidence(new Blob([await evidenceOf(log)]), () => undefined)
      return 'outcome' in contents ? expect.fail(contents.detail) : contents
    }
    const told = async (contents: Contents, options: Parameters<typeof checkServiceOf>[1] = {}) =>
      toldOf(await checkEvidence(contents, await checkServiceOf(app, options)))
    /** Other notes than were exported, for which the manifest is signed no more. */
    const withNotes = (contents: Contents, changed: { checkpoint?: string; log0?: string }): Contents => {
      const { manifest } = contents
      const head =
        changed.log0 === undefined ? manifest.head : { ...(manifest.head as Json), checkpoint: changed.log0 }
      return {
        ...contents,
        manifest: { ...manifest, checkpoint: changed.checkpoint ?? manifest.checkpoint, head },
      }
    }
    const withoutPqSignature = (note: string): string => note.replace(/— \S+ \S{1000,}\n/, '')

    it('of an empty log is valid, but has no head', async () => {
      const contents = await contentsOf(EMPTY_LOG)
      expect(contents.manifest)
        .to.include({ log: EMPTY_LOG, treeSize: 0, root: EMPTY_ROOT })
        .and.not.have.property('head')
      const found = await told(contents)
      expect([found.verdict, found.faults, found.facts.Log]).to.deep.equal(['VALID', [], String(EMPTY_LOG)])
      expect(found.text).to.include('Not checked: Head in log 0')
    })

    it('of an empty log has no witness', async () => {
      const demanded = await told(await contentsOf(EMPTY_LOG), { policy })
      expect([demanded.verdict, demanded.faults]).to.deep.equal(['INVALID', ['Witnesses: WITNESSES_MISSING']])
    })

    it('of an empty log is judged alike by the command line', async () => {
      const folder = await directory()
      const [file, keys, witnesses] = ['evidence.ndjson', 'jwks.json', 'policy'].map((name) =>
        join(folder, name),
      )
      if (!file || !keys || !witnesses) return expect.fail('no file')
      await writeFile(file, await evidenceOf(EMPTY_LOG))
      await writeFile(keys, (await app.request('GET', '/.well-known/jwks.json')).bytes)
      await writeFile(witnesses, policy)
      expect(await examine(file, { keys })).to.include({
        holds: true,
        log: EMPTY_LOG,
        treeSize: 0,
        entries: 0,
      })
      const refused = { holds: false, reason: 'WITNESSES_MISSING' }
      expect(await examine(file, { keys, witnesses })).to.include(refused)
      expect(await examine(file, { witnesses })).to.include(refused)
    })

    it('says that a head stands in log 0 once that was checked', async () => {
      const folder = await directory()
      const [file, keys] = [join(folder, 'evidence.ndjson'), join(folder, 'jwks.json')]
      await writeFile(keys, (await app.request('GET', '/.well-known/jwks.json')).bytes)
      const printed = async (log: number, flags: object): Promise<string> => {
        await writeFile(file, await evidenceOf(log))
        const lines: string[] = []
        const { log: print } = console
        console.log = (text: string) => lines.push(text)
        await verifyFile(file, flags).finally(() => {
          console.log = print
          process.exitCode = 0
        })
        return /^log .*$/m.exec(lines.join('\n'))?.[0] ?? ''
      }
      expect(await printed(1, { keys })).to.equal('log           1, whose head stands in log 0')
      expect(await printed(1, {})).to.equal('log           1')
      expect(await printed(EMPTY_LOG, { keys })).to.match(/3, which was empty: the file has no head/)
      const found = await told(await contentsOf(1))
      expect([found.verdict, found.facts.Log]).to.deep.equal(['VALID', '1'])
    })

    it('is checked under the checkpoint of its own log, and under that of log 0', async () => {
      const contents = await contentsOf(1)
      expect((await told(contents)).passed).to.include.members([
        'Post-quantum cosignature (log 1)',
        'The log as it is now (log 1)',
        'Post-quantum cosignature',
        'The log as it is now',
      ])
      const { checkpoint, head } = contents.manifest
      const log0 = String((head as Json).checkpoint)
      const unsigned = await told(withNotes(contents, { checkpoint: withoutPqSignature(checkpoint) }))
      expect(unsigned.faults).to.include('Post-quantum cosignature (log 1): COSIGNATURE_MISSING')
      const unsignedHead = await told(withNotes(contents, { log0: withoutPqSignature(log0) }))
      expect(unsignedHead.faults).to.include('Post-quantum cosignature: COSIGNATURE_MISSING')
      // Log 1 as it is published now is another one.
      const answered = (path: string) => path.replace(/^\/log\/1\/checkpoint$/, '/log/2/checkpoint')
      const other = await told(contents, { answered })
      expect([other.verdict, other.faults]).to.deep.equal(['UNKNOWN', []])
      expect(other.text).to.include('The log as it is now (log 1)')
    })

    it('has the witnesses of log 0, and not those that cosigned its own log alone', async () => {
      const contents = await contentsOf(2)
      const { checkpoint, head } = contents.manifest
      const log0 = String((head as Json).checkpoint)
      const cosigned = (note: string): string => note + witness.cosign(note)
      const right = await told(withNotes(contents, { log0: cosigned(log0) }), { policy })
      expect(right.passed).to.include('Witnesses')
      const wrong = await told(withNotes(contents, { checkpoint: cosigned(checkpoint) }), { policy })
      expect(wrong.faults).to.include('Witnesses: WITNESSES_MISSING')
    })
  })

  describe('a signed result', () => {
    /** The service, but that the heads it shows are others. */
    const showing = async (change: (head: Json, path: string) => Json | undefined): Promise<OwnService> => {
      const service = await checkServiceOf(app, { policy })
      return {
        ...service,
        async lookUp(path) {
          const found = await service.lookUp(path)
          return path.includes('/head') ? change(found ?? {}, path) : found
        },
      }
    }
    const cosigned = (head: Json): Json => {
      const note = String(head.checkpoint)
      return { ...head, checkpoint: note + witness.cosign(note) }
    }
    const told = async ({ jws }: VerificationResult, service: OwnService) =>
      toldOf(await checkResult(jws, undefined, service, Date.now()))

    it('has the witnesses of the checkpoint of log 0 that holds a head over its entry', async () => {
      for (const log of [1, 2]) {
        const result = await verified(app, of(log).apiKey)
        const asked: string[] = []
        const service = await showing((head, path) => {
          asked.push(path)
          return cosigned(head)
        })
        const found = await told(result, service)
        expect(found.faults).to.deep.equal([])
        expect(found.passed).to.include.members(['Entry in the log', 'Head in log 0', 'Witnesses'])
        expect(asked).to.deep.equal([`/log/${log}/head?covers=${result.merkleIndex}`])
        expect((await told(result, await showing((head) => head))).faults).to.deep.equal([
          'Witnesses: WITNESSES_MISSING',
        ])
      }
    })

    it('is neither good nor bad while the tree that holds its head is not published', async () => {
      const shown = await (await checkServiceOf(app)).published.logAt(0).checkpoint()
      const result = await verified(app, of(1).apiKey)
      const service = await showing((head) => head)
      const checkpoint = async () => shown
      const logAt = (log: number) => ({ ...service.published.logAt(log), ...(log === 0 && { checkpoint }) })
      const behind = { ...service, published: { ...service.published, logAt } }
      const { verdict, faults } = await told(result, behind)
      expect([verdict, faults]).to.deep.equal(['UNKNOWN', []])
    })

    it('has none by a head that is not there, of another log, or of a tree without its entry', async () => {
      const early = await verified(app, of(1).apiKey)
      const service = await checkServiceOf(app)
      const before = await service.lookUp(`/log/1/head?covers=${early.merkleIndex}`)
      await verified(app, of(2).apiKey)
      const other = (await service.lookUp('/log/2/head')) ?? {}
      const late = await verified(app, of(1).apiKey)
      const bent = (head: Json, change: object): Json => cosigned({ ...head, ...change })
      for (const wrong of [
        () => undefined,
        () => ({}),
        () => cosigned(before ?? {}),
        () => cosigned(other),
        (head: Json) => bent(head, { index: Number(head.index) - 1 }),
        (head: Json) => bent(head, { hashes: (head.hashes as string[]).slice(1) }),
        (head: Json) => bent(head, { entry: String(head.entry).replace('"size":', '"size":1') }),
        (head: Json) => bent(head, { checkpoint: String(head.checkpoint).replace(/\n\d+\n/, '\n9\n') }),
      ])
        expect((await told(late, await showing(wrong))).faults, String(wrong)).to.deep.equal([
          'Head in log 0: HEAD_INVALID',
        ])
      const elsewhere = await showing(cosigned)
      const tile = async () => new Uint8Array(32 * 256)
      const forked = {
        ...elsewhere,
        published: {
          ...elsewhere.published,
          logAt: (log: number) => ({ ...elsewhere.published.logAt(log), ...(log === 1 && { tile }) }),
        },
      }
      expect((await told(late, forked)).faults).to.include('Head in log 0: HEAD_INVALID')
    })

    it('of log 0 has the witnesses of what is published now', async () => {
      const result = await verified(app, of(0).apiKey)
      const service = await checkServiceOf(app, { policy })
      const log0 = service.published.logAt(0)
      const logAt = () => ({
        ...log0,
        checkpoint: async () => {
          const note = await log0.checkpoint()
          return note + witness.cosign(note)
        },
      })
      const found = await told(result, { ...service, published: { ...service.published, logAt } })
      expect([found.faults, found.passed.includes('Witnesses')]).to.deep.equal([[], true])
      expect((await told(result, service)).faults).to.deep.equal(['Witnesses: WITNESSES_MISSING'])
    })

    it('stands at no place that is no index', async () => {
      const result = await verified(app, of(1).apiKey)
      const service = await checkServiceOf(app, { policy })
      for (const merkleIndex of [-1, 0.5]) {
        const lookUp = async (path: string) => ({ ...(await service.lookUp(path)), merkleIndex })
        const { verdict, passed } = await told(result, { ...service, lookUp })
        expect([verdict, passed.includes('Entry in the log')]).to.deep.equal(['UNKNOWN', false])
      }
    })
  })
})
