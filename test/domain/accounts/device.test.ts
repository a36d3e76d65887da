import { expect } from 'chai'
import { deviceOf } from '../../../src/domain/accounts/device.ts'

const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0'

describe('the device of a session', () => {
  for (const [device, userAgent] of [
    ['Firefox on Linux', 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'],
    ['Chrome on Windows', `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36`],
    ['Edge on Windows', `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 Edg/142.0.0.0`],
    ['Opera on Android', `Mozilla/5.0 (Linux; Android 10; K) ${CHROME} Mobile Safari/537.36 OPR/92.0.0.0`],
    [
      'Safari on iOS',
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
    ],
    ['curl', 'curl/8.14.1'],
    ['A'.repeat(30), 'A'.repeat(10_000)],
    [null, '<script>alert(1)</script>'],
    [null, ''],
    [null, undefined],
  ] as const)
    it(`is ${device} of ${userAgent?.slice(0, 60)}`, () => expect(deviceOf(userAgent)).to.equal(device))
})
