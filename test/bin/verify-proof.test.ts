/** `assay verify-proof`: what it says of proofs from the service, from snarkjs, and of what is neither. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { examine, type Flags, type Report } from '../../src/bin/proofs/verify-proof.ts'
import { encodeZk1, proofDigest } from '../../src/protocol/zk1.ts'
import { sharedApp } from '../support/app.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { ok } from '../support/client.ts'
import { goodProof } from '../support/domain/proofs.ts'
import { startCommand } from '../support/programs.ts'
import { pointOutsideOfSubgroup, rerandomise } from '../support/reference/groth16.ts'
import { rejection } from '../support/rejection.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { formerProofs } from '../support/upgrade/former-proofs.ts'
import { verified } from '../support/verification.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLI = join(ROOT, 'build/cli.js')
const YESNO_KEY = join(ROOT, 'circuits/keys/yesno.vkey.json')

const run = async (...args: string[]) => {
  const program = startCommand(process.execPath, [CLI, 'verify-proof', ...args])
  const status = await program.ended()
  return { status, text: program.lines.join('\n'), errors: program.errors() }
}

/** As POST /v1/proofs/generate answers, as far as this needs it. */
interface Answer {
  circuit_id: string
  digest: string
  decision: 0 | 1
  proof: object
  public_signals: string[]
  context: Record<string, unknown>
}

describe('npx assay verify-proof', function () {
  this.timeout(60_000)
  const directory = temporaryDirectories()
  let answer: Answer
  let apiKey: string | undefined

  const generate = async (ttl: number): Promise<Answer> => {
    const app = await sharedApp()
    apiKey ??= (await app.organisation()).apiKey
    const inputs = { data: { age: 36 }, rules: [{ field: 'age', op: 'gte', value: 18 }] }
    const body = { circuit_id: 'yesno', inputs, context: { nonce: 'n-1', ttl } }
    return ok<Answer>(app, 'POST', '/v1/proofs/generate', { key: apiKey, body })
  }
  before(async () => {
    answer = await generate(3600)
  })

  const textOf = (content: unknown): string =>
    typeof content === 'string' ? content : JSON.stringify(content)
  const file = async (content: unknown): Promise<string> => {
    const path = join(await directory(), 'proof.json')
    await writeFile(path, textOf(content))
    return path
  }
  /** What the command finds, without a process of its own. */
  const read = (content: unknown, flags: Flags = {}) => examine(textOf(content), flags)
  const refusal = async (content: unknown, flags?: Flags): Promise<string> => {
    const { holds, reasons, checked } = await read(content, flags)
    expect(holds).to.equal(false)
    expect(reasons).not.to.deep.equal([])
    return `${reasons.join()} ${checked.length > 0}`
  }
  /** What nothing can be said of. */
  const unclear = async (content: unknown, flags?: Flags): Promise<string> => {
    const error = await rejection(read(content, flags))
    expect(error)
      .to.be.instanceOf(Error)
      .with.property('name')
      .that.matches(/^(ProofFile|Artifact)Error$/)
    return (error as Error).message
  }

  it('prints what it checked in the answer of a route, and what that leaves open', async () => {
    const path = await file(answer)
    const { status, text, errors } = await run('--json', path)
    expect([status, errors]).to.deep.equal([0, ''])
    const report = JSON.parse(text) as Report
    expect(report).to.deep.equal(await read(answer))
    const { holds, circuitId, digest, publicSignals, checked, notChecked } = report
    expect([holds, circuitId, digest]).to.deep.equal([true, 'yesno', answer.digest])
    expect(publicSignals).to.include({ decision: '1', commitment: answer.public_signals[2] })
    expect(checked.join('\n')).to.match(/subgroups.*pairing.*digest.*decision.*ctx/s)
    expect(notChecked.join('\n')).to.match(/who asked.*spent or revoked/s)
    expect(report.says).to.equal('YES')
    const { text: plain } = await run(path)
    expect(plain).to.contain('says     YES\n')
    expect(plain).to.match(/^The proof holds\.\n/)
    expect(plain).to.contain('not checked').and.contain(answer.digest)
  })

  it('prints why a proof does not hold, with status 1', async () => {
    const { status, text, errors } = await run(await file({ ...answer, digest: '0'.repeat(64) }))
    expect([status, errors]).to.deep.equal([1, ''])
    expect(text).to.match(/^The proof does not hold: DIGEST_MISMATCH\n/)
  })

  it('takes what POST /verify answers, its text alone, and what snarkjs writes', async () => {
    const result = await verified(await sharedApp(), apiKey ?? '', { data: { age: 36 } })
    const whole = await read(result)
    expect([whole.holds, whole.digest]).to.deep.equal([true, result.digest])
    expect(whole.says).to.match(/^it attests the submitted data; no question was asked/)
    expect(whole.notChecked).to.include('the signature in the file')
    const alone = await read(`${result.proof}\n`, { circuit: 'simple_yesno' })
    expect([alone.holds, alone.says]).to.deep.equal([
      true,
      'YES, if a question was asked: the file does not tell',
    ])
    // What stands beside the proof is the word of whoever wrote the file.
    const said = await read({ proof: result.proof, circuitId: 'simple_yesno', question: 'is she of age' })
    expect(said.says).to.equal(alone.says)
    for (const content of [result, result.proof])
      expect(
        (await read(content, { circuit: 'simple_yesno', expect: '{"decision":1}' })).reasons,
      ).to.deep.equal(['EXPECTATION_DECISION'])
    const { proof, publicSignals } = await goodProof('yesno')
    const signals = await file(publicSignals)
    const { status } = await run('--circuit', 'yesno', '--public', signals, await file(proof))
    expect(status).to.equal(0)
    expect((await run('--key', YESNO_KEY, await file({ proof, publicSignals }))).status).to.equal(0)
  })

  it('takes another proof of the same statement for the same, by its digest', async () => {
    const { verificationKey } = artifacts.yesno
    const { proof } = await goodProof('yesno')
    const again = rerandomise(verificationKey, answer.proof as typeof proof, 7n, 11n)
    expect(again).not.to.deep.equal(answer.proof)
    const { holds, digest } = await read({ ...answer, proof: again })
    expect([holds, digest]).to.deep.equal([true, answer.digest])
  })

  it('refuses a proof that does not hold, with its reason', async () => {
    const { public_signals, proof } = answer
    const [first = '', ...others] = public_signals
    const pi_a = [...(await goodProof('yesno')).proof.pi_a]
    expect(await refusal({ ...answer, public_signals: ['0', ...others] })).to.equal('PROOF_INVALID false')
    expect(await refusal({ ...answer, public_signals: others })).to.equal('SIGNAL_COUNT false')
    expect(await refusal({ ...answer, public_signals: [Number(first), ...others] })).to.equal(
      'SIGNAL_NOT_CANONICAL false',
    )
    expect(await refusal({ ...answer, public_signals: [`0${first}`, ...others] })).to.equal(
      'SIGNAL_NOT_CANONICAL false',
    )
    expect(await refusal({ ...answer, proof: { ...proof, pi_a } })).to.equal('PROOF_INVALID false')
    expect(await refusal({ ...answer, proof: {} })).to.equal('PROOF_MALFORMED false')
    const { publicSignals, ...other } = await goodProof('simple_yesno')
    expect(await refusal({ ...other, publicSignals }, { circuit: 'yesno' })).to.equal('SIGNAL_COUNT false')
  })

  it('refuses a file that says something else than its proof', async () => {
    expect(await refusal({ ...answer, digest: '0'.repeat(64) })).to.equal('DIGEST_MISMATCH true')
    expect(await refusal({ ...answer, decision: 0 })).to.equal('DECISION_MISMATCH true')
    for (const words of [{ decision: 'NO' }, { verdict: 'NO' }, { eligible: false }])
      expect(await refusal({ ...answer, ...words })).to.equal('DECISION_MISMATCH true')
    const { proof, publicSignals } = await goodProof('token_validation')
    const token = { circuit_id: 'token_validation', proof, publicInputs: publicSignals, token_valid: false }
    expect(await refusal(token)).to.equal('DECISION_MISMATCH true')
    const context = { ...answer.context, nonce: 'n-2' }
    expect(await refusal({ ...answer, context })).to.equal('CONTEXT_MISMATCH true')
    expect(await refusal({ ...answer, context: {} })).to.equal('CONTEXT_MISMATCH true')
    const { context: _, ...bare } = answer
    expect(await refusal({ ...bare, circuit_id: 'eligibility' }, { circuit: 'yesno' })).to.equal(
      'CIRCUIT_MISMATCH true',
    )
  })

  it('refuses what a policy said NO to, beside a statement that holds and beside its own proof', async () => {
    const ver = { verification_id: 'ver_1', decision: 0, verdict: 'NO' }
    const { proof, publicSignals } = await goodProof('kyc')
    const answered = { circuit_id: 'kyc', proof, public_signals: publicSignals, ...ver }
    const { reasons, says } = await read(answered)
    expect(reasons).to.deep.equal(['POLICY_NO'])
    expect(says).to.match(/^NO: the policy said so/)
    expect(await refusal({ ...answered, verification_id: undefined })).to.equal('DECISION_MISMATCH true')
    expect(await refusal({ ...answer, ...ver })).to.equal('DECISION_MISMATCH,POLICY_NO true')
  })

  it('takes the answer of POST /api/eligibility/composite', async () => {
    const { proof, publicSignals } = await goodProof('composite')
    const aggregatedProof = { proof, publicInputs: publicSignals, circuitId: 'composite' }
    expect((await read({ eligible: publicSignals[0] === '1', aggregatedProof })).holds).to.equal(true)
    expect(await refusal({ eligible: publicSignals[0] !== '1', aggregatedProof })).to.equal(
      'DECISION_MISMATCH true',
    )
  })

  it('refuses a proof whose time is over', async () => {
    const short = await generate(1)
    await setTimeout(1100)
    expect(await refusal(short)).to.equal('EXPIRED true')
  })

  it('lets no file write lines or commands to the terminal', async () => {
    const spoof = '\u001b[2J\nThe proof holds.'
    const { text, errors } = await run(await file({ ...answer, public_signals: [spoof] }))
    expect(text.split('\n')).not.to.include('The proof holds.')
    expect(text).to.match(/^The proof does not hold: SIGNAL_COUNT\n/)
    const unknown = await run(await file({ ...answer, circuit_id: spoof }))
    expect(unknown.errors.trim().split('\n')).to.have.length(1)
    expect(`${text}${errors}${unknown.errors}`).not.to.contain('\u001b')
  })

  it('prints that it can say nothing, with status 2', async () => {
    for (const [args, what] of [
      [['/nowhere/proof.json'], '/nowhere/proof.json'],
      [[await file('{')], 'JSON'],
      [['--circuits-dir', await directory(), await file(answer)], 'artifacts.json'],
      [[], 'missing'],
    ] as const) {
      const { status, text, errors } = await run(...args)
      expect([status, text]).to.deep.equal([2, ''])
      expect(errors).to.contain(what)
    }
  })

  it('says of nothing that it can’t read whether it holds', async () => {
    const { proof, publicSignals } = await goodProof('yesno')
    const both = { proof, publicSignals }
    expect(await unclear('{')).to.contain('JSON')
    expect(await unclear([])).to.contain('JSON object')
    expect(await unclear({ a: 1 })).to.contain('no proof')
    expect(await unclear('zk1.AAAA')).to.contain('zk1.')
    expect(await unclear(proof, { circuit: 'yesno' })).to.contain('--public')
    expect(await unclear(encodeZk1(proof, publicSignals))).to.contain('--circuit')
    expect(await unclear(both, { circuit: '../yesno' })).to.contain('no circuit')
    expect(await unclear(both, { circuit: 'toString' })).to.contain('no circuit')
    expect(await unclear(both, { key: await file({}) })).to.contain('verification key')
    const outside = { ...artifacts.yesno.verificationKey, vk_gamma_2: pointOutsideOfSubgroup() }
    expect(await unclear(both, { key: await file(outside) })).to.contain('subgroup')
  })

  it('verifies with the keys of another ceremony', async () => {
    const circuitsDir = join(ROOT, 'circuits/keys')
    expect(await read(answer, { circuitsDir })).to.deep.include({ holds: true, key: circuitsDir })
  })

  it('verifies a proof of a version that was replaced, and takes none of its signals for one of today', async () => {
    const key = join(ROOT, 'circuits/keys/kyc@1.0.0.vkey.json')
    const { proof, public_signals } = formerProofs().kyc
    const { aud, org } = answer.context
    const context = { aud, org, circuit: 'kyc', statement: {}, nonce: 'n-1' }
    const former = {
      ...{ circuit_id: 'kyc', proof, public_signals, context },
      digest: proofDigest('kyc', public_signals),
    }
    const { holds, reasons, says, publicSignals, notChecked } = await read(former, { key })
    expect([holds, reasons, says]).to.deep.equal([true, [], null])
    expect(publicSignals).to.deep.equal(public_signals)
    expect(notChecked).to.include('that the proof binds the context in the file')
    expect(notChecked[0]).to.contain('its version, is not known here')
    // Where the level is today, it had a country.
    const level = await read(former, { key, expect: '{"min_level":"enhanced"}' })
    expect(level.reasons).to.deep.equal(['EXPECTATION_MIN_LEVEL'])
    expect(await refusal(former)).to.equal('SIGNAL_COUNT false')
  })

  it('says how the key was made, where that is recorded', async () => {
    const { setup, notChecked } = await read(answer)
    expect(setup).to.equal('single-party')
    expect(notChecked.at(-1)).to.match(/single-party setup, by assay/)
    expect((await run(await file(answer))).text).to.contain('single-party setup')
    const own = await read(answer, { key: YESNO_KEY })
    expect(own.setup).to.equal(null)
    expect(own.notChecked.at(-1)).to.match(/^how the key was made/)
  })

  it('names those who took part in a setup of several, and believes no record that its contributions refute', async () => {
    const circuitsDir = await directory()
    await cp(join(ROOT, 'circuits/keys'), circuitsDir, { recursive: true })
    const record = JSON.parse(await readFile(join(circuitsDir, 'artifacts.json'), 'utf8'))
    record.powers.setup = 'public'
    record.powers.contributions.push({ name: 'Ada', hash: '00' })
    record.circuits.yesno.setup = 'multi-party'
    await writeFile(join(circuitsDir, 'artifacts.json'), JSON.stringify(record))
    expect(await unclear(answer, { circuitsDir })).to.contain('multi-party, with 1 secret')
    record.circuits.yesno.transcript.contributions.push({ name: 'Ada', hash: '00' })
    await writeFile(join(circuitsDir, 'artifacts.json'), JSON.stringify(record))
    const { setup, notChecked } = await read(answer, { circuitsDir })
    expect([setup, notChecked.at(-1)?.endsWith('assay, Ada')]).to.deep.equal(['multi-party', true])
  })

  it('compares a proof with what is expected of it', async () => {
    const reasons = async (expected: object | string) =>
      (await read(answer, { expect: typeof expected === 'string' ? expected : JSON.stringify(expected) }))
        .reasons
    const { org, aud } = answer.context as { org: string; aud: string }
    const right = {
      nonce: 'n-1',
      circuit_id: 'yesno',
      issuers: [org],
      audience: aud,
      statement: { op: 'gte' },
      decision: 1,
    }
    expect(await reasons(right)).to.deep.equal([])
    expect(await reasons(`@${await file(right)}`)).to.deep.equal([])
    expect(await reasons({ nonce: 'n-2', decision: 0 })).to.deep.equal([
      'EXPECTATION_NONCE',
      'EXPECTATION_DECISION',
    ])
    // Nothing in the file says how old it is.
    expect(await reasons({ max_age_seconds: 9 })).to.deep.equal(['EXPECTATION_MAX_AGE_SECONDS'])
    // What the file says of the question counts only where the proof binds it.
    const context = { ...answer.context, nonce: 'n-2' }
    expect((await read({ ...answer, context }, { expect: '{"nonce":"n-2"}' })).reasons).to.include(
      'EXPECTATION_NONCE',
    )
    for (const odd of [{ issuers: org }, { statement: 5 }, { max_age_seconds: '9' }])
      expect(await reasons(odd), JSON.stringify(odd)).to.have.length(1)
    expect(await unclear(answer, { expect: '{"min_level":"basic"}' })).to.contain('min_level')
    expect(await unclear(answer, { expect: '{"nonse":"n-1"}' })).to.contain('nonse')
    expect(await unclear(answer, { expect: '[]' })).to.contain('--expect')
    const { status, text } = await run('--expect', '{"nonce":"n-2"}', await file(answer))
    expect(status).to.equal(1)
    expect(text).to.match(/^The proof does not hold: EXPECTATION_NONCE\n/)
  })

  it('explains itself', async () => {
    const { status, text } = await run('--help')
    expect(status).to.equal(0)
    expect(text).to.contain('Exit status').and.contain('zk1.')
  })
})
