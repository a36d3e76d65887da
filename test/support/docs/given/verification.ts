/** docs/verification.md: a result of this service is read with any JOSE library. */
import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import { post } from '../reader.ts'

export const result = await post<{ jws: string }>('/verify', {
  data: { age: 36 },
  options: { rules: [{ field: 'age', op: 'gte', value: 18 }] },
})

export const checks = [
  ({ payload }: { payload: JWTPayload }) => {
    expect(payload.decision).to.equal('YES')
  },
] as const
