/** The page that checks whatever somebody was given: pasted, dropped, chosen or scanned. @module */
import { signal, useSignal } from '@preact/signals'
import { type ComponentChildren, render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Scan } from '../till/scan.tsx'
import { phase, refusePolicy, reset, start, stop } from './checking.ts'
import { AskedFor, demands, forgetAsked, unreadPolicy, Witnesses } from './demands.tsx'
import { visible } from './report.ts'
import { Details, Verdict } from './report-view.tsx'

const MEGABYTE = 1_000_000

const text = signal('')
/** The file that was given in place of text. */
const file = signal<File | undefined>(undefined)
/** Why there is nothing to check. */
const problem = signal('')

/** Checks what was given, by what is demanded now. @returns false where nothing was given */
const check = (): boolean => {
  if (file.value === undefined && text.value.trim() === '') return false
  if (unreadPolicy.value !== '') refusePolicy(unreadPolicy.value)
  else start({ ...(file.value === undefined ? { text: text.value } : { file: file.value }), ...demands() })
  return true
}

/** Takes something in place of what was given before, about which it says no more. */
const take = (given: string | File): void => {
  reset()
  forgetAsked()
  problem.value = ''
  text.value = typeof given === 'string' ? given : ''
  file.value = typeof given === 'string' ? undefined : given
}

const checkGiven = (): void => {
  if (!check()) problem.value = 'Paste something first, or choose a file.'
}

const give = (given: string | File | undefined): void => {
  if (given === undefined) return
  take(given)
  checkGiven()
}

/** Anywhere on the page: who misses a small field would leave the page. */
const useDrop = () => {
  const isOver = useSignal(false)
  useEffect(() => {
    const over = (event: DragEvent): void => {
      event.preventDefault()
      isOver.value = true
    }
    const left = ({ relatedTarget }: DragEvent): void => {
      if (relatedTarget === null) isOver.value = false
    }
    const drop = (event: DragEvent): void => {
      event.preventDefault()
      isOver.value = false
      const { files, items } = event.dataTransfer ?? {}
      if (files?.[0] !== undefined) give(files[0])
      else if (items !== undefined) give(event.dataTransfer?.getData('text/plain') ?? '')
    }
    document.addEventListener('dragover', over)
    document.addEventListener('dragleave', left)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', over)
      document.removeEventListener('dragleave', left)
      document.removeEventListener('drop', drop)
    }
  }, [])
  return isOver
}

const Give = () => {
  const isScanning = useSignal(false)
  const isOver = useDrop()
  const field = useRef<HTMLTextAreaElement>(null)
  const submit = (event: Event): void => {
    event.preventDefault()
    checkGiven()
    if (problem.value !== '') field.current?.focus()
  }
  return (
    <form class="give" data-over={isOver.value || undefined} novalidate onSubmit={submit}>
      <div class="field">
        <label for="given">
          Paste it here <span class="quiet">or drop a file anywhere on this page</span>
        </label>
        <textarea
          id="given"
          ref={field}
          rows={5}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          value={text.value}
          aria-invalid={problem.value !== '' || undefined}
          aria-describedby="given-error"
          onInput={(event) => take(event.currentTarget.value)}
        />
        <p class="error" id="given-error" role="alert">
          {problem.value}
        </p>
      </div>
      <p class="acts">
        <button type="submit">Verify</button>
        <label class="plain file">
          Choose a file
          <input
            type="file"
            onChange={(event) => {
              const { files } = event.currentTarget
              give(files?.[0])
              event.currentTarget.value = ''
            }}
          />
        </label>
        {!isScanning.value && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              isScanning.value = true
            }}
          >
            Scan a QR code
          </button>
        )}
      </p>
      <AskedFor />
      <Witnesses />
      {isScanning.value && (
        <Scan
          what="token, ticket or result"
          found={(found) => {
            isScanning.value = false
            give(found)
          }}
          close={() => {
            isScanning.value = false
          }}
        />
      )}
    </form>
  )
}

const Checking = ({ read, of }: { readonly read?: number; readonly of?: number }) => (
  <div class="verdict" data-verdict="pending">
    <p class="word">Checking…</p>
    {file.value !== undefined && <p class="quiet">{visible(file.value.name)}</p>}
    {read !== undefined && (
      <p class="progress">
        <progress value={of && read} max={of} aria-label="Read so far" />{' '}
        {of === undefined ? `${Math.floor(read / MEGABYTE)} MB` : `${Math.floor((100 * read) / of)} %`}
      </p>
    )}
    <p>
      <button type="button" class="plain" onClick={stop}>
        Cancel
      </button>
    </p>
  </div>
)

const Stopped = ({ why }: { readonly why: string }) => (
  <div class="verdict" data-verdict="warn">
    <p class="word">Not verified</p>
    <p>{why}</p>
  </div>
)

/** Brings into view what came of it. */
const Told = ({ children }: { readonly children: ComponentChildren }) => {
  const place = useRef<HTMLDivElement>(null)
  const { state } = phase.value
  useEffect(() => {
    if (state !== 'waiting') place.current?.scrollIntoView({ block: 'nearest' })
  }, [state])
  return (
    <div id="told" ref={place} role="status">
      {children}
    </div>
  )
}

const Page = () => {
  const now = phase.value
  useEffect(() => {
    document.title = now.state === 'done' ? `${now.report.word} · Assay` : 'Verify · Assay'
  }, [now])
  return (
    <>
      <Give />
      <Told>
        {now.state === 'waiting' && file.value !== undefined && (
          <p class="quiet">Chosen: {visible(file.value.name)}</p>
        )}
        {now.state === 'checking' && <Checking {...now} />}
        {now.state === 'stopped' && <Stopped why={now.why} />}
        {now.state === 'done' && <Verdict report={now.report} name={file.value?.name ?? ''} />}
      </Told>
      {now.state === 'done' && <Details report={now.report} by={now.by} />}
    </>
  )
}

export const mount = (place: HTMLElement): void => render(<Page />, place)
