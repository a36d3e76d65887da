/** What is signed of a hybrid token, and what is one at all. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  claimsFault,
  demandedSignatures,
  type HybridContent,
  hybridSigningBytes,
  MAX_HYBRID_TOKEN_BYTES,
  readHybridToken,
  readSignature,
  SIGNATURE_BYTES,
  VERIFICATION_POLICIES,
} from '../../src/protocol/hybrid-token.ts'

const CONTENT: HybridContent = {
  token_id: 'hyt_01kahnq7x8e4w3v5f6t2s9r0pm',
  subject: 'Zoë "1"',
  claims: { level: 'gold', decision: 1, b: [1, null], a: { z: 1.5e21, y: false } },
  alg_classical: 'Ed25519',
  alg_pq: 'Dilithium2',
  verification_policy: 'hybrid_required',
  iat: 1760000000,
  exp: 1760000300,
  kid_classical: 'A'.repeat(43),
  kid_pq: 'B'.repeat(43),
}
const TOKEN = { ...CONTENT, sig_classical: 'AAAA', sig_pq: 'BBBB', signed_by: 'service' }

/** RFC 8785 written down once more: names sorted by UTF-16 code units, everything else as JSON has it. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

describe('hybrid tokens by themselves', () => {
  it('sign a fixed prefix and the canonical JSON of ten members', () => {
    expect(Buffer.from(hybridSigningBytes(CONTENT)).toString()).to.equal(
      `hybrid-token/1\n{"alg_classical":"Ed25519","alg_pq":"Dilithium2","claims":{"a":{"y":false,"z":1.5e+21},"b":[1,null],"decision":1,"level":"gold"},"exp":1760000300,"iat":1760000000,"kid_classical":"${'A'.repeat(43)}","kid_pq":"${'B'.repeat(43)}","subject":"Zoë \\"1\\"","token_id":"hyt_01kahnq7x8e4w3v5f6t2s9r0pm","verification_policy":"hybrid_required"}`,
    )
    expect(hybridSigningBytes(TOKEN)).to.deep.equal(hybridSigningBytes(CONTENT))
  })

  it('sign as a plain reading of RFC 8785 does, whatever they claim, and differ where their members do', () => {
    const claims = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 3 }))
    fc.assert(
      fc.property(claims, fc.string({ unit: 'grapheme' }), fc.nat(), (more, subject, iat) => {
        const one = { ...CONTENT, claims: { ...more, decision: 1 }, subject, iat }
        const text = Buffer.from(hybridSigningBytes(one)).toString()
        expect(text).to.equal(`hybrid-token/1\n${canonical(one)}`)
        for (const name of Object.keys(one) as (keyof HybridContent)[]) {
          const changed = { ...one, [name]: typeof one[name] === 'number' ? -1 : 'changed!' }
          expect(Buffer.from(hybridSigningBytes(changed)).toString()).to.not.equal(text)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('demand every signature that any of the policies demands', () => {
    for (const own of VERIFICATION_POLICIES)
      for (const required of VERIFICATION_POLICIES) {
        const both = [own, required]
        expect(demandedSignatures(own, required)).to.deep.equal({
          classical: both.includes('classical_only') || both.includes('hybrid_required'),
          pq: both.includes('pq_only') || both.includes('hybrid_required'),
        })
      }
  })

  it('have signatures of one length and one spelling', () => {
    for (const [alg, length] of Object.entries(SIGNATURE_BYTES) as ['Ed25519', number][]) {
      const text = Buffer.alloc(length, 7).toString('base64url')
      expect(readSignature(alg, text)).to.deep.equal(new Uint8Array(length).fill(7))
      for (const bad of [
        '',
        text.slice(1),
        `${text}A`,
        `${text}=`,
        `${text.slice(0, -1)}*`,
        Buffer.alloc(length - 1, 7).toString('base64url'),
      ])
        expect(readSignature(alg, bad), `${alg} ${bad.length}`).to.equal(undefined)
    }
    // Spare bits that are set would be a second spelling.
    expect(readSignature('Ed25519', `${'A'.repeat(85)}B`)).to.equal(undefined)
  })

  it('are just these members, and signed_by if it is there', () => {
    const { signed_by: _, ...unsigned } = TOKEN
    expect(readHybridToken(TOKEN)).to.deep.equal({ token: TOKEN })
    expect(readHybridToken(unsigned)).to.deep.equal({ token: unsigned })
    for (const name of Object.keys(unsigned)) {
      const { [name as 'subject']: _gone, ...rest } = unsigned
      expect(readHybridToken(rest)).to.deep.equal({ fault: 'TOKEN_MALFORMED' })
      expect(readHybridToken({ ...rest, [`${name}_`]: TOKEN[name as 'subject'] })).to.deep.equal({
        fault: 'TOKEN_MALFORMED',
      })
    }
    expect(readHybridToken(Object.create(TOKEN))).to.deep.equal({ fault: 'TOKEN_MALFORMED' })
  })

  it('never make their reader throw', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readHybridToken(value)).to.have.property('fault')
      }),
    )
  })

  it('hold 6 KB of JSON, counted in bytes', () => {
    const room = MAX_HYBRID_TOKEN_BYTES - Buffer.byteLength(JSON.stringify({ ...TOKEN, sig_pq: '' }))
    expect(readHybridToken({ ...TOKEN, sig_pq: 'A'.repeat(room) })).to.have.property('token')
    expect(readHybridToken({ ...TOKEN, sig_pq: 'A'.repeat(room + 1) })).to.deep.equal({
      fault: 'TOKEN_TOO_LARGE',
    })
    expect(readHybridToken({ ...TOKEN, sig_pq: 'é'.repeat(room) })).to.deep.equal({
      fault: 'TOKEN_TOO_LARGE',
    })
  })

  it('claim a decision, at most 16 levels deep, in numbers that JSON has', () => {
    const nested = (levels: number): object =>
      Array.from({ length: levels }).reduce<object>((inner) => ({ a: inner }), {})
    expect(claimsFault({ decision: 0 })).to.equal(undefined)
    expect(claimsFault({ decision: 1, a: nested(14) })).to.equal(undefined)
    expect(claimsFault({ decision: 1, a: nested(15) })).to.equal('too_deep')
    expect(claimsFault({ decision: 1, a: Number.POSITIVE_INFINITY })).to.equal('too_deep')
    for (const claims of [{}, { decision: true }, { decision: '1' }, { decision: 0.5 }])
      expect(claimsFault(claims)).to.equal('no_decision')
    for (const claims of [null, undefined, [], 'x', 1]) expect(claimsFault(claims)).to.equal('no_object')
  })
})
