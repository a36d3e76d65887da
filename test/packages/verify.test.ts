/** What `assay-verify` says of what a real server signed and logged, and of everything that resembles it. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import {
  type ExpectedJws,
  JWS_TYPES,
  type JwsVerdict,
  leafHash,
  readCheckpoint,
  readStatusList,
  type StatusList,
  verifyAuthorisation,
  verifyConsistency,
  verifyInclusion,
  verifyJws,
  verifyReceipt,
  verifyResult,
  verifyTicket,
  verifyToken,
} from '../../src/bin/packages/contents/verify/index.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { demandSuccess } from '../support/client.ts'
import { agentRequestJws, newTrustedAgent } from '../support/domain/agent-trust.ts'
import { signedBy } from '../support/domain/tokens.ts'
import { consistencyProof, inclusionProof, leafOf, rootOf } from '../support/reference/merkle-trees.ts'
import { createPqWitness, createWitness } from '../support/witnesses.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const said = (verdict: { readonly valid: boolean; readonly reason?: string }): string =>
  verdict.valid ? 'valid' : String(verdict.reason)
const GATE = 'https://gate.example'

describe('assay-verify', () => {
  let app: TestApp
  let owner: TestOrganisation
  let expected: {
    keys: ExpectedJws['keys']
    issuer: string
    organisation: string
    statusList: 'not_checked'
  }
  const post = async <T = Readonly<Record<string, string>>>(path: string, body: object): Promise<T> =>
    demandSuccess(await app.request<T>('POST', path, { key: owner.apiKey, body }))
  const get = async <T>(path: string): Promise<T> =>
    demandSuccess(await app.request<T>('GET', path, { key: owner.apiKey }))
  const statusList = async (): Promise<StatusList> => {
    const read = await readStatusList(await get<string>('/status/0'), { ...expected, list: 0 })
    if ('reason' in read) throw new Error(read.reason)
    return read.statusList
  }

  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    const keys = await get<ExpectedJws['keys']>('/.well-known/jwks.json')
    expected = { keys, issuer: app.url, organisation: owner.organisationId, statusList: 'not_checked' }
  })

  describe('signed texts', () => {
    it('count where the service signed them as what they are taken for', async () => {
      const { jws = '' } = await post('/verify', {
        data: { age: 36 },
        options: { rules: [{ field: 'age', op: 'gte', value: 18 }] },
      })
      const result = verifyResult(jws, expected)
      expect(result.valid && result.payload.decision).to.equal('YES')
      const { receipt = '' } = await post('/api/consent/log', {
        subjectId: 'ada',
        controller: 'shop.example',
        purposes: ['newsletter'],
      })
      expect(said(verifyReceipt(receipt, expected))).to.equal('valid')
      const { token = '' } = await post('/api/tokens/generate', { subject: 'ada', audience: GATE })
      expect(said(verifyToken(token, { ...expected, audience: GATE }))).to.equal('valid')
      const { qr_payload = '' } = await post('/v1/qr/tickets', { claims: { gate: 'B' } })
      expect(said(verifyTicket(qr_payload, expected))).to.equal('valid')
      // None of them is another.
      for (const text of [receipt, token, qr_payload])
        expect(said(verifyResult(text, expected))).to.equal('HEADER_REFUSED')
    })

    it('are refused for every way in which they are not', async () => {
      const { jws = '' } = await post('/verify', { data: { age: 36 }, options: { ttl: 60 } })
      const [head = '', body = '', tail = ''] = jws.split('.')
      const other = `${head}.${Buffer.from(JSON.stringify({ decision: 'NO' })).toString('base64url')}.${tail}`
      const header = (members: object) =>
        `${Buffer.from(JSON.stringify(members)).toString('base64url')}.${body}.${tail}`
      const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
      const of = (text: string, changes: Partial<ExpectedJws> = {}) =>
        said(verifyJws(text, { ...expected, typ: JWS_TYPES.result, ...changes }))
      expect(of(jws)).to.equal('valid')
      expect(of('x')).to.equal('MALFORMED')
      expect(of(other)).to.equal('SIGNATURE_INVALID')
      expect(of(header({ alg: 'none', kid, typ: 'vr+jws' }))).to.equal('HEADER_REFUSED')
      expect(of(header({ alg: 'EdDSA', kid, typ: 'vr+jws', crit: [] }))).to.equal('HEADER_REFUSED')
      expect(of(jws, { typ: 'cr+jws' })).to.equal('HEADER_REFUSED')
      expect(of(jws, { keys: { keys: [] } })).to.equal('KEY_UNKNOWN')
      expect(of(jws, { issuer: 'https://other.example' })).to.equal('ISSUER_MISMATCH')
      const { exp } = JSON.parse(Buffer.from(body, 'base64url').toString()) as { exp: number }
      expect(of(jws, { now: exp * 1000 - 1 })).to.equal('valid')
      expect(of(jws, { now: exp * 1000 })).to.equal('EXPIRED')
      const { publicKey } = generateKeyPairSync('ed25519')
      const { x } = publicKey.export({ format: 'jwk' })
      const stranger = { keys: [{ kty: 'OKP', crv: 'Ed25519', kid, x }] }
      expect(of(jws, { keys: stranger })).to.equal('SIGNATURE_INVALID')
      expect(of(jws, { keys: { keys: [{ kty: 'OKP', crv: 'Ed25519', kid, x: 'AA' }] } })).to.equal(
        'SIGNATURE_INVALID',
      )
    })

    it('are receipts of a refusal as well, and of a consent until its end', async () => {
      const body = { subjectId: 'bea', controller: 'shop.example', purposes: ['newsletter'] }
      const expiresAt = new Date(Date.now() + 3_600_500).toISOString()
      const { receipt = '' } = await post('/api/consent/log', { ...body, expiresAt })
      const end = Date.parse(expiresAt)
      expect(said(verifyReceipt(receipt, { ...expected, now: end - 1 }))).to.equal('valid')
      expect(said(verifyReceipt(receipt, { ...expected, now: end }))).to.equal('EXPIRED')
      const refused = await post('/api/consent/log', { ...body, status: 'refused' })
      const verdict = verifyReceipt(refused.receipt ?? '', expected)
      const [event] = (verdict.valid ? verdict.payload.events : []) as { event_state: string }[]
      expect(event?.event_state).to.equal('consent_refused')
      const silent = { iss: app.url, org: owner.organisationId, events: [] }
      const text = await signedBy(app, 'results', 'Ed25519', silent, { typ: JWS_TYPES.consentReceipt })
      expect(said(verifyReceipt(text, expected))).to.equal('MALFORMED')
    })

    it('say who a token is for, and no more once it was revoked', async () => {
      const { token = '', tokenId = '' } = await post('/api/tokens/generate', {
        subject: 'ada',
        audience: GATE,
      })
      const of = (changes: object): string =>
        said(verifyToken(token, { ...expected, audience: GATE, ...changes }) as JwsVerdict)
      const list = await statusList()
      expect(of({ statusList: list })).to.equal('valid')
      expect(of({ audience: undefined })).to.equal('AUDIENCE_REQUIRED')
      expect(of({ audience: 'https://other.example' })).to.equal('AUDIENCE_MISMATCH')
      expect(of({ statusList: undefined })).to.equal('STATUS_LIST_MISSING')
      expect(of({ statusList: { ...list, uri: `${app.url}/status/7` } })).to.equal('STATUS_LIST_OTHER')
      expect(of({ statusList: { ...list, expiresAt: 0 } })).to.equal('STATUS_STALE')
      await post('/api/tokens/revoke', { tokenId })
      expect(of({ statusList: { ...list, isSet: () => true } })).to.equal('REVOKED')
    })

    it('are refused by a clock that is none, or counts seconds', async () => {
      const { jws = '' } = await post('/verify', { data: { age: 36 } })
      const { token = '' } = await post('/api/tokens/generate', { subject: 'ada' })
      const { qr_payload = '' } = await post('/v1/qr/tickets', { claims: { gate: 'B' } })
      const jwt = await get<string>('/status/0')
      const list = await statusList()
      const seconds = Math.floor(Date.now() / 1000)
      for (const now of [Number.NaN, Infinity, -Infinity, seconds, '' as never, null as never]) {
        const at = { ...expected, now }
        expect(said(verifyJws(jws, { ...at, typ: JWS_TYPES.result })), String(now)).to.equal('CLOCK_REFUSED')
        expect(said(verifyToken(token, { ...at, statusList: list })), String(now)).to.equal('CLOCK_REFUSED')
        expect(said(verifyTicket(qr_payload, at)), String(now)).to.equal('CLOCK_REFUSED')
        const read = await readStatusList(jwt, { ...at, list: 0 })
        expect(read, String(now)).to.deep.equal({ reason: 'STATUS_STALE' })
      }
      const read = await readStatusList(jwt, { ...expected, list: 0, now: Date.now() })
      expect(read).to.have.property('statusList')
      const broken = { ...list, expiresAt: Number.NaN }
      expect(said(verifyToken(token, { ...expected, statusList: broken }))).to.equal('STATUS_STALE')
    })

    it('are not checked for an issuer or an organisation that was forgotten', () => {
      for (const verify of [verifyResult, verifyReceipt, verifyToken, verifyAuthorisation])
        for (const name of ['issuer', 'organisation'])
          for (const none of [undefined, ''])
            expect(() => verify('x', { ...expected, [name]: none })).to.throw(TypeError, `${name} is missing`)
      for (const none of [undefined, ''])
        expect(() => verifyTicket('x', { ...expected, organisation: none as string })).to.throw(
          TypeError,
          'organisation is missing',
        )
    })

    it('of another organisation do not count: all of a service share its keys and its address', async () => {
      const stranger = await app.organisation()
      const { jws = '' } = await post('/verify', { data: { age: 36 } })
      const { receipt = '' } = await post('/api/consent/log', {
        subjectId: 'ada',
        controller: 'shop.example',
        purposes: ['newsletter'],
      })
      const { token = '' } = await post('/api/tokens/generate', { subject: 'ada' })
      const of = (organisation: string): string[] => {
        const whose = { ...expected, organisation }
        return [
          verifyResult(jws, whose),
          verifyReceipt(receipt, whose),
          verifyToken(token, whose),
          verifyJws(jws, { ...whose, typ: JWS_TYPES.result }),
        ].map(said)
      }
      expect(of(owner.organisationId)).to.deep.equal(Array(4).fill('valid'))
      expect(of(stranger.organisationId)).to.deep.equal(Array(4).fill('ORGANISATION_MISMATCH'))
      // As text, and as a whole: unlike a ticket's, which has room for the end of it only.
      expect(of(owner.organisationId.slice(-10))).to.deep.equal(Array(4).fill('ORGANISATION_MISMATCH'))
    })

    it('authorise agents for the payee that they name, in the word of an organisation that the payee knows', async () => {
      const agent = await newTrustedAgent(app, { limits: { currency: 'GBP', per_transaction: 20 } })
      const wanted = { action: 'order.pay', amount: 12.5, currency: 'GBP', payee: 'shop.example' }
      const jws = agentRequestJws(agent.key, app.url, wanted)
      const { body } = await agent.trust.authorise({ agent_id: agent.agentId, ...wanted, jws })
      const token = body.token ?? ''
      const theirs = { ...expected, organisation: agent.owner.organisationId, audience: 'shop.example' }
      const of = (changes: object) => said(verifyAuthorisation(token, { ...theirs, ...changes }))
      expect(of({})).to.equal('valid')
      expect(of({ organisation: owner.organisationId })).to.equal('ORGANISATION_MISMATCH')
      expect(of({ issuer: 'https://other.example' })).to.equal('ISSUER_MISMATCH')
      expect(of({ audience: undefined })).to.equal('AUDIENCE_REQUIRED')
      expect(of({ audience: 'cinema.example' })).to.equal('AUDIENCE_MISMATCH')
      expect(of({ now: Date.now() + 301_000 })).to.equal('EXPIRED')
      expect(said(verifyToken(token, expected))).to.equal('HEADER_REFUSED')
    })

    it('count as tokens only where they expire and their status can be told', async () => {
      const list = await statusList()
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      const { x } = publicKey.export({ format: 'jwk' })
      const keys = { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'k1', x }] }
      const signed = (typ: string, payload: object): string => {
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
        const from = { iss: app.url, org: owner.organisationId }
        const covered = `${part({ alg: 'EdDSA', kid: 'k1', typ })}.${part({ ...from, ...payload })}`
        return `${covered}.${sign(null, Buffer.from(covered), privateKey).toString('base64url')}`
      }
      const exp = Math.floor(Date.now() / 1000) + 60
      const of = (payload: object, given: ExpectedJws['statusList']) =>
        said(verifyToken(signed(JWS_TYPES.token, payload), { ...expected, keys, statusList: given }))
      expect(of({ exp }, 'not_checked')).to.equal('valid')
      expect(of({ exp }, list)).to.equal('STATUS_UNKNOWN')
      expect(of({ exp }, undefined)).to.equal('STATUS_UNKNOWN')
      expect(of({}, 'not_checked')).to.equal('MALFORMED')
      // Results have no status, and are asked for none.
      const result = signed(JWS_TYPES.result, { exp })
      expect(said(verifyResult(result, { ...expected, keys, statusList: list }))).to.equal('valid')
    })

    it('open no gate of another organisation', async () => {
      const { qr_payload = '' } = await post('/v1/qr/tickets', { claims: { gate: 'B' } })
      const stranger = await app.organisation()
      const of = (organisation: string) => said(verifyTicket(qr_payload, { ...expected, organisation }))
      expect(of(owner.organisationId)).to.equal('valid')
      expect(of(stranger.organisationId)).to.equal('ORGANISATION_MISMATCH')
      expect(of(owner.organisationId.slice(-3))).to.equal('ORGANISATION_MISMATCH')
    })
  })

  describe('the log', () => {
    const treeOf = (size: number) => ({ size, root: hex(rootOf(0, size)) })

    it('holds entries at their places and nowhere else, for every size up to 20', () => {
      for (let size = 1; size <= 20; size += 1)
        for (let index = 0; index < size; index += 1) {
          const hashes = inclusionProof(index, 0, size).map(hex)
          const of = (changes: object) =>
            verifyInclusion({ leafHash: hex(leafOf(index)), index, hashes, ...changes }, treeOf(size))
          expect(of({}), `${index} of ${size}`).to.equal(true)
          expect(of({ leafHash: hex(leafOf(99)) })).to.equal(false)
          expect(of({ hashes: [...hashes, hex(leafOf(1))] })).to.equal(false)
          expect(of({ index: size })).to.equal(false)
          expect(of({ log: 0 })).to.equal(true)
          expect(of({ log: 1 })).to.equal(false)
          if (size > 1) expect(of({ index: (index + 1) % size })).to.equal(false)
          for (const none of [undefined, 'x', hashes.map((hash) => [hash]), [...hashes, null]])
            expect(of({ hashes: none }), `${none}`).to.equal(
              hashes.length === 0 && Array.isArray(none) && none.length === 0,
            )
          if (size > 1) expect(of({ hashes: hashes.slice(1) })).to.equal(false)
        }
    })

    it('only grew where it did, for every two sizes up to 20', () => {
      for (let later = 1; later <= 20; later += 1)
        for (let earlier = 1; earlier <= later; earlier += 1) {
          const hashes = consistencyProof(earlier, 0, later).map(hex)
          const label = `${earlier} ${later}`
          expect(verifyConsistency(treeOf(earlier), treeOf(later), hashes), label).to.equal(true)
          const wrong = { size: earlier, root: hex(leafOf(99)) }
          expect(verifyConsistency(wrong, treeOf(later), hashes), label).to.equal(false)
          expect(verifyConsistency(treeOf(earlier), { ...wrong, size: later }, hashes), label).to.equal(false)
          expect(verifyConsistency(treeOf(earlier), treeOf(later), [...hashes, hex(leafOf(1))])).to.equal(
            false,
          )
          hashes.forEach((_, at) => {
            expect(verifyConsistency(treeOf(earlier), treeOf(later), hashes.toSpliced(at, 1))).to.equal(false)
          })
        }
      expect(verifyConsistency(treeOf(3), treeOf(2), [hex(leafOf(1))])).to.equal(false)
      expect(verifyConsistency(treeOf(2), treeOf(3), ['nothing'])).to.equal(false)
      const empty = { size: 0, root: createHash('sha256').digest('hex') }
      expect(verifyConsistency(empty, treeOf(3), [])).to.equal(true)
      expect(verifyConsistency({ ...empty, root: hex(leafOf(0)) }, treeOf(3), [])).to.equal(false)
    })

    it('of a server is checked from its checkpoint down to an entry', async () => {
      await post('/verify', { data: { age: 36 } })
      const answer = await get<{ entries: { entry: string; index: number }[]; checkpoint: string }>(
        '/api/audit',
      )
      const entry = answer.entries[0] as { entry: string; index: number }
      const origin = new URL(app.url).host
      const keys = await get<string>('/checkpoint/keys')
      const read = readCheckpoint(answer.checkpoint, { origin, keys })
      if (!read.valid) throw new Error(read.reason)
      const { hashes } = await get<{ hashes: string[] }>(
        `/api/audit/inclusion?index=${entry.index}&treeSize=${read.size}`,
      )
      const inclusion = { leafHash: leafHash(entry.entry), index: entry.index, hashes }
      expect(verifyInclusion(inclusion, read)).to.equal(true)
      expect(verifyInclusion({ ...inclusion, leafHash: leafHash(`${entry.entry} `) }, read)).to.equal(false)
      const of = (note: string, named = origin, by = keys) =>
        said(readCheckpoint(note, { origin: named, keys: by }))
      expect(of('x')).to.equal('CHECKPOINT_MALFORMED')
      expect(of(answer.checkpoint, 'other.example')).to.equal('ORIGIN_MISMATCH')
      expect(of(answer.checkpoint.replace(`\n${read.size}\n`, `\n${read.size + 1}\n`))).to.equal(
        'CHECKPOINT_UNSIGNED',
      )
      expect(of(answer.checkpoint, origin, '')).to.equal('CHECKPOINT_UNSIGNED')
      expect(() => of(answer.checkpoint, origin, 'key')).to.throw(TypeError, 'no verifier key')
      expect(() => of(answer.checkpoint, origin, keys.replace(/\+[0-9a-f]{8}\+/, '+00000000+'))).to.throw(
        TypeError,
        'key id',
      )
    })

    it('counts the witnesses that cosigned a checkpoint, and no others', async () => {
      const note = await get<string>('/checkpoint')
      const witness = (name: string, type?: number) => {
        const made = createWitness(name, type)
        return { key: made.key, line: made.cosign(note) }
      }
      const [first, second] = [witness('w1.example'), witness('w2.example')]
      const witnesses = `${first.key}\n${second.key}\n`
      const keys = await get<string>('/checkpoint/keys')
      const of = (text: string, quorum?: number, trusted = witnesses) =>
        readCheckpoint(text, { origin: new URL(app.url).host, keys, witnesses: trusted, quorum })
      expect(said(of(note))).to.equal('WITNESSES_MISSING')
      expect(said(of(note + first.line))).to.equal('WITNESSES_MISSING')
      expect(said(of(note + first.line + first.line))).to.equal('WITNESSES_MISSING')
      expect(said(of(note + first.line, 1))).to.equal('valid')
      const both = of(note + first.line + second.line)
      expect(both.valid && both.witnesses).to.deep.equal([
        { name: 'w1.example', time: 1_767_225_600 },
        { name: 'w2.example', time: 1_767_225_600 },
      ])
      const renamed = second.line.replace('w2.example', 'w1.example')
      expect(said(of(note + first.line + renamed))).to.equal('WITNESSES_MISSING')
      for (const quorum of [0, 3]) expect(() => of(note, quorum)).to.throw(RangeError, '1 to 2')
      // Nor does a list of nobody, such as an empty variable of the environment.
      for (const nobody of ['', '\n', '# w1.example\n'])
        for (const quorum of [undefined, 0])
          expect(() => of(note, quorum, nobody), nobody).to.throw(TypeError, 'names no witness')
      expect(() => readCheckpoint(note, { origin: new URL(app.url).host, keys, quorum: 0 })).to.throw(
        TypeError,
        'quorum',
      )
      // A key of another type would demand nothing of anybody.
      expect(() => of(note, undefined, witness('w1.example', 1).key)).to.throw(TypeError, 'w1.example')
      // Keys of one witness are one witness.
      const again = witness('w1.example')
      const rotated = `${first.key}
${again.key}
`
      const one = of(note + first.line + again.line, undefined, rotated)
      expect(one.valid && one.witnesses).to.deep.equal([{ name: 'w1.example', time: 1_767_225_600 }])
      expect(said(of(note + again.line, undefined, rotated))).to.equal('valid')
      expect(said(of(note, undefined, rotated))).to.equal('WITNESSES_MISSING')
      expect(() => of(note + first.line + again.line, 2, rotated)).to.throw(RangeError, '1 to 1')
    })

    it('is held to a policy file, and to nothing less than it says', async () => {
      const note = await get<string>('/checkpoint')
      const origin = new URL(app.url).host
      const keys = await get<string>('/checkpoint/keys')
      const [first, second] = [createWitness('w1.example'), createWitness('w2.example')]
      const lines = [`witness A ${first.key}`, `witness B ${second.key}`, 'group G any A B', 'quorum G']
      const of = (text: string, policy: string, more: object = {}) =>
        readCheckpoint(text, { origin, keys, policy, ...more })
      const met = of(note + second.cosign(note), lines.join('\n'))
      expect(met.valid && met.witnesses.map(({ name }) => name)).to.deep.equal(['B'])
      expect(said(of(note, lines.join('\n')))).to.equal('WITNESSES_MISSING')
      const [ownKey = ''] = keys.split('\n')
      expect(said(of(note, `log ${ownKey}\nquorum none`))).to.equal('valid')
      const stranger = createWitness(origin, 0x01)
      expect(said(of(note, `log ${stranger.key}\nquorum none`))).to.equal('CHECKPOINT_UNSIGNED')
      expect(() => of(note, lines.slice(0, 3).join('\n'))).to.throw(TypeError, 'no line “quorum')
      expect(() => of(note, createPqWitness('pq.example').key)).to.throw(TypeError, 'ML-DSA-44')
      expect(() => of(note, lines.join('\n'), { quorum: 1 })).to.throw(TypeError, 'leave out')
    })
  })
})
