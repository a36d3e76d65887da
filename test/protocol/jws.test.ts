import { generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import { compactVerify } from 'jose'
import { readJws, writeJws } from '../../src/protocol/jws.ts'

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

describe('compact JWS', () => {
  it('has one text for one signature: what others read as the same bytes is refused', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const text = writeJws({ alg: 'EdDSA' }, { once: true }, (covered) => sign(null, covered, privateKey))
    expect(readJws(text)?.payload).to.deep.equal({ once: true })
    const others = [...BASE64URL].map((last) => text.slice(0, -1) + last).filter((other) => other !== text)
    let taken = 0
    for (const other of [...others, `${text}=`, `${text} `]) {
      const isTaken = await compactVerify(other, publicKey).then(
        () => true,
        () => false,
      )
      if (!isTaken) continue
      taken++
      expect(readJws(other), other.slice(text.length - 1)).to.equal(undefined)
    }
    expect(taken).to.be.at.least(15)
  })
})
