import { expect } from 'chai'
import { MAX_QR_CHARACTERS } from '../../src/http/qr-code.ts'
import {
  type Pairing,
  PairingError,
  pairingAddress,
  readPairing,
} from '../../src/protocol/terminal-pairing.ts'

const ORIGIN = 'https://assay.example'
const PAIRING: Pairing = {
  terminalId: 'ter_01m8191hvejkwm152c5vpybr1y',
  terminalSecret: 'S'.repeat(43),
  apiKey: `vk_live_${'k'.repeat(43)}`,
  merchantId: 'mer_01m8191hvejkwm152c5vpybr1y',
  label: 'Till 3 – Käse',
}

describe('the address that pairs a device', () => {
  it('gives back what was put in, and says nothing before its #', () => {
    const address = pairingAddress(ORIGIN, PAIRING)
    expect(readPairing(address, ORIGIN)).to.deep.equal(PAIRING)
    expect(readPairing(` ${address}\n`, ORIGIN)).to.deep.equal(PAIRING)
    expect(address.split('#')[0]).to.equal(`${ORIGIN}/terminal`)
  })

  it('fits a QR code that phones read, whatever the terminal is called', () => {
    const address = pairingAddress(ORIGIN, { ...PAIRING, label: '収'.repeat(100) })
    expect(address.length).to.be.at.most(MAX_QR_CHARACTERS)
    expect(readPairing(address, ORIGIN)?.label).to.equal('収'.repeat(40))
  })

  it('is none where nothing pairs', () => {
    for (const text of ['', 'tok_123', `${ORIGIN}/terminal`, `${ORIGIN}/terminal#other`, 'http://'])
      expect(readPairing(text, ORIGIN), text).to.equal(undefined)
  })

  it('is refused for another service, damaged, or with a member missing or too long', () => {
    const address = pairingAddress(ORIGIN, PAIRING)
    const withBody = (body: unknown) =>
      `/terminal#pair=${Buffer.from(JSON.stringify(body)).toString('base64url')}`
    const { label, ...rest } = PAIRING
    expect(() => readPairing(address, 'https://other.example')).to.throw(PairingError, 'assay.example')
    for (const damaged of [
      address.slice(0, -9),
      `${ORIGIN}/terminal#pair=%%%`,
      withBody(null),
      withBody(rest),
      withBody({ ...rest, label: '' }),
      withBody({ ...rest, label: 'x'.repeat(201) }),
      withBody({ ...rest, label: 7 }),
    ])
      expect(() => readPairing(damaged, ORIGIN), damaged).to.throw(PairingError, 'damaged')
  })
})
