import canonicalize from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Entry } from '../../src/ledger/decision.ts'
import { actorOf, entryText, newSalt } from '../../src/ledger/entry.ts'

const text = fc.string({ unit: 'grapheme' })
const data = fc.dictionary(text, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })

describe('ledger entry', () => {
  it('is written as canonical JSON (RFC 8785), whatever it holds', () => {
    const stamps = fc.record({
      id: text,
      at: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
      organisation: text,
      actor: text,
      subject: fc.option(text),
      salt: fc.stringMatching(/^[0-9a-f]{32}$/),
    })
    const optional = fc.option(text, { nil: undefined })
    const commitments = fc.option(fc.stringMatching(/^[0-2][0-9a-f]{63}$/), { nil: undefined })
    fc.assert(
      fc.property(stamps, data, optional, commitments, (stamp, values, digest, commitment) => {
        const entry = { type: 'payment', data: values, digest, commitment } as Entry
        const { id, at, organisation, actor, subject, salt } = stamp
        const whole = {
          v: 1,
          id,
          ts: at,
          org: organisation,
          type: 'payment',
          actor,
          subject,
          digest,
          commitment,
          data: values,
          salt,
        }
        expect(entryText(entry, stamp)).to.equal(canonicalize(whole))
      }),
    )
  })

  it('never repeats a salt', () => {
    const salts = Array.from({ length: 2000 }, newSalt)
    expect(new Set(salts).size).to.equal(2000)
    for (const salt of salts) expect(salt).to.match(/^[0-9a-f]{32}$/)
  })

  it('names the same actor through whichever session or token it acts', () => {
    expect(actorOf({ kind: 'session', id: 'ses_1', accountId: 'acc_1', role: 'owner' })).to.deep.equal([
      'account',
      'acc_1',
    ])
    expect(actorOf({ kind: 'key', id: 'key_1', keyId: 'key_1' })).to.deep.equal(['key', 'key_1'])
    expect(actorOf({ kind: 'system', id: 'sweep' })).to.deep.equal(['system', 'sweep'])
    const terminal = {
      id: 'mtk_1',
      terminalId: 'ter_1',
      merchantId: 'mer_1',
      keyId: 'key_1',
      keyRevoked: false,
    }
    expect(actorOf({ kind: 'terminal', ...terminal })).to.deep.equal(['terminal', 'ter_1'])
  })
})
