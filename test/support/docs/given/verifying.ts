/** docs/verifying.md: a token of this service is read with any JOSE library. */
import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import { post } from '../reader.ts'

export const { token } = await post<{ token: string }>('/api/tokens/generate', { subject: 'member-7' })

export const checks = [
  ({ payload }: { payload: JWTPayload }) => {
    expect(payload.sub).to.equal('member-7')
  },
] as const
