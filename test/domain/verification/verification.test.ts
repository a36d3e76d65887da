/** POST /verify through the real app: what is decided, what proves it, and what is refused. */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { DATA, postVerify, setSubscription, signedResult, verified } from '../../support/verification.ts'

const sha256 = (...parts: (string | Uint8Array)[]): string => {
  const hasher = createHash('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest('hex')
}

const payloadOf = (jws: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())

describe('verification', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })
  const verify = (options?: object, data: object = DATA) => verified(app, owner.apiKey, { data, options })
  const refused = async (body: object) => {
    const { status, body: error } = await postVerify(app, owner.apiKey, body)
    return { status, error: error.error, path: error.details?.[0]?.path, code: error.details?.[0]?.code }
  }

  it('says that it is in operation', async () => {
    const { status, body } = await app.request<object>('GET', '/verify')
    expect(status).to.equal(200)
    expect(body).to.deep.include({
      success: true,
      status: 'operational',
      engine: { name: 'assay-core', version: '1.0.0' },
    })
  })

  it('without rules attests what was submitted and when', async () => {
    const before = Date.now()
    const result = await verify()
    expect(result).to.deep.include({
      success: true,
      decision: null,
      circuitId: 'simple_yesno',
      rulesHash: null,
      question: 'none',
    })
    expect(result).not.to.have.any.keys('reason', 'expiresAt', 'receipt')
    expect(Date.parse(result.timestamp)).to.be.within(before, Date.now())
    expect(result.verificationId).to.match(/^ver_[0-9a-z]{26}$/)
    expect(result.proofId).to.match(/^prf_[0-9a-z]{26}$/)
    expect(result.proof).to.match(/^zk1\.[A-Za-z0-9_-]+$/)
  })

  it('signs a NO as it signs a YES', async () => {
    const rules = (value: number) => [{ field: 'age', op: 'gte', value }]
    expect(await verify({ rules: rules(18) })).to.deep.include({ success: true, decision: 'YES' })
    const no = await verify({ rules: rules(40) })
    expect(no).to.deep.include({ success: false, decision: 'NO' })
    expect(payloadOf(no.jws)).to.deep.include({ decision: 'NO' })
  })

  it('says that data is missing, and never takes it for the opposite', async () => {
    const missing = { field: 'height', op: 'gt', value: 1 }
    const no = { success: false, decision: 'NO', reason: 'missing_data' }
    expect(await verify({ rules: [missing] })).to.deep.include({ ...no, circuitId: 'eligibility' })
    expect(await verify({ logic: { op: 'NOT', child: missing } })).to.deep.include(no)
  })

  it('proves rules inside the smallest circuit that has them, and any other decision as a committed one', async () => {
    const cases: [options: object, circuit: string, decision: string][] = [
      [{ rules: [{ field: 'age', op: 'lt', value: 37 }] }, 'yesno', 'YES'],
      [{ rules: [{ field: 'name', op: 'eq', value: 'Ada' }] }, 'yesno', 'YES'],
      [{ rules: [{ field: 'name', op: 'ne', value: 36 }] }, 'yesno', 'YES'],
      [{ rules: [{ field: 'member', op: 'eq', value: false }] }, 'yesno', 'NO'],
      [
        { logic: { op: 'AND', children: [{ field: '/address/country', op: 'eq', value: 'GB' }] } },
        'yesno',
        'YES',
      ],
      [{ logic: { op: 'OR', children: [{ field: 'age', op: 'eq', value: 1 }] } }, 'yesno', 'NO'],
      [{ logic: { op: 'NAND', children: [{ field: 'age', op: 'eq', value: 1 }] } }, 'eligibility', 'YES'],
      [{ logic: { op: 'NOR', children: [{ field: 'age', op: 'eq', value: 36 }] } }, 'eligibility', 'NO'],
      [{ rules: [{ field: 'age', op: 'in', value: [36] }] }, 'eligibility', 'YES'],
      [{ rules: [{ field: 'name', op: 'startsWith', value: 'B' }] }, 'simple_yesno', 'NO'],
      [{ rules: [{ field: 'address', op: 'eq', value: { country: 'GB' } }] }, 'eligibility', 'YES'],
      [{ logic: { op: 'NOT', child: { field: 'age', op: 'gt', value: 40 } } }, 'eligibility', 'YES'],
      [
        {
          rules: [
            { field: 'age', op: 'gt', value: 1 },
            { field: 'age', op: 'lt', value: 2 },
          ],
        },
        'eligibility',
        'NO',
      ],
      [{ rules: [{ field: 'age', op: 'in', value: [36, 37] }] }, 'composite', 'YES'],
      [{ rules: [{ field: 'age', op: 'between', value: [1, 36] }] }, 'eligibility', 'YES'],
      [{ rules: [{ field: 'age', op: 'nonbetween', value: [1, 36] }] }, 'composite', 'NO'],
      [{ rules: [{ field: 'height', op: 'exists', value: false }] }, 'eligibility', 'YES'],
      [{ circuit_id: 'composite', rules: [{ field: 'age', op: 'lt', value: 37 }] }, 'composite', 'YES'],
      [{ circuit_id: 'eligibility', rules: [{ field: 'age', op: 'lt', value: 3 }] }, 'eligibility', 'NO'],
      [{ circuit_id: 'simple_yesno', rules: [{ field: 'age', op: 'lt', value: 37 }] }, 'simple_yesno', 'YES'],
    ]
    for (const [options, circuitId, decision] of cases) {
      const result = await signedResult(app, owner.apiKey, { data: DATA, options })
      expect(result, JSON.stringify(options)).to.deep.include({ circuitId, decision })
    }
  })

  it('falls back to the committed decision for a number that no circuit holds, unless yesno was asked for', async () => {
    const data = { weight: 1.23456789 }
    const rules = [{ field: 'weight', op: 'lt', value: 2 }]
    expect(await signedResult(app, owner.apiKey, { data, options: { rules } })).to.deep.include({
      circuitId: 'simple_yesno',
      decision: 'YES',
    })
    expect(await refused({ data, options: { rules, circuit_id: 'yesno' } })).to.deep.include({
      status: 422,
      error: 'not_provable',
    })
  })

  it('refuses a circuit that does not exist or does not fit', async () => {
    const path = '/options/circuit_id'
    const wrong = { status: 422, error: 'validation_failed', path }
    expect(await refused({ data: DATA, options: { circuit_id: 'kyc' } })).to.deep.equal({
      ...wrong,
      code: 'unknown',
    })
    expect(await refused({ data: DATA, options: { circuit_id: 'yesno' } })).to.deep.equal({
      ...wrong,
      code: 'unsuitable',
    })
    const rules = [{ field: 'address', op: 'eq', value: 'GB' }]
    expect(await refused({ data: DATA, options: { circuit_id: 'yesno', rules } })).to.deep.equal({
      ...wrong,
      code: 'unsuitable',
    })
    for (const circuit_id of ['eligibility', 'composite']) {
      expect(await refused({ data: DATA, options: { circuit_id } })).to.deep.equal({
        ...wrong,
        code: 'unsuitable',
      })
      const texts = [{ field: 'name', op: 'startsWith', value: 'A' }]
      expect(await refused({ data: DATA, options: { circuit_id, rules: texts } })).to.deep.include({
        status: 422,
        error: 'not_provable',
      })
      const long = [{ field: 'age', op: 'nin', value: Array.from({ length: 17 }, (_, i) => i) }]
      expect(await refused({ data: DATA, options: { circuit_id, rules: long } })).to.deep.include({
        status: 422,
        error: 'tree_too_large',
      })
    }
    const either = [{ field: 'age', op: 'in', value: [1, 2] }]
    expect(
      await refused({ data: DATA, options: { circuit_id: 'eligibility', rules: either } }),
    ).to.deep.include({ status: 422, error: 'not_provable' })
  })

  it('commits to the data under a salt that only the caller gets', async () => {
    const result = await verify()
    const salt = Buffer.from(result.salt, 'base64url')
    expect(salt).to.have.length(32)
    const { data_commitment } = payloadOf(result.jws)
    expect(data_commitment).to.equal(sha256('commitment/1', salt, canonicalize(DATA) ?? ''))
  })

  it('gives two submissions of the same data different digests, commitments and salts', async () => {
    const options = { nonce: 'the same' }
    const [a, b] = [await verify(options), await verify(options)]
    expect(a.digest).not.to.equal(b.digest)
    expect(a.salt).not.to.equal(b.salt)
    expect(payloadOf(a.jws).data_commitment).not.to.equal(payloadOf(b.jws).data_commitment)
  })

  it('expires after its ttl, to the second in the JWS', async () => {
    const result = await verify({ ttl: 90 })
    const expiresAt = Date.parse(result.expiresAt ?? '')
    expect(expiresAt - Date.parse(result.timestamp)).to.equal(90_000)
    const { iat, exp } = payloadOf(result.jws) as { iat: number; exp: number }
    expect(exp - iat).to.equal(90)
    expect(iat).to.equal(Math.floor(Date.parse(result.timestamp) / 1000))
  })

  it('tells where the entry is, in full only when asked', async () => {
    const result = await verify({ include_receipt: true })
    const { receipt } = result
    expect(receipt).to.deep.include({
      index: result.merkleIndex,
      leafHash: result.merkleLeafHash,
      root: result.merkleRoot,
    })
    expect(receipt?.treeSize).to.be.greaterThan(result.merkleIndex)
    // There is no policy of witnesses.
    expect(receipt).to.not.have.property('witnessed')
    const row = await app.services.database
      .knex('ledger_entries')
      .where({ idx: result.merkleIndex })
      .first('entry', 'type', 'circuit_id', 'proof_id', 'digest')
    expect(sha256(Buffer.of(0), row.entry)).to.equal(result.merkleLeafHash)
    expect(row).to.deep.include({
      type: 'verify',
      circuit_id: result.circuitId,
      proof_id: result.proofId,
      digest: result.digest,
    })
    expect(payloadOf(result.jws)).to.deep.include({ leaf_hash: result.merkleLeafHash })
  })

  it('takes 1 to 1,000 keys', async () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
    expect(await verify(undefined, keys(1000))).to.deep.include({ success: true })
    expect((await postVerify(app, owner.apiKey, { data: keys(1001) })).status).to.equal(400)
    expect(await refused({ data: {} })).to.deep.include({ status: 422, path: '/data' })
  })

  it('refuses what it could only misread', async () => {
    const rule = { field: 'age', op: 'gte', value: 18 }
    const cases: [body: object, status: number, error: string, path?: string][] = [
      [{}, 422, 'validation_failed', '/data'],
      [{ data: [] }, 422, 'validation_failed', '/data'],
      [{ data: DATA, options: { ttl: 0 } }, 422, 'validation_failed', '/options/ttl'],
      [{ data: DATA, options: { ttl: 1.5 } }, 422, 'validation_failed', '/options/ttl'],
      [{ data: DATA, options: { ttl: 1e12 } }, 422, 'validation_failed', '/options/ttl'],
      [{ data: DATA, options: { nonce: '' } }, 422, 'validation_failed', '/options/nonce'],
      [{ data: DATA, options: { rules: [] } }, 422, 'validation_failed', '/options/rules'],
      [{ data: DATA, options: { rules: Array(17).fill(rule) } }, 422, 'tree_too_large', '/options/rules'],
      [
        { data: DATA, options: { rules: [{ ...rule, value: 'x' }] } },
        422,
        'validation_failed',
        '/options/rules/0/value',
      ],
      [
        { data: DATA, options: { logic: { op: 'AND' } } },
        422,
        'validation_failed',
        '/options/logic/children',
      ],
    ]
    for (const [body, status, error, path] of cases) {
      const said = await refused(body)
      expect(said, JSON.stringify(body)).to.deep.include({ status, error, path })
    }
  })

  it('refuses numbers that it could only round', async () => {
    for (const number of ['9007199254740993', '0.10000000000000000001', '1e400']) {
      const body = `{"data":{"n":${number}}}`
      const answer = await app.request<{ error: string }>('POST', '/verify', { key: owner.apiKey, body })
      expect([answer.status, answer.body.error], number).to.deep.equal([422, 'number_not_exact'])
    }
  })

  it('is refused with a null where leaving out would ask less, bind less or last longer', async () => {
    for (const name of ['rules', 'logic', 'ttl', 'nonce', 'circuit_id', 'include_receipt']) {
      const body = { data: DATA, options: { [name]: null } }
      const answer = await app.request<{ error: string }>('POST', '/verify', { key: owner.apiKey, body })
      expect([answer.status, answer.body.error], name).to.deep.equal([422, 'validation_failed'])
    }
  })

  it('is never signed without the rules that somebody misplaced or misspelt', async () => {
    const rules = [{ field: 'age', op: 'gte', value: 18 }]
    const cases = [
      [{ rules }, '/rules', '`rules` belongs in `options`'],
      [{ rule: rules }, '/rule', 'did you mean `rules` in `options`?'],
      [{ options: { rule: rules } }, '/options/rule', 'did you mean `rules`?'],
      [{ options: { expires_at: 1 } }, '/options/expires_at', 'is not known'],
      [
        { options: { rules: [{ field: 'age', operator: 'gte', value: 18 }] } },
        '/options/rules/0/operator',
        '`op`',
      ],
      [
        { options: { rules: [{ ...rules[0], vaule: 1 }] } },
        '/options/rules/0/vaule',
        'did you mean `value`?',
      ],
      [
        { options: { logic: { op: 'AND', children: [{ ...rules[0], not: true }] } } },
        '/options/logic/children/0/not',
        'is not known',
      ],
      [
        { options: { logic: { op: 'NOT', child: rules[0], value: 1 } } },
        '/options/logic/value',
        'known here',
      ],
    ] as const
    for (const [more, path, hint] of cases) {
      const body = { data: { age: 12 }, ...more }
      const answer = await app.request<{ error: string; details: { path: string; message: string }[] }>(
        'POST',
        '/verify',
        { key: owner.apiKey, body },
      )
      expect([answer.status, answer.body.error, answer.body.details[0]?.path]).to.deep.equal([
        422,
        'unknown_member',
        path,
      ])
      expect(answer.body.details[0]?.message, path).to.include(hint)
    }
  })

  it('shows in the metrics, by circuit', async () => {
    const proofs = async () => {
      const { body } = await app.request<string>('GET', '/metrics')
      return Number(/^proofs_generated_total\{circuit_id="simple_yesno"\} (\d+)$/m.exec(body)?.[1] ?? 0)
    }
    const before = await proofs()
    await verify()
    expect(await proofs()).to.equal(before + 1)
  })

  it('needs the scope verify', async () => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'other', scopes: ['audit'] },
    })
    expect((await postVerify(app, body.apiKey)).status).to.equal(403)
  })

  it('repeats the whole answer, salt and proof included, to the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'once' }
    const first = await postVerify(app, owner.apiKey, { data: DATA }, headers)
    const again = await postVerify(app, owner.apiKey, { data: DATA }, headers)
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    const other = await postVerify(app, owner.apiKey, { data: { ...DATA, age: 1 } }, headers)
    expect([other.status, other.body.error]).to.deep.equal([422, 'idempotency_key_reused'])
  })

  it('repeats it without another proof, after the subscription has ended', async () => {
    const { apiKey, organisationId } = await app.organisation()
    const proofs = async (): Promise<number> => {
      const { body } = await app.request<string>('GET', '/metrics')
      const counts = body.matchAll(/^proofs_generated_total\{.*\} (\d+)$/gm)
      return [...counts].reduce((total, [, count]) => total + Number(count), 0)
    }
    const headers = { 'idempotency-key': 'before-the-end' }
    const first = await postVerify(app, apiKey, { data: DATA }, headers)
    const made = await proofs()
    await setSubscription(app, organisationId, 'inactive')
    const again = await postVerify(app, apiKey, { data: DATA }, headers)
    expect([again.status, again.body]).to.deep.equal([200, first.body])
    expect((await postVerify(app, apiKey, { data: {} }, headers)).status).to.equal(422)
    expect(await proofs()).to.equal(made)
    expect((await postVerify(app, apiKey)).status).to.equal(402)
  })
})
