/** docs/hybrid-tokens.md: a token that was cut into cookies is put together again. */
import { expect } from 'chai'
import { client, key, post } from '../reader.ts'

export const token = await post<object>('/v1/tokens/generate-quantum-safe', {
  subject: 'member-7',
  claims: { decision: 1 },
})

interface CookieOptions {
  readonly encode: (value: string) => string
}

const cookies: string[] = []
/** As frameworks have it. */
export const response = {
  cookie: (name: string, value: string, { encode }: CookieOptions) =>
    cookies.push(`${name}=${encode(value)}`),
}

export const checks = [
  async () => {
    expect(cookies).to.have.lengthOf(2)
    const { body } = await client.request('POST', '/v1/tokens/validate-quantum-safe', {
      key,
      body: {},
      headers: { cookie: cookies.join('; ') },
    })
    expect(body).to.include({ valid: true, subject: 'member-7' })
  },
] as const
