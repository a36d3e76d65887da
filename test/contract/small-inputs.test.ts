/** Days, ports and numbers that look like others. */
import { expect } from 'chai'
import { parseTimestamp } from '../../src/domain/payments/presented.ts'
import { readUrl } from '../../src/domain/webhooks/endpoint-input.ts'
import { sharedApp } from '../support/app.ts'

describe('what only looks like something else', () => {
  it('is no timestamp where its month lacks the day', () => {
    for (const text of ['2026-02-30T12:00:00Z', '2026-04-31T12:00:00+01:00', '2025-02-29T00:00:00Z'])
      expect(parseTimestamp(text), text).to.equal(undefined)
    expect(parseTimestamp('2024-02-29T00:00:00Z')).to.equal(Date.UTC(2024, 1, 29))
  })

  it('is no URL of a webhook without a host, or at port 0', () => {
    const read = (url: string) => readUrl(url, () => true)
    for (const url of ['https:/x', 'https:x', 'https:///x', 'https://hooks.example:0/'])
      expect(() => read(url), url)
        .to.throw()
        .with.property('code', 'invalid_url')
    expect(read('https://hooks.example:8443/a')).to.equal('https://hooks.example:8443/a')
  })

  it('is no id with zeros before it', async () => {
    const app = await sharedApp()
    expect((await app.request('GET', '/api/messages/01')).status).to.equal(404)
  })
})
