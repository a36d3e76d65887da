/** What the holder's page keeps in a browser, where another page of it keeps something as well and nobody hears of that. */
import { expect } from 'chai'
import type { Credential } from '../../src/circuits/credential.ts'
import { exportHolder, type Holder, importHolder } from '../../src/circuits/holder.ts'
import { WalletError } from '../../src/web/holder/held.ts'
import { createWallet } from '../../src/web/holder/wallet.ts'
import { rejection } from '../support/rejection.ts'

const ORGANISATION = 'org_01h2xcejqtf2nbrexx3vqjhp41'
const PASSPHRASE = 'correct horse battery'

/** As localStorage is. */
const openStorage = (): Storage => {
  const kept = new Map<string, string>()
  return {
    get length() {
      return kept.size
    },
    key: (place) => [...kept.keys()][place] ?? null,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => void kept.set(key, text),
    removeItem: (key) => void kept.delete(key),
    clear: () => kept.clear(),
  }
}

const credential = (status: string): Credential => ({
  circuit: 'kyc',
  binding: 'holder',
  organisation: ORGANISATION,
  fields: { status },
  signature: { r8x: '1', r8y: '1', s: '1', issuerX: '1', issuerY: '1' },
})

describe('what the holder’s page keeps, in two windows', function () {
  this.timeout(60_000)

  const holderIn = (wallet: ReturnType<typeof createWallet>): Holder =>
    wallet.open()[0]?.holder ?? expect.fail('nothing is open')
  const statusesIn = async (storage: Storage): Promise<unknown[]> => {
    const text = createWallet(storage).textOf(ORGANISATION) ?? ''
    return (await importHolder(text, PASSPHRASE)).credentials.map(({ fields }) => fields.status)
  }

  it('is not written over by a page that was unlocked before it was kept', async () => {
    const storage = openStorage()
    const [one, other] = [createWallet(storage), createWallet(storage)]
    await one.create(ORGANISATION, PASSPHRASE)
    await other.unlock(PASSPHRASE)
    const exported = (status: string) => exportHolder(holderIn(one), PASSPHRASE, [credential(status)])
    await one.importFile(await exported('1'), PASSPHRASE)
    const late = await exported('2')
    const error = await rejection(other.importFile(late, PASSPHRASE))
    expect(error).to.be.instanceOf(WalletError)
    expect(error.message).to.match(/^Another window has changed what is kept here/)
    expect(await statusesIn(storage)).to.deep.equal(['1'])
    // Unlocked anew, it knows what is there.
    other.lock()
    await other.unlock(PASSPHRASE)
    await other.importFile(late, PASSPHRASE)
    expect(await statusesIn(storage)).to.deep.equal(['1', '2'])
  })

  it('is one secret for an organisation, though both windows make one at once', async () => {
    const storage = openStorage()
    const wallets = [createWallet(storage), createWallet(storage)] as const
    const made = await Promise.allSettled(wallets.map((wallet) => wallet.create(ORGANISATION, PASSPHRASE)))
    expect(made.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected'])
    const [winner] = wallets.filter(({ open }) => open().length > 0)
    const { holder } = await importHolder(winner?.textOf(ORGANISATION) ?? '', PASSPHRASE)
    expect(holder).to.deep.equal(holderIn(winner ?? expect.fail('nobody made one')))
  })

  it('stays locked where it was locked while something was being made or opened', async () => {
    const storage = openStorage()
    const wallet = createWallet(storage)
    const made = wallet.create(ORGANISATION, PASSPHRASE)
    wallet.lock()
    await made
    expect(wallet.isLocked()).to.equal(true)
    const unlocked = wallet.unlock(PASSPHRASE)
    wallet.lock()
    await unlocked
    expect(wallet.open()).to.deep.equal([])
    await wallet.unlock(PASSPHRASE)
    expect(wallet.isLocked()).to.equal(false)
  })
})
