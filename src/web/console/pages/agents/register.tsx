/** Registering an agent: with its own key, which it then has to sign with, or with one that the service makes. @module */
import { useState } from 'preact/hooks'
import type { AgentCreated, AgentEnrolled } from '../../../../domain/agents/enrol/schemas.ts'
import { Field, Form, jsonIn, textIn } from '../../parts/form.tsx'
import { Secrets } from '../../parts/secret.tsx'
import { Time } from '../../parts/text.tsx'
import { ask } from '../../session.ts'

const MAX_NAME_CHARACTERS = 100
const MAX_DESCRIPTION_CHARACTERS = 1000
const MAX_URL_CHARACTERS = 2048
const MAX_WORD_CHARACTERS = 128
const MAX_REFERENCE_CHARACTERS = 256

const optional = (values: FormData, name: string): string | undefined =>
  textIn(values, name).trim() || undefined

/** What is separated by commas; undefined: nothing. */
const wordsIn = (values: FormData, name: string): string[] | undefined =>
  optional(values, name)
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')

const numberIn = (values: FormData, name: string): number | undefined => {
  const text = optional(values, name)
  return text === undefined ? undefined : Number(text)
}

const isAnything = (value: object): boolean => Object.values(value).some((one) => one !== undefined)

const limitsIn = (values: FormData): object | undefined => {
  const until = optional(values, 'limits.expires_at')
  const limits = {
    currency: optional(values, 'limits.currency')?.toUpperCase(),
    per_transaction: numberIn(values, 'limits.per_transaction'),
    per_day: numberIn(values, 'limits.per_day'),
    allowed_actions: wordsIn(values, 'limits.allowed_actions'),
    allowed_payees: wordsIn(values, 'limits.allowed_payees'),
    expires_at: until === undefined ? undefined : new Date(until).toISOString(),
  }
  return isAnything(limits) ? limits : undefined
}

const bodyOf = (values: FormData): object => {
  const principal = {
    type: optional(values, 'principal.type'),
    reference: optional(values, 'principal.reference'),
  }
  return {
    name: textIn(values, 'name'),
    description: optional(values, 'description'),
    public_key: jsonIn(values, 'public_key'),
    key_directory_url: optional(values, 'key_directory_url'),
    capabilities: wordsIn(values, 'capabilities'),
    principal: isAnything(principal) ? principal : undefined,
    limits: limitsIn(values),
  }
}

/** The field of a public key, of agents and devices alike. */
export const PublicKeyField = () => (
  <Field
    name="public_key"
    label="Public key"
    rows={3}
    hint={
      <>
        A JWK, Ed25519 or P-256, such as <code>{'{ "kty": "OKP", "crv": "Ed25519", "x": "…" }'}</code>.
        Without one the service makes a key pair, and shows the private key once.
      </>
    }
  />
)

const LimitFields = () => (
  <fieldset>
    <legend>What it may do</legend>
    <p class="hint">Without a limit of an amount it may spend nothing. Limits can’t be changed later.</p>
    <Field
      name="limits.currency"
      label="Currency"
      hint="Three letters, such as GBP. Limits need one."
      maxLength={3}
    />
    <Field name="limits.per_transaction" label="Most at a time" inputMode="decimal" />
    <Field name="limits.per_day" label="Most a day" inputMode="decimal" />
    <Field
      name="limits.allowed_actions"
      label="Actions"
      hint="Separated by commas, such as purchase, search. Without any: every action."
    />
    <Field
      name="limits.allowed_payees"
      label="Payees"
      hint="Separated by commas, such as shop.example. Without any: everybody."
    />
    <Field name="limits.expires_at" type="datetime-local" label="Until" />
  </fieldset>
)

export const Register = ({ registered }: { registered(agent: AgentCreated): void }) => (
  <details class="box">
    <summary>Register an agent</summary>
    <Form
      action="Register agent"
      submit={async (values) => {
        registered(await ask<AgentCreated>('POST', '/v1/agents', { body: bodyOf(values) }))
      }}
    >
      <Field
        name="name"
        label="Name"
        hint="Shown on its badge."
        required
        maxLength={MAX_NAME_CHARACTERS}
        autocomplete="off"
      />
      <PublicKeyField />
      <Field
        name="key_directory_url"
        label="Key directory"
        hint="The host where its domain publishes the same key, for the highest trust level."
        maxLength={MAX_URL_CHARACTERS}
      />
      <Field name="description" label="Description" rows={2} maxLength={MAX_DESCRIPTION_CHARACTERS} />
      <Field name="capabilities" label="Capabilities" hint="Separated by commas. Only kept and shown." />
      <fieldset>
        <legend>For whom it acts</legend>
        <p class="hint">Kept sealed, and in no log.</p>
        <Field
          name="principal.type"
          label="Kind"
          hint="Such as person or organisation."
          maxLength={MAX_WORD_CHARACTERS}
        />
        <Field name="principal.reference" label="Your reference" maxLength={MAX_REFERENCE_CHARACTERS} />
      </fieldset>
      <LimitFields />
    </Form>
  </details>
)

interface ChallengeProps {
  readonly agent: AgentCreated
  readonly challenge: NonNullable<AgentCreated['challenge']>
  answered(): void
  close(): void
}

/** What the agent has to sign, exactly, and where its signature goes. */
const Challenge = ({ agent, challenge, answered, close }: ChallengeProps) => (
  <section class="notice" data-tone="warn" aria-labelledby="challenge">
    <h2 id="challenge">{agent.name} has to sign</h2>
    <p>
      It is active once it has signed this message with its key, exactly these two lines without a line’s end,
      until <Time at={challenge.expires_at} />. <a href="/docs/agents#proof-of-possession">How it signs</a>
    </p>
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
      tabIndex={0}
    >
      {challenge.message}
    </pre>
    <Form
      action="Hand in the signature"
      beside={
        <button type="button" class="plain" onClick={close}>
          Close without it
        </button>
      }
      submit={async (values) => {
        const signature = textIn(values, 'proof_of_possession.signature').trim()
        await ask<AgentEnrolled>('POST', '/ext/v1/agent-trust/enrol', {
          body: { agent_id: agent.agent_id, proof_of_possession: { nonce: challenge.nonce, signature } },
        })
        answered()
      }}
    >
      <Field
        name="proof_of_possession.signature"
        label="Signature"
        hint="64 bytes in base64url."
        required
        autocomplete="off"
      />
    </Form>
  </section>
)

interface RegisteredProps {
  readonly agent: AgentCreated
  /** Something became of it: read the list again. */
  changed(): void
  done(): void
}

/** What there is to do after an agent was registered. */
export const Registered = ({ agent, changed, done }: RegisteredProps) => {
  const [isActive, setActive] = useState(false)
  if (agent.private_key !== null)
    return (
      <Secrets
        title={`${agent.name} was registered`}
        values={{ 'Private key': JSON.stringify(agent.private_key), Agent: agent.agent_id }}
        done={done}
      />
    )
  if (agent.challenge !== null && !isActive)
    return (
      <Challenge
        agent={agent}
        challenge={agent.challenge}
        answered={() => {
          setActive(true)
          changed()
        }}
        close={done}
      />
    )
  return (
    <div class="notice" data-tone="good" role="status">
      <p>{agent.name} is active: what it signs is recognised from now on.</p>
      <button type="button" class="plain" onClick={done}>
        Close
      </button>
    </div>
  )
}
