/** Making this device a terminal: from the address that was opened, a picture of the camera, or a pasted code. @module */
import { effect, signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { PAIRING_PREFIX, type Pairing, PairingError, readPairing } from '../../protocol/terminal-pairing.ts'
import { Scan } from './scan.tsx'
import { pair, paired, problem } from './till.ts'

const NO_CODE = 'This is no pairing code of this service. The console shows one when a terminal is created.'

/** The address with which the page was opened, while nobody has used it. */
const offered = signal<string | undefined>(undefined)

/** Says so where the device is paired already. Nothing of the address is kept. */
const refuseOffered = (): void => {
  if (offered.value === undefined || paired.value === undefined) return
  offered.value = undefined
  problem.value = `This device is ${paired.value.label} already. Unpair it first, under “This till”.`
}

/** Takes secrets out of the address bar and its history, whatever the page shows. Other fragments are places in the page. */
const takeAddress = (): void => {
  if (!location.hash.startsWith(PAIRING_PREFIX)) return
  offered.value = location.href
  history.replaceState(null, '', location.pathname)
}

/** Call before anything is shown. */
export const watchAddress = (): void => {
  takeAddress()
  addEventListener('hashchange', takeAddress)
  effect(refuseOffered)
}

export const Pair = () => {
  const found = useSignal<Pairing | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  const scanning = useSignal(false)
  const busy = useSignal(false)
  const code = useSignal('')
  const read = (address: string): void => {
    scanning.value = false
    try {
      found.value = readPairing(address, location.origin)
      fault.value = found.value === undefined ? NO_CODE : undefined
    } catch (error) {
      if (!(error instanceof PairingError)) throw error
      fault.value = error.message
    }
  }
  useEffect(() => {
    if (offered.value === undefined) return
    read(offered.value)
    offered.value = undefined
  }, [offered.value])
  const run = async (): Promise<void> => {
    if (busy.value || found.value === undefined) return
    busy.value = true
    try {
      fault.value = await pair(found.value)
    } catch (error) {
      fault.value = `The pairing could not be kept on this device: ${error instanceof Error ? error.message : error}`
    } finally {
      busy.value = false
    }
  }
  const another = (): void => {
    // What is being asked for would be the till all the same.
    if (!busy.value) found.value = undefined
  }
  return (
    <>
      <h1>Make this device a till</h1>
      <p>
        In the console, under Terminals, create a terminal and scan its QR code with this device, here or with
        its camera. It then takes payments in this browser, also without a network.
      </p>
      <p class="error" role="alert">
        {fault.value}
      </p>
      {found.value === undefined ? (
        <>
          {scanning.value ? (
            <Scan what="terminal" found={read} close={() => (scanning.value = false)} />
          ) : (
            <p>
              <button type="button" onClick={() => (scanning.value = true)}>
                Scan the QR code
              </button>
            </p>
          )}
          <form
            onSubmit={(event) => {
              event.preventDefault()
              read(code.value)
            }}
          >
            <div class="field">
              <label for="pairing-code">or paste the pairing address</label>
              <input
                id="pairing-code"
                autocomplete="off"
                autocapitalize="none"
                spellcheck={false}
                onInput={(event) => (code.value = event.currentTarget.value)}
              />
            </div>
            <button type="submit" class="plain">
              Use it
            </button>
          </form>
        </>
      ) : (
        <section aria-labelledby="found-title">
          <h2 id="found-title">{found.value.label}</h2>
          <p>
            Terminal <code>{found.value.terminalId}</code> of merchant <code>{found.value.merchantId}</code>.
          </p>
          <p class="actions">
            <button type="button" aria-disabled={busy.value} onClick={run}>
              {busy.value ? 'Asking the service…' : `Become ${found.value.label}`}
            </button>
            <button type="button" class="plain" aria-disabled={busy.value} onClick={another}>
              Another one
            </button>
          </p>
        </section>
      )}
    </>
  )
}
