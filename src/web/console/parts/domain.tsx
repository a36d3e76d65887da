/** Domains of one's own: what has to stand in DNS, and whether they lead to a pod. @module */
import type { OwnPod, PodDomain } from '../../../domain/pods/schemas.ts'
import type { DomainCheck } from '../../../domain/pods/schemas-domains.ts'
import { ask } from '../session.ts'
import { Dialog } from './confirm.tsx'
import { Field, Form, Select, textIn, useFound } from './form.tsx'
import { Loaded, useWork } from './loaded.tsx'
import { Copyable } from './secret.tsx'
import { ActButton } from './table.tsx'
import { State, Time } from './text.tsx'

const verify = (domain: string, podId: string): Promise<DomainCheck> =>
  ask<DomainCheck>('POST', '/domain/verify', { body: { domain, podId } })

const Found = ({ check }: { readonly check: DomainCheck }) =>
  check.bound ? (
    <p>
      <State tone="good">
        <span class="address">{check.domain} leads to the pod.</span>
      </State>
    </p>
  ) : (
    <>
      <p>
        <State tone="warn">
          <span class="address">{check.domain} does not lead to the pod yet.</span>
        </State>
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

const Standing = ({ of: { status, unseenSince } }: { readonly of: PodDomain }) => {
  if (unseenSince === null) return <State tone="good">Leads here</State>
  return (
    <>
      <State tone={status === 'bound' ? 'warn' : 'bad'}>
        {status === 'bound' ? 'DNS does not answer' : 'Its records are gone'}
      </State>
      <small>
        since <Time at={unseenSince} />; after seven days it is not bound any more
      </small>
    </>
  )
}

interface DomainsProps {
  readonly pod: OwnPod
  /** Looks again at one that was not seen; undefined: who looks may not. */
  readonly check?: (domain: string) => void
}

/** The domains that are bound to a pod, and whether they were seen to lead there. */
export const Domains = ({ pod: { domains }, check }: DomainsProps) =>
  domains.length === 0 ? (
    <span class="quiet">None</span>
  ) : (
    <ul class="domains">
      {domains.map((one) => (
        <li key={one.domain}>
          <code class="address">{one.domain}</code>
          <br />
          <Standing of={one} />
          {check && one.unseenSince !== null && (
            <ActButton name={one.domain} act={() => check(one.domain)}>
              Check again
            </ActButton>
          )}
        </li>
      ))}
    </ul>
  )

interface CheckDomainProps {
  readonly domain: string
  readonly podId: string
  close(): void
}

/** Looks at a domain now; it is bound again if its records are there. */
export const CheckDomain = ({ domain, podId, close }: CheckDomainProps) => (
  <Dialog title={`Check ${domain}`} close={close}>
    <Loaded of={useWork(domain, () => verify(domain, podId))}>{(check) => <Found check={check} />}</Loaded>
    <p class="actions">
      <button type="button" class="plain" onClick={close}>
        Close
      </button>
    </p>
  </Dialog>
)

interface BindDomainProps {
  readonly pods: readonly OwnPod[]
  /** Whether there are older ones. */
  readonly goesOn: boolean
  bound(): Promise<void>
}

export const BindDomain = ({ pods, goesOn, bound }: BindDomainProps) => {
  const { found: check, forget, find } = useFound<DomainCheck>()
  return (
    <section aria-labelledby="domain">
      <h2 id="domain">Your own domain</h2>
      <p>
        A domain of yours can lead to a pod, so that others verify at your address. It is bound as soon as
        both of its records are seen.
      </p>
      <Form
        action="Check and bind"
        changed={forget}
        submit={(values) =>
          find(async () => {
            const found = await verify(textIn(values, 'domain').trim(), textIn(values, 'podId'))
            if (found.bound) await bound()
            return found
          })
        }
      >
        <Field name="domain" label="Domain" hint="Such as verify.shop.example." required maxLength={253} />
        <Select
          name="podId"
          label="Pod"
          hint={goesOn ? 'Older pods can be chosen once the list above shows them.' : undefined}
          options={pods
            .filter(({ status }) => status !== 'ARCHIVED')
            .map(({ podId, name }) => ({ value: podId, label: name }))}
        />
      </Form>
      <div role="status">{check && <Found check={check} />}</div>
    </section>
  )
}
