/** The second factor of the account that is signed in: setting it up, its recovery codes, switching it off. @module */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RecoveryCodes, TotpStarted, TotpState } from '../../../domain/accounts/totp/schemas.ts'
import { CodeField } from '../parts/code.tsx'
import { FormDialog } from '../parts/confirm.tsx'
import { Field, Form, textIn } from '../parts/form.tsx'
import { Loaded, useReading } from '../parts/loaded.tsx'
import { Copyable, QrCode, Secrets } from '../parts/secret.tsx'
import { number, State, Time } from '../parts/text.tsx'
import { ask } from '../session.ts'

const TOTP = '/console/api/totp'
const FEW_RECOVERY_CODES = 3

const Password = () => (
  <Field name="password" type="password" label="Password" required autocomplete="current-password" />
)

interface ScanProps {
  readonly started: TotpStarted
  confirmed(codes: readonly string[]): void
  cancel(): void
}

const Scan = ({ started, confirmed, cancel }: ScanProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section class="box" aria-labelledby="scan">
      <h3 id="scan" tabIndex={-1} ref={heading}>
        Scan this with your authenticator app
      </h3>
      <QrCode svg={started.qr} label="QR code of the account, for authenticator apps" />
      <Copyable label="Or type this secret" value={started.secret} />
      <Form
        action="Switch on"
        submit={async (values) => {
          const body = { code: textIn(values, 'code') }
          confirmed((await ask<RecoveryCodes>('POST', `${TOTP}/confirm`, { body })).recoveryCodes)
        }}
        beside={
          <button type="button" class="plain" onClick={cancel}>
            Cancel
          </button>
        }
      >
        <CodeField recovery={false} />
      </Form>
    </section>
  )
}

const SetUp = ({ started }: { started(scanned: TotpStarted): void }) => (
  <>
    <p>
      <State tone="quiet">Off</State> Your password alone opens the account.
    </p>
    <details class="box">
      <summary>Set up one-time codes</summary>
      <p>
        You need an app that makes such codes (TOTP) on your phone or in your password manager. From then on
        signing in takes your password and a code. All your other sessions end, and an identity that is linked
        is unlinked: link it again afterwards.
      </p>
      <Form
        action="Go on"
        submit={async (values) => {
          started(await ask<TotpStarted>('POST', TOTP, { body: { password: textIn(values, 'password') } }))
        }}
      >
        <Password />
      </Form>
    </details>
  </>
)

interface OnProps {
  readonly state: TotpState
  replaced(codes: readonly string[]): void
  disabled(): Promise<void>
}

const On = ({ state, replaced, disabled }: OnProps) => {
  const [dialog, open] = useState<'codes' | 'off' | undefined>()
  const close = (): void => open(undefined)
  const bodyOf = (values: FormData) => ({
    body: { password: textIn(values, 'password'), code: textIn(values, 'code') },
  })
  const left = state.recoveryCodesLeft
  return (
    <>
      <p>
        <State tone="good">On</State>{' '}
        {state.enabledAt !== null && (
          <>
            since <Time at={state.enabledAt} />
          </>
        )}
      </p>
      <p>
        {left < FEW_RECOVERY_CODES ? (
          <State tone="warn">Recovery codes left: {number(left)}. Make new ones.</State>
        ) : (
          <>Recovery codes left: {number(left)}</>
        )}
      </p>
      <p class="actions">
        <button type="button" class="plain" onClick={() => open('codes')}>
          Make new recovery codes
        </button>
        <button type="button" class="plain danger" onClick={() => open('off')}>
          Switch off
        </button>
      </p>
      {dialog === 'codes' && (
        <FormDialog
          title="Make new recovery codes?"
          action="Make new codes"
          close={close}
          submit={async (values, closeOwn) => {
            const { recoveryCodes } = await ask<RecoveryCodes>(
              'POST',
              `${TOTP}/recovery-codes`,
              bodyOf(values),
            )
            closeOwn()
            replaced(recoveryCodes)
          }}
        >
          <p>All earlier ones stop working.</p>
          <Password />
          <CodeField />
        </FormDialog>
      )}
      {dialog === 'off' && (
        <FormDialog
          title="Switch one-time codes off?"
          action="Switch off"
          danger
          close={close}
          submit={async (values) => {
            await ask('POST', `${TOTP}/disable`, bodyOf(values))
            await disabled()
          }}
        >
          <p>Your password alone opens the account then. All your other sessions end.</p>
          <Password />
          <CodeField />
        </FormDialog>
      )}
    </>
  )
}

/** @param changed called when other sessions may have ended */
export const SecondFactor = ({ changed }: { changed(): Promise<void> }) => {
  const state = useReading<TotpState>(TOTP)
  const [started, setStarted] = useState<TotpStarted | undefined>()
  const [codes, setCodes] = useState<readonly string[] | undefined>()
  const again = async (): Promise<void> => {
    await Promise.all([state.again(), changed()])
  }
  const show = (made: readonly string[]): void => {
    setStarted(undefined)
    setCodes(made)
    void again()
  }
  return (
    <section aria-labelledby="second-factor">
      <h2 id="second-factor">One-time codes</h2>
      {codes !== undefined && (
        <Secrets
          key={codes.join(' ')}
          title="Your recovery codes"
          values={{ 'Recovery codes': codes.join(' ') }}
          advice="Each of them opens the account once, in the place of a one-time code, when you don’t have your phone. Keep them where you keep your passwords."
          done={() => setCodes(undefined)}
        />
      )}
      {started !== undefined && (
        <Scan started={started} confirmed={show} cancel={() => setStarted(undefined)} />
      )}
      {started === undefined && (
        <Loaded of={state}>
          {(value) =>
            value.enabled ? (
              <On
                state={value}
                replaced={show}
                disabled={() => {
                  // They open nothing any more.
                  setCodes(undefined)
                  return again()
                }}
              />
            ) : (
              <SetUp started={setStarted} />
            )
          }
        </Loaded>
      )}
    </section>
  )
}
