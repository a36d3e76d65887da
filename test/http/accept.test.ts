import { expect } from 'chai'
import fc from 'fast-check'
import { prefers } from '../../src/http/accept.ts'

const CHROMIUM =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'
const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** What a header of this kind is made of, and what it is not. */
const PIECES = [
  'text/html',
  '*/*',
  'text/',
  '/',
  ';',
  ',',
  ';q=',
  'q=0.5',
  '"',
  '\\',
  '=',
  ' ',
  '\t',
  '\u00ff',
  '__proto__',
]

describe('content negotiation', () => {
  const wantsHtml = (accept: string | undefined) => prefers(accept, 'text/html', 'application/json')

  it('gives pages to browsers and to whoever names HTML before JSON', () => {
    for (const accept of [
      CHROMIUM,
      FIREFOX,
      'text/html',
      'TEXT/HTML',
      'text/*',
      'text/html, */*',
      'text/html, application/json',
      'text/html;q=0.2',
      'text/html, application/json;q=0.9',
      'application/json ; Q=0.1 , text/html ; charset=utf-8 ; q=0.2',
      'text/html;level=1, application/json;q=0.9',
      'text/html; charset=iso-8859-1',
    ])
      expect(wantsHtml(accept), accept).to.equal(true)
  })

  it('gives JSON to everybody else', () => {
    for (const accept of [
      undefined,
      '',
      '*/*',
      'application/json',
      'application/json, text/html',
      'text/html;q=0.5, application/json',
      'text/html;q=0, */*',
      'text/html;q=0',
      'text/plain',
      'text/htmlx',
      'image/*',
      'text/html;q=0.5, */*;q=0.8',
      ',;,=',
    ])
      expect(wantsHtml(accept), accept).to.equal(false)
  })

  it('takes the ranges that scrapers of metrics send', () => {
    const types = ['text/plain', 'application/openmetrics-text']
    for (const accept of [
      'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
      'application/openmetrics-text; version=1.0.0; charset=utf-8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      // Prometheus 3
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;escaping=allow-utf-8;q=0.3,*/*;q=0.2',
      'text/plain;version=0.0.4;q=1,*/*;q=0.1',
      'text/plain',
    ])
      expect(prefers(accept, types, 'application/json'), accept).to.equal(true)
    expect(prefers('*/*', types, 'application/json')).to.equal(false)
  })

  it('never throws, whatever the header says', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES)), fc.string(), (pieces, text) => {
        expect(wantsHtml(pieces.join('') + text)).to.be.a('boolean')
      }),
      { numRuns: 2000 },
    )
  })

  it('lets the most precise range of a type say how much it is wanted', () => {
    expect(wantsHtml('text/*;q=0.1, text/html;q=0.9, application/json;q=0.5')).to.equal(true)
    expect(wantsHtml('text/html;q=0.1, text/*;q=0.9, application/json;q=0.5')).to.equal(false)
  })
})
