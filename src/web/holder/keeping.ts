/** The part of the page that shows what this browser keeps, and changes it. @module */
import { byId, make, say } from '../elements.ts'
import { fileText, onSubmit, typedIn } from './forms.ts'
import { type OpenHolder, WalletError } from './held.ts'
import { credentialWords } from './request.ts'
import type { Wallet } from './wallet.ts'

const SAID_MS = 4000

const button = (label: string, run: () => void): HTMLElement => {
  const element = make('button', { type: 'button', class: 'plain' }, label)
  element.addEventListener('click', run)
  return element
}

/** A button that says for a moment what came of it. */
const copying = (label: string, text: string): HTMLElement => {
  const element = button(label, async () => {
    // There is no clipboard where the page is not secure.
    const copied = (async () => navigator.clipboard.writeText(text))()
    const said = await copied.then(
      () => 'Copied',
      () => 'Could not copy: select the number',
    )
    say(element, said)
    setTimeout(() => say(element, label), SAID_MS)
  })
  return element
}

const download = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  make('a', { href: url, download: name }).click()
  URL.revokeObjectURL(url)
}

/** @param changed hears of every change @returns shows what is kept now */
export const showKeeping = (wallet: Wallet, changed: () => void): (() => void) => {
  const kept = byId('kept', HTMLElement)
  const unlock = byId('unlock', HTMLFormElement)
  const lock = byId('lock', HTMLButtonElement)

  /** Twice: what is removed here is gone unless it is kept elsewhere. */
  const removal = (organisation: string): HTMLElement => {
    const sure = make('span', { hidden: '' }, 'For good? ')
    sure.append(
      button('Yes, remove', () => {
        wallet.remove(organisation)
        changed()
        byId('kept-title', HTMLElement).focus()
      }),
    )
    const ask = button('Remove…', () => {
      sure.hidden = !sure.hidden
      if (!sure.hidden) sure.querySelector('button')?.focus()
    })
    return make('span', {}, ask, ' ', sure)
  }

  const card = ({ holder: { organisation, holder }, credentials }: OpenHolder): HTMLElement => {
    const list = credentials.map((credential) => make('li', {}, credentialWords(credential)))
    const none = make(
      'p',
      {},
      'No credential yet. Give the issuer the number below, and add here what it gives you in return.',
    )
    return make(
      'li',
      { 'data-organisation': organisation },
      make('h3', {}, organisation),
      list.length === 0 ? none : make('ul', {}, ...list),
      make('p', { class: 'quiet' }, 'Your number for this issuer, which it calls holder:'),
      make('p', {}, make('code', { class: 'commitment' }, holder)),
      make(
        'p',
        { class: 'row' },
        copying('Copy the number', holder),
        button('Download a copy', () =>
          download(`assay-${organisation}.jwe`, wallet.textOf(organisation) ?? ''),
        ),
        removal(organisation),
      ),
    )
  }

  const show = (): void => {
    const [open, count] = [wallet.open(), wallet.organisations().length]
    kept.hidden = false
    byId('kept-none', HTMLElement).hidden = count > 0
    unlock.hidden = !wallet.isLocked()
    byId('add-box', HTMLElement).hidden = open.length === 0
    lock.hidden = open.length === 0
    byId('holders', HTMLElement).replaceChildren(...open.map(card))
    byId('add-box', HTMLDetailsElement).open =
      open.length > 0 && open.every(({ credentials }) => credentials.length === 0)
  }

  /** What was done is told by what is shown, which gets the focus: the form that had it may be gone. */
  const done = (): void => {
    changed()
    const answer = byId('answer-title', HTMLElement)
    const title = byId('answer', HTMLElement).hidden ? byId('kept-title', HTMLElement) : answer
    title.focus()
  }

  onSubmit('unlock', async () => {
    await wallet.unlock(typedIn('unlock-passphrase'))
    done()
  })
  onSubmit('create', async () => {
    const passphrase = typedIn('create-passphrase')
    if (passphrase !== typedIn('create-again')) throw new WalletError('The two passphrases differ.')
    await wallet.create(typedIn('create-organisation').trim(), passphrase)
    byId('create-box', HTMLDetailsElement).open = false
    done()
  })
  onSubmit('import', async () => {
    const text = (await fileText('import-file')) ?? ''
    if (text === '') throw new WalletError('Choose a file.')
    await wallet.importFile(text, typedIn('import-passphrase'))
    byId('import-box', HTMLDetailsElement).open = false
    done()
  })
  onSubmit('add', async () => {
    const text = byId('add-text', HTMLTextAreaElement).value.trim() || (await fileText('add-file'))
    if (!text) throw new WalletError('Paste a credential or choose its file.')
    await wallet.add(text)
    done()
  })
  lock.addEventListener('click', () => {
    wallet.lock()
    changed()
    byId('unlock-passphrase', HTMLInputElement).focus()
  })
  const close = (): void => {
    wallet.lock()
    changed()
  }
  // Another tab of this page created, added or removed something: what is open here would be written over it.
  addEventListener('storage', ({ key }) => {
    if (wallet.concerns(key)) close()
  })
  // Browsers keep a page that is left, to show it as it was to whoever comes back.
  addEventListener('pagehide', close)
  return show
}
