/** A domain of one's own: what has to stand in DNS, and whether it leads to a pod. @module */
import { useState } from 'preact/hooks'
import type { OwnPod } from '../../../domain/pods/schemas.ts'
import type { DomainCheck } from '../../../domain/pods/schemas-domains.ts'
import { ask } from '../session.ts'
import { Field, Form, Select, textIn } from './form.tsx'
import { Copyable } from './secret.tsx'
import { State } from './text.tsx'

const Found = ({ check }: { readonly check: DomainCheck }) =>
  check.bound ? (
    <p>
      <State tone="good">{check.domain} leads to the pod.</State>
    </p>
  ) : (
    <>
      <p>
        <State tone="warn">{check.domain} does not lead to the pod yet.</State>
      </p>
      {check.instructions !== null && (
        <>
          <p>
            Make these records where the domain is managed, then check again. It may take an hour until they
            are seen.
          </p>
          {check.instructions.map(({ type, name, value }) => (
            <div key={type}>
              <Copyable label={`${type} record: name`} value={name} />
              <Copyable label={`${type} record: value`} value={value} />
            </div>
          ))}
        </>
      )}
    </>
  )

export const BindDomain = ({ pods }: { readonly pods: readonly OwnPod[] }) => {
  const [check, setCheck] = useState<DomainCheck | undefined>()
  return (
    <section aria-labelledby="domain">
      <h2 id="domain">Your own domain</h2>
      <p>
        A domain of yours can lead to a pod, so that others verify at your address. It is bound as soon as
        both of its records are seen.
      </p>
      <Form
        action="Check and bind"
        submit={async (values) => {
          setCheck(undefined)
          const body = { domain: textIn(values, 'domain').trim(), podId: textIn(values, 'podId') }
          setCheck(await ask<DomainCheck>('POST', '/domain/verify', { body }))
        }}
      >
        <Field name="domain" label="Domain" hint="Such as verify.shop.example." required maxLength={253} />
        <Select
          name="podId"
          label="Pod"
          options={pods
            .filter(({ status }) => status !== 'ARCHIVED')
            .map(({ podId, name }) => ({ value: podId, label: name }))}
        />
      </Form>
      <div role="status">{check && <Found check={check} />}</div>
    </section>
  )
}
