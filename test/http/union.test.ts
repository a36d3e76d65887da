/** What is told of a body that may have several forms and has none of them. */
import { expect } from 'chai'
import Type from 'typebox'
import { bodyCheck } from '../../src/http/input/validation.ts'

const CLOSED = { additionalProperties: false } as const
const Forms = Type.Union([
  Type.Object({ consentId: Type.String(), purpose: Type.Optional(Type.String()) }, CLOSED),
  Type.Object({ subjectId: Type.String(), purpose: Type.String({ maxLength: 3 }) }, CLOSED),
  Type.Object({ inputs: Type.Object({ a: Type.Integer() }) }, CLOSED),
])
const Tagged = Type.Object({
  sources: Type.Array(
    Type.Union([
      Type.Object({ type: Type.Literal('inline'), data: Type.Object({}) }),
      Type.Object({ type: Type.Literal('remote'), slug: Type.String({ minLength: 3 }) }),
    ]),
  ),
})

const told = (schema: Type.TSchema, value: unknown) => {
  const [detail] = bodyCheck(schema)(value)?.details ?? []
  return detail && [detail.path, detail.code, detail.message]
}

describe('bodies in one of several forms', () => {
  it('are told what each form needs where they have the begin of none', () => {
    const message = 'must have consentId, or subjectId with purpose, or inputs'
    for (const body of [{}, { consent: 'x' }]) {
      const finding = told(Forms, body)
      if (finding?.[1] !== 'unknown_member') expect(finding).to.deep.equal(['', 'required', message])
    }
  })

  it('are told what is wrong in the form that they began', () => {
    expect(told(Forms, { subjectId: 'a' })).to.deep.equal(['/purpose', 'required', 'is required'])
    expect(told(Forms, { subjectId: 'a', purpose: 'long' })?.[0]).to.equal('/purpose')
    expect(told(Forms, { consentId: 7 })).to.deep.equal(['/consentId', 'type', 'must be string'])
    expect(told(Forms, { inputs: {} })).to.deep.equal(['/inputs/a', 'required', 'is required'])
  })

  it('are told that they have several', () => {
    expect(told(Forms, { consentId: 'a', inputs: { a: 1 } })?.slice(0, 2)).to.deep.equal(['', 'ambiguous'])
  })

  it('are judged by the member that names the form, where there is one', () => {
    const of = (source: object) => told(Tagged, { sources: [source] })
    expect(of({})).to.deep.equal(['/sources/0/type', 'required', 'is required'])
    expect(of({ type: 'other' })).to.deep.equal([
      '/sources/0/type',
      'enum',
      'must be one of "inline", "remote"',
    ])
    expect(of({ type: 'remote' })).to.deep.equal(['/sources/0/slug', 'required', 'is required'])
    expect(of({ type: 'remote', slug: 'a' })?.[0]).to.equal('/sources/0/slug')
  })

  it('name what is required with something else', () => {
    const Money = Type.Object(
      { amount: Type.Optional(Type.Number()), currency: Type.Optional(Type.String()) },
      { dependentRequired: { amount: ['currency'] } },
    )
    expect(told(Money, { amount: 1 })).to.deep.equal(['/currency', 'required', 'is required with amount'])
  })
})
