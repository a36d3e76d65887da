/** Passes for wallets: signed archives that openssl verifies, and links whose JWT jose verifies. */
import { execFileSync } from 'node:child_process'
import { hash, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { importSPKI, jwtVerify } from 'jose'
import { fromBuffer } from 'yauzl'
import type { GooglePass } from '../../../src/domain/tokens/schemas-forms.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import {
  createPassFolder,
  PASS_TEAM,
  PASS_TYPE,
  type PassFolder,
} from '../../support/servers/certificates.ts'

const unzip = (archive: Buffer): Promise<Map<string, Buffer>> =>
  new Promise((resolve, reject) => {
    fromBuffer(archive, { lazyEntries: true }, (error, zip) => {
      if (error) return reject(error)
      const files = new Map<string, Buffer>()
      zip.on('error', reject)
      zip.on('end', () => resolve(files))
      zip.on('entry', (entry) =>
        zip.openReadStream(entry, async (failed, stream) => {
          if (failed) return reject(failed)
          const chunks: Buffer[] = []
          for await (const chunk of stream) chunks.push(chunk as Buffer)
          files.set(entry.fileName, Buffer.concat(chunks))
          zip.readEntry()
        }),
      )
      zip.readEntry()
    })
  })

describe('passes', () => {
  let folder: PassFolder
  let app: TestApp
  let owner: TestOrganisation
  let late = 0
  before(async () => {
    folder = createPassFolder()
    const clock = { now: () => Date.now() + late }
    app = await startTestApp({ env: { PASS_CERTIFICATES: folder.path }, clock })
    owner = await app.organisation()
  })
  after(async () => {
    await app.close()
    folder.remove()
  })
  const tokens = () => tokenRoutesOf(app, owner.apiKey)
  const get = (tokenId: string, query = '') =>
    app.request<GooglePass>('GET', `/api/tokens/${tokenId}/pass${query}`, { key: owner.apiKey })

  it('of Apple are archives whose manifest fits every file and whose signature openssl verifies', async () => {
    const { tokenId, token, expiresAt, passUrl } = await tokens().issued({
      type: 'pass',
      subject: 'ada@example.org',
      claims: { note: 'red hat' },
      audience: 'gate.example',
      singleUse: true,
    })
    expect(passUrl).to.equal(`${app.url}/api/tokens/${tokenId}/pass`)
    const response = await get(tokenId)
    expect(response.headers.get('content-type')).to.equal('application/vnd.apple.pkpass')
    const files = await unzip(response.bytes)
    const manifest = JSON.parse(String(files.get('manifest.json')))
    const covered = [...files].filter(([name]) => name !== 'manifest.json' && name !== 'signature')
    expect(manifest).to.deep.equal(
      Object.fromEntries(covered.map(([name, bytes]) => [name, hash('sha1', bytes)])),
    )
    expect(Object.keys(manifest)).to.include.members(['pass.json', 'icon.png', 'icon@2x.png'])
    const text = String(files.get('pass.json'))
    expect(text).not.to.match(/red hat|ada@example/)
    const pass = JSON.parse(text)
    expect(pass).to.deep.include({
      formatVersion: 1,
      passTypeIdentifier: PASS_TYPE,
      teamIdentifier: PASS_TEAM,
      serialNumber: tokenId,
      description: 'gate.example',
      sharingProhibited: true,
    })
    expect(Date.parse(pass.expirationDate)).to.equal(Date.parse(expiresAt))
    expect(pass.barcodes).to.deep.equal([
      { format: 'PKBarcodeFormatQR', message: token, messageEncoding: 'iso-8859-1' },
    ])
    const file = (name: string) => join(folder.path, name)
    for (const name of ['manifest.json', 'signature'])
      writeFileSync(file(name), files.get(name) ?? Buffer.alloc(0))
    const verify = () =>
      execFileSync(
        'openssl',
        [
          'smime',
          '-verify',
          '-inform',
          'DER',
          '-binary',
          '-purpose',
          'any',
          '-CAfile',
          folder.authority,
        ].concat([
          '-in',
          file('signature'),
          '-content',
          file('manifest.json'),
          '-signer',
          file('signer.pem'),
        ]),
        { stdio: 'pipe' },
      )
    verify()
    const signer = new X509Certificate(readFileSync(file('signer.pem')))
    expect(signer.subject).to.contain(PASS_TYPE)
    writeFileSync(file('manifest.json'), JSON.stringify({ ...manifest, 'pass.json': '00' }))
    expect(verify).to.throw()
  })

  it('of Google are links whose JWT an outside library verifies', async () => {
    const { tokenId, token, expiresAt } = await tokens().issued({ type: 'pass', claims: { note: 'red hat' } })
    const response = await get(tokenId, '?format=google')
    expect(response.headers.get('content-type')).to.match(/^application\/json/)
    const { jwt, saveUrl } = response.body
    expect(saveUrl).to.equal(`https://pay.google.com/gp/v/save/${jwt}`)
    const key = await importSPKI(folder.googleKey, 'RS256')
    const { payload, protectedHeader } = await jwtVerify(jwt, key, {
      algorithms: ['RS256'],
      audience: 'google',
      issuer: 'passes@example.iam.gserviceaccount.com',
    })
    expect(protectedHeader).to.include({ kid: 'k1' })
    expect(payload.typ).to.equal('savetowallet')
    const { genericObjects, genericClasses } = payload.payload as {
      genericObjects: Record<string, unknown>[]
      genericClasses: { id: string }[]
    }
    expect(genericObjects).to.have.length(1)
    expect(genericObjects[0]).to.deep.include({
      id: `3388000000012345678.${tokenId}`,
      classId: genericClasses[0]?.id,
      barcode: { type: 'QR_CODE', value: token },
      validTimeInterval: { end: { date: expiresAt } },
    })
    expect(JSON.stringify(payload)).not.to.match(/red hat|member-7/)
  })

  it('exist of every type of token, as long as it fits a QR code and counts', async () => {
    const plain = await tokens().issued()
    expect((await get(plain.tokenId)).status).to.equal(200)
    const long = await tokens().issued({ claims: { text: 'x'.repeat(1500) } })
    expect((await get(long.tokenId)).status).to.equal(422)
    expect(
      (await tokens().generate({ subject: 'm', type: 'pass', claims: { text: 'x'.repeat(1500) } })).status,
    ).to.equal(422)
    await tokens().revoke(plain.tokenId)
    expect((await get(plain.tokenId)).status).to.equal(410)
    expect((await get(long.tokenId, '?format=paper')).status).to.equal(400)
  })

  it('are signed no longer once the certificate has expired, and the other wallet takes its place', async () => {
    const DAYS = 24 * 3_600_000
    const { tokenId } = await tokens().issued({ ttl: 10 * 24 * 3600 })
    expect((await get(tokenId, '?format=apple')).status).to.equal(200)
    late = 2 * DAYS
    try {
      expect((await get(tokenId, '?format=apple')).status).to.equal(501)
      expect((await get(tokenId)).headers.get('content-type')).to.match(/^application\/json/)
    } finally {
      late = 0
    }
  })
})
