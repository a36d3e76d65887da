/** What to do first: by the member's role, until all is done or they hide it. @module */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { KeyList, Me } from '../../../domain/accounts/schemas.ts'
import type { ListedResult, ResultPage } from '../../../domain/verification/schemas-list.ts'
import { mayChange } from '../page.ts'
import { ask } from '../session.ts'
import { Loaded, useWork } from './loaded.tsx'
import { State } from './text.tsx'

/** What this browser remembers of an account. */
const REMEMBERED = 'assay.first-steps.'
/** Among which a key is looked for that was made for no terminal. */
const KEYS_ASKED = 20

type Remembered = 'checked' | 'hidden'

/** A browser may forbid a page to keep anything: then it is remembered until the page is left. */
const useRemembered = (account = '') => {
  const [said, say] = useState<string | null>(() => {
    try {
      return localStorage.getItem(REMEMBERED + account)
    } catch {
      return null
    }
  })
  const remember = (what: Remembered): void => {
    say(what)
    try {
      localStorage.setItem(REMEMBERED + account, what)
    } catch {}
  }
  return { said, remember }
}

const FIRST_BODY = `{ "data": { "name": "Ada", "age": 36 },
    "options": { "rules": [{ "field": "age", "op": "gte", "value": 18 }] } }`

const Step = ({ done, title, children }: { done: boolean; title: string; children: ComponentChildren }) => (
  <li data-done={done}>
    <h3>
      {title} {done && <State tone="good">Done</State>}
    </h3>
    {children}
  </li>
)

const CreateKeyStep = ({ done }: { readonly done: boolean }) => (
  <Step done={done} title="Create an API key">
    <p>
      Programs call the service with it. <a href="/console/keys">API keys</a>
    </p>
  </Step>
)

const VerifyStep = ({ done, keys }: { readonly done: boolean; readonly keys: boolean }) => (
  <Step done={done} title="Verify something">
    <p>
      Fill in the form of <a href="/console/verify">Verify</a>, or paste this into a terminal, with{' '}
      {keys ? 'your key' : 'a key that an owner gave you'} in place of YOUR_KEY. The answer is signed, proven
      and recorded.
    </p>
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
      tabIndex={0}
    >{`curl -s ${location.origin}/verify \\
  -H 'X-API-Key: YOUR_KEY' -H 'Content-Type: application/json' \\
  -d '${FIRST_BODY}'`}</pre>
  </Step>
)

interface CheckProps {
  readonly done: boolean
  readonly newest: ListedResult | undefined
  checked(): void
}

const CheckStep = ({ done, newest, checked }: CheckProps) => (
  <Step done={done} title="Check a result as its recipient would">
    <p>
      Its page checks signature, proof and log entry in the browser, without trusting the service.{' '}
      {newest === undefined ? (
        'There is no result yet.'
      ) : (
        <a href={new URL(newest.qrUrl).pathname} onClick={checked}>
          Open the newest result
        </a>
      )}
    </p>
  </Step>
)

/** What is done already, as far as the member's role is to do it. */
const readProgress = async (me: Me) => {
  const [keys, { results }] = await Promise.all([
    mayChange(me, 'keys')
      ? ask<KeyList>('GET', `/console/api/keys?status=active&limit=${KEYS_ASKED}`)
      : undefined,
    ask<ResultPage>('GET', '/console/api/results?limit=1'),
  ])
  return { hasKey: keys?.keys.some(({ terminalId }) => terminalId === null), newest: results[0] }
}

const Steps = ({ me, said, remember }: { readonly me: Me } & ReturnType<typeof useRemembered>) => {
  const reading = useWork(`first steps of ${me.accountId}, ${me.role}`, () => readProgress(me))
  if (reading.value === undefined && reading.problem === undefined) return null
  const { hasKey, newest } = reading.value ?? {}
  const makesKeys = mayChange(me, 'keys')
  const verifies = mayChange(me, 'verify')
  const [verified, checked] = [newest !== undefined, said === 'checked']
  if ((!makesKeys || hasKey) && (!verifies || verified) && checked) return null
  return (
    <section aria-labelledby="first">
      <h2 id="first">What to do first</h2>
      <Loaded of={reading}>
        {() => (
          <ol class="steps">
            {makesKeys && <CreateKeyStep done={hasKey === true} />}
            {verifies && <VerifyStep done={verified} keys={makesKeys} />}
            <CheckStep done={checked} newest={newest} checked={() => remember('checked')} />
          </ol>
        )}
      </Loaded>
      <p>
        <button type="button" class="plain" onClick={() => remember('hidden')}>
          Hide these steps
        </button>
      </p>
    </section>
  )
}

export const FirstSteps = ({ me }: { readonly me: Me }) => {
  const remembered = useRemembered(me.accountId)
  return remembered.said === 'hidden' ? null : <Steps me={me} {...remembered} />
}
