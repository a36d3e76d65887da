/** What whoever checks demands of what they were given, beyond what everybody may. @module */
import { effect, type Signal, signal } from '@preact/signals'
import { phase, reset } from './checking.ts'
import type { Given } from './messages.ts'

/** Which witnesses a checkpoint must have been shown to. */
const policy = signal('')
/** Why the policy file that was chosen last could not be read. Until it is given otherwise, nothing may be checked. */
export const unreadPolicy = signal('')
/** What a presentation must answer. */
const audience = signal('')
const nonce = signal('')
/** Whether what was given is shown by a holder, as far as it was checked. */
const isPresentation = signal(false)

effect(() => {
  const now = phase.value
  if (now.state === 'done') isPresentation.value = now.report.isPresentation === true
})

/** All that is demanded now. */
export const demands = (): Pick<Given, 'policy' | 'asked'> => ({
  policy: policy.value,
  asked: { audience: audience.value, nonce: nonce.value },
})

/** What somebody asked for one presentation is asked for no other. */
export const forgetAsked = (): void => {
  audience.value = ''
  nonce.value = ''
  isPresentation.value = false
}

const MAX_POLICY_BYTES = 262_144

let lastSet = 0

const setPolicy = (value: string): void => {
  lastSet += 1
  policy.value = value
  unreadPolicy.value = ''
  // What was found is not by what is demanded now.
  reset()
}

/** Takes a policy file, unless another policy is given before it was read. */
const takePolicy = async (file: File | undefined): Promise<void> => {
  if (file === undefined) return
  lastSet += 1
  const own = lastSet
  reset()
  if (file.size > MAX_POLICY_BYTES) {
    unreadPolicy.value = 'The file is larger than any policy.'
    return
  }
  unreadPolicy.value = 'The file is still being read.'
  let read: string | undefined
  try {
    read = await file.text()
  } catch {
    // It was moved, changed or locked since it was chosen; browsers say no more than that.
  }
  if (own !== lastSet) return
  if (read === undefined) unreadPolicy.value = 'The file can’t be read.'
  else setPolicy(read)
}

/** The page never makes this demand by itself: the service could choose its own witnesses. */
export const Witnesses = () => {
  const now = phase.value
  const problem = unreadPolicy.value || (now.state === 'stopped' && now.policyProblem) || ''
  return (
    <details class="demand" open={problem !== '' || undefined}>
      <summary>Demand witnesses of the log</summary>
      <p class="quiet">
        Paste a policy file (C2SP tlog-policy), or the verifier keys of witnesses that must all have cosigned.
        A checkpoint, evidence or result then counts only if they were shown the same log. Without this,
        nobody but the log says so.
      </p>
      <div class="field">
        <label for="policy">Policy or keys of witnesses</label>
        <textarea
          id="policy"
          rows={4}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          value={policy.value}
          aria-invalid={problem !== '' || undefined}
          aria-describedby="policy-error"
          onInput={(event) => setPolicy(event.currentTarget.value)}
        />
        <p class="error" id="policy-error" role="alert">
          {problem}
        </p>
      </div>
      <p class="acts">
        <label class="plain file">
          Choose a policy file
          <input
            type="file"
            onChange={(event) => {
              takePolicy(event.currentTarget.files?.[0])
              event.currentTarget.value = ''
            }}
          />
        </label>
        {unreadPolicy.value !== '' && (
          <button type="button" class="plain" onClick={() => setPolicy(policy.value)}>
            Go on without the file
          </button>
        )}
      </p>
    </details>
  )
}

interface AskedProps {
  readonly id: string
  readonly label: string
  readonly of: Signal<string>
}

const AskedField = ({ id, label, of }: AskedProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    <input
      id={id}
      type="text"
      spellcheck={false}
      autocapitalize="off"
      autocomplete="off"
      value={of.value}
      aria-describedby="asked-hint"
      onInput={(event) => {
        of.value = event.currentTarget.value
        // What was found is not by what is demanded now.
        reset()
      }}
    />
  </div>
)

/** Only whoever asked knows this: a copy of what somebody else was shown names its own audience and nonce. */
export const AskedFor = () =>
  isPresentation.value && (
    <fieldset class="demand">
      <legend>What had you asked its holder for?</legend>
      <p class="quiet" id="asked-hint">
        As your request to the wallet had them (OpenID4VP: <code>client_id</code> with its prefix, and{' '}
        <code>nonce</code>). They are compared character by character, in this browser. Without them, it may
        be a copy of what somebody else was shown.
      </p>
      <AskedField id="audience" label="Audience" of={audience} />
      <AskedField id="nonce" label="Nonce" of={nonce} />
    </fieldset>
  )
