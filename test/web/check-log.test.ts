/** What the page that checks says of a checkpoint, or of evidence, that is newer than what the log publishes. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import { createCosigners, generateCosignerSecrets } from '../../src/keys/note-signatures.ts'
import { NOTE_ED25519, readNote } from '../../src/protocol/checkpoint/note.ts'
import { checkpointText, signatureLine, verifierKey } from '../../src/protocol/checkpoint/signed-note.ts'
import { checkCheckpoint } from '../../src/web/check/kinds/checkpoint.ts'
import { checkEvidence, readEvidence } from '../../src/web/check/kinds/evidence.ts'
import type { OwnService } from '../../src/web/check/own-service.ts'
import { type Check, conclude, ended, type Found, lack, pass } from '../../src/web/check/report.ts'
import { UnreachableError } from '../../src/web/http.ts'
import type { PublishedLog } from '../../src/web/result/inclusion.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { checkServiceOf } from '../support/check-service.ts'
import { exported, verifySomething } from '../support/domain/exports.ts'

const TITLE = 'The log as it is now'

describe('what is said of a tree that is larger than the published one', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let service: OwnService
  let earlier = ''
  let later = ''
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    service = await checkServiceOf(app)
    const published = () => service.published.logAt(0).checkpoint()
    await verifySomething(app, owner)
    earlier = await published()
    await verifySomething(app, owner)
    later = await published()
    expect(later).to.not.equal(earlier)
  })

  /** The service, whose log is another one. */
  const withLog = (changes: Partial<PublishedLog>): OwnService => ({
    ...service,
    published: { ...service.published, logAt: (log) => ({ ...service.published.logAt(log), ...changes }) },
  })
  const toldOf = (found: Found) => {
    const { verdict, word, tone, checks } = conclude(found)
    const { outcome, fault, detail } = checks.find(({ title }) => title === TITLE) ?? expect.fail()
    return { verdict, word, tone, outcome, fault, detail }
  }
  const told = async (note: string, from: OwnService) => toldOf(await checkCheckpoint(note, from))
  const NOT_VERIFIED = {
    verdict: 'UNKNOWN',
    word: 'Not verified',
    tone: 'warn',
    outcome: 'skipped',
    fault: undefined,
  }
  /** As while witnesses have not seen more. */
  const checkpoint = async () => earlier

  it('is nothing yet, and no accusation, while the log has it and does not publish it', async () => {
    expect(await told(later, service)).to.include({ verdict: 'VALID' })
    expect(await told(earlier, service)).to.include({ verdict: 'VALID' })
    const behind = await told(later, withLog({ checkpoint }))
    expect(behind).to.include(NOT_VERIFIED)
    expect(behind.detail).to.include('Check it again in a few minutes.')
    const contents = await readEvidence(
      new Blob([(await exported(app, owner, 'evidence')).text]),
      () => undefined,
    )
    expect(toldOf(await checkEvidence(contents, withLog({ checkpoint })))).to.include(NOT_VERIFIED)
  })

  it('is nothing, and to be kept, where the log has rolled back', async () => {
    const tile = () => Promise.reject(new UnreachableError('It is not there (404).'))
    const shrunk = await told(later, withLog({ checkpoint, tile }))
    expect(shrunk).to.include(NOT_VERIFIED)
    expect(shrunk.detail).to.include('keep it: a log never shrinks')
  })

  it('is that the log is inconsistent where it publishes hashes of another one', async () => {
    const tile: PublishedLog['tile'] = async (path) => {
      const bytes = await service.published.logAt(0).tile(path)
      bytes[0] = (bytes[0] ?? 0) ^ 1
      return bytes
    }
    for (const changes of [{ checkpoint, tile }, { tile }])
      expect(await told(later, withLog(changes))).to.include({ word: 'Not valid', fault: 'LOG_INCONSISTENT' })
  })

  it('is nothing where what the log publishes is no checkpoint of its own', async () => {
    for (const published of ['<!doctype html>', earlier.replace(/\n\d+\n/, '\n1\n')])
      expect(await told(earlier, withLog({ checkpoint: async () => published }))).to.include(NOT_VERIFIED)
  })
})

describe('what is said of a log that was begun anew', function () {
  this.timeout(60_000)

  /** The service, whose log signs under a name of our choice, and what it signs. */
  const renamed = async (later: (host: string) => string) => {
    const service = await checkServiceOf(await sharedApp())
    const log = service.published.logAt(0)
    const published = readNote(await log.checkpoint()) ?? expect.fail()
    const name = later(published.origin)
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const x = String(publicKey.export({ format: 'jwk' }).x)
    const key = { name, type: NOTE_ED25519, publicKey: Buffer.from(x, 'base64url') }
    const text = checkpointText(name, published.size, published.root)
    const signed = `${text}\n${signatureLine(key, sign(null, Buffer.from(text), privateKey))}`
    const pq = createCosigners(name, generateCosignerSecrets())[1] ?? expect.fail()
    const note = signed + pq.cosign(readNote(signed) ?? expect.fail(), 1_767_225_600)
    const pub = Buffer.from(pq.key.publicKey).toString('base64url')
    const own: OwnService = {
      ...service,
      keys: async () => [{ kty: 'OKP', crv: 'Ed25519', kid: 'k', x }],
      pqKeys: async () => [{ kty: 'AKP', alg: 'ML-DSA-44', kid: 'q', pub }],
      published: {
        ...service.published,
        logAt: () => ({
          ...log,
          checkpoint: async () => note,
          keys: async () => `${verifierKey(key)}\n${verifierKey(pq.key)}\n`,
        }),
      },
    }
    const { verdict, checks } = conclude(await checkCheckpoint(note, own))
    return { verdict, faults: checks.flatMap(({ fault }) => fault ?? []) }
  }

  it('is that it is the service’s own, and of another name that it is not', async () => {
    expect(await renamed((host) => `${host}/2`)).to.deep.equal({ verdict: 'VALID', faults: [] })
    for (const later of [
      (host: string) => `${host}/1`,
      (host: string) => `${host}/2/3`,
      () => 'other.example/2',
    ])
      expect((await renamed(later)).faults).to.deep.equal(['CHECKPOINT_OTHER_LOG'])
  })
})

describe('what is said of something that is over', () => {
  const told = (checks: readonly Check[]) =>
    conclude({
      what: 'Signed result',
      meaning: { word: 'Valid: YES', text: 'It says YES.', isPlain: true },
      facts: [['Decision', 'YES']],
      checks: [ended('Time', 'EXPIRED', 'RESULT_EXPIRED', 'It ended yesterday.'), ...checks],
    })

  it('is that the rest is right only where all that matters was checked', () => {
    const whole = told([pass('Log', 'It stands there.')])
    expect([whole.verdict, whole.facts]).to.deep.equal(['EXPIRED', [['Decision', 'YES']]])
    expect(whole.text).to.equal('Nothing else is wrong with it, but its time is over.')
    const partly = told([lack('Log', 'It could not be fetched.')])
    expect([partly.verdict, partly.facts]).to.deep.equal(['EXPIRED', undefined])
    expect(partly.text).to.equal('This page could not check what matters (Log), and its time is over.')
  })
})
