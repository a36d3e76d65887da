/** Policies of witnesses, and the one reader of checkpoints that all of their checks share. */
import { ed25519 } from '@noble/curves/ed25519.js'
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import { type NoteSignature, readNote } from '../../src/protocol/checkpoint/note.ts'
import {
  judgeWitnesses,
  readWitnessKeys,
  readWitnessPolicy,
  witnessSignatures,
} from '../../src/protocol/checkpoint/witness-policy.ts'
import { createPqWitness, createWitness } from '../support/witnesses.ts'

/** The checkpoint of C2SP tlog-cosignature, with a line of a log that nobody asks for here. */
const NOTE =
  'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n'

const holds = ({ key, message, signature }: NoteSignature): boolean =>
  key.type === 0x06
    ? ml_dsa44.verify(signature, message, key.publicKey)
    : ed25519.verify(signature, message, key.publicKey, { zip215: false })

const judged = (policy: string, note: string) => {
  const read = readNote(note) ?? expect.fail('no checkpoint')
  const demand = readWitnessPolicy(policy)
  const { isMet, cosigned } = judgeWitnesses(demand, witnessSignatures(read, demand).filter(holds))
  return [isMet, ...cosigned.map(({ name }) => name)]
}

describe('policies of witnesses', () => {
  const [x1, x2, x3, y1, y2] = ['x1', 'x2', 'x3', 'y1', 'y2'].map((name) => createWitness(`${name}.example`))
  const pq = createPqWitness('pq.example')
  if (!x1 || !x2 || !x3 || !y1 || !y2) throw new Error('no witnesses')
  const shownTo = (...witnesses: (typeof x1)[]): string =>
    NOTE + witnesses.map((witness) => witness.cosign(NOTE)).join('')

  it('of verifier keys demand all of them, Ed25519 and ML-DSA-44', () => {
    const keys = `# mine\n\n${x1.key}\n  ${pq.key}\t\n`
    expect(judged(keys, NOTE)).to.deep.equal([false])
    expect(judged(keys, shownTo(x1))).to.deep.equal([false, 'x1.example'])
    expect(judged(keys, shownTo(pq))).to.deep.equal([false, 'pq.example'])
    expect(judged(keys, shownTo(pq, x1, y1))).to.deep.equal([true, 'x1.example', 'pq.example'])
  })

  it('count nothing that was signed for another checkpoint, or by another key', () => {
    const other = NOTE.replace('20852163', '20852164')
    for (const witness of [x1, pq]) {
      expect(judged(witness.key, NOTE + witness.cosign(other))).to.deep.equal([false])
      expect(judged(witness.key, NOTE + createWitness(witness.name).cosign(NOTE))).to.deep.equal([false])
      const line = witness.cosign(NOTE)
      expect(judged(witness.key, `${NOTE}${line.slice(0, -9)}AAAA${line.slice(-5)}`)).to.deep.equal([false])
    }
  })

  it('of a file demand its quorum, over groups of groups', () => {
    const policy = [
      `# two operators`,
      `witness X1 ${x1.key}`,
      `witness X2 ${x2.key} https://x2.example/`,
      `witness X3 ${x3.key}`,
      'group X 2 X1 X2 X3',
      `\twitness  Y1 ${y1.key}`,
      `witness Y2 ${y2.key}`,
      'group Y any Y1 Y2',
      'group X-and-Y all X Y',
      'quorum X-and-Y',
    ].join('\n')
    expect(judged(policy, shownTo(x1, x2, x3))[0]).to.equal(false)
    expect(judged(policy, shownTo(x1, y1, y2))[0]).to.equal(false)
    expect(judged(policy, shownTo(x3, y2, x1))).to.deep.equal([true, 'X1', 'X3', 'Y2'])
    expect(judged(`witness X1 ${x1.key}\nquorum none`, NOTE)).to.deep.equal([true])
    expect(judged(`witness X1 ${x1.key}\nwitness X2 ${x2.key}\nquorum X2`, shownTo(x1))[0]).to.equal(false)
  })

  it('count a log as no witness of itself, and keys of one name as one witness', () => {
    const own = createWitness('example.com/behind-the-sofa')
    expect(judged(own.key, shownTo(own))).to.deep.equal([false])
    const again = createWitness('x1.example')
    const read = readNote(shownTo(x1, again)) ?? expect.fail()
    const demand = readWitnessKeys(`${x1.key}\n${again.key}\n${x2.key}`, 2)
    const { isMet, cosigned } = judgeWitnesses(demand, witnessSignatures(read, demand).filter(holds))
    expect([isMet, cosigned.length]).to.deep.equal([false, 1])
  })

  it('count one operator once, however many keys it has', () => {
    const again = createWitness('x1.example')
    const mine = `witness X1 ${x1.key} https://x1.example/w/\nwitness X1b ${again.key} https://x1.example/w\n`
    const policy = `${mine}witness X2 ${x2.key}\ngroup X any X1 X1b\ngroup both 2 X X2\nquorum both`
    expect(readWitnessPolicy(policy).witnesses.map(({ url }) => url)).to.deep.equal([
      'https://x1.example/w',
      'https://x1.example/w',
      undefined,
    ])
    expect(judged(policy, shownTo(x1, again))[0]).to.equal(false)
    expect(judged(policy, shownTo(again, x2))[0]).to.equal(true)
    for (const rest of [
      'group G 2 X1 X1b\nquorum G',
      `witness X2 ${x2.key}\ngroup G 2 X1 X1b X2\nquorum G`,
      `witness X2 ${x2.key}\ngroup A any X1 X2\ngroup B any X1b\ngroup G all A B\nquorum G`,
    ])
      expect(() => readWitnessPolicy(mine + rest), rest).to.throw(
        Error,
        'keys of one witness, x1.example, that counts once',
      )
    // A key that counts for nothing does no harm.
    expect(judged(`${mine}quorum X1`, shownTo(again))[0]).to.equal(false)
  })

  it('are refused for whatever would demand less than was meant, with the line', () => {
    const log = createWitness('example.com/behind-the-sofa', 0x01)
    const w = `witness A ${x1.key}`
    for (const [policy, why] of [
      ['', 'names no witness'],
      ['# nothing', 'names no witness'],
      ['hello', 'Line 1: “hello” is no verifier key'],
      [x1.key.replace(/\+[0-9a-f]{8}\+/, '+00000000+'), 'Line 1'],
      [log.key, 'not of a type that witnesses sign with'],
      [`${x1.key}\n${x1.key}`, 'Line 2: the same public key'],
      [w, 'no line “quorum <name>”'],
      [`${w}\nquorum A\nquorum A`, 'Line 3: there is a quorum already'],
      [`${w}\nquorum B`, 'Line 2: nothing above is named “B”'],
      [`quorum A\n${w}`, 'Line 1: nothing above'],
      [`${w}\nwitness A ${x2.key}\nquorum A`, 'Line 2: the name “A” is taken'],
      [`witness none ${x1.key}\nquorum none`, 'Line 1: the name “none” is taken'],
      [`${w}\nwitness B ${x1.key}\nquorum A`, 'Line 2: the same public key'],
      [`${w}\ngroup G 2 A\nquorum G`, 'Line 2: the threshold must be any, all, or 1 to 1'],
      [`${w}\ngroup G 0 A\nquorum G`, 'Line 2: the threshold'],
      [`${w}\ngroup G any\nquorum G`, 'Line 2: it must be “group'],
      [`${w}\ngroup G any A\ngroup H any A\nquorum H`, 'Line 3: “A” is in a group already'],
      [`${w}\ngroup G any G\nquorum G`, 'Line 2: nothing above is named “G”'],
      [`${w}\nqourum A`, 'Line 2: “qourum” is none of log, witness, group, quorum'],
      [`log ${x1.key}\nquorum none`, 'not of a type that logs sign with'],
      [`log ${pq.key}\nwitness A ${pq.key}\nquorum A`, 'Line 2: the same public key'],
      [`${w} example\nquorum A`, 'Line 1: “example” is no URL'],
      [`${w} file:///etc/passwd\nquorum A`, 'Line 1'],
      [`${w} https://u:p@a.example\nquorum A`, 'Line 1'],
      [`${w} https://a.example more\nquorum A`, 'Line 1: it must be “witness'],
      [`${w}\r\nquorum A`, 'Line 1'],
    ] as const)
      expect(() => readWitnessPolicy(policy), policy).to.throw(Error, why)
  })
})
