/** Texts to take along: secrets, which are shown once, ids, and QR codes. @module */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

/** A text with a button that copies it. Where the browser copies nothing (plain HTTP), the text is selected. */
export const Copyable = ({ label, value }: { readonly label: string; readonly value: string }) => {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [said, say] = useState('')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value)
      say('Copied')
    } catch {
      field.current?.select()
      say('Press Ctrl+C to copy')
    }
  }
  return (
    <div class="field copyable">
      <label for={id}>{label}</label>
      <div class="copy-row">
        <input
          id={id}
          ref={field}
          class="code"
          value={value}
          readOnly
          onFocus={() => field.current?.select()}
        />
        <button type="button" class="plain" onClick={copy} aria-label={`Copy ${label}`}>
          Copy
        </button>
      </div>
      <p class="hint" role="status">
        {said}
      </p>
    </div>
  )
}

const SIDE = /viewBox="0 0 (\d+) \1"/
const MODULES = /stroke="#000000" d="([Mmhv\d. -]+)"/

/**
 * Shows a QR code. The policy of the page allows neither markup that came in an answer nor pictures from elsewhere, so its
 * lines are drawn anew.
 * @param svg as the service answers it
 */
export const QrCode = ({ svg, label }: { readonly svg: string; readonly label: string }) => {
  const side = SIDE.exec(svg)?.[1]
  const modules = MODULES.exec(svg)?.[1]
  if (side === undefined || modules === undefined) return null
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${side} ${side}`}
      shape-rendering="crispEdges"
    >
      <path fill="#fff" d={`M0 0h${side}v${side}H0z`} />
      <path stroke="#000" d={modules} />
    </svg>
  )
}

interface SecretsProps {
  readonly title: string
  /** Label → text. */
  readonly values: Readonly<Record<string, string>>
  /** What to do with it; without: that of a program's secret. */
  readonly advice?: string
  readonly children?: ComponentChildren
  done(): void
}

/** What was made and stays until somebody has kept it, whatever is made meanwhile. `count`: how much was made so far. */
export const useUnkept = <T,>() => {
  const [{ unkept, count }, set] = useState<{ unkept: readonly T[]; count: number }>({ unkept: [], count: 0 })
  return {
    unkept,
    count,
    add: (made: T) => set((before) => ({ unkept: [...before.unkept, made], count: before.count + 1 })),
    drop: (made: T) => set((before) => ({ ...before, unkept: before.unkept.filter((one) => one !== made) })),
  }
}

/** What was just made and is never shown again. It is in this component and nowhere else. */
export const Secrets = ({ title, values, advice, children, done }: SecretsProps) => {
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section class="notice secrets" data-tone="warn" aria-labelledby={id}>
      <h2 id={id} tabIndex={-1} ref={heading}>
        {title}
      </h2>
      <p>
        <strong>This is shown once.</strong>{' '}
        {advice ?? 'Copy it now and keep it where only your program can read it.'}
      </p>
      {Object.entries(values).map(([label, value]) => (
        <Copyable key={`${label} ${value}`} label={label} value={value} />
      ))}
      {children}
      <button type="button" onClick={done}>
        I have kept it
      </button>
    </section>
  )
}
