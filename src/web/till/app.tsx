/** The till as a whole. @module */
import { type Signal, signal } from '@preact/signals'
import { type ComponentType, render } from 'preact'
import { keepFocus } from '../elements.ts'
import { Pair, watchAddress } from './pair.tsx'
import { Payments } from './payments.tsx'
import { sumsText } from './report.ts'
import { Sell } from './sell.tsx'
import { SettingsPage } from './settings.tsx'
import { Recovered, Stuck } from './stuck.tsx'
import {
  deciding,
  keepOffNetwork,
  offNetwork,
  paired,
  pending,
  phase,
  problem,
  start,
  status,
  stuckBy,
  undecided,
} from './till.ts'
import { beginUpdate, update, useUpdate } from './updates.ts'

const VIEWS = { sell: 'Sell', payments: 'Payments', settings: 'This till' } as const
type View = keyof typeof VIEWS

const PAGES: Readonly<Record<View, ComponentType>> = {
  sell: Sell,
  payments: Payments,
  settings: SettingsPage,
}

const view: Signal<View> = signal('sell')

/** Whether it is online, and what waits. */
const Bar = () => {
  const { count, sums } = pending.value
  const online = status.value?.online ?? false
  const refused = status.value?.rejected.length ?? 0
  return (
    <div class="till-bar">
      <p role="status">
        <span class="state" data-tone={online ? 'good' : 'warn'}>
          {online ? 'Online' : offNetwork.value ? 'Airplane mode' : 'Offline'}
        </span>{' '}
        {count > 0 && `${count} waiting, ${sumsText(sums)}`}
        {refused > 0 && <strong> {refused} refused later</strong>}
        {undecided.value.length > 0 && <strong> {undecided.value.length} not known</strong>}
      </p>
      <label class="switch">
        <input
          type="checkbox"
          checked={offNetwork.value}
          onChange={(event) => void keepOffNetwork(event.currentTarget.checked)}
        />{' '}
        Airplane mode
      </label>
    </div>
  )
}

const Open = () => {
  const Page = PAGES[view.value]
  return (
    <>
      <Bar />
      <nav class="tabs" aria-label="Till">
        {(Object.keys(VIEWS) as View[]).map((name) => (
          <button
            key={name}
            type="button"
            class="plain"
            aria-current={view.value === name ? 'page' : undefined}
            onClick={() => (view.value = name)}
          >
            {VIEWS[name]}
          </button>
        ))}
      </nav>
      {problem.value !== undefined && (
        <p class="error" role="alert">
          {problem.value}
        </p>
      )}
      <Recovered />
      <Page key={view.value} />
    </>
  )
}

const Shown = () => {
  const now = phase.value
  if (now.state === 'starting') return <p role="status">Opening…</p>
  if (now.state === 'stuck') return <Stuck code={now.code} message={now.message} />
  return now.state === 'open' ? <Open key={paired.value?.terminalId} /> : <Pair />
}

const Till = () => {
  useUpdate()
  return (
    <>
      {update.value !== undefined && (
        <p class="notice">
          A new version of the till is ready. What waits here is kept.{' '}
          <button
            type="button"
            class="plain"
            aria-disabled={deciding.value}
            onClick={() => deciding.value || beginUpdate()}
          >
            Use it now
          </button>
        </p>
      )}
      <Shown />
    </>
  )
}

/** Shows the till in place of what the document says without it. */
export const mount = (root: HTMLElement): void => {
  watchAddress()
  keepFocus()
  root.replaceChildren()
  render(<Till />, root)
  start().catch(stuckBy)
}
