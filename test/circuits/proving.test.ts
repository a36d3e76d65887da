/** `assay/proving` as other programs load it: its bundle, with the files that a server gives to anybody. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type * as Proving from '../../src/circuits/proving/proving.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { type Answered, asking } from '../support/circuits/circuit-questions.ts'
import { type TestPayment, type Till, terminalTill } from '../support/domain/tills.ts'
import { rejection } from '../support/rejection.ts'

const BUNDLE = pathToFileURL(join(import.meta.dirname, '../../build/proving.js')).href

describe('assay/proving', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let till: Till
  let payment: TestPayment
  let library: typeof Proving
  let files: Proving.CircuitFiles
  let proving: Proving.Proving<Proving.OfflinePaymentStatement>

  const accepted = async (): Promise<TestPayment> => {
    const made = till.payment({ at: Date.now() - 500 })
    expect((await till.sync([made])).body.synced).to.equal(1)
    return made
  }
  const claimOf = (
    { proofData, timestamp, ...made }: TestPayment,
    changes: Partial<Proving.OfflinePaymentStatement> = {},
  ): Proving.OfflinePaymentStatement => ({
    payment: { ...made, proof: proofData, timestamp: Number(timestamp) },
    terminalSecret: till.terminalSecret ?? '',
    baseUrl: app.url,
    organisationId: owner.organisationId,
    merchantId: till.merchantId,
    limit: 50,
    ...changes,
  })
  const ask = async ({ proof, publicSignals }: Proving.Proved): Promise<Answered> => {
    const asked = await asking(app, 'offline-validation')(owner.apiKey, {
      proof,
      publicInputs: publicSignals,
    })
    expect(asked.status, JSON.stringify(asked.body)).to.equal(200)
    return asked.body
  }

  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    till = await terminalTill(app, owner)
    payment = await accepted()
    library = (await import(BUNDLE)) as typeof Proving
    files = await library.fetchCircuitFiles(app.url, 'offline_validation')
    proving = await library.createOfflinePaymentProving(files)
  })

  it('proves a payment of a terminal with nothing but its secret, and the server takes the proof', async () => {
    const made = await proving.prove(claimOf(payment))
    expect(await library.verifyPairing(files.verificationKey, made.proof, made.publicSignals)).to.deep.equal({
      valid: true,
    })
    const { limit, from, to } = library.offlineValidation.read(made.publicSignals)
    expect([limit, to - from]).to.deep.equal([5000n, 86_399n])
    expect(await ask(made)).to.deep.include({
      offline_valid: true,
      reasonCodes: [],
      digest: library.proofDigest('offline_validation', made.publicSignals),
    })
    const text = JSON.stringify(made)
    expect(text).not.to.contain(String(library.terminalSecretElement(till.terminalSecret ?? '')))
  })

  it('writes a proof as text and reads it again, so that what others hold can be verified', async () => {
    const { proof, publicSignals } = await proving.prove(claimOf(payment))
    const text = library.encodeZk1(proof, publicSignals)
    expect(library.decodeZk1(text)).to.deep.equal({ proof, publicSignals })
    expect(library.decodeZk1(`${text}A`)).to.equal(undefined)
  })

  it('makes another proof each time, of another commitment', async () => {
    const [one, two] = [await proving.prove(claimOf(payment)), await proving.prove(claimOf(payment))]
    expect(one.publicSignals[0]).not.to.equal(two.publicSignals[0])
    expect(one.publicSignals.slice(1)).to.deep.equal(two.publicSignals.slice(1))
  })

  it('makes proofs that the server refuses where anything else than the payment is proved', async () => {
    const refused = async (changes: Partial<Proving.OfflinePaymentStatement>) => {
      const made = await proving.prove(claimOf(payment, changes))
      const { valid } = await library.verifyPairing(files.verificationKey, made.proof, made.publicSignals)
      return `${valid} ${(await ask(made)).offline_valid}`
    }
    const other = await app.organisation()
    expect(await refused({ terminalSecret: 'another terminal' })).to.equal('true false')
    expect(await refused({ organisationId: other.organisationId })).to.equal('true false')
    expect(await refused({ merchantId: other.merchantId })).to.equal('true false')
    expect(await refused({ baseUrl: 'https://elsewhere.example' })).to.equal('true false')
    const stranger = claimOf(till.payment())
    expect(await refused({ payment: stranger.payment })).to.equal('true false')
  })

  it('has no proof of a payment outside of its bounds, or without its whole nullifier', async () => {
    const fault = async (changes: Partial<Proving.OfflinePaymentStatement>) => {
      const error = await rejection(proving.prove(claimOf(payment, changes)))
      return `${error.name}: ${error.message}`
    }
    const { payment: told } = claimOf(payment)
    expect(await fault({ limit: 12.49 })).to.match(/^RangeError: amount must be from 0 to 1249/)
    expect(await fault({ to: Number(payment.timestamp) - 1000 })).to.match(/^RangeError: time/)
    expect(await fault({ limit: 12.501 })).to.match(/^RangeError: limit must have at most 2 decimals/)
    expect(await fault({ payment: { ...told, amount: -1 } })).to.match(/^RangeError: payment.amount/)
    const compact = till.payment({ form: 'compact' }).proofData
    expect(await fault({ payment: { ...told, proof: compact } })).to.match(/^RangeError: payment.proof/)
    expect(await fault({ payment: { ...told, proof: 'x' } })).to.match(/^RangeError: payment.proof/)
  })

  it('does not take altered proofs, whoever asks', async () => {
    const made = await proving.prove(claimOf(payment))
    const verdict = await library.verifyPairing(
      files.verificationKey,
      made.proof,
      made.publicSignals.with(2, '5001'),
    )
    expect(verdict).to.deep.equal({ valid: false, reason: 'PROOF_INVALID' })
  })

  it('fetches files that are pinned by their hash, and no others', async () => {
    const sha256 = { zkey: hash('sha256', files.zkey), wasm: hash('sha256', files.wasm) }
    const pinned = await library.fetchCircuitFiles(`${app.url}/`, 'offline_validation', { sha256 })
    expect(hash('sha256', pinned.zkey)).to.equal(sha256.zkey)
    const failure = async (options: Proving.FetchOptions, circuitId = 'offline_validation') =>
      (await rejection(library.fetchCircuitFiles(app.url, circuitId, options))).message
    expect(await failure({ sha256: { zkey: sha256.wasm } })).to.contain('404')
    expect(await failure({}, 'nothing')).to.contain('404')
    // A server that does not look at what it is asked for.
    const careless: typeof fetch = (url) => fetch(String(url).replace(/\?.*/, ''))
    expect(await failure({ sha256: { wasm: sha256.zkey }, fetch: careless })).to.contain('is not the file')
    const noKey: typeof fetch = (url) =>
      String(url).endsWith('vkey') ? fetch(`${app.url}/health`) : fetch(url)
    expect(await failure({ fetch: noKey })).to.contain('no verification key')
  })

  it('takes no verification key but that of the proving key, so that one pin holds both', async () => {
    const { verificationKey: key } = files
    const sha256 = { zkey: hash('sha256', files.zkey) }
    const given = async (changes: Partial<Proving.VerificationKey>) => {
      const swapping: typeof fetch = (url) =>
        String(url).endsWith('vkey') ? Promise.resolve(Response.json({ ...key, ...changes })) : fetch(url)
      return library.fetchCircuitFiles(app.url, 'offline_validation', { sha256, fetch: swapping })
    }
    expect((await given({})).verificationKey).to.deep.equal(key)
    const [first = [], second = [], ...others] = key.IC
    for (const changes of [
      { vk_alpha_1: first },
      { vk_beta_2: key.vk_gamma_2 },
      // Whoever knows how these two are related can prove anything.
      { vk_gamma_2: key.vk_delta_2 },
      { vk_delta_2: key.vk_gamma_2 },
      { IC: [second, first, ...others] },
      { IC: key.IC.slice(1), nPublic: key.nPublic - 1 },
    ]) {
      const error = await rejection(given(changes))
      expect(error, JSON.stringify(Object.keys(changes))).to.be.instanceOf(library.CircuitFilesError)
      expect(error.message).to.contain('is not the verification key of the proving key')
    }
    const noProvingKey: typeof fetch = (url) => fetch(String(url).replace(/zkey$/, 'wasm'))
    const noKey = await rejection(
      library.fetchCircuitFiles(app.url, 'offline_validation', { fetch: noProvingKey }),
    )
    expect([noKey.name, noKey.message]).to.satisfy(
      ([name, message]: string[]) => name === 'CircuitFilesError' && message?.endsWith('is no proving key'),
    )
  })
})
