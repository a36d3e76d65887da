import { networkInterfaces } from 'node:os'
import { expect } from 'chai'
import { ownHosts, readDestination } from '../../../src/domain/hermes/target.ts'
import { rejection } from '../../support/rejection.ts'

const PORT = 8080
const ADDRESSES: Readonly<Record<string, string>> = {
  localhost: '127.0.0.1',
  'loops.example': '127.0.0.1',
  'other.example': '192.0.2.7',
}

/** Names are answered by the table above alone. */
const resolve = async (host: string) => {
  const address = ADDRESSES[host]
  if (address === undefined) throw new Error('unknown')
  return [{ address, family: 4 }]
}
const own = (baseUrl: string, ...names: string[]) => ownHosts({ baseUrl, names, port: PORT, resolve })
const isOwn = (baseUrl: string, url: string): Promise<boolean> =>
  own(baseUrl, 'pods.assay.example')(new URL(url))

describe('an own host of hermes', () => {
  it('is recognised by what it resolves to and the port, however it is spelled', async () => {
    const spellings = [
      '127.0.0.1',
      'localhost',
      'LOCALHOST',
      'localhost.',
      '127.1',
      '0x7f.1',
      '2130706433',
      '0177.0.0.1',
      '127.0.0.2',
      '0.0.0.0',
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      'loops.example',
      'LOOPS.example.',
      ...Object.values(networkInterfaces())
        .flatMap((all) => all ?? [])
        .map(({ address, family }) => (family === 'IPv6' ? `[${address.split('%')[0]}]` : address)),
    ]
    for (const host of spellings) {
      expect(await isOwn('http://127.0.0.1:8080', `http://${host}:8080/`), host).to.equal(true)
      expect(await isOwn('http://127.0.0.1:8080', `http://${host}:08080/`), host).to.equal(true)
      expect(await isOwn('https://assay.example', `http://${host}:8080/`), host).to.equal(true)
      expect(await isOwn('http://127.0.0.1:8080', `http://${host}:8081/`), host).to.equal(false)
    }
  })

  it('is any of its names, on whatever port', async () => {
    for (const url of [
      'https://assay.example/',
      'https://ASSAY.example.:8443/',
      'http://assay.example:443/',
      'https://pods.assay.example/x',
    ])
      expect(await isOwn('https://assay.example', url), url).to.equal(true)
  })

  it('is no other host, and none without an address', async () => {
    for (const url of [
      'http://other.example:8080/',
      'http://192.0.2.7:8080/',
      'http://unknown.example:8080/',
    ])
      expect(await isOwn('http://127.0.0.1:8080', url), url).to.equal(false)
  })

  it('can be no target', async () => {
    const error = await rejection(readDestination('http://localhost:8080/{id}', own('http://127.0.0.1:8080')))
    expect(error).to.have.nested.property('details[0].code', 'own_host')
    expect(await readDestination('http://other.example/{id}', own('http://127.0.0.1:8080'))).to.equal(
      'http://other.example/{id}',
    )
  })
})
