/** Permanent pseudonyms of people. */
import { expect } from 'chai'
import fc from 'fast-check'
import { createSealing } from '../../src/keys/sealing.ts'
import { createSubjectPseudonyms } from '../../src/keys/subject-pseudonyms.ts'

const under = (byte: number) =>
  createSubjectPseudonyms({ sealing: createSealing(new Uint8Array(32).fill(byte)) })

describe('pseudonyms of people', () => {
  it('are 64 hexadecimal digits, the same for ever, and others under another master key', async () => {
    const first = await under(1).of('org_1', 'kyc', 'user-7')
    expect(first).to.match(/^[0-9a-f]{64}$/)
    expect(await under(1).of('org_1', 'kyc', 'user-7')).to.equal(first)
    expect(await under(2).of('org_1', 'kyc', 'user-7')).not.to.equal(first)
  })

  it('differ with organisation, kind and id, wherever one ends and the next begins', async () => {
    const pseudonyms = under(1)
    const part = fc.string({ maxLength: 4, unit: fc.constantFrom('a', 'b', '"', ',', '\\', '/') })
    const triple = fc.tuple(part, part, part)
    await fc.assert(
      fc.asyncProperty(triple, triple, async (a, b) => {
        const same = a.every((text, i) => text === b[i])
        expect((await pseudonyms.of(...a)) === (await pseudonyms.of(...b))).to.equal(same)
      }),
    )
  })
})
