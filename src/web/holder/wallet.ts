/**
 * What this browser keeps of a person's holders and credentials: for each organisation a JWE under the person's passphrase. What is
 * open is open in this page alone, and locked again with it.
 * @module
 */
import type { Credential, CredentialCircuit } from '../../circuits/credential.ts'
import { isObject } from '../../protocol/json-object.ts'
import { type OpenHolder, secretFor, WalletError } from './held.ts'

const PREFIX = 'assay/holder/'
const ORGANISATION = /^org_[0-9a-z]{26}$/
/** Far more than what is kept of one organisation. */
const MAX_CHARACTERS = 1024 * 1024
const CIRCUITS: readonly CredentialCircuit[] = ['kyc', 'token_validation', 'consent_verification']

interface Opened extends OpenHolder {
  readonly passphrase: string
  /** As it is kept, as far as this page knows: another one may have changed it since. Undefined: not yet. */
  readonly text: string | undefined
}

/** What makes and reads secrets: more than all the rest of the page, so it is fetched when it is used first. @throws WalletError */
const loadSecrets = async () => {
  try {
    const [holder, credential] = await Promise.all([
      import('../../circuits/holder.ts'),
      import('../../circuits/credential.ts'),
    ])
    return { ...holder, ...credential }
  } catch (cause) {
    throw new WalletError(`${location.host} does not answer. Try again when it does.`, { cause })
  }
}

const isCredential = (value: unknown): value is Credential =>
  isObject(value) &&
  CIRCUITS.some((circuit) => circuit === value.circuit) &&
  typeof value.organisation === 'string' &&
  isObject(value.fields) &&
  isObject(value.signature)

/** @param text a credential, or the whole answer that it came in @throws WalletError */
const readCredential = (text: string): Credential => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new WalletError('This is not JSON.', { cause })
  }
  const found = isObject(value) && isObject(value.credential) ? value.credential : value
  if (!isCredential(found)) throw new WalletError('This is no credential, nor an answer that holds one.')
  return found
}

const isSame = (one: Credential, other: Credential): boolean =>
  one.circuit === other.circuit && one.fields.status === other.fields.status

/** The older first; of one that is there already only the newer remains. */
const added = (credentials: readonly Credential[], more: readonly Credential[]): Credential[] => [
  ...credentials.filter((one) => !more.some((other) => isSame(one, other))),
  ...more,
]

/** @param storage of this browser, such as localStorage */
export const createWallet = (storage: Storage) => {
  const opened = new Map<string, Opened>()
  let locks = 0

  /** Asked as something begins that takes long: what it finds is opened unless all was locked meanwhile. */
  const opening = () => {
    const begun = locks
    return (one: Opened): void => {
      if (locks === begun) opened.set(one.holder.organisation, one)
    }
  }

  /** Organisations of which something is kept here, locked or not. */
  const organisations = (): string[] =>
    Array.from({ length: storage.length }, (_, i) => storage.key(i) ?? '')
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => key.slice(PREFIX.length))
      .sort()

  const textOf = (organisation: string): string | undefined =>
    storage.getItem(PREFIX + organisation) ?? undefined

  /** @throws WalletError rather than write over what another page has kept since */
  const keep = async (
    open: ReturnType<typeof opening>,
    { holder, credentials, passphrase, text: known }: Opened,
  ): Promise<void> => {
    const { organisation } = holder
    const { exportHolder } = await loadSecrets()
    const text = await exportHolder(holder, passphrase, credentials)
    if (textOf(organisation) !== known)
      throw new WalletError(
        'Another window has changed what is kept here since it was unlocked. Load this page again, then do this once more.',
      )
    storage.setItem(PREFIX + organisation, text)
    open({ holder, credentials, passphrase, text })
  }

  const demandFree = (organisation: string): void => {
    if (textOf(organisation) !== undefined)
      throw new WalletError(
        'This browser keeps a secret for this organisation already. Unlock it; another one would replace it for good.',
      )
  }

  return {
    organisations,
    /** What is open, by organisation. */
    open: (): readonly OpenHolder[] =>
      organisations().flatMap((organisation) => opened.get(organisation) ?? []),
    isLocked: (): boolean => organisations().some((organisation) => !opened.has(organisation)),

    /** Makes a secret for what an organisation will issue. @throws WalletError; RangeError for a passphrase that is too short */
    async create(organisation: string, passphrase: string): Promise<void> {
      if (!ORGANISATION.test(organisation))
        throw new WalletError('An id looks like org_01h2xcejqtf2nbrexx3vqjhp41.')
      demandFree(organisation)
      const open = opening()
      const { createHolder } = await loadSecrets()
      await keep(open, {
        holder: createHolder({ organisation }),
        credentials: [],
        passphrase,
        text: undefined,
      })
    },

    /** Opens what is under a passphrase. @throws WalletError where nothing is; RangeError for one that is too short */
    async unlock(passphrase: string): Promise<void> {
      const open = opening()
      const { HolderImportError, importHolder } = await loadSecrets()
      let found = 0
      for (const organisation of organisations()) {
        if (opened.has(organisation)) continue
        const text = textOf(organisation) ?? ''
        try {
          const { holder, credentials } = await importHolder(text, passphrase)
          open({ holder, credentials, passphrase, text })
          found += 1
        } catch (error) {
          if (!(error instanceof HolderImportError)) throw error
        }
      }
      if (found === 0) throw new WalletError('Nothing that this browser keeps is under this passphrase.')
    },

    /** Keeps what was exported. @throws WalletError; RangeError for a passphrase that is too short */
    async importFile(text: string, passphrase: string): Promise<void> {
      if (text.length > MAX_CHARACTERS) throw new WalletError('This is too large to be an export.')
      const open = opening()
      const { HolderImportError, importHolder } = await loadSecrets()
      const { holder, credentials } = await importHolder(text.trim(), passphrase).catch((error: unknown) => {
        if (!(error instanceof HolderImportError)) throw error
        throw new WalletError(error.message, { cause: error })
      })
      if (!credentials.every(isCredential))
        throw new WalletError('This export holds something else than credentials.')
      const here = opened.get(holder.organisation)
      if (here?.holder.secret !== holder.secret) {
        demandFree(holder.organisation)
        return keep(open, { holder, credentials, passphrase, text: undefined })
      }
      return keep(open, { ...here, credentials: added(here.credentials, credentials) })
    },

    /** Adds what an issuer gave. @param text JSON @throws WalletError */
    async add(text: string): Promise<void> {
      if (text.length > MAX_CHARACTERS) throw new WalletError('This is too large to be a credential.')
      const credential = readCredential(text)
      const here = opened.get(credential.organisation)
      if (here === undefined)
        throw new WalletError(
          `It was issued by ${credential.organisation}, for which no secret is unlocked here.`,
        )
      const open = opening()
      const { credentialValues } = await loadSecrets()
      try {
        credentialValues(credential, secretFor(here, credential))
      } catch (cause) {
        if (!(cause instanceof RangeError)) throw cause
        throw new WalletError(`It can’t be used with your secret: ${cause.message}.`, { cause })
      }
      await keep(open, { ...here, credentials: added(here.credentials, [credential]) })
    },

    /** What to keep elsewhere: under the same passphrase. */
    textOf,

    /** Removes what is kept for an organisation: for good, unless it is kept elsewhere. */
    remove(organisation: string): void {
      storage.removeItem(PREFIX + organisation)
      opened.delete(organisation)
    },

    lock(): void {
      locks += 1
      opened.clear()
    },

    /** Whether something that is kept here may have changed. @param key of the storage; null: all of it */
    concerns: (key: string | null): boolean => key === null || key.startsWith(PREFIX),
  }
}

export type Wallet = ReturnType<typeof createWallet>
